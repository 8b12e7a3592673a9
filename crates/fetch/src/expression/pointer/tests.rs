//! Tests of pointers into JSON.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a0/~\u{e9}]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec(("[a0/~]{0,2}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn every_float_keeps_its_value(float in any::<f64>().prop_filter("finite", |it| it.is_finite())) {
        let text = serde_json::to_string(&float).unwrap();
        let read = at(text.as_bytes(), "").and_then(|value| value.as_f64());
        prop_assert_eq!(read.map(f64::to_bits), Some(float.to_bits()), "{}", text);
    }

    #[test]
    fn it_is_what_a_pointer_into_the_whole_finds(json in json(), pointer in "(/[a01+]{0,2}|/~[01]|/0)*") {
        let expected = json.pointer(&pointer).filter(|part| !part.is_null()).cloned();
        prop_assert_eq!(at(json.to_string().as_bytes(), &pointer), expected, "{} {}", json, pointer);
    }

    #[test]
    fn no_body_makes_it_panic(body in "[\\[\\]{}\":,a0\u{e9} ]{0,30}", pointer in "(/[a0]?){0,3}") {
        let whole: Option<Value> = serde_json::from_str(&body).ok();
        prop_assert_eq!(at(body.as_bytes(), &pointer), whole.and_then(|json| json.pointer(&pointer).cloned()));
    }
}

#[test]
fn null_is_no_part() {
    for read in [exactly_at, written_at] {
        assert_eq!(read(br#"{"a":null}"#, "/a"), Ok(None));
        assert_eq!(read(b"[null]", "/0"), Ok(None));
        assert_eq!(read(b"null", ""), Ok(None));
        assert_eq!(read(b"[[null]]", "/0"), Ok(Some(json!([null]))));
    }
    assert_eq!(found_at(b"[null]", "/0"), Ok(Some(Value::Null)));
    assert_eq!(found_at(b"[null]", "/1"), Ok(None));
}

#[test]
fn integers_keep_their_digits() {
    let body = br#"{"a":[123456789012345678901234567890,-9223372036854775809,18446744073709551615,1.5e300,"99999999999999999999\\\"",{"b":100000000000000000000}]}"#;
    let expected = json!(["123456789012345678901234567890", "-9223372036854775809", u64::MAX, 1.5e300, "99999999999999999999\\\"", {"b": "100000000000000000000"}]);
    assert_eq!(exactly_at(body, "/a"), Ok(Some(expected)));
    assert_eq!(exactly_at(body, "/a/2"), Ok(Some(json!(u64::MAX))));
}

#[test]
fn numbers_that_a_float_would_change_are_texts() {
    for text in [
        "12345678901234567.12",
        "-0.1234567890123456789",
        "1.234567890123456789e-5",
    ] {
        let found = at(text.as_bytes(), "");
        assert_eq!(found, Some(json!(text)));
    }
    for (text, float) in [
        ("1.9000000000000001", 1.900_000_000_000_000_1),
        ("0.10000000000000001", 0.1),
        ("1.50000000000000000000000", 1.5),
        ("0.00000000000000000000015", 1.5e-22),
        ("100000000000000000000.0", 1e20),
        ("6.02214076e23", 6.02214076e23),
    ] {
        assert_eq!(at(text.as_bytes(), ""), Some(json!(float)), "{text}");
    }
    let large = b"[1.00000000000000000000000000001e400]";
    let refused = exactly_at(large, "").unwrap_err();
    assert!(refused.contains("out of range"), "{refused}");
}

#[test]
fn a_number_is_read_as_it_is_written() {
    for number in ["1e3", "1.7e308", "1e400", "-0.10", "9007199254740993.0"] {
        let body = format!("{{\"c\": {number} }}");
        assert_eq!(written_at(body.as_bytes(), "/c"), Ok(Some(number.into())));
    }
    for other in ["\"1\"", "null", "[1.50]", "true"] {
        let (found, read) = (
            written_at(other.as_bytes(), ""),
            exactly_at(other.as_bytes(), ""),
        );
        assert_eq!(found, read, "{other}");
    }
    assert!(written_at(b"{\"c\":1", "/c").is_err());
}

#[test]
fn what_is_too_long_or_spoiled_is_nothing() {
    assert_eq!(
        at(b"\xef\xbb\xbf{\"a\":[1,{\"b\":2}]}", "/a/1/b"),
        Some(json!(2))
    );
    assert_eq!(at(b"{\"a\":1,\"a\":2}", "/a"), Some(json!(2)));
    assert_eq!(at(b"{\"a\":1} x", "/a"), None);
    assert_eq!(at(b"{\"a\":1,", "/a"), None);
    assert_eq!(at(b"{\"a\":1}", "a"), None);
    assert_eq!(at(b"{\"a\":\"\xff\"}", "/a"), None);
    let many = format!("{{\"a\":[{}0],\"b\":7}}", "[],".repeat(2_000_000));
    assert_eq!(at(many.as_bytes(), "/b"), Some(json!(7)));
    assert_eq!(at(many.as_bytes(), "/a/5"), Some(json!([])));
    assert_eq!(at(many.as_bytes(), "/a"), None);
}

#[test]
fn a_part_that_cannot_be_read_says_what_and_where() {
    let deep = |levels: usize| format!("{{\"d\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
    let many = format!("{{\"d\":[{}0]}}", "0,".repeat(1 << 19));
    for (body, why) in [
        (
            deep(DEEPEST + 1).into_bytes(),
            "the value at /d has more than 64 lists",
        ),
        (many.into_bytes(), "the value at /d has more than 1 MiB"),
        (
            b"{\"d\":[1e400]}".to_vec(),
            "the value at /d cannot be read: number out of range at line 1 column",
        ),
        (b"{\"d\":1e400}".to_vec(), "number out of range"),
        (
            br#"{"d":["\ud800"]}"#.to_vec(),
            "the value at /d cannot be read: ",
        ),
        (b"{\"d\":[\"\xff\"]}".to_vec(), "the body cannot be read: "),
        (
            b"<html>".to_vec(),
            "the body is not JSON: expected value at line 1",
        ),
        (Vec::new(), "the body is not JSON"),
        (b"{\"d\":1} x".to_vec(), "the body is not JSON"),
    ] {
        let refused = exactly_at(&body, "/d").unwrap_err();
        assert!(
            refused.starts_with(why) || refused.contains("out of range"),
            "{refused}"
        );
        assert_eq!(at(&body, "/d"), None);
    }
    let allowed = exactly_at(deep(DEEPEST).as_bytes(), "/d").unwrap();
    assert!(allowed.is_some());
    // Brackets in texts are none.
    let text = format!("{{\"d\":\"\\\"{}\"}}", "[".repeat(500));
    assert!(exactly_at(text.as_bytes(), "/d").unwrap().is_some());
    for readable in [&b"{}"[..], b"[1e400]", b"7", b"null", b"{\"x\":1e400}"] {
        assert_eq!(exactly_at(readable, "/d"), Ok(None));
    }
}
