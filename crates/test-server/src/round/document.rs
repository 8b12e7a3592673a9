//! The JSON documents of a round: 15 records, and the check value where only a parser finds it. The value of a document
//! is its check value plus the numbers of all its records.
//!
//! Everything in a document is drawn with a secret key, so no field can be computed from the others.

use siphasher::sip::SipHasher24;

use rand::seq::SliceRandom;

use crate::round::check_value::{CheckValue, LENGTH};

const RECORDS: usize = 15;

/// The least number of a record; all have six digits.
const LEAST: u32 = 100_000;

/// How many forms a record may have.
const FORMS: u64 = 64;

/// The fewest letters of a record's text beside its decoy.
const LETTERS: usize = 830;

/// How many more letters there may be.
const MORE_LETTERS: u64 = 200;

/// The most letters that a record needs.
const FILLER: [u8; LETTERS + MORE_LETTERS as usize] = [b'X'; LETTERS + MORE_LETTERS as usize];

/// The forms and the key of one round's documents.
pub(crate) struct Documents {
    key: SipHasher24,
    forms: Vec<Form>,
}

/// The form of a record, without its numbers and letters.
type Form = Vec<Piece>;

/// A piece of a record.
enum Piece {
    Text(String),
    /// The number that counts.
    Number,
    /// A number that does not count: a decoy.
    Decoy,
    /// Letters before and behind a decoy in the text.
    Before,
    Behind,
}

/// The index of a document's draws for the numbers of its records, their letters and its shape.
const NUMBERS: u64 = 0;
const LAYOUT: u64 = 1 << 8;
const SHAPE: u64 = 1 << 16;

impl Documents {
    /// Draws forms that no earlier round had, so that knowledge of earlier forms does not help a program.
    pub(crate) fn draw() -> Documents {
        Documents {
            key: SipHasher24::new_with_keys(rand::random(), rand::random()),
            forms: (0..FORMS as usize).map(form).collect(),
        }
    }

    /// The value of the document of a hash: its check value plus the numbers of all its records, modulo 2³².
    pub(crate) fn value(&self, hash: u64) -> u32 {
        let numbers = (0..RECORDS as u64).map(|index| self.record(hash, index).1);
        numbers.fold(hash as u32, u32::wrapping_add)
    }

    /// The document of a hash, whose lower half is the check value. Siblings look like check values, and two hold a
    /// false `token` of their own: searching the text does not find the right one.
    pub(crate) fn of(&self, hash: u64) -> Vec<u8> {
        let shape = |index: u64| self.drawn(hash, SHAPE + index);
        let text =
            |number: u64| String::from_utf8_lossy(&CheckValue(number as u32).text()).into_owned();
        let name = |index: u64| format!("{:03x}", shape(index) & 0xfff);
        let number = |index: u64| shape(index) as u32;
        let mut parts: [Vec<u8>; 6] = [
            check_value_part(&text(hash), shape(0)),
            self.records_part(hash),
            format!("\"a{}\":{{\"token\":\"{}\"}}", name(1), text(shape(2))).into_bytes(),
            format!("\"b{}\":\"{}\"", name(3), text(shape(4))).into_bytes(),
            format!("\"c{}\":{}", name(5), number(6)).into_bytes(),
            format!(
                "\"d{}\":[{{\"numbers\":{},\"token\":\"{}\"}},true]",
                name(7),
                number(8),
                text(shape(9))
            )
            .into_bytes(),
        ];
        for last in (1..parts.len()).rev() {
            parts.swap(last, shape(10 + last as u64) as usize % (last + 1));
        }
        let mut document = Vec::with_capacity(RECORDS * (FILLER.len() + 256) + 32 * LENGTH);
        document.push(b'{');
        document.extend(parts.join(&b','));
        document.push(b'}');
        document
    }

    fn drawn(&self, hash: u64, index: u64) -> u64 {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&hash.to_le_bytes());
        bytes[8..].copy_from_slice(&index.to_le_bytes());
        self.key.hash(&bytes)
    }

    /// The form and the number of a record.
    fn record(&self, hash: u64, index: u64) -> (&Form, u32) {
        let draw = self.drawn(hash, NUMBERS + index);
        let number = LEAST + (draw >> 32) as u32 % (9 * LEAST);
        (&self.forms[(draw % FORMS) as usize], number)
    }

    fn records_part(&self, hash: u64) -> Vec<u8> {
        let mut text = Vec::with_capacity(RECORDS * (FILLER.len() + 256));
        text.extend(b"\"records\":[");
        for index in 0..RECORDS as u64 {
            if index > 0 {
                text.push(b',');
            }
            let (form, number) = self.record(hash, index);
            write_record(&mut text, form, number, self.drawn(hash, LAYOUT + index));
        }
        text.push(b']');
        text
    }
}

/// Writes a record; `layout` decides the length of its text and the order of its fields.
fn write_record(out: &mut Vec<u8>, form: &Form, number: u32, mut layout: u64) {
    let mut next = |range: u64| {
        let drawn = layout % range;
        layout /= range;
        drawn as usize
    };
    let letters = LETTERS + next(MORE_LETTERS);
    let before = next(letters as u64);
    for piece in form {
        match piece {
            Piece::Text(text) => out.extend(text.as_bytes()),
            Piece::Number => out.extend(number.to_string().as_bytes()),
            Piece::Decoy => {
                let decoy = LEAST as usize + next(9 * u64::from(LEAST));
                out.extend(decoy.to_string().as_bytes());
            }
            Piece::Before => out.extend(&FILLER[..before]),
            Piece::Behind => out.extend(&FILLER[before..letters]),
        }
    }
}

/// Fields in any order. One is an object with the same field names as the record, another a string with quotes and
/// brackets.
fn form(number: usize) -> Form {
    let name = match number % 4 {
        0 => r"num\u0062ers",
        _ => "numbers",
    };
    let (left, right) = [("[{", "}]"), ("{", "}")][number % 2];
    let mut fields = [
        format!("\"time\":\"2011-04-26T12:00:{:02}Z\"", number % 60),
        r#""string":"<{\"numbers\":?,\"float\":[>""#.to_string(),
        format!("\"{name}\":#"),
        "\"float\":123.123".to_string(),
        "\"bool\":true".to_string(),
        format!("\"also\":{left}\"numbers\":?,\"float\":0.5{right}"),
    ];
    fields.shuffle(&mut rand::rng());
    pieces(&format!("{{{}}}", fields.join(",")))
}

/// The pieces of a record, in which `#` stands for its number, `?` for a decoy, and `<` and `>` for letters.
fn pieces(record: &str) -> Form {
    let mut pieces = Vec::new();
    for part in record.split_inclusive(['#', '?', '<', '>']) {
        let last = part.chars().last();
        let hole = match last {
            Some('#') => Some(Piece::Number),
            Some('?') => Some(Piece::Decoy),
            Some('<') => Some(Piece::Before),
            Some('>') => Some(Piece::Behind),
            _ => None,
        };
        let text = &part[..part.len() - usize::from(hole.is_some())];
        pieces.push(Piece::Text(text.to_string()));
        pieces.extend(hole);
    }
    pieces
}

/// The check value under its key. One letter of either may be escaped, which does not change its meaning (RFC 8259 §7).
fn check_value_part(check_value: &str, shape: u64) -> Vec<u8> {
    let escaped = |text: &str| {
        let at = (shape >> 5) as usize % text.len();
        let letter = u32::from(text.as_bytes()[at]);
        format!("{}\\u{letter:04x}{}", &text[..at], &text[at + 1..])
    };
    let part = match shape >> 2 & 3 {
        0 => format!("\"{}\":\"{check_value}\"", escaped("token")),
        1 => format!("\"token\":\"{}\"", escaped(check_value)),
        _ => format!("\"token\":\"{check_value}\""),
    };
    part.into_bytes()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    #[test]
    fn a_parser_finds_the_check_value_and_the_records() {
        let documents = Documents::draw();
        let (mut positions, mut plain) = (BTreeSet::new(), 0);
        for shape in 0..2000u64 {
            let hash = (shape * 0x9e37_79b9) << 32 | 0x0123_abcd;
            let bytes = documents.of(hash);
            let value: Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(value["token"], "0123abcd");
            let records = value["records"].as_array().unwrap();
            assert_eq!(records.len(), RECORDS);
            for key in ["time", "string", "numbers", "float", "bool"] {
                assert!(records[0].get(key).is_some());
            }
            assert!((15_000..18_500).contains(&bytes.len()), "{}", bytes.len());
            let sum = value_of_text(&bytes);
            assert_ne!(sum, documents.value(hash), "a search of the text finds it");
            let numbers = records
                .iter()
                .map(|record| record["numbers"].as_u64().unwrap());
            assert_eq!(value_of(&value, numbers.sum()), documents.value(hash));
            positions
                .extend(memchr::memmem::find(&bytes, b"0123abcd").map(|at| at * 8 / bytes.len()));
            plain += usize::from(memchr::memmem::find(&bytes, b"\"token\":\"0123abcd\"").is_some());
        }
        assert!(
            positions.len() > 1,
            "the check value always stands at the same end"
        );
        assert!(
            (900..1100).contains(&plain),
            "{plain} of 2000 have no letter of it escaped"
        );
    }

    /// The visible text of a document does not predict its numbers, nor does one round predict the next.
    #[test]
    fn numbers_cannot_be_predicted_and_records_do_not_repeat() {
        let (documents, others) = (Documents::draw(), Documents::draw());
        let records = |documents: &Documents, hash: u64| -> Vec<String> {
            let text = String::from_utf8(documents.of(hash)).unwrap();
            let value: Value = serde_json::from_str(&text).unwrap();
            let records = value["records"].as_array().unwrap().clone();
            let length = |record: &Value| record["string"].as_str().unwrap().find('{').unwrap();
            records
                .iter()
                .map(|record| format!("{} {}", record["numbers"], length(record)))
                .collect()
        };
        assert_ne!(documents.value(7), others.value(7));
        assert_ne!(records(&documents, 7), records(&others, 7));
        // A form is repeated with other letters, so the number of the next record is at another index.
        let many: Vec<String> = (0..40).flat_map(|hash| records(&documents, hash)).collect();
        let lengths: BTreeSet<&str> = many.iter().map(|record| &record[7..]).collect();
        assert!(lengths.len() > 250, "{}", lengths.len());
        let printed = String::from_utf8(documents.of(7)).unwrap();
        let value = documents.value(7).wrapping_sub(7).to_string();
        assert!(!printed.contains(&value));
    }

    /// The check value, and the numbers as they follow their name or stand before the next name, as a search finds
    /// them.
    fn value_of_text(bytes: &[u8]) -> u32 {
        let found = memchr::memmem::find_iter(bytes, b"\"numbers\":").map(|at| {
            let digits = bytes[at + 10..]
                .iter()
                .take_while(|byte| byte.is_ascii_digit());
            digits.fold(0u32, |sum, digit| {
                sum.wrapping_mul(10).wrapping_add(u32::from(digit - b'0'))
            })
        });
        found.fold(0x0123_abcd, u32::wrapping_add)
    }

    fn value_of(document: &Value, numbers: u64) -> u32 {
        let check_value = document["token"].as_str().unwrap();
        u32::from_str_radix(check_value, 16)
            .unwrap()
            .wrapping_add(numbers as u32)
    }
}
