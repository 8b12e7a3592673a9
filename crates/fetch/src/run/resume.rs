//! Decides from the head of a response whether its body continues a partial body, begins it again, or is of no use
//! (`driver/bodies` requests the rest).
//!
//! Only a strong validator names the same bytes (RFC 9110 §8.8.1), so only a body with one is resumed. A body in memory
//! begins again, too. A strong validator is a strong `ETag`, or, without any `ETag`, a `Last-Modified` that was old when
//! it was sent (§8.8.2.2). A 206 must repeat it, begin where the partial body ends, agree about the length, and have no
//! coding. Anything else is refused, and the body is requested whole.

use std::time::Duration;

use hecaton::Response;

use crate::sink::Representation;

/// How a response relates to a body of which some bytes may be there already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// A body from its first byte. With a `Representation`, it can be resumed if it is cut.
    Whole(Option<Representation>),
    /// It continues the partial body.
    Continues {
        /// Where the body of this response ends.
        end: u64,
        /// The length of the whole body.
        total: u64,
    },
    /// Neither: the body must be requested again, from its first byte.
    Useless,
    /// Another response, such as an error: the partial body stays.
    Other,
}

/// The request, as far as it decides whether its response can be resumed.
#[derive(Clone, Copy, Debug)]
pub struct Requested<'a> {
    /// The URL of the request.
    pub url: &'a str,
    /// Whether it is a GET, and no settings of the job choose a part or a coding.
    pub is_plain: bool,
}

/// Classifies a response. If the request was for the rest of a body, `known` is the representation of that body and how
/// many bytes of it are there.
pub fn classify(
    response: &Response,
    requested: Requested<'_>,
    known: Option<(&Representation, u64)>,
) -> Beginning {
    let coded = is_coded(response);
    match (response.status(), known) {
        (206, Some((known, length))) if !coded => continues(response, known, length),
        (206 | 416, Some(_)) => Beginning::Useless,
        // The request forbade codings.
        (200, Some(_)) if coded => Beginning::Useless,
        (200, _) => {
            let validator = match response.header("etag") {
                Some(_) => only(response, "etag").and_then(strong),
                None => strong_date(only(response, "last-modified"), only(response, "date")),
            };
            let representation =
                validator
                    .filter(|_| requested.is_plain && !coded)
                    .map(|validator| Representation {
                        url: requested.url.to_owned(),
                        validator: validator.to_owned(),
                        total: length_of(response),
                        headers: response.header_block().to_vec(),
                    });
            Beginning::Whole(representation)
        }
        (_, Some(_)) => Beginning::Other,
        (_, None) => Beginning::Whole(None),
    }
}

fn continues(response: &Response, known: &Representation, length: u64) -> Beginning {
    let is_same = only(response, known.header()) == Some(&known.validator);
    let range = only(response, "content-range").and_then(range);
    let Some((first, last, total)) = range.filter(|_| is_same) else {
        return Beginning::Useless;
    };
    let total = match (total, known.total) {
        (Some(total), Some(known)) if total != known => None,
        (total, known) => total.or(known),
    };
    let Some(total) = total.filter(|total| first == length && last >= first && last < *total)
    else {
        return Beginning::Useless;
    };
    let end = last + 1;
    match length_of(response) {
        Some(length) if length != end - first => Beginning::Useless,
        _ => Beginning::Continues { end, total },
    }
}

/// The value of a header that occurs exactly once, as text.
pub(super) fn only<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    only_of(response.header_values(name))
}

/// The same of the values of any header.
pub(super) fn only_of<'a>(mut values: impl Iterator<Item = &'a [u8]>) -> Option<&'a str> {
    let value = values.next()?;
    match values.next() {
        None => std::str::from_utf8(value).ok().map(str::trim),
        Some(_) => None,
    }
}

fn is_coded(response: &Response) -> bool {
    let is_coding = |value: &[u8]| !value.trim_ascii().eq_ignore_ascii_case(b"identity");
    response.header_values("content-encoding").any(is_coding)
}

fn strong(etag: &str) -> Option<&str> {
    let inner = etag.strip_prefix('"')?.strip_suffix('"')?;
    // An `ETag` must not change when it is sent back, and an empty one identifies nothing.
    let is_fine = |byte: u8| byte.is_ascii_graphic() && byte != b'"';
    (!inner.is_empty() && inner.bytes().all(is_fine)).then_some(etag)
}

/// The `Last-Modified`, if it was a minute old when it was sent. Then nothing changed later in the same second, even if
/// two clocks made the two dates.
fn strong_date<'a>(modified: Option<&'a str>, sent: Option<&str>) -> Option<&'a str> {
    let read = |date| httpdate::parse_http_date(date).ok();
    let age = read(sent?)?.duration_since(read(modified?)?).ok()?;
    modified.filter(|_| age >= Duration::from_secs(60))
}

fn length_of(response: &Response) -> Option<u64> {
    number(only(response, "content-length")?)
}

/// First byte, last byte and length of `bytes 5-9/10` or `bytes 5-9/*`.
pub(super) fn range(text: &str) -> Option<(u64, u64, Option<u64>)> {
    let (unit, rest) = text.split_once(' ')?;
    let (range, total) = rest.trim().split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let total = match total {
        "*" => None,
        total => Some(number(total)?),
    };
    unit.eq_ignore_ascii_case("bytes")
        .then_some((number(first)?, number(last)?, total))
}

/// Digits alone: `+1` is no number here.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_date_that_was_old_when_it_was_sent_is_strong() {
        let modified = "Thu, 01 Jan 2026 00:00:00 GMT";
        for (sent, expected) in [
            ("Thu, 01 Jan 2026 00:01:00 GMT", Some(modified)),
            ("Thu, 01 Jan 2026 00:00:59 GMT", None),
            ("Wed, 31 Dec 2025 23:00:00 GMT", None),
            ("soon", None),
        ] {
            assert_eq!(strong_date(Some(modified), Some(sent)), expected, "{sent}");
        }
        assert_eq!(strong_date(Some(modified), None), None);
        assert_eq!(strong_date(None, Some(modified)), None);
        assert_eq!(strong_date(Some("\"x\""), Some(modified)), None);
    }

    #[test]
    fn etags_and_ranges_are_read_strictly() {
        assert_eq!(strong("\"a-1\""), Some("\"a-1\""));
        for weak in ["W/\"a\"", "\"\"", "a", "\"a", "\"a\"b\"", "\"a b\"", ""] {
            assert_eq!(strong(weak), None, "{weak}");
        }
        assert_eq!(range("bytes 5-9/10"), Some((5, 9, Some(10))));
        assert_eq!(range("Bytes 5-9/*"), Some((5, 9, None)));
        for bad in [
            "bytes 5-/10",
            "bytes */10",
            "items 5-9/10",
            "bytes 5-9",
            "bytes +5-9/10",
            "bytes 5-9/99999999999999999999",
        ] {
            assert_eq!(range(bad), None, "{bad}");
        }
    }
}
