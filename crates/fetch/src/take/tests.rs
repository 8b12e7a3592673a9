//! Values taken from bodies, whole and hostile.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::record::{Ending, write};

fn taken(take: &str, body: impl AsRef<[u8]>, content_type: Option<&str>) -> Value {
    let taken = Take::parse(take).unwrap().take(body.as_ref(), content_type);
    taken.unwrap()
}

fn refused(take: &str, body: impl AsRef<[u8]>) -> String {
    let taken = Take::parse(take).unwrap().take(body.as_ref(), None);
    taken.unwrap_err()
}

#[test]
fn parts_of_json() {
    let body = br#"{"data":{"price":9.5,"tags":["a","b"],"a/b":1,"id":12345678901234567,"null":null,"nulls":[null]}}"#;
    for (take, expected) in [
        ("price=/data/price", json!(9.5)),
        ("first=/data/tags/0", json!("a")),
        ("odd=/data/a~1b", json!(1)),
        ("id=/data/id", json!(12_345_678_901_234_567_u64)),
        ("tags[]=/data/tags", json!(["a", "b"])),
        ("one[]=/data/price", json!([9.5])),
        ("none=/data/none", Value::Null),
        ("none[]=/data/none", json!([])),
        ("null[]=/data/null", json!([])),
        ("nulls[]=/data/nulls", json!([null])),
    ] {
        assert_eq!(taken(take, body, None), expected, "{take}");
    }
    assert_eq!(taken("all=", b"\xef\xbb\xbf[1]", None), json!([1]));
    assert!(refused("a=/a", b"not json").contains("is not JSON"));
    assert!(refused("a=/a", "[".repeat(1_000_000)).contains("is not JSON"));
}

#[test]
fn parts_of_pages() {
    let body = "<!doctype html><title> A \n page </title><p class=price>9 <b>\u{20ac}</b></p>\
                <a class=next href='/2?a=b@c'>more</a><a HREF='/3'>x</a>";
    for (take, expected) in [
        ("title=css:title", json!("A page")),
        ("price=css:p.price", json!("9 \u{20ac}")),
        ("next=css:a.next@href", json!("/2?a=b@c")),
        ("by=css:a[href*='b@c']", json!("more")),
        ("all[]=css:a@HREF", json!(["/2?a=b@c", "/3"])),
        ("none=css:h1", Value::Null),
        ("none=css:a@rel", Value::Null),
        ("none[]=css:h1", json!([])),
    ] {
        assert_eq!(
            taken(take, body, Some("text/html; charset=utf-8")),
            expected,
            "{take}"
        );
    }
}

#[test]
fn parts_by_pattern() {
    for (take, expected) in [
        ("sku=re:sku-(\\d+)", json!("17")),
        ("all=re:sku-\\d+", json!("sku-17")),
        ("each[]=re:sku-(\\d+)", json!(["17", "18"])),
        ("none=re:x+", Value::Null),
        ("eq=re:a=b", json!("a=b")),
    ] {
        assert_eq!(taken(take, "sku-17 sku-18 a=b", None), expected, "{take}");
    }
}

#[test]
fn pages_are_read_in_their_encoding() {
    let latin = b"<title>\xe9</title>";
    assert_eq!(
        taken(
            "t=css:title",
            latin,
            Some("text/html; Charset=\"ISO-8859-1\"")
        ),
        json!("\u{e9}")
    );
    for (kind, read) in [
        (Some("text/html"), "\u{e9}"),
        (Some("text/html; charset=utf-8"), "\u{fffd}"),
        (Some("text/html; charset=none-such"), "\u{e9}"),
        (Some("application/xhtml+xml"), "\u{e9}"),
        (Some("text/plain"), "\u{e9}"),
        (None, "\u{e9}"),
        (Some("application/xml"), "\u{fffd}"),
        (Some("application/rss+xml; x=y"), "\u{fffd}"),
        (Some("application/json"), "\u{fffd}"),
    ] {
        assert_eq!(taken("t=css:title", latin, kind), json!(read), "{kind:?}");
        assert_eq!(
            taken("t=re:title>(.*)<", latin, kind),
            json!(read),
            "{kind:?}"
        );
    }
    // One broken character makes no other text of the rest.
    let broken = b"<title>\xc3\xa9\xe9</title>";
    assert_eq!(taken("t=css:title", broken, None), json!("\u{e9}\u{fffd}"));
    let words = "<title>Gr\u{f6}\u{df}e\u{80}</title>"
        .chars()
        .map(|c| c as u8);
    let words: Vec<u8> = words.collect();
    assert_eq!(
        taken("t=css:title", words, None),
        json!("Gr\u{f6}\u{df}e\u{20ac}")
    );
    let says = b"<meta charset=\"windows-1252\"><title>\xe9</title>";
    assert_eq!(
        taken("t=css:title", says, Some("text/html")),
        json!("\u{e9}")
    );
    let says =
        b"<META http-equiv=content-type content='text/html; charset=koi8-r'><title>\xc1</title>";
    assert_eq!(taken("t=css:title", says, None), json!("\u{430}"));
    let sixteen = b"\xff\xfe<\0t\0i\0t\0l\0e\0>\0x\0";
    assert_eq!(taken("t=css:title", sixteen, None), json!("x"));
}

#[test]
fn one_body_is_read_for_all() {
    let takes: Vec<Take> = ["a=/a", "b=re:\\d", "c=css:p"]
        .iter()
        .map(|take| Take::parse(take).unwrap())
        .collect();
    let taken = take_all(&takes, b"{\"a\":1}", None);
    assert_eq!(taken.why, None);
    let values = Value::Object(taken.values);
    assert_eq!(values, json!({"a": 1, "b": "1", "c": null}));
}

#[test]
fn what_cannot_be_taken_says_why() {
    for (take, why) in [
        ("/a", "has no name"),
        ("=/a", "has no name"),
        ("[]=/a", "has no name"),
        ("a=b", "does not say from where"),
        ("a=css:p[", "CSS selector"),
        ("a=css:", "CSS selector"),
        ("a=css:[[", "cannot be read: write it as in a stylesheet"),
        ("a=re:(", "regular expression"),
        ("a=re:(x{1000}){1000}", "regular expression"),
    ] {
        let error = Take::parse(take).unwrap_err().to_string();
        assert!(error.contains(why) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn pages_made_to_be_slow_are_cut_off() {
    let many =
        |count: usize| -> String { (0..count).map(|index| format!("<b id={index}>")).collect() };
    for page in [
        "<p>in</p>".to_owned() + &"<div>".repeat(400_000),
        "<p>in".to_owned() + &many(300) + &"<p>x".repeat(200_000),
    ] {
        let html = page::html(&page).html;
        assert!(
            html.tree.nodes().len() < 400_000,
            "{}",
            html.tree.nodes().len()
        );
        assert_eq!(taken("a=css:p", page, None), json!("in"));
    }
    let attributes: String = (0..100_000).map(|n| format!(" a{n}")).collect();
    let page = format!("<p>in</p><p{attributes}>out</p>");
    let mut read = Read::new(page.as_bytes(), None);
    let mut of = |take: &str| Take::parse(take).unwrap().of(&mut read);
    assert_eq!(of("one=css:p"), Ok(json!("in")));
    assert_eq!(of("all[]=css:p"), Err(TOO_LARGE.to_owned()));
    assert_eq!(of("none=css:h1"), Err(TOO_LARGE.to_owned()));
}

proptest! {
    #[test]
    fn no_body_makes_it_panic(body in proptest::collection::vec(any::<u8>(), 0..300), kind in proptest::option::of("text/html(; ?charset=[a-z0-9\"-]{0,9})?")) {
        let takes: Vec<Take> = ["a=/0", "b[]=re:.", "c[]=css:*"].iter().map(|take| Take::parse(take).unwrap()).collect();
        prop_assert_eq!(take_all(&takes, &body, kind.as_deref()).values.len(), 3);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[a=/css:re@\\[\\]()*>+~,.#\"' ]{0,20}") {
        let _ = Take::parse(&text);
    }
}

#[test]
fn an_xml_document_is_read_in_the_encoding_that_it_declares() {
    let take = Take::parse("t=re:<t>(.*)</t>").unwrap();
    for declaration in [
        "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>",
        "<?xml encoding='latin1'?>",
    ] {
        let body = [declaration.as_bytes(), b"<t>caf\xe9</t>"].concat();
        assert_eq!(
            take.take(&body, Some("application/xml")).unwrap(),
            "caf\u{e9}"
        );
        let utf8 = [declaration.as_bytes(), "<t>\u{e9}</t>".as_bytes()].concat();
        let taken = take.take(&utf8, Some("text/xml; charset=utf-8"));
        assert_eq!(taken.unwrap(), "\u{e9}");
    }
}

#[test]
fn a_list_is_whole_or_refused() {
    let page = |links: usize| "<a>x</a>".repeat(links);
    let text = |length: usize| "x".repeat(length);
    for take in ["l[]=css:a", "l[]=re:<a>"] {
        let list = taken(take, page(MOST), None);
        assert_eq!(list.as_array().map(Vec::len), Some(MOST), "{take}");
        assert!(refused(take, page(MOST + 1)).contains("more than 10000"));
    }
    assert_eq!(taken("one=re:x+", text(MOST_TEXT), None), text(MOST_TEXT));
    for take in ["one=re:x+", "one[]=re:x+"] {
        assert!(refused(take, text(MOST_TEXT + 1)).contains("more than 4 MiB"));
    }
    assert_eq!(
        refused("l[]=css:p", text(page::MOST + 1) + "<p>"),
        TOO_LARGE
    );
    let takes = ["a=re:x+", "b=re:x+", "c[]=re:x+"];
    let takes = takes.map(|take| Take::parse(take).unwrap());
    let taken = take_all(&takes, text(MOST_TEXT).as_bytes(), None);
    let why = "--take c[] takes nothing: the values of this body have more than 8 MiB";
    assert_eq!(taken.why.as_deref(), Some(why));
    assert_eq!(
        (taken.values["b"].is_string(), &taken.values["c"]),
        (true, &json!([]))
    );
}

/// Texts that are nearly JSON: any nesting, numbers out of range, halves of surrogates.
fn nearly_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        "[0-9]{1,40}",
        "-?[1-9][0-9]{0,3}e[0-9]{1,3}",
        any::<String>().prop_map(|text| Value::from(text).to_string()),
        "\"(\\\\ud8[0-9]{2}|\\\\u000[0-9]|a){0,3}\"",
    ];
    (leaf, 0_usize..140, any::<bool>()).prop_map(|(leaf, levels, is_list)| {
        let (open, close) = if is_list {
            ("[", "]")
        } else {
            ("{\"d\":", "}")
        };
        format!(
            "{{\"d\":{}{leaf}{}}}",
            open.repeat(levels),
            close.repeat(levels)
        )
    })
}

proptest! {
    #[test]
    fn what_a_record_holds_can_be_read_back(body in nearly_json()) {
        let takes = ["a=/d", "b[]=/d", "c=", "e=re:.*", "f[]=css:body"];
        let takes = takes.map(|take| Take::parse(take).unwrap());
        let taken = take_all(&takes, body.as_bytes(), None);
        let has_missing = taken.values["c"].is_null();
        prop_assert_eq!(has_missing, taken.why.is_some(), "{:?} {:?}", taken, body);
        let mut line = Vec::new();
        let ending = Ending { taken: taken.values, ok: Some(true), ..Ending::default() };
        write(&mut line, &ending);
        let record = crate::show::record(&line);
        prop_assert!(record.is_ok(), "{:?}", record);
        prop_assert_eq!(record.unwrap().taken.len(), takes.len());
    }
}
