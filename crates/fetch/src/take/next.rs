//! The URL of the next page: `json:/next`, `link:next` (of the header `Link`, RFC 8288), `css:a.next@href` or
//! `re:PATTERN`; or a cursor or number, and the parameter that it goes into: `json:/cursor -> ?cursor={}`.

use serde_json::Value;

use super::parameters::parameters;
use super::{Read, Take, TakeError};
use crate::error::excerpt;

/// Where the URL of the next page is.
#[derive(Clone, Debug)]
pub struct Next {
    text: String,
    from: Where,
    /// What is found goes into this parameter of the query.
    parameter: Option<String>,
}

/// The next page, as a response names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Its URL, which may be relative: to the base that the page names, if it names one.
    Url(String, Option<String>),
    /// The parameter of the query that differs, and its value.
    Parameter(String, String),
}

/// Most of a header in a sentence, in characters.
const SHOWN: usize = 80;

/// Between what is found and where it goes.
const ARROW: &str = " -> ";

#[derive(Clone, Debug)]
enum Where {
    /// The link with this relation.
    Link(String),
    /// In the body; whether that must be JSON.
    Body(Box<Take>, bool),
}

impl Next {
    /// Reads `json:/pointer`, `link:RELATION`, `css:SELECTOR@ATTRIBUTE` or `re:PATTERN`, and ` -> ?NAME={}` behind it.
    ///
    /// # Errors
    /// When it is none of them.
    pub fn parse(text: &str) -> Result<Next, TakeError> {
        let whole = text;
        let (text, parameter) = match text.rsplit_once(ARROW) {
            Some((text, target)) => (text, Some(parameter_of(target).ok_or_else(|| {
                TakeError(format!("the next page {whole:?} does not say which parameter it changes: write -> ?NAME={{}}"))
            })?)),
            None => (text, None),
        };
        let body = |from: &str| Take::parse(&format!("next={from}"));
        let from = if let Some(relation) = text.strip_prefix("link:").filter(|it| !it.is_empty()) {
            Where::Link(relation.to_ascii_lowercase())
        } else if let Some(pointer) = text.strip_prefix("json:/") {
            Where::Body(Box::new(body(&format!("/{pointer}"))?), true)
        } else if text.starts_with("css:") || text.starts_with("re:") {
            Where::Body(Box::new(body(text)?), false)
        } else {
            return Err(TakeError(format!(
                "the next page {text:?} does not say where it is: write json:/POINTER, link:next, css:SELECTOR@href or re:PATTERN"
            )));
        };
        Ok(Next {
            text: text.to_owned(),
            from,
            parameter,
        })
    }

    /// Says that a text is no URL, but perhaps a cursor.
    fn no_reference(&self, text: &str) -> String {
        let from = &self.text;
        format!(
            "{from} is {text:?}, and no URL: if that is a cursor, say which parameter it goes into, as in --next '{from} -> ?cursor={{}}'"
        )
    }

    /// The next page that a response names; none if it is the last. `links` are the values of its `Link` headers.
    ///
    /// # Errors
    /// Why nobody knows.
    pub fn find<'a>(
        &self,
        body: &[u8],
        content_type: Option<&str>,
        links: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Option<Found>, String> {
        let found = |text: String, base| match &self.parameter {
            Some(name) => Found::Parameter(name.clone(), text),
            None => Found::Url(text, base),
        };
        let (take, is_json) = match &self.from {
            Where::Link(relation) => {
                let link = link(links, relation)?;
                return Ok(link.map(|url| found(url, None)));
            }
            Where::Body(take, is_json) => (take, *is_json),
        };
        let mut read = Read::new(body, content_type);
        let taken = match &self.parameter {
            // As a float, the number of a page might have other digits than the server expects.
            Some(_) => take.written(&mut read),
            None => take.of(&mut read),
        };
        let from = &self.text;
        let unknown = |why| format!("nobody knows the next page, which {from} names: {why}");
        match taken.map_err(unknown)? {
            Value::Null | Value::Bool(false) => Ok(None),
            Value::String(url) if url.is_empty() => Ok(None),
            Value::String(text) if is_json && self.parameter.is_none() && !is_reference(&text) => {
                Err(self.no_reference(&text))
            }
            Value::String(text) => {
                let base = self.parameter.is_none().then(|| take.base(&mut read));
                Ok(Some(found(text, base.flatten())))
            }
            other => Err(format!("{from} is {}, and no URL", kind_of(&other))),
        }
    }
}

/// The kind of a value that is no URL.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Number(_) => "a number",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
        _ => "true",
    }
}

/// The name in `?NAME={}`.
fn parameter_of(target: &str) -> Option<String> {
    let name = target.trim().strip_prefix('?')?.strip_suffix("={}")?;
    let is_name = !name.is_empty() && !name.contains(['&', '=', '#', '?', '{']);
    is_name.then(|| name.to_owned())
}

/// Whether a text that stands for itself is a URL, absolute or relative, and not a cursor.
fn is_reference(text: &str) -> bool {
    text.contains("://") || text.contains('?') || text.starts_with(['/', '.'])
}

/// The target of the first link with this relation. Beside the form of RFC 8288, a target without `<>` and a relation in
/// single quotes are read, as other programs read them.
///
/// # Errors
/// When what cannot be read speaks of that relation: it might name the next page.
fn link<'a>(
    values: impl Iterator<Item = &'a [u8]>,
    relation: &str,
) -> Result<Option<String>, String> {
    let mut unread = None;
    for value in values {
        let Ok(value) = std::str::from_utf8(value) else {
            unread.get_or_insert_with(|| String::from_utf8_lossy(value).into_owned());
            continue;
        };
        let mut rest = value.trim();
        while !rest.is_empty() {
            let Some(link) = first_link(rest) else {
                unread.get_or_insert_with(|| rest.to_owned());
                break;
            };
            if link.has(relation) {
                return Ok(Some(link.target.to_owned()));
            }
            rest = link.rest;
        }
    }
    let speaks = |text: &String| text.to_ascii_lowercase().contains(relation);
    match unread.filter(speaks) {
        None => Ok(None),
        Some(text) => {
            let text = excerpt(&text, SHOWN);
            Err(format!(
                "nobody knows the next page: the header Link has {text:?}, which is no link"
            ))
        }
    }
}

/// A link of the header `Link`.
struct Link<'a> {
    target: &'a str,
    parameters: Vec<(String, String)>,
    /// What follows it.
    rest: &'a str,
}

impl Link<'_> {
    /// Whether it has this relation. Only the first `rel` counts (RFC 8288 §3.3), and it may name several.
    fn has(&self, relation: &str) -> bool {
        let rel = self.parameters.iter().find(|(name, _)| name == "rel");
        let mut named = rel.iter().flat_map(|(_, value)| {
            let value = value.trim_matches('\'');
            value.split_ascii_whitespace()
        });
        named.any(|named| named.eq_ignore_ascii_case(relation))
    }
}

/// The first link of a text; none if it cannot be read. Text before a `<` is passed over.
fn first_link(text: &str) -> Option<Link<'_>> {
    let (target, behind) = match text.find(['<', ';'])? {
        at if text[at..].starts_with('<') => text[at + 1..].split_once('>')?,
        at => text.split_at(at),
    };
    let (parameters, after) = parameters(behind, &[';', ',']);
    let is_target = !target.trim().contains(char::is_whitespace);
    let is_end = after.is_empty() || after.starts_with(',');
    (is_target && is_end).then(|| Link {
        target: target.trim(),
        parameters,
        rest: after.trim_start_matches([',', ' ', '\t']),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_link(values: &[&str]) -> Result<Option<String>, String> {
        let next = Next::parse("link:next").unwrap();
        let found = next.find(b"", None, values.iter().map(|value| value.as_bytes()));
        found.map(|found| {
            found.map(|found| match found {
                Found::Url(url, None) => url,
                other => panic!("{other:?}"),
            })
        })
    }

    #[test]
    fn the_link_to_the_next_page_is_found() {
        let found = Ok(Some("/2?a=1,2;b".to_owned()));
        for values in [
            &["</2?a=1,2;b>; rel=next"][..],
            &["</2?a=1,2;b>;rel=\"next\""],
            &["</1>; rel=\"prev\"; title=\"a, <b>; \\\"c\\\"\", </2?a=1,2;b>; REL=\"last Next\""],
            &["</1>; rel=prev", "</2?a=1,2;b>; x; rel=next"],
            &[
                "garbage </1>; rel=\"prev, </2?a=1,2;b>; rel=next\"",
                "</2?a=1,2;b>;rel=next",
            ],
        ] {
            assert_eq!(of_link(values), found, "{values:?}");
        }
        for values in [
            &[][..],
            &["</2>"],
            &["</2>; rel=prev; rel=next"],
            &["</2>; rel=\"nextpage\""],
            &["</2>; rel"],
            &["</style.css; rel=preload"],
            &["nothing"],
            &[", ,"],
        ] {
            assert_eq!(of_link(values), Ok(None), "{values:?}");
        }
    }

    #[test]
    fn a_link_is_read_as_others_write_it_or_nobody_knows_the_next_page() {
        for value in [
            "</2>; rel='next'",
            "</2>;rel='prev next'",
            "</1>; rel='prev', </2>; rel='next'",
            "/2; rel=\"next\"",
            "/1; rel=prev, /2; rel=next",
            "</1>; rel=prev,/2;rel='next'",
            "< /2 >; rel=next",
            ",, </2> ; rel = next",
            "</2>; rel=\"next",
        ] {
            assert_eq!(of_link(&[value]), Ok(Some("/2".into())), "{value}");
        }
        for value in [
            "</2; rel=next",
            "</2> rel=\"next\"",
            "the next page; rel=next",
            "</1>; rel=prev, </2 rel=next",
            "next",
        ] {
            assert!(of_link(&[value]).is_err(), "{value}");
        }
        // A readable part counts, whatever stands beside it.
        assert_eq!(
            of_link(&["</x; rel=next", "</2>; rel=next"]),
            Ok(Some("/2".into()))
        );
    }

    #[test]
    fn a_page_says_where_its_links_begin() {
        for (how, body, base) in [
            (
                "css:a@href",
                "<base href=' /shop/ '><a href=2>",
                Some("/shop/"),
            ),
            (
                "css:a@href",
                "<BASE target=x><base HREF=/1><base href=/2><a href=2>",
                Some("/1"),
            ),
            ("css:a@href", "<a href=2>", None),
            (
                "re:href=(2)",
                "<base href='/shop/'><a href=2>",
                Some("/shop/"),
            ),
            ("re:href=(2)", "<a href=2>", None),
            (
                "json:/a",
                "{\"a\":\"/2\",\"b\":\"<base href='/shop/'>\"}",
                None,
            ),
        ] {
            let next = Next::parse(how).unwrap();
            let found = next
                .find(body.as_bytes(), None, std::iter::empty())
                .unwrap();
            assert!(
                matches!(&found, Some(Found::Url(_, its)) if its.as_deref() == base),
                "{how} {body}: {found:?}"
            );
        }
    }

    #[test]
    fn the_next_page_is_found_in_bodies() {
        let find = |how: &str, body: &str| {
            let next = Next::parse(how).unwrap();
            next.find(body.as_bytes(), None, std::iter::empty())
        };
        let json = |body: &str| find("json:/links/next", body);
        let url = |text: &str| Ok(Some(Found::Url(text.into(), None)));
        assert_eq!(json(r#"{"links":{"next":"/2"}}"#), url("/2"));
        assert_eq!(json(r#"{"links":{"next":"?p=2"}}"#), url("?p=2"));
        let cursor = json(r#"{"links":{"next":"b2Zmc2V0/Q=="}}"#).unwrap_err();
        assert!(
            cursor.contains("--next 'json:/links/next -> ?cursor={}'"),
            "{cursor}"
        );
        for (value, text) in [
            ("\"a/b\"", "a/b"),
            ("3", "3"),
            ("1e3", "1e3"),
            ("1.50", "1.50"),
            ("1.7e308", "1.7e308"),
            (
                "123456789012345678901234567890",
                "123456789012345678901234567890",
            ),
        ] {
            let body = format!("{{\"c\":{value}}}");
            let found = find("json:/c -> ?after={}", &body);
            assert_eq!(
                found,
                Ok(Some(Found::Parameter("after".into(), text.into())))
            );
        }
        assert_eq!(find("json:/c -> ?after={}", "{\"c\":null}"), Ok(None));
        for last in [
            "{}",
            r#"{"links":{"next":null}}"#,
            r#"{"links":{"next":""}}"#,
            r#"{"links":{"next":false}}"#,
            r#"{"links":[]}"#,
        ] {
            assert_eq!(json(last), Ok(None), "{last}");
        }
        for unknown in [
            "",
            "<html>",
            r#"{"links":{"next":7}}"#,
            r#"{"links":{"next":{}}}"#,
            r#"{"links":{"next":1e400}}"#,
            r#"{"links":{"next":"\ud800"}}"#,
            r#"{"links":1e400}"#,
        ] {
            assert!(json(unknown).is_err(), "{unknown}");
        }
        let html = "<a class=next href='?page=2'>more</a>";
        assert_eq!(find("css:a.next@href", html), url("?page=2"));
        assert_eq!(find("re:page=(\\d)", html), url("2"));
        for wrong in [
            "json:/c -> cursor",
            "json:/c -> ?={}",
            "",
            "next",
            "json:next",
            "link:",
            "css:",
            "re:(",
            "/next",
        ] {
            assert!(Next::parse(wrong).is_err(), "{wrong}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_link_is_read_without_a_panic(value in ".{0,60}") {
            let _ = of_link(&[&value]);
        }
    }
}
