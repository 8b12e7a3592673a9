//! What a program's own headers announce of its request's body: a length, or that it comes in chunks.
//!
//! The engine writes these headers itself, from the body. A program's own header is accepted if it agrees with the
//! body, and refused otherwise. Two ends that count differently make request smuggling possible (RFC 9112 §11.2).

use http::header::{CONTENT_LENGTH, HeaderName};

use crate::message::body::Body;

/// A `Content-Length` or `Transfer-Encoding` that a program gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announced {
    Length(u64),
    Chunked,
}

impl Announced {
    /// Reads one of the two headers.
    pub fn read(name: &HeaderName, value: &[u8]) -> Result<Announced, String> {
        let text = std::str::from_utf8(value).unwrap_or_default().trim();
        if *name != CONTENT_LENGTH {
            let chunked = text.eq_ignore_ascii_case("chunked");
            return match chunked {
                true => Ok(Announced::Chunked),
                false => Err("is set by the client itself from the body: leave it out".into()),
            };
        }
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let length = digits.then(|| text.parse().ok()).flatten();
        let length = length.ok_or("is not a number of bytes: leave it out")?;
        Ok(Announced::Length(length))
    }

    /// Whether this body is sent in that way; if not, the reason.
    pub fn check(self, body: &Body) -> Result<(), String> {
        match (self, body.length()) {
            (Announced::Length(said), Some(sent)) if said != sent => Err(format!(
                "header \"Content-Length\" says {said}, and the body has {sent} bytes: leave the header out"
            )),
            (Announced::Chunked, Some(sent)) => Err(format!(
                "header \"Transfer-Encoding\" says chunked, and the body is sent with its length, {sent} bytes: leave the header out"
            )),
            (Announced::Length(said), None) => Err(format!(
                "header \"Content-Length\" says {said}, and the body is sent in chunks: leave the header out"
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::message::request::Request;

    fn checked(headers: &[(&str, &str)], body: &'static str) -> Result<Request, String> {
        let mut request = Request::new("POST", "http://host/").unwrap();
        for (name, value) in headers {
            let added = request.header(name, value.as_bytes());
            request = added.map_err(|error| error.to_string())?;
        }
        let checked = request.body(body).checked();
        checked.map_err(|error| error.to_string())
    }

    #[test]
    fn a_right_length_is_accepted_and_written_once() {
        for headers in [
            &[("Content-Length", "3")][..],
            &[("content-length", " 3 "), ("Content-Length", "3")],
        ] {
            let request = checked(headers, "abc").unwrap();
            assert!(request.fields.is_empty(), "the engine writes it itself");
        }
        assert!(checked(&[("Content-Length", "0")], "").is_ok());
    }

    #[test]
    fn a_wrong_length_is_refused_with_both_numbers() {
        let why = checked(&[("Content-Length", "5")], "abc").unwrap_err();
        assert!(why.contains("says 5") && why.contains("has 3"), "{why}");
        for headers in [
            &[("Content-Length", "3"), ("Content-Length", "4")][..],
            &[("Content-Length", "3"), ("Transfer-Encoding", "chunked")],
            &[("Content-Length", "+3")],
            &[("Content-Length", "3, 3")],
            &[("Content-Length", "")],
            &[("Content-Length", "99999999999999999999")],
            &[("Transfer-Encoding", "chunked")],
            &[("Transfer-Encoding", "gzip, chunked")],
        ] {
            assert!(checked(headers, "abc").is_err(), "{headers:?}");
        }
    }
}
