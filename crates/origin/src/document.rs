//! The JSON document: 15 records, and the token where only a parser finds it.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::token::{LENGTH, Token};

const RECORDS: usize = 15;

/// `"records":[…]`, the same in every document.
static RECORDS_PART: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let record = |number: usize| {
        json!({
            "time": format!("2011-04-26T12:00:{number:02}Z"),
            "string": "X".repeat(1000),
            "numbers": 123_123,
            "float": 123.123,
            "bool": true,
        })
    };
    let records: Value = (0..RECORDS).map(record).collect();
    format!("\"records\":{records}").into_bytes()
});

/// The document of a hash: its lower half is the token, its upper half decides where the token
/// stands and what stands beside it. Siblings look like tokens, and one holds a false `token` of its
/// own: searching the text does not find the right one.
pub(crate) fn of(hash: u64) -> Vec<u8> {
    let shape = (hash >> 32) as u32;
    let text = |token: Token| String::from_utf8_lossy(&token.text()).into_owned();
    let decoy = |by: u32| text(Token(shape.rotate_left(by) ^ 0x5bd1_e995));
    let mut parts: [Vec<u8>; 5] = [
        format!("\"token\":\"{}\"", text(Token(hash as u32))).into_bytes(),
        RECORDS_PART.clone(),
        format!("\"a{:03x}\":{{\"token\":\"{}\"}}", shape & 0xfff, decoy(8)).into_bytes(),
        format!("\"b{:03x}\":\"{}\"", shape >> 12 & 0xfff, decoy(16)).into_bytes(),
        format!("\"c{:02x}\":{}", shape >> 24, shape).into_bytes(),
    ];
    let length = parts.len();
    parts.rotate_left(shape as usize % length);
    parts.swap(0, (shape >> 8) as usize % length);
    let mut document = Vec::with_capacity(RECORDS_PART.len() + 16 * LENGTH);
    document.push(b'{');
    document.extend(parts.join(&b','));
    document.push(b'}');
    document
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_parser_finds_the_token_and_the_records() {
        let mut places = BTreeSet::new();
        for shape in 0..2000u64 {
            let bytes = of((shape * 0x9e37_79b9) << 32 | 0x0123_abcd);
            let value: Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(value["token"], "0123abcd");
            let records = value["records"].as_array().unwrap();
            assert_eq!(records.len(), RECORDS);
            for key in ["time", "string", "numbers", "float", "bool"] {
                assert!(records[0].get(key).is_some());
            }
            assert!((16_000..17_500).contains(&bytes.len()), "{}", bytes.len());
            places.insert(memchr::memmem::find(&bytes, b"0123abcd").unwrap() * 8 / bytes.len());
        }
        assert!(places.len() > 1, "the token always stands at the same end");
    }
}
