//! The head of a response: status, fields, and how long the body is (RFC 9112 §6.3).

use std::mem::MaybeUninit;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use http::Method;
use memchr::memchr2;

/// Largest head, in bytes. RFC 9110 §5.4 sets no limit; servers send some hundred bytes.
pub(crate) const MOST_BYTES: usize = 256 << 10;

/// Most fields of a head.
pub(crate) const MOST_FIELDS: usize = 256;

/// What the head of a final response says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub status: u16,
    /// The fields as `name: value\r\n`, names in lower case.
    pub fields: Vec<u8>,
    pub framing: Framing,
    /// Whether there is a `Content-Encoding`.
    pub coded: bool,
    /// Whether the connection may be used again once the body has been read.
    pub keep_alive: bool,
    /// How long the server keeps it when it is idle, as far as it says so (`Keep-Alive: timeout=N`).
    pub kept_for: Option<Duration>,
}

/// How the end of the body is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// So many bytes.
    Length(u64),
    /// Chunks, the last of them empty.
    Chunked,
    /// The end of the connection.
    Close,
}

/// What matters of the fields for framing and for the connection.
#[derive(Default)]
struct Facts {
    length: Option<u64>,
    chunked: bool,
    coded: bool,
    close: bool,
    keep_alive: bool,
    kept_for: Option<Duration>,
}

/// Reads one head; fed with what has arrived until it has it.
#[derive(Default)]
pub(crate) struct HeadReader {
    /// Bytes of the input that have been seen not to end a head.
    searched: usize,
}

impl HeadReader {
    /// Takes the head of the final response off `input`; none if it is not whole yet.
    pub fn take(&mut self, method: &Method, input: &mut BytesMut) -> Result<Option<Head>, String> {
        // At first, so that garbage is noticed at once; then only when there is an empty line among
        // what is new, lest a head that comes byte by byte is parsed as often.
        let new = &input[self.searched.saturating_sub(3).min(input.len())..];
        let parse = self.searched == 0 || ends_head(new) || input.len() > MOST_BYTES;
        let head = if parse && !input.is_empty() {
            parse_head(method, input)?
        } else {
            None
        };
        self.searched = input.len();
        Ok(head)
    }
}

/// Whether there is an empty line.
fn ends_head(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b"\n\n") || bytes.windows(3).any(|three| three == b"\n\r\n")
}

/// Takes the head of the final response off `input`; none if it is not whole yet. Interim responses
/// (1xx) in front of it are dropped.
fn parse_head(method: &Method, input: &mut BytesMut) -> Result<Option<Head>, String> {
    loop {
        let mut fields = [const { MaybeUninit::uninit() }; MOST_FIELDS];
        let mut response = httparse::Response::new(&mut []);
        let parsed = httparse::ParserConfig::default()
            .allow_obsolete_multiline_headers_in_responses(true)
            .parse_response_with_uninit_headers(&mut response, input, &mut fields)
            .map_err(|error| error.to_string())?;
        let httparse::Status::Complete(length) = parsed else {
            let too_long = input.len() > MOST_BYTES;
            return if too_long {
                Err(format!("a head of more than {MOST_BYTES} bytes"))
            } else {
                Ok(None)
            };
        };
        let head = match response.code.unwrap_or_default() {
            101 => return Err("a switch to another protocol that was not asked for".into()),
            100..=199 => None,
            code @ ..100 => return Err(format!("the status {code:03}, which does not exist")),
            _ => Some(read(method, &response)?),
        };
        input.advance(length);
        if head.is_some() {
            return Ok(head);
        }
    }
}

fn read(method: &Method, response: &httparse::Response<'_, '_>) -> Result<Head, String> {
    let status = response.code.unwrap_or_default();
    let version_1_1 = response.version == Some(1);
    let mut fields = Vec::with_capacity(160);
    let mut facts = Facts::default();
    for field in response.headers.iter() {
        facts.note(field)?;
        let start = fields.len();
        fields.extend_from_slice(field.name.as_bytes());
        fields[start..].make_ascii_lowercase();
        fields.extend_from_slice(b": ");
        let start = fields.len();
        fields.extend_from_slice(field.value);
        unfold(&mut fields[start..]);
        fields.extend_from_slice(b"\r\n");
    }
    let framing = facts.framing(method, status);
    // A length beside chunks may be an attempt to smuggle, and chunks are no part of HTTP/1.0; both
    // spoil the connection for what comes after (RFC 9112 §6.1). So do chunks of a 204, which has no
    // body: servers that announce them tend to send them, after it was taken for complete.
    let doubtful = facts.chunked && (facts.length.is_some() || !version_1_1 || status == 204);
    let persistent = if version_1_1 {
        !facts.close
    } else {
        facts.keep_alive && !facts.close
    };
    let keep_alive = persistent && !doubtful && framing != Framing::Close;
    Ok(Head {
        status,
        fields,
        framing,
        coded: facts.coded,
        keep_alive,
        kept_for: facts.kept_for,
    })
}

/// Replaces the line breaks of a value that goes on in the next line by spaces (RFC 9112 §5.2), so that the
/// block has one line a field.
fn unfold(mut value: &mut [u8]) {
    while let Some(at) = memchr2(b'\r', b'\n', value) {
        value[at] = b' ';
        value = &mut value[at + 1..];
    }
}

impl Facts {
    /// Errors do not quote the field: what a header holds belongs in no message.
    fn note(&mut self, field: &httparse::Header<'_>) -> Result<(), String> {
        // Few fields matter here, and their names differ in length from most others.
        match field.name.len() {
            10 if field.name.eq_ignore_ascii_case("connection") => {
                for option in field.value.split(|byte| *byte == b',') {
                    let option = option.trim_ascii();
                    self.close |= option.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            10 if field.name.eq_ignore_ascii_case("keep-alive") => {
                self.kept_for = kept_for(field.value)
            }
            14 if field.name.eq_ignore_ascii_case("content-length") => {
                self.note_length(field.value)?
            }
            16 if field.name.eq_ignore_ascii_case("content-encoding") => self.coded = true,
            17 if field.name.eq_ignore_ascii_case("transfer-encoding") => {
                if self.chunked || !field.value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                    return Err("a transfer coding other than chunked".into());
                }
                self.chunked = true;
            }
            _ => {}
        }
        Ok(())
    }

    /// Repeated lengths are the same or an error (RFC 9110 §8.6).
    fn note_length(&mut self, value: &[u8]) -> Result<(), String> {
        for length in value.split(|byte| *byte == b',') {
            let length = parse_length(length.trim_ascii());
            if length.is_none() || (self.length.is_some() && self.length != length) {
                return Err("a content length that makes no sense".into());
            }
            self.length = length;
        }
        Ok(())
    }

    fn framing(&self, method: &Method, status: u16) -> Framing {
        match self.length {
            _ if *method == Method::HEAD || matches!(status, 204 | 304) => Framing::Length(0),
            _ if self.chunked => Framing::Chunked,
            Some(length) => Framing::Length(length),
            None => Framing::Close,
        }
    }
}

/// The seconds of `timeout=N` in a `Keep-Alive` field (RFC 2068 §19.7.1.1), the first one that can be read.
fn kept_for(value: &[u8]) -> Option<Duration> {
    let mut parameters = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    parameters.find_map(|parameter| {
        let (name, seconds) = parameter.split_at_checked(8)?;
        let named = name.eq_ignore_ascii_case(b"timeout=");
        Some(Duration::from_secs(
            parse_length(seconds).filter(|_| named)?,
        ))
    })
}

/// Digits alone: no sign, no space.
fn parse_length(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<Head>, String> {
        parse_head(&Method::GET, &mut BytesMut::from(text))
    }

    fn head(text: &str) -> Head {
        parse(text).unwrap().expect("a whole head")
    }

    #[test]
    fn status_fields_and_length() {
        let head =
            head("HTTP/1.1 201 Created\r\nX-A: 1\r\nContent-Length: 5\r\nx-a:2 \r\n\r\nhello");
        assert_eq!(
            (head.status, head.framing, head.keep_alive),
            (201, Framing::Length(5), true)
        );
        assert_eq!(head.fields, b"x-a: 1\r\ncontent-length: 5\r\nx-a: 2\r\n");
    }

    #[test]
    fn values_that_go_on_in_the_next_line_become_one_line() {
        let folded = "HTTP/1.1 200 OK\r\nX-A: 1,\r\n\t2\r\nConnection: x,\r\n close\r\nContent-Length: 5\r\n\r\n";
        let head = head(folded);
        assert_eq!(
            head.fields,
            b"x-a: 1,  \t2\r\nconnection: x,   close\r\ncontent-length: 5\r\n"
        );
        assert!(!head.keep_alive);
        assert!(parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n 6\r\n\r\n").is_err());
        assert!(
            parse("HTTP/1.1 200 OK\r\n X-A: 1\r\n\r\n").is_err(),
            "nothing to go on with"
        );
    }

    #[test]
    fn what_follows_the_head_is_left() {
        let mut input = BytesMut::from("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        parse_head(&Method::GET, &mut input).unwrap().unwrap();
        assert_eq!(input, "hello");
    }

    #[test]
    fn framing_by_the_rules() {
        let framing = |fields: &str| head(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n")).framing;
        assert_eq!(framing(""), Framing::Close);
        assert_eq!(framing("Content-Length: 0\r\n"), Framing::Length(0));
        assert_eq!(
            framing("Content-Length: 5, 5\r\nContent-Length: 5\r\n"),
            Framing::Length(5)
        );
        assert_eq!(framing("Transfer-Encoding: Chunked\r\n"), Framing::Chunked);
        assert_eq!(
            framing("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
            Framing::Chunked
        );
        for status in ["204 No Content", "304 Not Modified"] {
            let head = head(&format!("HTTP/1.1 {status}\r\nContent-Length: 5\r\n\r\n"));
            assert_eq!((head.framing, head.keep_alive), (Framing::Length(0), true));
        }
        let mut input = BytesMut::from("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
        let head = parse_head(&Method::HEAD, &mut input).unwrap().unwrap();
        assert_eq!(head.framing, Framing::Length(0));
    }

    #[test]
    fn lengths_that_make_no_sense_are_errors() {
        for bad in [
            "-1",
            "+5",
            "5 5",
            "5,6",
            "",
            "0x5",
            "99999999999999999999",
            "5,",
        ] {
            let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {bad}\r\n\r\n");
            assert!(parse(&text).is_err(), "{bad:?}");
        }
        assert!(
            parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n").is_err()
        );
        let quoting = parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: secret\r\n\r\n").unwrap_err();
        assert!(!quoting.contains("secret"), "{quoting}");
        let quoting = parse("HTTP/1.1 200 OK\r\nContent-Length: secret\r\n\r\n").unwrap_err();
        assert!(!quoting.contains("secret"), "{quoting}");
        for bad in ["gzip", "gzip, chunked", "chunked, chunked", "identity", ""] {
            let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {bad}\r\n\r\n");
            assert!(parse(&text).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn connections_are_kept_only_when_that_is_safe() {
        let keep = |text: &str| head(&format!("{text}\r\n\r\n")).keep_alive;
        assert!(keep("HTTP/1.1 200 OK\r\nContent-Length: 0"));
        assert!(!keep(
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: x, Close"
        ));
        assert!(!keep("HTTP/1.1 200 OK"));
        assert!(!keep("HTTP/1.0 200 OK\r\nContent-Length: 0"));
        assert!(keep(
            "HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive"
        ));
        assert!(!keep(
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked"
        ));
        assert!(!keep(
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked"
        ));
        assert!(!keep(
            "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked"
        ));
        assert!(keep(
            "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked"
        ));
    }

    #[test]
    fn a_server_may_say_how_long_it_keeps_a_connection() {
        let kept = |value: &str| {
            let kept_for =
                head(&format!("HTTP/1.1 200 OK\r\nKeep-Alive: {value}\r\n\r\n")).kept_for;
            kept_for.map(|time| time.as_secs())
        };
        assert_eq!(kept("timeout=5"), Some(5));
        assert_eq!(kept("max=100, Timeout=0"), Some(0));
        for unclear in [
            "",
            "timeout",
            "timeout=",
            "timeout=-1",
            "timeout=x",
            "max=3",
            "5",
        ] {
            assert_eq!(kept(unclear), None, "{unclear:?}");
        }
    }

    #[test]
    fn interim_responses_are_dropped() {
        let head = head(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        );
        assert_eq!((head.status, head.fields.len()), (200, 0));
        assert_eq!(
            parse("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 20").unwrap(),
            None
        );
        assert!(parse("HTTP/1.1 101 Switching Protocols\r\n\r\n").is_err());
    }

    #[test]
    fn garbage_and_endless_heads_are_errors() {
        assert!(parse("SSH-2.0-OpenSSH\r\n").is_err());
        assert!(parse("HTTP/2.0 200 OK\r\n\r\n").is_err());
        assert!(parse("HTTP/1.1 000 OK\r\n\r\n").is_err());
        assert!(parse("HTTP/1.1 099 OK\r\n\r\n").is_err());
        assert!(parse(&format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(MOST_BYTES))).is_err());
        assert!(
            parse(&format!(
                "HTTP/1.1 200 OK\r\n{}\r\n",
                "x: y\r\n".repeat(MOST_FIELDS + 1)
            ))
            .is_err()
        );
    }

    #[test]
    fn a_head_that_comes_byte_by_byte() {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\nX: y\r\n\r\n";
        let (mut reader, mut input) = (HeadReader::default(), BytesMut::new());
        for (index, byte) in text.bytes().enumerate() {
            input.extend_from_slice(&[byte]);
            let head = reader.take(&Method::GET, &mut input).unwrap();
            assert_eq!(head.is_some(), index + 1 == text.len(), "{index}");
        }
    }

    proptest::proptest! {
        /// Any bytes end in a head, an error, or a wish for more; and a head that is whole reads the
        /// same however many bytes follow it.
        #[test]
        fn nothing_panics(bytes in "(HTTP/1.[01] [0-9]{3} ?.{0,9}\r\n)?([A-Za-z-]{1,17}: ?[ -~]{0,9}\r\n){0,5}(\r\n)?\\PC{0,9}", rest in "\\PC{0,20}") {
            let mut longer = BytesMut::from(format!("{bytes}{rest}").as_bytes());
            let mut input = BytesMut::from(bytes.as_bytes());
            if let Ok(Some(head)) = parse_head(&Method::GET, &mut input) {
                proptest::prop_assert_eq!(parse_head(&Method::GET, &mut longer).unwrap().unwrap(), head);
            }
        }
    }
}
