//! Reads one request head out of bytes; knows nothing of sockets.

use std::mem::MaybeUninit;

/// Longest head that is read; a longer one gets a 431.
pub(crate) const MAX_HEAD: usize = 32 * 1024;
/// Most header lines that are read; more get a 431.
const MAX_HEADERS: usize = 100;

/// The start of a buffer, as it was understood.
#[derive(Debug)]
pub(crate) enum Parsed<'b> {
    Whole(Head<'b>),
    /// The head is not complete yet.
    Partial,
    /// The status of the response, after which the connection is closed.
    Refused(u16),
}

/// A request head, borrowed from the buffer.
#[derive(Debug)]
pub(crate) struct Head<'b> {
    pub(crate) method: &'b str,
    pub(crate) target: &'b str,
    /// 0 or 1, of HTTP/1.x.
    pub(crate) version: u8,
    pub(crate) persistent: bool,
    pub(crate) framing: Framing,
    pub(crate) expects_continue: bool,
    pub(crate) accepts_json: bool,
    /// Bytes of the head with its empty line.
    pub(crate) length: usize,
}

/// How the request's body is delimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    None,
    Length(u64),
    Chunked,
}

/// The header fields that decide how a request is read.
#[derive(Default)]
struct Fields {
    hosts: usize,
    close: bool,
    keep_alive: bool,
    length: Option<u64>,
    chunked: bool,
    expects_continue: bool,
    accepts_json: bool,
}

/// Reads the head at the start of `buffer`. Never panics, whatever the bytes.
pub(crate) fn head(buffer: &[u8]) -> Parsed<'_> {
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut []);
    let length = match request.parse_with_uninit_headers(buffer, &mut headers) {
        Ok(httparse::Status::Complete(length)) if length <= MAX_HEAD => length,
        Ok(httparse::Status::Partial) if buffer.len() < MAX_HEAD => return Parsed::Partial,
        Ok(_) | Err(httparse::Error::TooManyHeaders) => return Parsed::Refused(431),
        Err(httparse::Error::Version) => return Parsed::Refused(505),
        Err(_) => return Parsed::Refused(400),
    };
    let (Some(method), Some(target), Some(version)) =
        (request.method, request.path, request.version)
    else {
        return Parsed::Refused(400);
    };
    let fields = match Fields::read(request.headers) {
        Ok(fields) => fields,
        Err(status) => return Parsed::Refused(status),
    };
    // RFC 9112 §3.2: exactly one Host in HTTP/1.1. §6.1: no Transfer-Encoding in HTTP/1.0, nor
    // beside a Content-Length, because both smuggle requests.
    let wrong_host = fields.hosts > 1 || (version == 1 && fields.hosts == 0);
    let wrong_body = fields.chunked && (version == 0 || fields.length.is_some());
    if wrong_host || wrong_body {
        return Parsed::Refused(400);
    }
    Parsed::Whole(Head {
        method,
        target,
        version,
        persistent: !fields.close && (version == 1 || fields.keep_alive),
        framing: fields.framing(),
        expects_continue: fields.expects_continue && version == 1,
        accepts_json: fields.accepts_json,
        length,
    })
}

/// Names and values of a head that `head` has read, as text.
pub(crate) fn header_pairs(head: &[u8]) -> Vec<(String, String)> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    if request.parse(head).is_err() {
        return Vec::new();
    }
    let pair = |header: &httparse::Header<'_>| {
        (
            header.name.to_owned(),
            String::from_utf8_lossy(header.value).into_owned(),
        )
    };
    request.headers.iter().map(pair).collect()
}

impl Fields {
    fn read(headers: &[httparse::Header<'_>]) -> Result<Fields, u16> {
        let mut fields = Fields::default();
        for header in headers {
            fields.take(header)?;
        }
        Ok(fields)
    }

    // The length of the name decides first: comparing every header with every name would cost
    // more than reading the request line.
    fn take(&mut self, header: &httparse::Header<'_>) -> Result<(), u16> {
        let (name, value) = (header.name, header.value);
        match name.len() {
            4 if name.eq_ignore_ascii_case("host") => self.hosts += 1,
            6 if name.eq_ignore_ascii_case("accept") => {
                self.accepts_json |= memchr::memmem::find(value, b"application/json").is_some();
            }
            6 if name.eq_ignore_ascii_case("expect") => {
                self.expects_continue |= value.eq_ignore_ascii_case(b"100-continue");
            }
            10 if name.eq_ignore_ascii_case("connection") => self.connection(value),
            14 if name.eq_ignore_ascii_case("content-length") => self.content_length(value)?,
            17 if name.eq_ignore_ascii_case("transfer-encoding") => self.coding(value)?,
            _ => {}
        }
        Ok(())
    }

    fn connection(&mut self, value: &[u8]) {
        for option in value.split(|&byte| byte == b',') {
            let option = option.trim_ascii();
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    fn content_length(&mut self, value: &[u8]) -> Result<(), u16> {
        if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
            return Err(400);
        }
        let text = std::str::from_utf8(value).map_err(|_| 400u16)?;
        let length = text.parse().map_err(|_| 413u16)?;
        match self.length.replace(length) {
            Some(before) if before != length => Err(400),
            _ => Ok(()),
        }
    }

    fn coding(&mut self, value: &[u8]) -> Result<(), u16> {
        if self.chunked {
            return Err(400);
        }
        self.chunked = value.trim_ascii().eq_ignore_ascii_case(b"chunked");
        if self.chunked { Ok(()) } else { Err(501) }
    }

    fn framing(&self) -> Framing {
        match self.length {
            _ if self.chunked => Framing::Chunked,
            None | Some(0) => Framing::None,
            Some(length) => Framing::Length(length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(text: &str) -> Head<'_> {
        match head(text.as_bytes()) {
            Parsed::Whole(head) => head,
            other => panic!("{text:?}: {other:?}"),
        }
    }

    fn refusal(text: &str) -> u16 {
        match head(text.as_bytes()) {
            Parsed::Refused(status) => status,
            other => panic!("{text:?}: {other:?}"),
        }
    }

    #[test]
    fn persistence_follows_version_and_connection() {
        let cases = [
            ("HTTP/1.1", "", true),
            ("HTTP/1.1", "Connection: close\r\n", false),
            ("HTTP/1.1", "connection: TE , Close\r\n", false),
            ("HTTP/1.0", "", false),
            ("HTTP/1.0", "Connection: Keep-Alive\r\n", true),
        ];
        for (version, line, persistent) in cases {
            let text = format!("GET /r/1 {version}\r\nHost: a\r\n{line}\r\n");
            assert_eq!(whole(&text).persistent, persistent, "{text:?}");
            assert_eq!(whole(&text).length, text.len());
        }
    }

    #[test]
    fn the_body_is_framed_by_one_header_only() {
        let framing =
            |line: &str| whole(&format!("POST / HTTP/1.1\r\nHost: a\r\n{line}\r\n")).framing;
        assert_eq!(framing(""), Framing::None);
        assert_eq!(framing("Content-Length: 7\r\n"), Framing::Length(7));
        assert_eq!(
            framing("Content-Length: 7\r\ncontent-length: 7\r\n"),
            Framing::Length(7)
        );
        assert_eq!(framing("Transfer-Encoding: Chunked\r\n"), Framing::Chunked);
        let status = |line: &str| refusal(&format!("POST / HTTP/1.1\r\nHost: a\r\n{line}\r\n"));
        assert_eq!(status("Content-Length: 7\r\nContent-Length: 8\r\n"), 400);
        assert_eq!(status("Content-Length: +7\r\n"), 400);
        assert_eq!(status("Content-Length: 99999999999999999999\r\n"), 413);
        assert_eq!(
            status("Content-Length: 7\r\nTransfer-Encoding: chunked\r\n"),
            400
        );
        assert_eq!(status("Transfer-Encoding: gzip\r\n"), 501);
    }

    #[test]
    fn invalid_requests_are_refused() {
        assert_eq!(refusal("\x16\x03\x01"), 400);
        assert_eq!(refusal("GET / HTTP/1.1\r\n\r\n"), 400);
        assert_eq!(refusal("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
        assert_eq!(refusal("GET / HTTP/3.7\r\nHost: a\r\n\r\n"), 505);
        let long = format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(MAX_HEAD));
        assert_eq!(refusal(&long), 431);
        let many = format!(
            "GET / HTTP/1.1\r\n{}\r\n",
            "X: x\r\n".repeat(MAX_HEADERS + 1)
        );
        assert_eq!(refusal(&many), 431);
    }

    #[test]
    fn the_pairs_keep_order_and_repeats() {
        let text = b"GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nx-a: 2\r\n\r\n";
        let pairs = header_pairs(text);
        let expected = [("Host", "a"), ("X-A", "1"), ("x-a", "2")];
        assert_eq!(pairs, expected.map(|(n, v)| (n.to_owned(), v.to_owned())));
    }
}
