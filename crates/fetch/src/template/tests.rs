//! Templates filled, refused, and filled with what is hostile.

use proptest::prelude::*;

use super::*;

fn columns(pairs: &[(&str, &str)]) -> Columns {
    pairs
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn filled(template: &str, escaping: Escaping, pairs: &[(&str, &str)]) -> Result<String, String> {
    let names: Vec<&str> = pairs.iter().map(|(name, _)| *name).collect();
    let template =
        Template::parse(template, escaping, &names).map_err(|error| error.to_string())?;
    template
        .fill(&columns(pairs))
        .map_err(|error| error.to_string())
}

#[test]
fn values_are_written_as_their_position_needs_it() {
    let row = [
        ("url", "https://a/b?c=d"),
        ("sku", "a/b \"\u{e9}\"?"),
        ("product id", "7"),
    ];
    for (escaping, template, expected) in [
        (Escaping::Url, "{url}", "https://a/b?c=d"),
        (
            Escaping::Url,
            "{url}&x={sku}",
            "https://a/b?c=d&x=a%2Fb%20%22%C3%A9%22%3F",
        ),
        (
            Escaping::Url,
            "https://x/{+sku}/{product id}",
            "https://x/a/b \"\u{e9}\"?/7",
        ),
        (Escaping::Url, "https://x/{{sku}}/{}", "https://x/{sku}/{}"),
        (Escaping::Header, "id {sku}", "id a/b \"\u{e9}\"?"),
        (Escaping::Text, "{sku}", "a/b \"\u{e9}\"?"),
        (
            Escaping::Json,
            "{\"a\":{\"id\":\"{sku}\",\"n\":{product id}}}",
            "{\"a\":{\"id\":\"a/b \\\"\u{e9}\\\"?\",\"n\":7}}",
        ),
        (
            Escaping::Json,
            "query { user { name } }{",
            "query { user { name } }{",
        ),
        (
            Escaping::Form,
            "a={sku}&b={product id}",
            "a=a%2Fb%20%22%C3%A9%22%3F&b=7",
        ),
        (Escaping::Text, "", ""),
    ] {
        assert_eq!(
            filled(template, escaping, &row).unwrap(),
            expected,
            "{template}"
        );
    }
}

#[test]
fn a_column_that_is_not_there_is_refused_when_the_template_is_read() {
    let why = filled(
        "https://x/{skew}",
        Escaping::Url,
        &[("sku", "1"), ("name", "a")],
    )
    .unwrap_err();
    assert!(
        why.contains("\"skew\"") && why.contains("sku, name") && why.contains("{{skew}}"),
        "{why}"
    );
    let template = Template::parse("{a}{b}", Escaping::Text, &["a", "b"]).unwrap();
    assert_eq!(template.columns().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(
        template
            .fill(&columns(&[("a", "1")]))
            .unwrap_err()
            .to_string(),
        "has no column \"b\""
    );
}

#[test]
fn a_header_takes_no_line_end() {
    for value in ["a\r\nX: y", "a\nb", "\u{0}", "\u{7f}"] {
        assert!(
            filled("{a}", Escaping::Header, &[("a", value)]).is_err(),
            "{value:?}"
        );
    }
}

#[test]
fn the_type_of_a_body_gives_its_path() {
    for (kind, body, expected) in [
        (Some("application/json; charset=utf-8"), "", Escaping::Json),
        (Some("application/problem+json"), "", Escaping::Json),
        (
            Some("application/x-www-form-urlencoded"),
            "{",
            Escaping::Form,
        ),
        (Some("text/plain"), "{", Escaping::Text),
        (None, " {\"a\": 1}", Escaping::Json),
        (None, "a", Escaping::Text),
    ] {
        assert_eq!(Escaping::of_body(kind, body), expected, "{kind:?}");
    }
}

#[test]
fn a_value_that_changes_the_path_is_refused_and_an_empty_one_unless_it_is_meant() {
    let of = |template: &str, value: &str| filled(template, Escaping::Url, &[("a", value)]);
    for (template, value, word) in [
        ("https://x/items/{a}", "..", "the folder above"),
        ("https://x/items/{a}/y", ".", "no name"),
        ("https://x/items/{a}", "", "{name?}"),
        ("https://x/items/{a}?b=1", "", "{name?}"),
        ("https://x/items/.{a}", ".", "the folder above"),
        ("https://x/items/%2e{a}", ".", "the folder above"),
        ("https://x/items/{a}{a}", ".", "the folder above"),
        ("https://x/items/{a?}", "..", "the folder above"),
        ("https://{a}/items", "", "the host"),
        ("https://x:{a}/items", "", "the host"),
    ] {
        let why = of(template, value).map_or_else(|why| why, |url| panic!("{template}: {url}"));
        assert!(
            why.contains("\"a\"") && why.contains(word),
            "{template}: {why}"
        );
    }
    for (template, value, url) in [
        ("https://x/items/{a?}", "", "https://x/items/"),
        ("https://x/items/{a}.html", "", "https://x/items/.html"),
        ("https://x/items/{a}", "...", "https://x/items/..."),
        ("https://x/items?id={a}", "..", "https://x/items?id=.."),
        (
            "https://x/items?id={a}&b=/c",
            "",
            "https://x/items?id=&b=/c",
        ),
        ("https://x/items#{a}", "", "https://x/items#"),
        ("https://x/{+a}", "../y", "https://x/../y"),
        ("{a}/../b", "https://x/", "https://x//../b"),
        ("https://x/{{a?}}", "", "https://x/{a?}"),
    ] {
        assert_eq!(of(template, value).as_deref(), Ok(url), "{template}");
    }
}

#[test]
fn a_value_outside_of_quotes_in_json_is_json() {
    let of = |template: &str, value: &str| filled(template, Escaping::Json, &[("a", value)]);
    let template = r#"{"x\"y":{a},"z":"{a}"}"#;
    for value in ["7", "-1.5", "true", "null", "[1,2]"] {
        let expected = format!(r#"{{"x\"y":{value},"z":"{value}"}}"#);
        assert_eq!(of(template, value), Ok(expected));
    }
    for value in ["", "x", "1,2", "1,\"admin\":true", "007"] {
        assert!(of(template, value).is_err(), "{value}");
        assert!(of(r#"{"z":"{a}"}"#, value).is_ok(), "{value}");
    }
    assert_eq!(of("[{+a}]", "1,2").as_deref(), Ok("[1,2]"));
}

proptest! {
    #[test]
    fn no_template_makes_the_parser_panic(text in "[a{}+ .\u{e9}\"]{0,20}", value in ".{0,9}") {
        let parts = parse::parts(&text);
        let texts = parts.windows(2).filter(|pair| matches!(pair, [Fragment::Text(_), Fragment::Text(_)])).count();
        prop_assert_eq!(texts, 0);
        let names = ["a", "aa", "\u{e9}"];
        if let Ok(template) = Template::parse(&text, Escaping::Url, &names) {
            let row: Columns = names.iter().map(|name| ((*name).to_owned(), value.clone())).collect();
            prop_assert!(template.fill(&row).is_ok());
        }
    }

    #[test]
    fn a_text_without_names_is_itself(text in "[a-z{} \":]{0,20}") {
        // A name stands between two braces.
        let text = if text.contains('{') { text.replace('}', "") } else { text };
        let template = Template::parse::<&str>(&text, Escaping::Text, &[]).unwrap();
        prop_assert_eq!(template.fill(&Columns::new()).unwrap(), text);
    }

    #[test]
    fn a_value_never_leaves_its_place(value in any::<String>()) {
        prop_assume!(!["", ".", ".."].contains(&&*value));
        let url = filled("https://x.example/p/{a}/q?b=1", Escaping::Url, &[("a", &value)]).unwrap();
        prop_assert_eq!(url::Url::parse(&url).unwrap().path_segments().unwrap().count(), 3);
        let parsed = url::Url::parse(&url).unwrap();
        prop_assert_eq!(parsed.host_str(), Some("x.example"));
        prop_assert_eq!(parsed.query(), Some("b=1"));
        let json = filled("{\"a\":\"{a}\"}", Escaping::Json, &[("a", &value)]).unwrap();
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(json, serde_json::json!({ "a": value }));
    }
}
