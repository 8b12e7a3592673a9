//! Values and their comparison.

use std::borrow::Cow;
use std::cmp::Ordering;

use regex::{Regex, RegexBuilder};

use super::number::Number;
use crate::record::Cell;

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// A number.
    Number(Number),
    /// A text.
    Text(Cow<'a, str>),
    /// True or false.
    Bool(bool),
}

/// A literal in an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Number(Number),
    Text(String),
    Bool(bool),
    /// A value that is null or missing.
    Null,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
}

/// A regular expression as it was written.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    pub source: String,
    pub ignores_case: bool,
    regex: Regex,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        (&self.source, self.ignores_case) == (&other.source, other.ignores_case)
    }
}

impl Pattern {
    pub(super) fn new(source: &str, ignores_case: bool) -> Result<Pattern, regex::Error> {
        let regex = RegexBuilder::new(source)
            .case_insensitive(ignores_case)
            .size_limit(1 << 20)
            .build()?;
        Ok(Pattern {
            source: source.to_owned(),
            ignores_case,
            regex,
        })
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

impl<'a> Value<'a> {
    /// The value of a piece of JSON; none for null.
    pub fn of_json(json: &'a serde_json::Value) -> Option<Value<'a>> {
        match json {
            serde_json::Value::Null => None,
            serde_json::Value::Bool(truth) => Some(Value::Bool(*truth)),
            serde_json::Value::Number(number) => Number::of_json(number).map(Value::Number),
            serde_json::Value::String(text) => Some(Value::Text(text.into())),
            other => Some(Value::Text(other.to_string().into())),
        }
    }

    /// The value of a field; none if it is missing.
    pub fn of_cell(cell: Cell<'a>) -> Option<Value<'a>> {
        match cell {
            Cell::Nothing => None,
            Cell::Bool(truth) => Some(Value::Bool(truth)),
            Cell::Integer(integer) => Some(Value::Number(integer.into())),
            Cell::Number(number) => Some(Value::Number(number.into())),
            Cell::Text(text) => Some(Value::Text(text)),
        }
    }

    /// A copy that borrows nothing.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Value::Number(number) => Value::Number(number),
            Value::Text(text) => Value::Text(text.into_owned().into()),
            Value::Bool(truth) => Value::Bool(truth),
        }
    }

    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Value::Number(number) => number.to_string().into(),
            Value::Text(text) => text.as_ref().into(),
            Value::Bool(truth) => truth.to_string().into(),
        }
    }

    fn number(&self) -> Option<Number> {
        match self {
            Value::Number(number) => Some(*number),
            Value::Text(text) => text.trim().parse().ok(),
            Value::Bool(_) => None,
        }
    }
}

impl Comparison {
    /// Each with how it is written, longer ones first.
    pub(super) const SIGNS: [(&'static str, Comparison); 6] = [
        ("==", Comparison::Equal),
        ("!=", Comparison::Unequal),
        ("<=", Comparison::LessOrEqual),
        (">=", Comparison::GreaterOrEqual),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
    ];

    /// As it is written.
    pub(super) fn sign(self) -> &'static str {
        let sign = Comparison::SIGNS.iter().find(|(_, it)| *it == self);
        sign.map_or("contains", |(sign, _)| sign)
    }

    /// Whether it holds between two numbers.
    pub(super) fn compares(self, left: f64, right: f64) -> bool {
        self.holds(
            Some(&Value::Number(left.into())),
            &Literal::Number(right.into()),
            false,
        )
    }

    pub(super) fn holds(
        self,
        value: Option<&Value<'_>>,
        literal: &Literal,
        ignores_case: bool,
    ) -> bool {
        if *literal == Literal::Null {
            return (self == Comparison::Equal) == value.is_none();
        }
        let order = || value.and_then(|value| order(value, literal, ignores_case));
        match self {
            Comparison::Equal => order() == Some(Ordering::Equal),
            Comparison::Unequal => order() != Some(Ordering::Equal),
            Comparison::Less => order() == Some(Ordering::Less),
            Comparison::LessOrEqual => order().is_some_and(Ordering::is_le),
            Comparison::Greater => order() == Some(Ordering::Greater),
            Comparison::GreaterOrEqual => order().is_some_and(Ordering::is_ge),
            Comparison::Contains => match (value, literal) {
                (Some(value), Literal::Text(text)) => value.text().contains(text.as_str()),
                _ => false,
            },
        }
    }
}

/// Numbers with numbers, and with texts that are numbers; texts with texts.
fn order(value: &Value<'_>, literal: &Literal, ignores_case: bool) -> Option<Ordering> {
    match literal {
        Literal::Number(number) => value.number()?.partial_cmp(number),
        Literal::Bool(truth) => match value {
            Value::Bool(value) => Some(value.cmp(truth)),
            Value::Text(text) => Some(text.parse::<bool>().ok()?.cmp(truth)),
            Value::Number(_) => None,
        },
        Literal::Text(text) => match value {
            Value::Number(number) => number.partial_cmp(&text.trim().parse().ok()?),
            value if ignores_case => Some(
                value
                    .text()
                    .to_ascii_lowercase()
                    .cmp(&text.to_ascii_lowercase()),
            ),
            value => Some(value.text().as_ref().cmp(text)),
        },
        Literal::Null => None,
    }
}
