//! How an input ended: all that is known when its record is written.

use std::borrow::Cow;
use std::time::Duration;

use hecaton::{Attempt, Response};
use serde_json::{Map, Value};

use super::cell::Cell;
use super::columns::Columns;
use super::fields::{Body, Validators, Way};
use super::outcome::Outcome;

/// An error, as it is recorded.
#[derive(Clone)]
pub struct Failed<'a> {
    /// Its kind.
    pub kind: &'a str,
    /// The phase of the request.
    pub phase: &'a str,
    /// A sentence.
    pub message: Cow<'a, str>,
}

/// How an input ended. Unknown values are empty.
#[derive(Clone, Default)]
pub struct Ending<'a> {
    /// The number of the input.
    pub number: u64,
    /// Its line.
    pub line: u64,
    /// Its columns, unless it was only a URL.
    pub columns: Option<&'a Columns>,
    /// The method of the request.
    pub method: &'a str,
    /// Its URL, or what the input held instead.
    pub url: &'a str,
    /// The outcome.
    pub outcome: Outcome,
    /// Whether the response is good; none before that is known.
    pub ok: Option<bool>,
    /// Whether another page follows.
    pub more: bool,
    /// The number of the page.
    pub page: Option<u32>,
    /// Where a redirect led.
    pub location: Option<&'a str>,
    /// How the redirects continue from there.
    pub onward: Option<&'a Way>,
    /// The response, if it counts.
    pub response: Option<&'a Response>,
    /// The status of the redirect that led here, where no response counts.
    pub redirect: Option<u16>,
    /// The names of the headers to keep, in lower case.
    pub headers: &'a [String],
    /// Why there is no response that counts.
    pub failure: Option<Failed<'a>>,
    /// Why nothing was sent, or nobody knows.
    pub why: Option<Cow<'a, str>>,
    /// Whether any of the request was sent, where that is in question.
    pub sent: Option<bool>,
    /// How often it was tried.
    pub attempts: u32,
    /// When the last try began, as RFC 3339 has it.
    pub at: &'a str,
    /// How long it took.
    pub took: Option<Duration>,
    /// The engine's last attempt, with the time of each phase.
    pub attempt: Option<&'a Attempt>,
    /// The length of the body.
    pub bytes: Option<u64>,
    /// Its digest, if that is recorded.
    pub digest: Option<blake3::Hash>,
    /// Its SHA-256, if that is recorded.
    pub sha256: Option<String>,
    /// Its MD5, if that is recorded.
    pub md5: Option<String>,
    /// Where the body is.
    pub body: Option<Body>,
    /// The validators of this version of the response.
    pub validators: Option<Validators>,
    /// The values that `--take` took from it.
    pub taken: Map<String, Value>,
}

impl Ending<'_> {
    /// The digest of the body.
    pub(super) fn hash(&self) -> Cell<'_> {
        self.digest.map_or(Cell::Nothing, |hash| {
            let text = ["blake3:", hash.to_hex().as_str()].concat();
            Cell::Text(text.into())
        })
    }
}

/// All values of a header in one text: a list with commas (RFC 9110 §5.2), but each cookie on a line of its own.
pub fn header<'a>(response: &'a Response, name: &str) -> Option<Cow<'a, str>> {
    let mut values = response.header_values(name).map(String::from_utf8_lossy);
    let mut all = values.next()?;
    let separator = match name.eq_ignore_ascii_case("set-cookie") {
        true => "\n",
        false => ", ",
    };
    for value in values {
        let all = all.to_mut();
        all.push_str(separator);
        all.push_str(&value);
    }
    Some(all)
}
