//! An input, and its record: one line of the results.
//!
//! `fields` declares the fields of a record, once for all. `ending` has what is known when a record is written, `write`
//! writes it, and `cell` is one value.

mod cell;
mod columns;
mod ending;
mod fields;
mod outcome;
mod write;

pub use self::cell::{Cell, Kind, of_json};
pub use self::columns::{Columns, URL};
pub use self::ending::{Ending, Failed, header};
pub use self::fields::{
    Body, Elapsed, FIELDS, Failure, Field, Name, Record, Used, Validators, Way, names,
};
pub use self::outcome::Outcome;
pub use self::write::write;

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
