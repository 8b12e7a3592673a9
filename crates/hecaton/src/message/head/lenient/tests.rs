//! Which heads are refused, which of them the setting accepts, and its limits.

use bytes::BytesMut;
use http::Method;
use proptest::prelude::*;

use crate::message::framing::Framing;
use crate::message::head::{BadHead, Head, HeadReader, HeadRules};

fn read(text: &[u8], lenient: bool) -> Result<Option<Head>, BadHead> {
    let rules = HeadRules {
        method: &Method::GET,
        upgrades: false,
        most_fields: 100,
        most_bytes: 10_000,
        lenient,
    };
    let mut input = BytesMut::from(text);
    let head = HeadReader::default().take(rules, &mut input)?;
    if head.is_some() {
        assert_eq!(input, "rest");
    }
    Ok(head)
}

/// A response with these fields, or with this status line and fields.
fn response(text: &str) -> Vec<u8> {
    let line = match text.to_uppercase().starts_with("HTTP") {
        true => "",
        false => "HTTP/1.1 200 OK\r\n",
    };
    format!("{line}{text}\r\nrest").into_bytes()
}

#[test]
fn harmless_violations_are_accepted_only_with_the_setting() {
    const LENGTH: Framing = Framing::Length(5);
    for (text, fields, framing, keep_alive) in [
        ("Transfer-Encoding: identity\r\n", "", Framing::Close, false),
        (
            "Transfer-Encoding: Identity\r\nContent-Length: 5\r\n",
            "content-length: 5\r\n",
            LENGTH,
            false,
        ),
        (
            "HTTP/1.1  200 OK\r\nContent-Length: 5\r\n",
            "content-length: 5\r\n",
            LENGTH,
            true,
        ),
        (
            "HTTP/1.1 200   O\u{1}K\r\n X: 1\r\nServer : a\r\nContent-Length: 5\r\n",
            "server: a\r\ncontent-length: 5\r\n",
            LENGTH,
            true,
        ),
        (
            "http/1.1 200 OK\r\nContent-Length: 5\r\n",
            "content-length: 5\r\n",
            LENGTH,
            true,
        ),
        (
            "HTTP/2 200 OK\r\nContent-Length: 5\r\n",
            "content-length: 5\r\n",
            LENGTH,
            false,
        ),
        (
            "HTTP/2.0 200\r\nContent-Length: 5\r\n",
            "content-length: 5\r\n",
            LENGTH,
            false,
        ),
        (
            "HTTP/1.1  103 Early\r\n\r\nHTTP/1.1 200 OK\r\nServer\t: a\r\nContent-Length: 5\r\n",
            "server: a\r\ncontent-length: 5\r\n",
            LENGTH,
            true,
        ),
        (
            "Transfer-Encoding: chunked\r\nX-A : 1\r\n",
            "transfer-encoding: chunked\r\nx-a: 1\r\n",
            Framing::Chunked,
            true,
        ),
        (
            "X A: 1\r\n 2\r\n(x): 2\r\n: 3\r\nContent-Length: 5\r\n",
            "content-length: 5\r\n",
            LENGTH,
            true,
        ),
        (
            "\u{e9}: 1\r\nContent-Length: 5\r\n",
            "content-length: 5\r\n",
            LENGTH,
            true,
        ),
        (
            "X: a\rb\u{1}c\u{7f}\r\n \u{8}d\r\nContent-Length: 5\r\n",
            "x: a b c     d\r\ncontent-length: 5\r\n",
            LENGTH,
            true,
        ),
        (
            "X: a\r\r\nContent-Length: 5\r\n",
            "x: a\r\ncontent-length: 5\r\n",
            LENGTH,
            true,
        ),
    ] {
        let strict = read(&response(text), false).expect_err(text);
        assert!(
            strict.to_string().contains("the setting lenient"),
            "{text:?}: {strict}"
        );
        let head = read(&response(text), true).expect(text).expect(text);
        assert_eq!(String::from_utf8_lossy(&head.fields), fields, "{text:?}");
        assert_eq!(
            (head.framing, head.keep_alive),
            (framing, keep_alive),
            "{text:?}"
        );
    }
}

#[test]
fn ambiguous_bodies_stay_refused() {
    for text in [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5, 6\r\n",
        "Content-Length : 5\r\nContent-Length: 6\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: 5\u{b}\r\n",
        "Content-Length: \r5\r\n",
        "Content-Length: 5\r\n 6\r\nX Y: 1\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: identity, chunked\r\n",
        "Transfer-Encoding: identity\r\n , chunked\r\n",
        "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding:\u{b}chunked\r\n",
        "Transfer-Encoding: chun\rked\r\n",
        "Transfer-Encoding : chunked\r\nContent-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length : 5\r\n",
        "X Y: 1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length\u{b}: 5\r\n",
        "Content-Length\u{c}: 5\r\n",
        "Content-Length\r: 5\r\n",
        "Content-Length \r\t: 5\r\n",
        "Transfer-Encoding\r: chunked\r\n",
        "Content_Length\u{1}: 5\r\n",
        "(Transfer-Encoding: chunked\r\n",
        "X Content-Length: 5\r\n",
        "X: a\rContent-Length: 5\r\n",
        "X: a\rTransfer-Encoding : chunked\r\n",
        "X Y: 1\r\n Content-Length: 5\r\n",
        "X: 1\u{0}\r\n",
        "no colon\r\nContent-Length: 5\r\n",
        "HTTP/1.1 2000 OK\r\n",
        "HTTP/1.1\t200 OK\r\n",
        "HTTP/3 200 OK\r\n",
        "HTTP/1.1 200 OK\rContent-Length: 5\r\nX Y: 1\r\n",
        "HTTP/1.1 200 OK\r\n Content-Length: 5\r\n",
        "Content-Length : 5\r\n",
        "Content-Length\t: 5\r\n",
        "Transfer-Encoding : chunked\r\n",
    ] {
        let refused = [false, true].map(|lenient| read(&response(text), lenient));
        let [strict, lenient] = refused.map(|read| read.expect_err(text).to_string());
        assert!(
            !strict.contains("the setting lenient"),
            "{text:?}: {strict}"
        );
        assert!(
            !lenient.contains("the setting lenient"),
            "{text:?}: {lenient}"
        );
    }
    assert!(read(b"SSH-2.0-OpenSSH\r\n", true).is_err(), "at once");
}

#[test]
fn limits_hold_and_a_head_may_arrive_in_pieces() {
    let many = "X Y: 1\r\n".to_owned() + &"x: 1\r\n".repeat(101);
    assert_eq!(
        read(&response(&many), true),
        Err(BadHead::TooManyFields(100))
    );
    let long = format!("X Y: {}\r\n", "1".repeat(10_000));
    assert_eq!(
        read(&response(&long), true),
        Err(BadHead::TooManyBytes(10_000))
    );
    let whole = response("X Y: 1\r\nServer : 5\r\n");
    let head = whole.len() - "rest".len();
    for end in 0..head {
        assert_eq!(read(&whole[..end], true), Ok(None), "{end}");
    }
}

#[test]
fn the_setting_is_not_advised_before_the_whole_head_is_there() {
    let ambiguous = response("X Y: 1\r\nContent-Length: 5\r\nContent-Length: 6\r\n");
    let first = &ambiguous[.."HTTP/1.1 200 OK\r\nX Y: 1\r\n".len()];
    let why = |text: &[u8]| read(text, false).unwrap_err().to_string();
    assert!(why(first).contains("lenient may accept it"));
    assert!(!why(&ambiguous).contains("lenient"));
}

proptest! {
    /// A head that is accepted without the setting is the same with it. If a head is accepted only with the setting,
    /// its framing is that of the head without the malformed fields, or with the repaired ones.
    #[test]
    fn the_setting_changes_nothing_that_is_accepted_without_it(
        lines in prop::collection::vec(line(), 0..6),
        line_end in prop::sample::select(vec!["\r\n", "\n"]),
    ) {
        let text = format!("HTTP/1.1 200 OK{line_end}{}{line_end}rest", lines.iter().map(|line| format!("{line}{line_end}")).collect::<String>());
        let (strict, lenient) = (read(text.as_bytes(), false), read(text.as_bytes(), true));
        match (&strict, &lenient) {
            (Ok(head), _) => prop_assert_eq!(&Ok(head.as_ref()), &lenient.as_ref().map(Option::as_ref)),
            (Err(_), Ok(Some(head))) => {
                let named = |name: &str| lines.iter().filter(|line| line.to_ascii_lowercase().trim_start().starts_with(name)).count();
                // Nothing that frames got lost, and nothing was made up.
                match head.framing {
                    Framing::Chunked => prop_assert!(named("transfer-encoding") == 1 && named("content-length") == 0),
                    Framing::Length(_) => prop_assert!(named("content-length") > 0),
                    Framing::Close => prop_assert_eq!(named("content-length"), 0),
                }
            }
            _ => {}
        }
    }
}

/// A field, or something like one.
fn line() -> impl Strategy<Value = String> {
    let names = "Content-Length|content-length|Transfer-Encoding|X-A|X B|Connection| Content-Length|Content Length|";
    let name = prop::sample::select(names.split('|').collect::<Vec<_>>());
    let colon = prop::sample::select(vec![":", " :", "\t: ", ": ", ""]);
    let values = "5|6|5, 5|5,6|chunked|identity|gzip|close|a\rb|a\rContent-Length: 7|\u{1}|5\u{b}|";
    let value = prop::sample::select(values.split('|').collect::<Vec<_>>());
    let line = (name, colon, value);
    let line = line.prop_map(|(name, colon, value)| format!("{name}{colon}{value}"));
    line.prop_filter("an empty line ends the head", |line| !line.is_empty())
}
