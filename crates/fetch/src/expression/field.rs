//! The fields that expressions can name: those that `record` declares, and parts of a response by their own names.

use crate::record::{Kind, Name, Outcome, Used, names};

use super::value::{Comparison, Literal};

/// A field of a response or a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// A value of a record; bare, whether there is one.
    Named(&'static Name),
    /// `host`: the canonical host, with its port unless that is the usual one.
    Host,
    /// `header.NAME`, in lower case.
    Header(String),
    /// `column.NAME`: a column of the input.
    Column(String),
    /// `taken.NAME`: what `--take` took.
    Taken(String),
    /// `body`
    Body,
    /// `json:/pointer`: a part of a body of JSON.
    Json(String),
}

impl Field {
    /// The field with this name, which has no parameter.
    pub(super) fn plain(word: &str) -> Option<Field> {
        match word {
            "host" => Some(Field::Host),
            "body" => Some(Field::Body),
            word => named().find(|name| name.name == word).map(Field::Named),
        }
    }

    /// The names of all fields without a parameter.
    pub(super) fn words() -> impl Iterator<Item = &'static str> {
        named().map(|name| name.name).chain(["host", "body"])
    }

    /// Names whose letters' case says nothing.
    pub(super) fn ignores_case(&self) -> bool {
        match self {
            Field::Named(name) => name.name == "method",
            field => *field == Field::Host,
        }
    }

    /// Says which values this field can be compared with, unless this is one of them.
    pub(super) fn objection(&self, comparison: Comparison, literal: &Literal) -> Option<String> {
        let is_equality = matches!(comparison, Comparison::Equal | Comparison::Unequal);
        if *literal == Literal::Null && !is_equality {
            return Some("== or != before null".to_owned());
        }
        let Field::Named(name) = self else {
            return None;
        };
        match (name.kind, literal) {
            (kind, Literal::Null) if !matches!(kind, Kind::Bool | Kind::Choice) => None,
            (Kind::Bool, Literal::Bool(_)) => None,
            (Kind::Bool, _) => Some("true or false".to_owned()),
            (kind, Literal::Number(_)) if kind.is_number() => None,
            (kind, _) if kind.is_number() => Some("a number".to_owned()),
            (Kind::Choice, literal) => {
                let known = Outcome::ALL.map(|outcome| format!("'{}'", outcome.name()));
                let is_one = matches!(literal, Literal::Text(text) if Outcome::ALL.iter().any(|it| it.name() == text));
                (!is_one).then(|| format!("one of {}", known.join(", ")))
            }
            _ => None,
        }
    }

    /// Whether `contains` and `matches` make sense.
    pub(super) fn is_text(&self) -> bool {
        !matches!(self, Field::Named(name) if name.kind == Kind::Bool)
    }
}

fn named() -> impl Iterator<Item = &'static Name> {
    names().filter(|name| name.used != Used::InTables)
}
