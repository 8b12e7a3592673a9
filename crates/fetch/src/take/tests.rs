//! Values taken from bodies, whole and hostile.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn taken(take: &str, body: impl AsRef<[u8]>, content_type: Option<&str>) -> Value {
    Take::parse(take).unwrap().take(body.as_ref(), content_type)
}

#[test]
fn parts_of_json() {
    let body = br#"{"data":{"price":9.5,"tags":["a","b"],"a/b":1,"id":12345678901234567}}"#;
    for (take, expected) in [
        ("price=/data/price", json!(9.5)),
        ("first=/data/tags/0", json!("a")),
        ("odd=/data/a~1b", json!(1)),
        ("id=/data/id", json!(12_345_678_901_234_567_u64)),
        ("tags[]=/data/tags", json!(["a", "b"])),
        ("one[]=/data/price", json!([9.5])),
        ("none=/data/none", Value::Null),
        ("none[]=/data/none", json!([])),
    ] {
        assert_eq!(taken(take, body, None), expected, "{take}");
    }
    assert_eq!(taken("all=", b"\xef\xbb\xbf[1]", None), json!([1]));
    assert_eq!(taken("a=/a", b"not json", None), Value::Null);
    assert_eq!(taken("a=/a", "[".repeat(1_000_000), None), Value::Null);
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
    assert_eq!(
        taken("t=css:title", latin, Some("text/html")),
        json!("\u{fffd}")
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
    let map = take_all(&takes, b"{\"a\":1}", None);
    assert_eq!(Value::Object(map), json!({"a": 1, "b": "1", "c": null}));
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
    assert_eq!(taken("all[]=css:p", &page, None), json!(["in"]));
}

proptest! {
    #[test]
    fn no_body_makes_it_panic(body in proptest::collection::vec(any::<u8>(), 0..300), kind in proptest::option::of("text/html(; ?charset=[a-z0-9\"-]{0,9})?")) {
        let takes: Vec<Take> = ["a=/0", "b[]=re:.", "c[]=css:*"].iter().map(|take| Take::parse(take).unwrap()).collect();
        prop_assert_eq!(take_all(&takes, &body, kind.as_deref()).len(), 3);
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
        assert_eq!(take.take(&body, Some("application/xml")), "caf\u{e9}");
        let utf8 = [declaration.as_bytes(), "<t>\u{e9}</t>".as_bytes()].concat();
        assert_eq!(take.take(&utf8, Some("text/xml; charset=utf-8")), "\u{e9}");
    }
}
