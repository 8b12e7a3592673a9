//! Varied responses: a few random responses of a round have another form and an equal meaning. An HTTP client notices
//! nothing. A program that expects every response to differ in its check value alone reports a wrong sum.

use std::cell::Cell;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::round::script::{Item, Script};
use crate::round::split::Splits;
use crate::wire::date::{Date, LENGTH};
use crate::wire::head::{After, Head, Length};
use crate::wire::small::Small;

/// The fewest requests of a round that has responses of status 503. In a shorter round, one failed request would change
/// the speed.
const MANY: u64 = 500;

/// The most bytes that are added to a longer body.
const LONGER: usize = 40;

/// Which responses of a round are varied.
#[derive(Default)]
pub(crate) struct Varied {
    moments: Splits,
    /// Whether one may be a 503.
    refuses: Cell<bool>,
    /// Which responses come behind an interim one.
    interim: Cell<Interim>,
}

/// Which responses of a round come behind an interim response, a 103, which every client must be able to read (RFC 9110
/// §15.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Interim {
    /// None.
    #[default]
    Never,
    /// A few of the varied responses.
    Varied,
    /// All responses of a round, in which a client shows that it can read them. Each connection ends with its response,
    /// because a client that takes the interim response for the last one may wait for that end.
    Always,
}

/// The interim response.
const EARLY_HINTS: &[u8] =
    b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload; as=style\r\n\r\n";

/// How a response differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variation {
    /// Its body comes in chunks.
    Chunked,
    /// The names of its fields are in lower case, or in upper case.
    Names,
    /// Its body is longer.
    Longer,
    /// An interim response comes before it.
    Early,
    /// It is a 503, which a client must count as a failure.
    Refused,
}

impl Varied {
    /// Draws the moments of a new round of `count` requests.
    pub(crate) fn draw(&self, varied: u64, interim: Interim, count: u64) {
        self.moments.draw(varied, count);
        self.refuses.set(count >= MANY);
        self.interim.set(interim);
    }

    /// A request of the round arrives; how its response is varied, if it is. `is_1_1`: its protocol has chunks and interim
    /// responses.
    pub(crate) fn next(&self, is_1_1: bool) -> Option<Variation> {
        let due = self.moments.is_due();
        match self.interim.get() {
            Interim::Always => is_1_1.then_some(Variation::Early),
            interim => due.then(|| self.draw_one(is_1_1, interim == Interim::Varied)),
        }
    }

    /// The state of a connection after a varied response, which is `after` otherwise.
    pub(crate) fn after(&self, after: After) -> After {
        match self.interim.get() {
            Interim::Always => After::Close,
            _ => after,
        }
    }

    fn draw_one(&self, is_1_1: bool, interim: bool) -> Variation {
        let may = |variation: &Variation| match variation {
            Variation::Early => is_1_1 && interim,
            Variation::Chunked => is_1_1,
            Variation::Refused => self.refuses.get(),
            _ => true,
        };
        let kinds: Vec<Variation> = Variation::ALL.into_iter().filter(may).collect();
        kinds[rand::random_range(0..kinds.len())]
    }
}

/// The response to one request of a round, as the script says, and when it is written.
pub(crate) struct Scripted<'a> {
    pub(crate) script: &'a Script,
    pub(crate) item: Item,
    pub(crate) after: After,
    pub(crate) now: Instant,
}

impl Variation {
    const ALL: [Variation; 5] = [
        Variation::Chunked,
        Variation::Names,
        Variation::Longer,
        Variation::Early,
        Variation::Refused,
    ];

    /// The whole response, and the bytes of its decoded body; a 503 counts none.
    pub(crate) fn write(self, date: &Date, of: &Scripted<'_>) -> (Vec<u8>, usize) {
        let mut out = Vec::new();
        if self == Variation::Refused {
            Small::status(503, false).write(&mut out, of.after, date, of.now);
            return (out, 0);
        }
        let body = self.body(&mut out, of, date);
        (out, body)
    }

    fn body(self, out: &mut Vec<u8>, of: &Scripted<'_>, date: &Date) -> usize {
        let (content_type, fields, mut body) = of.script.body(of.item, date, of.now);
        let mut decoded = match of.item.json {
            true => body.len(),
            false => of.script.body_bytes(),
        };
        if self == Variation::Longer && fields.is_empty() {
            let more = rand::random_range(1..=LONGER);
            body.splice(..0, std::iter::repeat_n(b' ', more));
            decoded += more;
        }
        let length = match self {
            Variation::Chunked => Length::Chunked,
            _ => Length::Bytes(body.len() as u64),
        };
        let head = Head {
            status: 200,
            content_type,
            fields: &fields,
            length,
            after: of.after,
        };
        self.write_head(out, &head, date.at(of.now).0);
        match length {
            Length::Chunked => in_chunks(out, &body),
            _ => out.extend_from_slice(&body),
        }
        decoded
    }

    fn write_head(self, out: &mut Vec<u8>, head: &Head<'_>, date: [u8; LENGTH]) {
        if self == Variation::Early {
            out.extend_from_slice(EARLY_HINTS);
        }
        head.write(out, date);
        if self == Variation::Names {
            recase(out, rand::random());
        }
    }
}

/// Writes the names of all fields of a head in lower or upper case.
fn recase(head: &mut [u8], upper: bool) {
    for line in head.split_mut(|byte| *byte == b'\n').skip(1) {
        let end = line.iter().position(|byte| *byte == b':').unwrap_or(0);
        match upper {
            true => line[..end].make_ascii_uppercase(),
            false => line[..end].make_ascii_lowercase(),
        }
    }
}

/// Two chunks, cut anywhere, and the end.
fn in_chunks(out: &mut Vec<u8>, body: &[u8]) {
    let (first, second) = body.split_at(rand::random_range(0..=body.len()));
    for chunk in [first, second]
        .into_iter()
        .filter(|chunk| !chunk.is_empty())
    {
        out.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
        out.extend_from_slice(chunk);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_change_and_values_stay() {
        let mut head = b"HTTP/1.1 200 OK\r\nContent-Type: text/Plain\r\n\r\n".to_vec();
        recase(&mut head, true);
        assert_eq!(head, b"HTTP/1.1 200 OK\r\nCONTENT-TYPE: text/Plain\r\n\r\n");
        recase(&mut head, false);
        assert_eq!(head, b"HTTP/1.1 200 OK\r\ncontent-type: text/Plain\r\n\r\n");
    }

    fn kinds(varied: &Varied, count: u64, interim: bool) -> Vec<Variation> {
        (0..count).filter_map(|_| varied.next(interim)).collect()
    }

    #[test]
    fn a_short_round_has_no_503() {
        let varied = Varied::default();
        varied.draw(400, Interim::Never, 499);
        let short = kinds(&varied, 499, true);
        assert!(!short.is_empty() && !short.contains(&Variation::Refused));
        varied.draw(400, Interim::Never, 500);
        assert!(kinds(&varied, 500, true).contains(&Variation::Refused));
    }

    #[test]
    fn chunks_and_interim_responses_are_sent_only_over_protocols_that_have_them() {
        let varied = Varied::default();
        for (interim, to, some) in [
            (Interim::Never, true, false),
            (Interim::Varied, false, false),
            (Interim::Varied, true, true),
        ] {
            varied.draw(400, interim, 499);
            let has = kinds(&varied, 499, to).contains(&Variation::Early);
            assert_eq!(has, some, "{interim:?}");
            varied.draw(400, interim, 499);
            let has = kinds(&varied, 499, to).contains(&Variation::Chunked);
            assert_eq!(has, to, "{interim:?}");
        }
        varied.draw(0, Interim::Always, 3);
        assert_eq!(kinds(&varied, 3, true), [Variation::Early; 3]);
        assert!(kinds(&varied, 3, false).is_empty());
    }
}
