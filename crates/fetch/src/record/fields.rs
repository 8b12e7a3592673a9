//! The fields of a record, each declared here and nowhere else. A field has a key in the lines of the results, a type,
//! a writer, and names in expressions and tables. The JSON Schema and the table in `docs/fetch.md` are made of this
//! too.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};
use std::hash::{Hash, Hasher};
use std::time::Duration;

use hecaton::Attempt;
use serde::{Deserialize, Serialize};

use super::cell::Kind::{Bool, Choice, Integer, Number, Text, Time};
use super::cell::{Cell, Kind};
use super::columns::Columns;
use super::ending::Ending;
use super::outcome::Outcome;
use super::write::{Line, headers, json, object, value};

/// A field of a record.
pub struct Field {
    /// Its key.
    pub key: &'static str,
    /// Its meaning, for the documentation.
    pub about: &'static [&'static str],
    /// The values in it that have a name of their own.
    pub names: &'static [Name],
}

/// A value with a name.
pub struct Name {
    /// Its name in expressions; in tables there are no dots.
    pub name: &'static str,
    /// Its key inside of an object.
    pub inside: &'static str,
    /// Its type.
    pub kind: Kind,
    /// The value of a record that is read.
    pub read: for<'a> fn(&'a Record) -> Cell<'a>,
    /// The same value of a record that is about to be written.
    pub now: for<'a> fn(&'a Ending<'a>) -> Cell<'a>,
    /// Where it can be named.
    pub used: Used,
}

/// A name is known by its text.
impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        self.name == other.name
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl Debug for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Where a name can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Used {
    /// In expressions, and as a column of every table.
    Everywhere,
    /// In expressions, and as a column if a record has a value.
    IfThere,
    /// As a column if a record has a value, and not in expressions.
    InTables,
}

macro_rules! fields {
    ($(
        $(#[doc = $about:literal])+
        $key:ident: $type:ty $([$($serde:tt)*])? = $written:expr, [$($name:expr),* $(,)?];
    )*) => {
        /// One line of the results.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct Record {
            $(
                $(#[doc = $about])+
                $(#[serde($($serde)*)])?
                pub $key: $type,
            )*
        }

        /// The fields, in the order in which they are written. The first four are read without the rest
        /// (`segment::head_of`, `is_followed`).
        pub static FIELDS: &[Field] = &[$(Field {
            key: stringify!($key),
            about: &[$($about),+],
            names: &[$($name),*],
        }),*];

        /// Writes each field. A loop over `FIELDS` would call two functions a field, of which the compiler knows nothing.
        pub(super) fn write_all(out: &mut Vec<u8>, ending: &Ending<'_>) {
            $({
                let write: fn(&mut Line<'_>, &[Name], &Ending<'_>) = $written;
                write(&mut Line { out, key: stringify!($key) }, const { &[$($name),*] }, ending);
            })*
        }
    };
}

fields! {
    /// The number of the input, from 0 over the whole job.
    n: u64 = value,
        [name("n", Integer, |it| it.n.into(), |it| it.number.into())];
    /// How it ended: `response`, `unchanged`, `onward`, `error`, `skipped`, `unreached`, `unknown` or `invalid`. After
    /// `unchanged`, a response of an earlier round still holds. `onward` is a redirect that is still to be followed.
    /// `unreached` means that the host had no good answer for too long, or that its robots.txt could not be had. After
    /// `unknown`, a POST or PATCH may or may not have arrived, or its result is not good. `skipped` and `invalid` have a
    /// `why`.
    outcome: Outcome = value,
        [name("outcome", Choice, |it| it.outcome.name().into(), |it| it.outcome.name().into())];
    /// Whether there is a response that passes the check.
    ok: bool = value,
        [name("ok", Bool, |it| it.ok.into(), |it| it.ok.into())];
    /// Whether the record of another page of the input follows.
    more: Option<bool> [default, skip_serializing_if = "Option::is_none"] = value,
        [name("more", Bool, |it| it.more.into(), |it| it.more.then_some(true).into()).used(Used::IfThere)];
    /// The line of the input, from 1 in its file.
    line: u64 = value,
        [name("line", Integer, |it| it.line.into(), |it| it.line.into())];
    /// The columns of the input, unless it was only a URL.
    columns: Columns [default, skip_serializing_if = "Columns::is_empty"] = |line, _, it| json(line, it.columns), [];
    /// The method of the request.
    method: String [default, skip_serializing_if = "String::is_empty"] = value,
        [name("method", Text, |it| (&*it.method).into(), |it| it.method.into())];
    /// The URL of the request.
    url: String [default, skip_serializing_if = "String::is_empty"] = value,
        [name("url", Text, |it| (&*it.url).into(), |it| it.url.into())];
    /// Where a redirect or a next page led: the URL of the final response, or the URL that was not fetched.
    location: Option<String> [default, skip_serializing_if = "Option::is_none"] = value,
        [name("location", Text, |it| it.location.as_deref().into(), |it| it.location.into())];
    /// The number of the page, from 1, if the job follows pages.
    page: Option<u32> [default, skip_serializing_if = "Option::is_none"] = value,
        [name("page", Integer, |it| it.page.map(u64::from).into(), |it| it.page.map(u64::from).into()).used(Used::IfThere)];
    /// Where the redirects lead next, while they wait for a round of their own; or the next page.
    onward: Option<Way> [default, skip_serializing_if = "Option::is_none"] =
        |line, _, it| json(line, it.onward), [];
    /// The status of the response, or of the redirect after which nothing more was sent.
    status: Option<u16> [default, skip_serializing_if = "Option::is_none"] = value,
        [name("status", Integer, |it| it.status.map(u64::from).into(), |it| it.response.map(hecaton::Response::status).or(it.redirect).map(u64::from).into())];
    /// The headers of the response that `--keep-header` names, in lower case; all values of each, with commas between
    /// them.
    headers: BTreeMap<String, String> [default, skip_serializing_if = "BTreeMap::is_empty"] = headers, [];
    /// The failure: `kind`, `phase` and `message`.
    error: Option<Failure> [default, skip_serializing_if = "Option::is_none"] = object, [
        name("error", Text, |it| it.error.as_ref().map(|it| &*it.kind).into(), |it| it.failure.as_ref().map(|it| it.kind).into()).inside("kind"),
        name("phase", Text, |it| it.error.as_ref().and_then(|it| it.phase.as_deref()).into(), |it| it.failure.as_ref().map(|it| it.phase).into()),
        name("message", Text, |it| it.error.as_ref().map(|it| &*it.message).into(), |it| it.failure.as_ref().map(|it| &*it.message).into()),
    ];
    /// Why it was skipped, is unknown, has no further page, or is not good although its status is.
    why: Option<String> [default, skip_serializing_if = "Option::is_none"] = value,
        [name("why", Text, |it| it.why.as_deref().into(), |it| it.why.as_deref().into())];
    /// Whether any byte of the request was sent, where that is in question.
    sent: Option<bool> [default, skip_serializing_if = "Option::is_none"] = value,
        [name("sent", Bool, |it| it.sent.into(), |it| it.sent.into())];
    /// How often it was tried.
    attempts: u32 [default] = value,
        [name("attempts", Integer, |it| u64::from(it.attempts).into(), |it| u64::from(it.attempts).into())];
    /// When it began, as RFC 3339 has it.
    at: String [default, skip_serializing_if = "String::is_empty"] = value,
        [name("at", Time, |it| (&*it.at).into(), |it| it.at.into())];
    /// Milliseconds of each phase; a phase that did not happen is missing.
    ms: Elapsed [default, skip_serializing_if = "Elapsed::is_nothing"] = object, [
        name("ms", Number, |it| time(it.ms.total), |it| it.took.map_or(Cell::Nothing, milliseconds)).inside("total"),
        name("ms.resolve", Number, |it| time(it.ms.resolve), |it| phase(it, |it| it.resolve_time)).inside("resolve"),
        name("ms.connect", Number, |it| time(it.ms.connect), |it| phase(it, |it| it.connect_time)).inside("connect"),
        name("ms.tls", Number, |it| time(it.ms.tls), |it| phase(it, |it| it.tls_time)).inside("tls"),
        name("ms.wait", Number, |it| time(it.ms.wait), |it| phase(it, |it| it.first_byte_time)).inside("wait"),
        name("ms.read", Number, |it| time(it.ms.read), |it| phase(it, |it| it.read_time)).inside("read"),
    ];
    /// The length of the body.
    bytes: Option<u64> [default, skip_serializing_if = "Option::is_none"] = value,
        [name("bytes", Integer, |it| it.bytes.into(), |it| it.bytes.into())];
    /// `blake3:` and the digest of the body in hexadecimal digits.
    hash: Option<String> [default, skip_serializing_if = "Option::is_none"] = value,
        [name("hash", Text, |it| it.hash.as_deref().into(), |it| it.hash()).used(Used::IfThere)];
    /// The SHA-256 of the body in hexadecimal digits, with `--sha256` or `--verify`.
    sha256: Option<String> [default, skip_serializing_if = "Option::is_none"] = value,
        [name("sha256", Text, |it| it.sha256.as_deref().into(), |it| it.sha256.as_deref().into()).used(Used::IfThere)];
    /// The MD5 of the body in hexadecimal digits, with `--md5` or `--verify`.
    md5: Option<String> [default, skip_serializing_if = "Option::is_none"] = value,
        [name("md5", Text, |it| it.md5.as_deref().into(), |it| it.md5.as_deref().into()).used(Used::IfThere)];
    /// The body, or where it is.
    body: Option<Body> [default, skip_serializing_if = "Option::is_none"] = |line, _, it| json(line, it.body.as_ref()), [
        body("body", |it| match &it.body {
            Some(Body::Text { text, .. }) => (&**text).into(),
            _ => Cell::Nothing,
        }),
        body("body_base64", |it| match &it.body {
            Some(Body::Base64 { base64, .. }) => (&**base64).into(),
            _ => Cell::Nothing,
        }),
        body("body_file", |it| match &it.body {
            Some(Body::File { file } | Body::Warc { warc: file, .. } | Body::Tar { tar: file, .. }) => (&**file).into(),
            _ => Cell::Nothing,
        }),
        body("body_at", |it| match &it.body {
            Some(Body::Warc { offset, .. }) => Cell::Text(offset.to_string().into()),
            Some(Body::Tar { name, .. }) => (&**name).into(),
            _ => Cell::Nothing,
        }),
    ];
    /// The validators of this version of the response, `etag` and `modified`: `again --if-changed` sends it.
    validators: Option<Validators> [default, skip_serializing_if = "Option::is_none"] =
        |line, _, it| json(line, it.validators.as_ref()), [];
    /// The values that were taken from the body, by name.
    taken: serde_json::Map<String, serde_json::Value> [default, skip_serializing_if = "serde_json::Map::is_empty"] =
        |line, _, it| json(line, Some(&it.taken).filter(|it| !it.is_empty())), [];
}

/// The validators of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Validators {
    /// Its `ETag`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// Its `Last-Modified`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
}

/// Where the redirects of an input led so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Way {
    /// The URL that is to be requested.
    pub url: String,
    /// How many redirects led there.
    pub followed: u32,
    /// The status of the redirect, if one led there in this run.
    #[serde(skip)]
    pub status: Option<u16>,
    /// How many requests were sent before it, for whoever follows it.
    pub attempts: u32,
    /// Whether the request became a GET on the way: its body, and what describes that, stay behind.
    pub is_get: bool,
    /// Whether another origin was on the way. Then credentials are not sent any more.
    pub has_left: bool,
}

/// An error and its phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// The error in a word.
    pub kind: String,
    /// The phase in which the request failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The error in a sentence.
    pub message: String,
}

/// Milliseconds of each phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Elapsed {
    /// All of it.
    pub total: f64,
    /// Turning the name into addresses.
    pub resolve: f64,
    /// Opening the connection.
    pub connect: f64,
    /// The TLS handshake.
    pub tls: f64,
    /// Waiting for the response.
    pub wait: f64,
    /// Reading the body.
    pub read: f64,
}

impl Elapsed {
    fn is_nothing(&self) -> bool {
        *self == Elapsed::default()
    }
}

/// A body, or where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Body {
    /// A body in valid UTF-8.
    Text {
        /// The body.
        text: String,
        /// Whether it is cut at the limit for bodies in records.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
    },
    /// Any other body, within the record.
    Base64 {
        /// The body.
        base64: String,
        /// Whether it is cut at the limit for bodies in records.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
    },
    /// A body in a file of its own.
    File {
        /// Its path, from the job's folder.
        file: String,
    },
    /// A body in a WARC file.
    Warc {
        /// The path of the WARC file, from the job's folder.
        warc: String,
        /// Where its record begins.
        offset: u64,
    },
    /// A body in a tar file.
    Tar {
        /// The path of the tar file, from the job's folder.
        tar: String,
        /// Its name in that file.
        name: String,
    },
}

type Read = for<'a> fn(&'a Record) -> Cell<'a>;
type Now = for<'a> fn(&'a Ending<'a>) -> Cell<'a>;

/// A name, with the value of a record that is read, and of one that is about to be written.
const fn name(name: &'static str, kind: Kind, read: Read, now: Now) -> Name {
    Name {
        name,
        inside: name,
        kind,
        read,
        now,
        used: Used::Everywhere,
    }
}

/// A column of where the body is.
const fn body(name: &'static str, read: Read) -> Name {
    Name {
        name,
        inside: name,
        kind: Text,
        read,
        now: |_| Cell::Nothing,
        used: Used::InTables,
    }
}

impl Name {
    const fn inside(self, inside: &'static str) -> Name {
        Name { inside, ..self }
    }

    const fn used(self, used: Used) -> Name {
        Name { used, ..self }
    }

    /// Its name as a column of a table.
    pub fn column(&self) -> String {
        self.name.replace('.', "_")
    }
}

/// All names.
pub fn names() -> impl Iterator<Item = &'static Name> {
    FIELDS.iter().flat_map(|field| field.names)
}

/// A phase that took no time was not gone through.
fn time(ms: f64) -> Cell<'static> {
    match ms {
        0.0 => Cell::Nothing,
        ms => Cell::Number(ms),
    }
}

fn milliseconds(time: Duration) -> Cell<'static> {
    // As they are written, with three decimals.
    #[expect(clippy::cast_precision_loss, reason = "microseconds below 2^53")]
    Cell::Number(time.as_micros() as f64 / 1e3)
}

fn phase(it: &Ending<'_>, of: fn(&Attempt) -> Option<Duration>) -> Cell<'static> {
    let time = it.attempt.and_then(of).filter(|time| !time.is_zero());
    time.map_or(Cell::Nothing, milliseconds)
}
