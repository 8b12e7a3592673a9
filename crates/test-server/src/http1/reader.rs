//! Parses bytes into requests, without sockets, so that tests can try every split of the bytes.

use crate::http1::input::Input;
use crate::request::Request;
use crate::request::body::{Body, Received};
use crate::request::parse::{self, Framing, Parsed};

/// The requests of one connection, as they come out of its input.
pub(crate) struct Reader {
    pub(crate) input: Input,
    /// The body that is being read.
    body: Option<Body>,
    /// A head that was too short so far: nothing to do before more bytes come.
    hungry: bool,
}

/// The meaning of the next bytes.
#[derive(Debug)]
pub(crate) enum Event {
    /// More bytes are needed.
    Hungry,
    /// A head of this many bytes. Without a body the request is complete; else `Body` follows.
    Head(Request, usize),
    /// This many bytes of a body.
    Part(usize),
    /// The last bytes of a body, and what was collected of it.
    Body(Received, usize),
    /// Not a request, or a too long one: the status of the response. Nothing can be read after it.
    Refused(u16),
}

impl Reader {
    pub(crate) fn new() -> Reader {
        Reader {
            input: Input::new(),
            body: None,
            hungry: false,
        }
    }

    /// Whether `next` needs more bytes.
    pub(crate) fn is_hungry(&self) -> bool {
        self.hungry
    }

    /// The bytes so far are not enough to decide.
    pub(crate) fn wait_for_more(&mut self) {
        self.hungry = true;
    }

    /// Bytes have come.
    pub(crate) fn fed(&mut self) {
        self.hungry = false;
    }

    pub(crate) fn next(&mut self) -> Event {
        let event = match self.body.take() {
            Some(body) => self.continue_body(body),
            None if self.input.is_empty() => Event::Hungry,
            None => self.head(),
        };
        self.hungry = matches!(event, Event::Hungry);
        event
    }

    fn head(&mut self) -> Event {
        let (request, length) = match parse::head(self.input.bytes()) {
            Parsed::Partial => return Event::Hungry,
            Parsed::Refused(status) => return Event::Refused(status),
            Parsed::Whole(head) => (
                Request::new(&head, &self.input.bytes()[..head.length]),
                head.length,
            ),
        };
        self.input.used(length);
        if request.framing != Framing::None {
            self.body = Some(Body::new(request.framing, request.route.keep()));
        }
        Event::Head(request, length)
    }

    fn continue_body(&mut self, mut body: Body) -> Event {
        let used = match body.feed(self.input.bytes()) {
            Ok(used) => used,
            Err(status) => return Event::Refused(status),
        };
        self.input.used(used);
        if body.is_done() {
            return Event::Body(body.finish(), used);
        }
        self.body = Some(body);
        if used == 0 {
            Event::Hungry
        } else {
            Event::Part(used)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::route::Route;
    use proptest::prelude::*;

    /// The result of some bytes, with bodies joined: routes, bodies, and the refusal if any.
    #[derive(Debug, Default, PartialEq)]
    struct Seen {
        routes: Vec<Route>,
        bodies: Vec<Received>,
        bytes: usize,
        refused: Option<u16>,
    }

    fn read(bytes: &[u8], splits: &[usize]) -> Seen {
        let (mut reader, mut seen) = (Reader::new(), Seen::default());
        let mut splits = splits.iter().cycle();
        let mut rest = bytes;
        while !rest.is_empty() && seen.refused.is_none() {
            let size = splits.next().copied().unwrap_or(usize::MAX).min(rest.len());
            let count = reader.input.fill(&rest[..size]);
            assert!(count > 0, "a full input that is hungry");
            rest = &rest[count..];
            reader.fed();
            drain(&mut reader, &mut seen);
        }
        seen
    }

    fn drain(reader: &mut Reader, seen: &mut Seen) {
        loop {
            match reader.next() {
                Event::Hungry => return,
                Event::Head(request, length) => {
                    seen.routes.push(request.route);
                    seen.bytes += length;
                }
                Event::Part(used) => seen.bytes += used,
                Event::Body(body, used) => {
                    seen.bodies.push(body);
                    seen.bytes += used;
                }
                Event::Refused(status) => {
                    seen.refused = Some(status);
                    return;
                }
            }
        }
    }

    /// One well-formed request with an optional body, by length or in chunks.
    fn request() -> impl Strategy<Value = Vec<u8>> {
        let body = prop::collection::vec(any::<u8>(), 0..200);
        (any::<u64>(), body, any::<bool>(), 1usize..50).prop_map(|(id, body, chunked, size)| {
            if id % 3 == 0 {
                return format!("GET /r/{id} HTTP/1.1\r\nHost: a\r\n\r\n").into_bytes();
            }
            let mut text = b"POST /echo HTTP/1.1\r\nHost: a\r\n".to_vec();
            if chunked {
                text.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
                for chunk in body.chunks(size) {
                    text.extend_from_slice(format!("{:X};x=y\r\n", chunk.len()).as_bytes());
                    text.extend_from_slice(chunk);
                    text.extend_from_slice(b"\r\n");
                }
                text.extend_from_slice(b"0\r\nX-Trailer: 1\r\n\r\n");
            } else {
                let length = format!("Content-Length: {}\r\n\r\n", body.len());
                text.extend_from_slice(length.as_bytes());
                text.extend_from_slice(&body);
            }
            text
        })
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_requests(
            requests in prop::collection::vec(request(), 1..6),
            splits in prop::collection::vec(1usize..40, 1..20),
        ) {
            let bytes = requests.concat();
            let whole = read(&bytes, &[]);
            prop_assert_eq!(whole.routes.len(), requests.len());
            prop_assert_eq!(whole.bytes, bytes.len());
            prop_assert_eq!(whole.refused, None);
            prop_assert_eq!(read(&bytes, &splits), whole);
        }

        #[test]
        fn garbage_is_refused_alike_in_any_split(
            bytes in prop::collection::vec(any::<u8>(), 0..400),
            splits in prop::collection::vec(1usize..40, 1..20),
        ) {
            prop_assert_eq!(read(&bytes, &splits), read(&bytes, &[]));
        }

        #[test]
        fn damaged_requests_are_read_alike_in_any_split(
            request in request(),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            splits in prop::collection::vec(1usize..40, 1..20),
        ) {
            let mut bytes = request;
            for (at, byte) in damage {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            prop_assert_eq!(read(&bytes, &splits), read(&bytes, &[]));
        }
    }

    #[test]
    fn a_head_of_any_length_fits_or_is_refused_byte_by_byte() {
        for (length, refused) in [(30_000, None), (40_000, Some(431))] {
            let head = format!(
                "GET /r/1 HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
                "x".repeat(length)
            );
            assert_eq!(read(head.as_bytes(), &[997]).refused, refused);
            assert_eq!(read(head.as_bytes(), &[]).refused, refused);
        }
    }
}
