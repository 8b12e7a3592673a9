//! The URL of the next page: `json:/next`, `link:next` (of the header `Link`, RFC 8288), `css:a.next@href` or
//! `re:PATTERN`; or a cursor or number, and the parameter that it goes into: `json:/cursor -> ?cursor={}`.

use serde_json::Value;

use super::parameters::parameters;
use super::{Take, TakeError};

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
    /// Its URL, which may be relative.
    Url(String),
    /// The parameter of the query that differs, and its value.
    Parameter(String, String),
}

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
        let found = |text: String| match &self.parameter {
            Some(name) => Found::Parameter(name.clone(), text),
            None => Found::Url(text),
        };
        let (take, is_json) = match &self.from {
            Where::Link(relation) => return Ok(link(links, relation).map(found)),
            Where::Body(take, is_json) => (take, *is_json),
        };
        let taken = take.take(body, content_type);
        let taken = taken.map_err(|why| {
            format!(
                "nobody knows the next page, which {} names: {why}",
                self.text
            )
        })?;
        match taken {
            Value::Null | Value::Bool(false) => Ok(None),
            Value::String(url) if url.is_empty() => Ok(None),
            Value::String(text) if is_json && self.parameter.is_none() && !is_reference(&text) => {
                let from = &self.text;
                Err(format!(
                    "{from} is {text:?}, and no URL: if that is a cursor, say which parameter it goes into, as in --next '{from} -> ?cursor={{}}'"
                ))
            }
            Value::String(text) => Ok(Some(found(text))),
            Value::Number(number) if self.parameter.is_some() => {
                Ok(Some(found(number.to_string())))
            }
            other => Err(format!("{} is {}, and no URL", self.text, kind_of(&other))),
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

/// The target of the first link with this relation.
fn link<'a>(values: impl Iterator<Item = &'a [u8]>, relation: &str) -> Option<String> {
    for value in values {
        let Ok(mut rest) = std::str::from_utf8(value) else {
            continue;
        };
        while let Some((_, behind)) = rest.split_once('<') {
            let (target, behind) = behind.split_once('>')?;
            let (parameters, after) = parameters(behind, &[';', ',']);
            rest = after.find(',').map_or("", |comma| &after[comma + 1..]);
            // Only the first `rel` of a link counts (RFC 8288 §3.3), and it may name several relations.
            let rel = parameters.iter().find(|(name, _)| name == "rel");
            let mut named = rel
                .iter()
                .flat_map(|(_, value)| value.split_ascii_whitespace());
            if named.any(|named| named.eq_ignore_ascii_case(relation)) {
                return Some(target.trim().to_owned());
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_link(values: &[&str]) -> Option<String> {
        let next = Next::parse("link:next").unwrap();
        let found = next.find(b"", None, values.iter().map(|value| value.as_bytes()));
        found.unwrap().map(|found| match found {
            Found::Url(url) => url,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn the_link_to_the_next_page_is_found() {
        let found = Some("/2?a=1,2;b".to_owned());
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
            &["</2; rel=next"],
            &["</2>; rel=\"nextpage\""],
            &["</2>; rel"],
        ] {
            assert_eq!(of_link(values), None, "{values:?}");
        }
    }

    #[test]
    fn the_next_page_is_found_in_bodies() {
        let find = |how: &str, body: &str| {
            let next = Next::parse(how).unwrap();
            next.find(body.as_bytes(), None, std::iter::empty())
        };
        let json = |body: &str| find("json:/links/next", body);
        let url = |text: &str| Ok(Some(Found::Url(text.into())));
        assert_eq!(json(r#"{"links":{"next":"/2"}}"#), url("/2"));
        assert_eq!(json(r#"{"links":{"next":"?p=2"}}"#), url("?p=2"));
        let cursor = json(r#"{"links":{"next":"b2Zmc2V0/Q=="}}"#).unwrap_err();
        assert!(
            cursor.contains("--next 'json:/links/next -> ?cursor={}'"),
            "{cursor}"
        );
        for (value, text) in [("\"a/b\"", "a/b"), ("3", "3")] {
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
            of_link(&[&value]);
        }
    }
}
