//! The responses of `/r/<id>` during one round: a prepared response, of which only date and check value change.

use std::cell::{OnceCell, Ref, RefCell};
use std::time::{Duration, Instant};

use crate::round::check_value::CheckValue;
use crate::round::delay::Delay;
use crate::round::document::Documents;
use crate::round::draw::Draw;
use crate::round::permutation::Permutation;
use crate::round::plain::Plain;
use crate::wire::date::Date;
use crate::wire::head::{After, Field, Head, JSON, Length, TEXT};

/// The responses of one round, or of the time between rounds.
pub(crate) struct Script {
    pub(crate) nonce: u64,
    draw: Draw,
    /// The first id. Delays are counted from it, so that rounds of other ids have the same delays.
    base: u64,
    /// The delay of each id.
    order: Permutation,
    /// The word in the paths of the round's requests.
    pub(crate) word: Option<u64>,
    /// Whether its requests must accept JSON documents.
    pub(crate) json: bool,
    /// The simulated round trip of the network.
    pub(crate) round_trip: Duration,
    prepared: RefCell<Prepared>,
    /// The documents, drawn when the first is needed.
    documents: OnceCell<Documents>,
    /// Bytes of a plain body, decoded.
    body_bytes: usize,
}

struct Prepared {
    plain: Plain,
    /// The second of the date in it.
    second: u64,
}

/// The response to one `/r/<id>`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    pub(crate) hash: u64,
    pub(crate) json: bool,
    pub(crate) is_head: bool,
}

impl Item {
    pub(crate) fn check_value(&self) -> CheckValue {
        CheckValue(self.hash as u32)
    }

    /// Whether it is the unchanged prepared response.
    pub(crate) fn is_plain(&self) -> bool {
        !self.json && !self.is_head
    }
}

impl Script {
    pub(crate) fn new(plain: Plain, delay: Delay, round_trip: Duration, seed: u64) -> Script {
        Script {
            nonce: rand::random(),
            draw: Draw::new(delay, seed),
            base: 0,
            order: Permutation::draw(0),
            word: None,
            json: false,
            round_trip,
            body_bytes: plain.decoded(),
            prepared: RefCell::new(Prepared { plain, second: 0 }),
            documents: OnceCell::new(),
        }
    }

    /// The responses of a round whose `count` ids begin at `base`, and whose requests have `word` in their path.
    pub(crate) fn of_round(self, base: u64, count: u64, word: Option<u64>, json: bool) -> Script {
        Script {
            base,
            order: Permutation::draw(count),
            word,
            json,
            ..self
        }
    }

    /// How long the response of an id is delayed.
    pub(crate) fn delay(&self, id: u64) -> Option<Duration> {
        self.draw.of(self.order.of(id.wrapping_sub(self.base)))
    }

    /// The JSON documents of the round.
    pub(crate) fn documents(&self) -> &Documents {
        self.documents.get_or_init(Documents::draw)
    }

    /// The value that a client must compute from the body of a hash: the check value, and in a
    /// document its numbers too.
    pub(crate) fn value(&self, hash: u64, document: bool) -> u32 {
        match document {
            true => self.documents().value(hash),
            false => hash as u32,
        }
    }

    /// Bytes of a plain body, decoded.
    pub(crate) fn body_bytes(&self) -> usize {
        self.body_bytes
    }

    /// The plain response of one check value on a connection that stays. Writing it whole is the hot path.
    pub(crate) fn plain(
        &self,
        check_value: CheckValue,
        date: &Date,
        now: Instant,
    ) -> Ref<'_, Plain> {
        {
            let mut prepared = self.prepared.borrow_mut();
            if prepared.second != date.second(now) {
                let (text, second) = date.at(now);
                prepared.plain.set_date(&text);
                prepared.second = second;
            }
            prepared.plain.set_check_value(check_value);
        }
        Ref::map(self.prepared.borrow(), |prepared| &prepared.plain)
    }

    /// Type, further fields and body of a response, without its head.
    pub(crate) fn body(
        &self,
        item: Item,
        date: &Date,
        now: Instant,
    ) -> (&'static str, Vec<Field>, Vec<u8>) {
        if item.json {
            return (JSON, Vec::new(), self.documents().of(item.hash));
        }
        let plain = self.plain(item.check_value(), date, now);
        (TEXT, plain.fields(), plain.body().to_vec())
    }

    /// Bytes of a body that [`Script::body`] made, decoded.
    pub(crate) fn decoded(&self, item: Item, body: &[u8]) -> usize {
        match item.json {
            true => body.len(),
            false => self.body_bytes,
        }
    }

    /// Appends a response of any kind; returns the bytes of its body, decoded.
    pub(crate) fn write(
        &self,
        out: &mut Vec<u8>,
        item: Item,
        after: After,
        date: &Date,
        now: Instant,
    ) -> usize {
        if item.json {
            return document_response(self.documents().of(item.hash), out, item, after, date, now);
        }
        let plain = self.plain(item.check_value(), date, now);
        match after {
            After::Keep => out.extend_from_slice(plain.head()),
            _ => plain.write_head(out, after, date.at(now).0),
        }
        if item.is_head {
            return 0;
        }
        out.extend_from_slice(plain.body());
        self.body_bytes
    }
}

fn document_response(
    document: Vec<u8>,
    out: &mut Vec<u8>,
    item: Item,
    after: After,
    date: &Date,
    now: Instant,
) -> usize {
    let head = Head {
        status: 200,
        content_type: JSON,
        fields: &[],
        length: Length::Bytes(document.len() as u64),
        after,
    };
    head.write(out, date.at(now).0);
    if item.is_head {
        return 0;
    }
    out.extend_from_slice(&document);
    document.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::head::DATE_AT;

    fn response(script: &Script, after: After, is_head: bool) -> String {
        let mut out = Vec::new();
        let item = Item {
            hash: 0xdead_beef_0123_abcd,
            json: false,
            is_head,
        };
        script.write(&mut out, item, after, &Date::new(), Instant::now());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_body_has_its_length_and_ends_in_the_check_value() {
        for (requested, length) in [(133, 133), (8, 8), (0, 8), (13_801, 13_801)] {
            let script = Script::new(Plain::new(requested, false), Delay::None, Duration::ZERO, 0);
            let text = response(&script, After::Keep, false);
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert_eq!(body.len(), length);
            assert!(body.ends_with("0123abcd"), "{text}");
            assert!(
                head.contains(&format!("\r\nContent-Length: {length}")),
                "{head}"
            );
            assert!(head.starts_with("HTTP/1.1 200 OK\r\nDate: "), "{head}");
            assert!(
                httpdate::parse_http_date(&head[DATE_AT..DATE_AT + 29]).is_ok(),
                "{head}"
            );
        }
    }

    #[test]
    fn the_head_says_whether_the_connection_closes() {
        let script = Script::new(Plain::new(8, false), Delay::None, Duration::ZERO, 0);
        assert!(!response(&script, After::Keep, false).contains("Connection"));
        assert!(
            response(&script, After::KeepAlive, false).contains("\r\nConnection: keep-alive\r\n")
        );
        let closed = response(&script, After::Close, true);
        assert!(
            closed.contains("\r\nContent-Length: 8\r\nConnection: close\r\n\r\n"),
            "{closed}"
        );
        assert!(closed.ends_with("\r\n\r\n"));
        assert!(response(&script, After::Keep, true).ends_with("\r\n\r\n"));
    }
}
