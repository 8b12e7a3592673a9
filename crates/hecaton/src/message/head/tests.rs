//! Heads as servers send them, and as they should not.

use super::*;
use crate::message::fields::Fields;

const RULES: HeadRules<'static> = HeadRules {
    method: &Method::GET,
    upgrades: false,
    most_fields: 1000,
    most_bytes: 256 << 10,
    lenient: false,
};

fn read_from(method: &Method, input: &mut BytesMut) -> Result<Option<Head>, BadHead> {
    HeadReader::default().take(HeadRules { method, ..RULES }, input)
}

fn parse(text: &str) -> Result<Option<Head>, BadHead> {
    read_from(&Method::GET, &mut BytesMut::from(text))
}

fn head(text: &str) -> Head {
    parse(text).unwrap().expect("a whole head")
}

#[test]
fn status_fields_and_length() {
    let head = head("HTTP/1.1 201 Created\r\nX-A: 1\r\nContent-Length: 5\r\nx-a:2 \r\n\r\nhello");
    assert_eq!(
        (head.status, head.framing, head.keep_alive),
        (201, Framing::Length(5), true)
    );
    assert_eq!(head.fields, b"x-a: 1\r\ncontent-length: 5\r\nx-a: 2\r\n");
}

#[test]
fn folded_values_become_one_line() {
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
        "no bytes to continue with"
    );
}

#[test]
fn bytes_behind_the_head_are_left() {
    let mut input = BytesMut::from("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    read_from(&Method::GET, &mut input).unwrap().unwrap();
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
        for (field, keep_alive) in [
            ("", true),
            ("Content-Length: 0\r\n", true),
            ("Content-Length: 5\r\n", false),
            ("Transfer-Encoding: chunked\r\n", false),
        ] {
            let head = head(&format!("HTTP/1.1 {status}\r\n{field}\r\n"));
            let found = (head.framing, head.keep_alive);
            assert_eq!(found, (Framing::Length(0), keep_alive), "{status} {field}");
        }
    }
    let mut input = BytesMut::from("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    let head = read_from(&Method::HEAD, &mut input).unwrap().unwrap();
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
    assert!(parse("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n").is_err());
    let quoting = parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: secret\r\n\r\n")
        .unwrap_err()
        .to_string();
    assert!(!quoting.contains("secret"), "{quoting}");
    let quoting = parse("HTTP/1.1 200 OK\r\nContent-Length: secret\r\n\r\n")
        .unwrap_err()
        .to_string();
    assert!(!quoting.contains("secret"), "{quoting}");
    for bad in ["gzip", "gzip, chunked", "chunked, chunked", "identity", ""] {
        let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {bad}\r\n\r\n");
        assert!(parse(&text).is_err(), "{bad:?}");
    }
}

#[test]
fn connections_are_reused_only_when_that_is_safe() {
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
}

#[test]
fn a_server_may_send_a_keep_alive_timeout() {
    let timeout = |value: &str| {
        let text = format!("HTTP/1.1 200 OK\r\nKeep-Alive: {value}\r\n\r\n");
        head(&text).keep_alive_timeout
    };
    assert_eq!(timeout("timeout=99999999"), Some(u16::MAX));
    assert_eq!(timeout("timeout=5"), Some(5));
    assert_eq!(timeout("max=100, Timeout=0"), Some(0));
    for unclear in [
        "",
        "timeout",
        "timeout=",
        "timeout=-1",
        "timeout=x",
        "max=3",
        "5",
    ] {
        assert_eq!(timeout(unclear), None, "{unclear:?}");
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
fn the_number_of_interim_responses_is_limited_however_they_arrive() {
    let interim = "HTTP/1.1 103 Early\r\n\r\n";
    for together in [true, false] {
        let (mut reader, mut input) = (HeadReader::default(), BytesMut::new());
        let mut come = |text: &str| {
            input.extend_from_slice(text.as_bytes());
            reader.take(RULES, &mut input)
        };
        match together {
            true => assert_eq!(come(&interim.repeat(MOST_INTERIM)), Ok(None)),
            false => (0..MOST_INTERIM).for_each(|_| assert_eq!(come(interim), Ok(None))),
        }
        assert_eq!(come(interim), Err(BadHead::TooManyInterim));
    }
    let most = format!("{}HTTP/1.1 200 OK\r\n\r\n", interim.repeat(MOST_INTERIM));
    assert_eq!(head(&most).status, 200);
}

#[test]
fn lenient_clients_limit_the_bytes_of_interim_responses_not_their_number() {
    let interim = "HTTP/1.1 103 Early\r\n\r\n";
    let rules = HeadRules {
        lenient: true,
        most_bytes: 1000 * interim.len(),
        ..RULES
    };
    for (count, is_too_much) in [(1000, false), (1001, true)] {
        let (mut reader, mut input) = (HeadReader::default(), BytesMut::new());
        let results: Vec<_> = (0..count)
            .map(|_| {
                input.extend_from_slice(interim.as_bytes());
                reader.take(rules, &mut input)
            })
            .collect();
        let last = Err(BadHead::TooManyBytes(rules.most_bytes));
        assert_eq!(results.last() == Some(&last), is_too_much, "{count}");
    }
}

#[test]
fn garbage_and_endless_heads_are_errors() {
    assert!(parse("SSH-2.0-OpenSSH\r\n").is_err());
    assert!(parse("HTTP/2.0 200 OK\r\n\r\n").is_err());
    assert!(parse("HTTP/1.1 000 OK\r\n\r\n").is_err());
    assert!(parse("HTTP/1.1 099 OK\r\n\r\n").is_err());
}

#[test]
fn heads_are_as_large_as_the_rules_allow_and_no_larger() {
    let of = |fields: usize, bytes: usize| {
        let rules = HeadRules {
            most_fields: fields,
            most_bytes: bytes,
            ..RULES
        };
        move |text: &str| HeadReader::default().take(rules, &mut BytesMut::from(text))
    };
    for most in [0, 1, USUAL_FIELDS, USUAL_FIELDS + 1, 1000] {
        let text = |count| format!("HTTP/1.1 200 OK\r\n{}\r\n", "x:y\r\n".repeat(count));
        let head = of(most, 100_000)(&text(most)).unwrap().unwrap();
        assert_eq!(Fields(&head.fields).iter().count(), most);
        let why = of(most, 100_000)(&text(most + 1)).unwrap_err();
        assert_eq!(why, BadHead::TooManyFields(most));
    }
    let text = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(100));
    assert!(of(1, text.len())(&text).unwrap().is_some());
    let less = text.len() - 1;
    for sent in [text.as_str(), &text[..text.len() - 1], &"x".repeat(0)] {
        let result = of(1, less)(sent);
        let whole = sent.len() == text.len();
        let expected = whole.then_some(BadHead::TooManyBytes(less));
        assert_eq!(result.err(), expected, "{}", sent.len());
    }
    let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(100_000));
    let why = of(1, 50_000)(&endless).unwrap_err();
    assert_eq!(why, BadHead::TooManyBytes(50_000));
}

#[test]
fn a_requested_switch_of_protocols_is_a_response_without_a_body() {
    let text = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nits own bytes";
    let rules = HeadRules {
        upgrades: true,
        ..RULES
    };
    let mut input = BytesMut::from(text);
    let head = HeadReader::default().take(rules, &mut input);
    let head = head.unwrap().unwrap();
    assert_eq!(
        (head.status, head.framing, head.keep_alive),
        (101, Framing::Length(0), false)
    );
    assert_eq!(head.fields, b"upgrade: x\r\n");
    assert!(parse(text).is_err());
}

#[test]
fn a_100_continue_is_noted() {
    for (status, continued) in [("100 Continue", true), ("103 Early Hints", false)] {
        let mut reader = HeadReader::default();
        let mut input = BytesMut::from(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes());
        assert_eq!(reader.take(RULES, &mut input), Ok(None));
        assert_eq!(reader.continued, continued, "{status}");
    }
}

#[test]
fn a_head_may_arrive_byte_by_byte() {
    let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\nX: y\r\n\r\n";
    let (mut reader, mut input) = (HeadReader::default(), BytesMut::new());
    for (index, byte) in text.bytes().enumerate() {
        input.extend_from_slice(&[byte]);
        let head = reader.take(RULES, &mut input).unwrap();
        assert_eq!(head.is_some(), index + 1 == text.len(), "{index}");
    }
}

proptest::proptest! {
    /// Any bytes end in a head, an error, or a need for more. A whole head reads the same however many bytes follow it.
    #[test]
    fn nothing_panics(bytes in "(HTTP/1.[01] [0-9]{3} ?.{0,9}\r\n)?([A-Za-z-]{1,17}: ?[ -~]{0,9}\r\n){0,5}(\r\n)?\\PC{0,9}", rest in "\\PC{0,20}") {
        let mut longer = BytesMut::from(format!("{bytes}{rest}").as_bytes());
        let mut input = BytesMut::from(bytes.as_bytes());
        if let Ok(Some(head)) = read_from(&Method::GET, &mut input) {
            proptest::prop_assert_eq!(read_from(&Method::GET, &mut longer).unwrap().unwrap(), head);
        }
    }
}
