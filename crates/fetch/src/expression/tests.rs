//! Expressions read, refused, printed and evaluated.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::record::{Body, Elapsed, Failure, Outcome, Record};

fn responded() -> Record {
    Record {
        n: 7,
        line: 8,
        method: "GET".to_owned(),
        url: "http://Example.com:80/p/1".to_owned(),
        outcome: Outcome::Response,
        ok: true,
        status: Some(404),
        headers: [
            ("content-type".to_owned(), "text/html".to_owned()),
            ("x-count".to_owned(), " 12 ".to_owned()),
        ]
        .into(),
        sent: Some(true),
        attempts: 1,
        ms: Elapsed {
            total: 12.5,
            wait: 10.0,
            ..Elapsed::default()
        },
        bytes: Some(15),
        columns: [("sku".to_owned(), "a-1".to_owned())].into_iter().collect(),
        body: Some(Body::Text {
            text: "{\"data\":{\"price\":9.5,\"name\":\"It's\",\"gone\":null,\"on\":false}}"
                .to_owned(),
            cut: false,
        }),
        taken: [("price".to_owned(), json!(9.5))].into_iter().collect(),
        ..Record::default()
    }
}

fn failed() -> Record {
    Record {
        outcome: Outcome::Error,
        error: Some(Failure {
            kind: "timeout".to_owned(),
            phase: Some("connect".to_owned()),
            message: "no connection within 1 s".to_owned(),
        }),
        url: "http://[::1]:8080/".to_owned(),
        ..Record::default()
    }
}

fn holds(text: &str, record: &Record) -> bool {
    Expression::parse(text)
        .unwrap_or_else(|error| panic!("{error}"))
        .holds(record)
}

#[test]
fn what_holds_of_a_response() {
    for text in [
        "status == 404",
        "status != 200",
        "status >= 400 and status < 500",
        "not error",
        "error == null and status != null",
        "json:/data/gone == null and json:/data/nowhere == null",
        "json:/data/price != null and json:/data/on != null",
        "taken.price != null",
        "ok",
        "ok == true",
        "sent",
        "outcome == 'response'",
        "ms > 12 and ms <= 12.5",
        "ms.wait == 10",
        "bytes == 15",
        "method == 'get'",
        "url contains '/p/'",
        "host == 'example.com'",
        "host == 'EXAMPLE.com'",
        "header.content-type == 'text/html'",
        "header['Content-Type'] matches /^TEXT\\/html$/i",
        "header.x-count > 11",
        "column.sku == 'a-1'",
        "column['sku'] matches /^a-\\d$/",
        "body contains 'price'",
        "json:/data/price == 9.5",
        "json:/data/price > 9 and json:/data/name == 'It\\'s'",
        "json:'/data/price'",
        "taken.price < 10",
        "status matches /^4/",
        "error or status >= 400",
        "status==404",
        "(status == 1 or status == 404) and not error",
        "json:/data contains '9.5'",
        "n == 7 and line == 8",
        "attempts < 2",
        "json:/data/on == false",
        "not json:/data/on",
        "header.x-count",
    ] {
        assert!(holds(text, &responded()), "{text}");
    }
    for text in [
        "status == 200",
        "error",
        "error == 'timeout'",
        "why",
        "header.etag",
        "json:/data/gone",
        "json:/none == 1",
        "json:/data/name > 1",
        "column.url",
        "body contains 'PRICE'",
        "not ok",
        "status == 404 and status == 200 or error",
        "taken.none",
        "host == 'example.org'",
    ] {
        assert!(!holds(text, &responded()), "{text}");
    }
}

#[test]
fn what_holds_of_an_error() {
    for text in [
        "error",
        "error == 'timeout'",
        "error and phase == 'connect'",
        "message contains '1 s'",
        "status != 200",
        "not status",
        "outcome == 'error'",
        "host == '[::1]:8080'",
        "error matches /time/ or ok",
        "column.url contains '8080'",
        "not ms",
        "not ok",
    ] {
        assert!(holds(text, &failed()), "{text}");
    }
    for text in [
        "status == 200",
        "status < 500",
        "bytes >= 0",
        "body contains ''",
        "json:/a",
        "sent",
    ] {
        assert!(!holds(text, &failed()), "{text}");
    }
}

#[test]
fn a_body_in_base64_is_a_body() {
    let record = Record {
        body: Some(Body::Base64 {
            base64: "eyJhIjogMX0=".to_owned(),
            cut: false,
        }),
        ..Record::default()
    };
    assert!(holds("json:/a == 1 and body contains 'a'", &record));
}

#[test]
fn what_cannot_be_read_says_where_and_what_was_expected() {
    for (text, column, expected) in [
        ("", 1, "status, error"),
        ("stats == 200", 1, "status, error"),
        ("status = 200", 8, "== to compare"),
        ("status == ", 11, "a number, a text"),
        ("status == 'abc'", 11, "a number"),
        ("status == 200 && ok", 15, "in words"),
        ("status == 200 ok", 15, "`and`, `or` or the end"),
        ("(status == 200", 15, "closing bracket"),
        (
            "outcome == 'err'",
            12,
            "'response', 'unchanged', 'onward', 'error'",
        ),
        ("ok == 1", 7, "true or false"),
        ("ok == null", 7, "true or false"),
        ("status < null", 10, "== or != before null"),
        ("ok contains 'a'", 4, "=="),
        ("error == timeout", 10, "a text in quotes"),
        ("error == 'timeout", 18, "closing '"),
        ("body contains 5", 15, "a text in quotes"),
        ("body matches 'a'", 14, "a pattern"),
        ("body matches /(/", 14, "regular expression"),
        ("body matches /a", 16, "closing /"),
        ("header == 1", 7, "a dot and a name"),
        ("header.", 8, "a name"),
        ("header['a'", 11, "closing ]"),
        ("ms.total > 1", 4, "resolve, connect"),
        ("json/a", 5, "a colon"),
        ("json:a", 6, "begins with /"),
        ("status == 1e5", 11, "a number"),
        ("error == '\\x'", 11, "\\n"),
        ("\u{e9}\u{e9} == 1", 1, "status"),
        ("not", 4, "status"),
    ] {
        let error = Expression::parse(text).unwrap_err();
        assert_eq!(error.column, column, "{error}");
        assert!(error.expected.contains(expected), "{error}");
        assert!(error.to_string().contains(&format!("at column {column}")));
    }
    let deep = "(".repeat(100_000);
    assert!(
        Expression::parse(&deep)
            .unwrap_err()
            .expected
            .contains("at most 64")
    );
    assert!(Expression::parse(&"not ".repeat(100_000)).is_err());
}

#[test]
fn which_words_it_compares_with() {
    for (text, is_named) in [
        ("outcome == 'unknown'", true),
        ("not ok and not (error or outcome != \"unknown\")", true),
        ("outcome matches /unreached|unknown/", true),
        ("not ok", false),
        ("outcome != 'response' or status >= 500", false),
    ] {
        let found = Expression::parse(text).unwrap().names("unknown");
        assert_eq!(found, is_named, "{text}");
    }
}

#[test]
fn it_says_what_it_needs() {
    let needs = |text: &str| Expression::parse(text).unwrap().needs_body();
    assert!(needs("ok or not (status == 1 and json:/a)"));
    assert!(needs("body contains 'a'"));
    assert!(!needs("status == 200 and header.x"));
    let expression = Expression::parse("column.a == 1 or not taken.b").unwrap();
    assert_eq!(
        expression.fields(),
        [
            &Field::Column("a".to_owned()),
            &Field::Taken("b".to_owned())
        ]
    );
}

fn field() -> impl Strategy<Value = Field> {
    prop_oneof![
        proptest::sample::select(Field::words().filter_map(Field::plain).collect::<Vec<_>>()),
        "[a-z'\\\\\u{e9} ]{0,6}".prop_map(Field::Header),
        any::<String>().prop_map(Field::Column),
        any::<String>().prop_map(Field::Taken),
        "(/[a-z '~]{0,4}){0,3}".prop_map(Field::Json),
    ]
}

fn node() -> impl Strategy<Value = Logic<Test>> {
    let literal = prop_oneof![
        any::<f64>()
            .prop_filter("finite", |it| it.is_finite())
            .prop_map(|it| Literal::Number(it.into())),
        any::<bool>().prop_map(Literal::Bool),
        Just(Literal::Null),
        any::<String>().prop_map(Literal::Text),
    ];
    let signs = proptest::sample::select(Comparison::SIGNS.map(|(_, it)| it).to_vec());
    let leaf = prop_oneof![
        field().prop_map(Test::Is),
        (field(), signs, literal)
            .prop_filter("fits", |(field, sign, literal)| field
                .objection(*sign, literal)
                .is_none())
            .prop_map(|(field, sign, literal)| Test::Compare(field, sign, literal)),
        (field(), any::<String>())
            .prop_filter("text", |(field, _)| field.is_text())
            .prop_map(|(field, text)| Test::Compare(
                field,
                Comparison::Contains,
                Literal::Text(text)
            )),
        (field(), "([a-z ]|\\\\/|\\\\\\\\){0,5}", any::<bool>())
            .prop_filter("text", |(field, ..)| field.is_text())
            .prop_map(|(field, source, case)| Test::Matches(
                field,
                Pattern::new(&source, case).unwrap()
            )),
    ];
    leaf.prop_map(Logic::Test)
        .prop_recursive(4, 20, 3, |inner| {
            let many = proptest::collection::vec(inner.clone(), 2..4);
            prop_oneof![
                many.clone().prop_map(Logic::Or),
                many.prop_map(Logic::And),
                inner.prop_map(|node| Logic::Not(Box::new(node))),
            ]
        })
}

proptest! {
    #[test]
    fn what_is_printed_is_read_as_the_same(node in node()) {
        let expression = Expression(node);
        let text = expression.to_string();
        let again = Expression::parse(&text);
        prop_assert_eq!(again.as_ref(), Ok(&expression), "{}", text);
        prop_assert_eq!(expression.holds(&responded()), again.unwrap().holds(&responded()));
    }

    #[test]
    fn nothing_makes_the_parser_panic(text in "(status|json|header|body|ms|not|and|or|matches|contains|[ ()\\[\\]=!<>./:'\"\\\\0-9e\u{e9}-]){0,12}") {
        if let Err(error) = Expression::parse(&text) {
            prop_assert!(error.column <= text.chars().count() + 1);
        }
    }

    #[test]
    fn unequal_is_not_equal(status in 0..600_u16, text in "[0-9a]{0,3}") {
        for record in [responded(), failed()] {
            for (left, right) in [(format!("status == {status}"), format!("status != {status}")), (format!("column.sku == '{text}'"), format!("column.sku != '{text}'"))] {
                prop_assert_ne!(holds(&left, &record), holds(&right, &record));
            }
        }
    }
}
