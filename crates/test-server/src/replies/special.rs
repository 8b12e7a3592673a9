//! Responses that depend on more of a request than its path, for tests of clients.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::replies::bomb;
use crate::replies::coding::{self, Damage};
use crate::request::body::Received;
use crate::request::detail::Detail;
use crate::request::route::{Special, number};
use crate::wire::head::{Field, JSON, Length};
use crate::wire::small::Small;
use crate::wire::source::Source;

/// A response: small, or streamed.
pub(crate) enum SpecialResponse {
    Small(Small),
    /// A streamed body: the fields of its head, its length and its bytes.
    Body(Vec<Field>, Length, Source),
}

/// Most bytes of a body before it is encoded.
const MOST_ENCODED: u64 = 64 * 1024 * 1024;
/// Most bytes of one piece of `/pieces`.
const LONGEST_PIECE: u64 = 1024 * 1024;
/// Longest pause of `/pieces`.
const LONGEST_PAUSE_MS: u64 = 3_600_000;

/// The response; 400 if the arguments in the path are invalid.
pub(crate) fn respond(
    special: Special,
    detail: Option<&Detail>,
    body: &Received,
    is_head: bool,
) -> SpecialResponse {
    let Some(detail) = detail else {
        return SpecialResponse::Small(Small::status(500, is_head));
    };
    let response = match special {
        Special::Encoded => encoded(detail),
        Special::Bomb => bombed(detail),
        Special::Pieces => pieces(detail),
        Special::Status(status) => with_fields(status, detail, is_head),
        Special::Headers => with_fields(200, detail, is_head),
        Special::Redirect => redirect(detail, is_head),
        Special::RedirectLoop => Some(to("/redirect-loop".into(), 302, is_head)),
        Special::SetCookies => set_cookies(detail, is_head),
        Special::Cookies => Some(cookies(detail, is_head)),
        Special::Basic => basic(detail, is_head),
        Special::Upload => Some(upload(detail, body, is_head)),
        Special::Early => Some(SpecialResponse::Small(Small::status(413, is_head))),
    };
    response.unwrap_or_else(|| {
        let text = "the arguments in this path are invalid; see the table in route.rs\n";
        SpecialResponse::Small(Small::text(400, text, is_head))
    })
}

/// `/encoded/<codings>[-corrupt|-truncated]/<n>`.
fn encoded(detail: &Detail) -> Option<SpecialResponse> {
    let arguments = detail.arguments();
    let [names, count] = arguments[..] else {
        return None;
    };
    let count = number(count).filter(|count| *count <= MOST_ENCODED)?;
    let (names, damage) = match names.rsplit_once('-') {
        Some((names, "corrupt")) => (names, Damage::Corrupt),
        Some((names, "truncated")) => (names, Damage::Truncated),
        _ => (names, Damage::None),
    };
    let layers = detail.pairs().find(|(name, _)| name == "layers");
    let layers = layers.map_or(Some(1), |(_, value)| number(&value))?;
    let codings = coding::list(names, layers)?;
    let (bytes, header) = coding::encode(&codings, coding::text(count), damage)?;
    let length = Length::Bytes(bytes.len() as u64);
    Some(SpecialResponse::Body(
        vec![header],
        length,
        Source::whole(bytes),
    ))
}

/// `/bomb/<coding>/<MiB>`.
fn bombed(detail: &Detail) -> Option<SpecialResponse> {
    let arguments = detail.arguments();
    let [name, mebibytes] = arguments[..] else {
        return None;
    };
    let source = bomb::source(name, number(mebibytes)?)?;
    let header = ("Content-Encoding".into(), name.to_owned());
    Some(SpecialResponse::Body(vec![header], Length::Chunked, source))
}

/// `/pieces/<n>/<bytes>/<ms>`.
fn pieces(detail: &Detail) -> Option<SpecialResponse> {
    let arguments = detail.arguments();
    let [count, bytes, ms] = arguments[..] else {
        return None;
    };
    let bytes = number(bytes).filter(|bytes| (1..=LONGEST_PIECE).contains(bytes))?;
    let pause = Duration::from_millis(number(ms).filter(|ms| *ms <= LONGEST_PAUSE_MS)?);
    let source = Source::Paced {
        piece: vec![b'x'; bytes as usize].into(),
        sent: 0,
        count: number(count)?,
        pause,
    };
    Some(SpecialResponse::Body(Vec::new(), Length::Chunked, source))
}

/// A response with the headers in the query.
fn with_fields(status: u16, detail: &Detail, is_head: bool) -> Option<SpecialResponse> {
    let mut small = Small::status(status, is_head);
    for (name, value) in detail.pairs() {
        small.fields.push(field(&name, &value)?);
    }
    Some(SpecialResponse::Small(small))
}

/// A field that may be written: the name a token, the value without control characters.
fn field(name: &str, value: &str) -> Option<Field> {
    http::HeaderName::from_bytes(name.as_bytes()).ok()?;
    http::HeaderValue::from_str(value).ok()?;
    Some((Cow::Owned(name.to_owned()), value.to_owned()))
}

/// `/redirect/<status>/<n>?to=URL`: `n` redirects, the last one to the URL or to `/echo`.
fn redirect(detail: &Detail, is_head: bool) -> Option<SpecialResponse> {
    let arguments = detail.arguments();
    let [status, hops] = arguments[..] else {
        return None;
    };
    let status = number(status).and_then(|status| u16::try_from(status).ok());
    let status = status.filter(|status| (300..400).contains(status))?;
    let location = match number(hops)? {
        0 => return None,
        1 => detail
            .pairs()
            .find(|(name, _)| name == "to")
            .map_or(Cow::Borrowed("/echo"), |(_, to)| to),
        hops if detail.query().is_empty() => format!("/redirect/{status}/{}", hops - 1).into(),
        hops => format!("/redirect/{status}/{}?{}", hops - 1, detail.query()).into(),
    };
    field("Location", &location)?;
    Some(to(location, status, is_head))
}

fn to(location: Cow<'_, str>, status: u16, is_head: bool) -> SpecialResponse {
    let mut small = Small::status(status, is_head);
    let location = location.into_owned();
    small.fields.push(("Location".into(), location));
    SpecialResponse::Small(small)
}

/// `/cookies/set?name=value`: one `Set-Cookie` header for each pair. Text after a `;` in a value becomes attributes.
fn set_cookies(detail: &Detail, is_head: bool) -> Option<SpecialResponse> {
    let mut small = Small::status(200, is_head);
    for (name, value) in detail.pairs() {
        let cookie = format!("{name}={value}");
        small.fields.push(field("Set-Cookie", &cookie)?);
    }
    Some(SpecialResponse::Small(small))
}

/// The cookies of the request, by name.
fn cookies(detail: &Detail, is_head: bool) -> SpecialResponse {
    let cookies = detail.values("cookie").flat_map(|value| value.split("; "));
    let cookies: BTreeMap<_, _> = cookies.filter_map(|pair| pair.split_once('=')).collect();
    json_of(&json!({ "cookies": cookies }), is_head)
}

/// `/basic/<user>/<password>`.
fn basic(detail: &Detail, is_head: bool) -> Option<SpecialResponse> {
    let arguments = detail.arguments();
    let [user, password] = arguments[..] else {
        return None;
    };
    let right = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
    if detail.header("authorization") == Some(&right) {
        return Some(SpecialResponse::Small(Small::text(
            200,
            "welcome\n",
            is_head,
        )));
    }
    let mut small = Small::status(401, is_head);
    let challenge = "Basic realm=\"test server\", charset=\"UTF-8\"".to_owned();
    small.fields.push(("WWW-Authenticate".into(), challenge));
    Some(SpecialResponse::Small(small))
}

/// Facts about an upload: its length, its CRC-32 and the headers that concern it.
fn upload(detail: &Detail, body: &Received, is_head: bool) -> SpecialResponse {
    let response = json!({
        "bytes": body.length,
        "crc32": body.crc32,
        "method": detail.method,
        "chunked": detail.header("transfer-encoding").is_some(),
        "content_length": detail.header("content-length"),
        "content_type": detail.header("content-type"),
    });
    json_of(&response, is_head)
}

fn json_of(value: &serde_json::Value, is_head: bool) -> SpecialResponse {
    let mut small = Small::text(200, value.to_string(), is_head);
    small.content_type = JSON;
    SpecialResponse::Small(small)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::route::{self, Route};
    use proptest::prelude::*;

    const PREFIXES: &[&str] = &[
        "/encoded/gzip",
        "/encoded/",
        "/bomb/br",
        "/bomb/",
        "/pieces/",
        "/status/",
        "/headers?",
        "/redirect/302",
        "/redirect/",
        "/cookies/set?",
        "/cookies",
        "/basic/",
        "/upload",
        "/early",
        "/redirect-loop",
    ];

    proptest! {
        #[test]
        fn any_arguments_get_a_bounded_response(
            prefix in prop::sample::select(PREFIXES),
            rest in "[0-9a-z/?=&%,+-]{0,30}|\\PC{0,30}",
            cookie in "\\PC{0,30}",
        ) {
            let target = format!("{prefix}{rest}");
            if let Route::Special(special) = route::of(&target) {
                let detail = Detail {
                    target,
                    headers: vec![("Cookie".to_owned(), cookie)],
                    ..Detail::default()
                };
                let response = respond(special, Some(&detail), &Received::default(), false);
                let fields = match response {
                    SpecialResponse::Small(small) => small.fields,
                    SpecialResponse::Body(fields, _, mut source) => {
                        prop_assert!(source.next().is_none_or(|piece| !piece.bytes.is_empty()));
                        fields
                    }
                };
                for (name, value) in fields {
                    prop_assert!(field(&name, &value).is_some(), "{}: {}", name, value);
                }
            }
        }
    }
}
