//! How an input ended.

use serde::{Deserialize, Serialize};

/// How an input ended.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// A response came.
    Response,
    /// No response came.
    Error,
    /// It was not sent, and will not be.
    Skipped,
    /// The server said that the response of an earlier round still holds; the rest of the record is of that round.
    Unchanged,
    /// A redirect led to a host of another part; a round of its own follows it when all parts are done.
    Onward,
    /// Its host gave no good answer for too long, or its robots.txt could not be had.
    Unreached,
    /// Nobody knows whether it was acted on.
    Unknown,
    /// The line was not an input.
    #[default]
    Invalid,
}

impl Outcome {
    /// Every outcome.
    pub const ALL: [Outcome; 8] = [
        Outcome::Response,
        Outcome::Unchanged,
        Outcome::Onward,
        Outcome::Error,
        Outcome::Skipped,
        Outcome::Unreached,
        Outcome::Unknown,
        Outcome::Invalid,
    ];

    /// Whether a server answered the request.
    pub fn is_answer(self) -> bool {
        matches!(
            self,
            Outcome::Response | Outcome::Unchanged | Outcome::Onward
        )
    }

    /// As a record has it.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Response => "response",
            Outcome::Unchanged => "unchanged",
            Outcome::Onward => "onward",
            Outcome::Error => "error",
            Outcome::Skipped => "skipped",
            Outcome::Unreached => "unreached",
            Outcome::Unknown => "unknown",
            Outcome::Invalid => "invalid",
        }
    }
}
