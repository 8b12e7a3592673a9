//! The JSON document: 15 records, and the check value where only a parser finds it. Its value is its check value plus
//! the numbers of all its records.

use std::sync::LazyLock;

use rand::seq::SliceRandom;

use crate::check_value::{CheckValue, LENGTH};

const RECORDS: usize = 15;

/// The least number of a record; all have six digits.
const LEAST: u32 = 100_000;

/// How many forms a record may have.
const FORMS: usize = 64;

/// Letters of a record's text beside what looks like a number in it.
const LETTERS: usize = 930;

/// The text of a record before and behind its number, drawn anew for each process. A program that does not parse
/// cannot know where the number stands, nor which of several similar numbers it is.
static FORM: LazyLock<Vec<(String, String)>> = LazyLock::new(|| (0..FORMS).map(form).collect());

/// Fields in any order, one of them an object with the names of the record's own, and a text with quotes and brackets in it.
fn form(number: usize) -> (String, String) {
    const HOLE: char = '#';
    let decoy = || rand::random_range(LEAST..10 * LEAST);
    let before = rand::random_range(0..LETTERS);
    let text = |letters| "X".repeat(letters);
    let name = match number % 4 {
        0 => r"num\u0062ers",
        _ => "numbers",
    };
    let (left, right) = [("[{", "}]"), ("{", "}")][number % 2];
    let mut fields = [
        format!("\"time\":\"2011-04-26T12:00:{:02}Z\"", number % 60),
        format!(
            r#""string":"{}{{\"numbers\":{},\"float\":[{}""#,
            text(before),
            decoy(),
            text(LETTERS - before)
        ),
        format!("\"{name}\":{HOLE}"),
        "\"float\":123.123".to_string(),
        "\"bool\":true".to_string(),
        format!(
            "\"also\":{left}\"numbers\":{},\"float\":0.5{right}",
            decoy()
        ),
    ];
    fields.shuffle(&mut rand::rng());
    let record = format!("{{{}}}", fields.join(","));
    let (left, right) = record.split_once(HOLE).expect("there is a hole");
    (left.to_string(), right.to_string())
}

/// The form and the number of each record, drawn from the hash.
fn draws(hash: u64) -> impl Iterator<Item = (usize, u32)> {
    let mut draw = hash | 1; // xorshift64 (Marsaglia 2003)
    (0..RECORDS).map(move |_| {
        draw ^= draw << 13;
        draw ^= draw >> 7;
        draw ^= draw << 17;
        let number = LEAST + (draw >> 32) as u32 % (9 * LEAST);
        (draw as usize % FORMS, number)
    })
}

/// The value of the document of a hash: its check value plus the numbers of all its records, modulo 2³².
pub(crate) fn value(hash: u64) -> u32 {
    let numbers = draws(hash).map(|(_, number)| number);
    numbers.fold(hash as u32, u32::wrapping_add)
}

/// The document of a hash: its lower half is the check value, its upper half decides where the check value
/// stands, what stands beside it, and which letters are escaped. Siblings look like check values, and two hold a false `token` of
/// their own: searching the text does not find the right one.
pub(crate) fn of(hash: u64) -> Vec<u8> {
    let shape = (hash >> 32) as u32;
    let text = |check_value: CheckValue| String::from_utf8_lossy(&check_value.text()).into_owned();
    let decoy = |by: u32| text(CheckValue(shape.rotate_left(by) ^ 0x5bd1_e995));
    let mut parts: [Vec<u8>; 6] = [
        check_value_part(&text(CheckValue(hash as u32)), shape),
        records_part(hash),
        format!("\"a{:03x}\":{{\"token\":\"{}\"}}", shape & 0xfff, decoy(8)).into_bytes(),
        format!("\"b{:03x}\":\"{}\"", shape >> 12 & 0xfff, decoy(16)).into_bytes(),
        format!("\"c{:02x}\":{}", shape >> 24, shape).into_bytes(),
        format!(
            "\"d{:02x}\":[{{\"numbers\":{shape},\"token\":\"{}\"}},true]",
            shape >> 16 & 0xff,
            decoy(24)
        )
        .into_bytes(),
    ];
    let length = parts.len();
    parts.rotate_left(shape as usize % length);
    parts.swap(0, (shape >> 8) as usize % length);
    let mut document = Vec::with_capacity(RECORDS * (LETTERS + 256) + 32 * LENGTH);
    document.push(b'{');
    document.extend(parts.join(&b','));
    document.push(b'}');
    document
}

/// The check value under its key; one letter of either may be escaped, which means the same (RFC 8259 §7).
fn check_value_part(check_value: &str, shape: u32) -> Vec<u8> {
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

fn records_part(hash: u64) -> Vec<u8> {
    let mut text = Vec::with_capacity(RECORDS * (LETTERS + 256));
    text.extend(b"\"records\":[");
    for (place, (form, number)) in draws(hash).enumerate() {
        if place > 0 {
            text.push(b',');
        }
        let (left, right) = &FORM[form];
        text.extend(left.as_bytes());
        text.extend(number.to_string().as_bytes());
        text.extend(right.as_bytes());
    }
    text.push(b']');
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    #[test]
    fn a_parser_finds_the_check_value_and_the_records() {
        let (mut places, mut plain) = (BTreeSet::new(), 0);
        for shape in 0..2000u64 {
            let hash = (shape * 0x9e37_79b9) << 32 | 0x0123_abcd;
            let bytes = of(hash);
            let value: Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(value["token"], "0123abcd");
            let records = value["records"].as_array().unwrap();
            assert_eq!(records.len(), RECORDS);
            for key in ["time", "string", "numbers", "float", "bool"] {
                assert!(records[0].get(key).is_some());
            }
            assert!((16_000..17_500).contains(&bytes.len()), "{}", bytes.len());
            let sum = value_of_text(&bytes);
            assert_ne!(sum, super::value(hash), "a search of the text finds it");
            let numbers = records
                .iter()
                .map(|record| record["numbers"].as_u64().unwrap());
            assert_eq!(value_of(&value, numbers.sum()), super::value(hash));
            places.extend(memchr::memmem::find(&bytes, b"0123abcd").map(|at| at * 8 / bytes.len()));
            plain += usize::from(memchr::memmem::find(&bytes, b"\"token\":\"0123abcd\"").is_some());
        }
        assert!(
            places.len() > 1,
            "the check value always stands at the same end"
        );
        assert!(
            (900..1100).contains(&plain),
            "{plain} of 2000 have no letter of it escaped"
        );
    }

    /// The check value, and the numbers as they follow their name or stand before the next name, as a search finds them.
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
