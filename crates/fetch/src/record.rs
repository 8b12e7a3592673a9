//! An input, and its record: one line of the results.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The columns of an input, in its order; a plain list of URLs has one, `url`.
pub type Columns = indexmap::IndexMap<String, String>;

/// The column of a plain list of URLs.
pub const URL: &str = "url";

/// Most names that a sentence lists.
const LISTED: usize = 20;

/// Names for a sentence.
pub fn listed<S: AsRef<str>>(names: &[S]) -> String {
    let first: Vec<&str> = names.iter().take(LISTED).map(AsRef::as_ref).collect();
    match names.len().checked_sub(LISTED) {
        _ if names.is_empty() => "none".to_owned(),
        None | Some(0) => first.join(", "),
        Some(more) => format!("{}, and {more} more", first.join(", ")),
    }
}

/// With commas between thousands.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// One input: where it stood and what it held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// From 0 over the whole job.
    pub number: u64,
    /// From 1 in its file.
    pub line: u64,
    /// What it held.
    pub columns: Columns,
}

/// A line that is no input; it becomes a record with the outcome `invalid`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// From 0 over the whole job.
    pub number: u64,
    /// From 1 in its file.
    pub line: u64,
    /// How it begins.
    pub text: String,
    /// The reason.
    pub reason: String,
}

/// One line of the results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record {
    /// The number of the input, from 0 over the whole job.
    pub n: u64,
    /// The line of the input, from 1 in its file.
    pub line: u64,
    /// The columns of the input, unless it was only a URL.
    #[serde(default, skip_serializing_if = "Columns::is_empty")]
    pub columns: Columns,
    /// The method of the request.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub method: String,
    /// The URL of the request.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether a response came and the check holds.
    pub ok: bool,
    /// The last URL of the redirects: the URL of the final response, or the one that was not followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The status of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The headers of the response that `--keep-header` names, in lower case.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// Why it was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether any of the request was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<bool>,
    /// How often it was tried.
    #[serde(default)]
    pub attempts: u32,
    /// When it began, as RFC 3339 has it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub at: String,
    /// Milliseconds of each phase.
    #[serde(default, skip_serializing_if = "Elapsed::is_nothing")]
    pub ms: Elapsed,
    /// The length of the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// `blake3:` and the digest of the body in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The body, or where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// The values that were taken from the body, by name.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub taken: serde_json::Map<String, serde_json::Value>,
}

/// How an input ended.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// A response came.
    Response,
    /// None came.
    Error,
    /// It was not sent, and is not going to be.
    Skipped,
    /// Its host was down for too long, and was given up.
    Unreached,
    /// Nobody knows whether it was acted on.
    Unknown,
    /// It was no input.
    #[default]
    Invalid,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Outcome; 6] = [
        Outcome::Response,
        Outcome::Error,
        Outcome::Skipped,
        Outcome::Unreached,
        Outcome::Unknown,
        Outcome::Invalid,
    ];

    /// As a record has it.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Response => "response",
            Outcome::Error => "error",
            Outcome::Skipped => "skipped",
            Outcome::Unreached => "unreached",
            Outcome::Unknown => "unknown",
            Outcome::Invalid => "invalid",
        }
    }
}

/// An error and its phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// The error in a word.
    pub kind: String,
    /// The phase in which it did.
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
    /// It is valid UTF-8.
    Text {
        /// The body.
        text: String,
    },
    /// It is not.
    Base64 {
        /// The body.
        base64: String,
    },
    /// It is a file.
    File {
        /// Its path, from the job's folder.
        file: String,
    },
    /// It is in a WARC file.
    Warc {
        /// The path of the WARC file, from the job's folder.
        warc: String,
        /// Where its record begins.
        offset: u64,
    },
    /// It is in a tar file.
    Tar {
        /// The path of the tar file, from the job's folder.
        tar: String,
        /// Its name there.
        name: String,
    },
}
