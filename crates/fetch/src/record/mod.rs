//! An input, and its record: one line of the results.
//!
//! `fields` declares the fields of a record, once for all. `ending` has what is known when a record is written, `write`
//! writes it, and `cell` is one value.

mod cell;
mod ending;
mod fields;
mod write;

use serde::{Deserialize, Serialize};

pub use self::cell::{Cell, Kind, of_json};
pub use self::ending::{Ending, Failed, header};
pub use self::fields::{
    Body, Elapsed, FIELDS, Failure, Field, Name, Record, Used, Validators, Way, Written, names,
};
pub use self::write::write;

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

/// `1 input`, `2 inputs`.
pub fn plural(number: u64, noun: &str) -> String {
    format!(
        "{} {noun}{}",
        count(number),
        if number == 1 { "" } else { "s" }
    )
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
