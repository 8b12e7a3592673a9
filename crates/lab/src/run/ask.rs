//! The command `ask`: one call of a client, for an audit.

use serde::{Deserialize, Serialize};

/// One call for an audit, made with the client's own defaults where nothing else is said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ask {
    /// Whether a new client with a new pool makes it.
    pub fresh: bool,
    /// The method.
    pub method: String,
    /// The URL.
    pub url: String,
    /// Header fields, as in a form: percent-encoded.
    pub fields: String,
    /// The body, percent-encoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The limit that the caller sets, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whether redirects are followed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub follow: Option<bool>,
    /// What the client must be able to do: words with commas between them.
    pub needs: String,
}

/// A driver's response to `ask`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Asked {
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
    /// Milliseconds that the call took.
    pub ms: u64,
}
