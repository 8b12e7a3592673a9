//! The command `call`: one call of a client, for an audit.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The characters that are percent-encoded: all but those that every URL may have (RFC 3986 §2.3).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// One call for an audit, made with the client's own defaults where nothing else is said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Call {
    /// Whether a new client with a new pool makes it.
    pub new_client: bool,
    /// The method.
    pub method: String,
    /// The URL.
    pub url: String,
    /// Header fields.
    pub fields: Vec<(String, String)>,
    /// The body.
    pub body: Option<String>,
    /// The limit that the caller sets, in milliseconds.
    pub timeout_ms: u64,
    /// Whether redirects are followed; none for the client's default.
    pub follow: Option<bool>,
    /// A PEM file with the certificates to trust.
    pub ca: Option<String>,
    /// Whether the server's certificate is verified; none for the client's default.
    pub verify: Option<bool>,
    /// The version of HTTP to use if the server supports it.
    pub http: Option<String>,
    /// The proxy's URL.
    pub proxy: Option<String>,
    /// Variables of the environment that name proxies.
    pub environment: Vec<(String, String)>,
    /// The addresses of the URL's host, with commas between them.
    pub hosts: Option<String>,
    /// How many equal calls are made at once.
    pub parallel: Option<usize>,
    /// How long an idle connection may be kept, in milliseconds.
    pub idle_ms: Option<u64>,
    /// The most connections that the client may open.
    pub pool_size: Option<usize>,
    /// The caller: `fork` for a child of the process, `close` to close the client instead.
    pub by: Option<String>,
    /// The abilities that the client needs.
    pub needs: Vec<String>,
}

impl Call {
    /// The limit of a call for which no other is said, in milliseconds.
    pub const LIMIT_MS: u64 = 5000;

    /// The keys of the command: each list is one text, which a driver can read without a parser of nested JSON.
    pub(super) fn keys(&self) -> Value {
        let mut keys = json!(self);
        keys["fields"] = form(&self.fields).into();
        keys["body"] = self.body.as_deref().map(percent).into();
        let environment = Some(form(&self.environment)).filter(|form| !form.is_empty());
        keys["environment"] = environment.into();
        keys["needs"] = self.needs.join(",").into();
        keys
    }
}

/// Pairs as `application/x-www-form-urlencoded`.
fn form(pairs: &[(String, String)]) -> String {
    let pairs = pairs
        .iter()
        .map(|(name, value)| format!("{}={}", percent(name), percent(value)));
    pairs.collect::<Vec<_>>().join("&")
}

fn percent(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// A driver's response to `call`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CallReply {
    /// The status; 0 with an error.
    #[serde(default)]
    pub status: u16,
    /// Bytes of the body.
    #[serde(default)]
    pub bytes: u64,
    /// SHA-256 of the body, in hexadecimal digits.
    #[serde(default)]
    pub sha256: String,
    /// The class of the error that the caller got instead of a response.
    #[serde(default, rename = "class")]
    pub error: Option<String>,
    /// The text of that error.
    #[serde(default)]
    pub text: String,
    /// How many of several calls got a response.
    #[serde(default)]
    pub responses: Option<usize>,
    /// How many of several calls failed.
    #[serde(default)]
    pub errors: usize,
    /// Milliseconds that the call took.
    pub ms: u64,
}
