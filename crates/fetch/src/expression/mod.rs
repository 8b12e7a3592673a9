//! Small expressions about a response or a record: `status == 200 and body contains 'in stock'`.
//!
//! `parse` reads a test, `logic` joins tests by `and`, `or` and `not`, and `holds` evaluates them on [`Facts`]. A
//! missing field equals nothing. `field` lists the fields, `value` compares them, `facts` reads them from a record,
//! `known_fields` refuses fields that no record has, and `pointer` finds a part of JSON. `counts` is about the counts
//! of a job.

mod counts;
mod display;
mod facts;
mod field;
mod known_fields;
mod logic;
mod number;
mod parse;
pub mod pointer;
mod scan;
mod value;

pub use counts::{Counts, Threshold};
pub use field::Field;
pub use known_fields::KnownFields;
pub use number::Number;
pub use value::Value;

use logic::Logic;
use scan::Scanner;
use value::{Comparison, Literal, Pattern};

/// An expression that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression(Logic<Test>);

#[derive(Clone, Debug, PartialEq)]
enum Test {
    /// The field is there, and is not false.
    Is(Field),
    Compare(Field, Comparison, Literal),
    Matches(Field, Pattern),
}

/// A source of field values: a record, or a response that has just come.
pub trait Facts {
    /// The value of this field, if it is known.
    fn field(&self, field: &Field) -> Option<Value<'_>>;

    /// Why nobody knows the value of a field for which [`field`](Facts::field) has none; without a reason, the field is
    /// missing.
    fn unknown(&self, _: &Field) -> Option<String> {
        None
    }
}

/// Where an expression cannot be read, and what was expected there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the expression {text:?} cannot be read at column {column}: expected {expected}, found {found}"
)]
pub struct ExpressionError {
    /// The expression.
    pub text: String,
    /// The position, in characters from 1.
    pub column: usize,
    /// The tokens that were expected there.
    pub expected: String,
    /// What stands there.
    pub found: String,
}

impl Expression {
    /// Reads an expression.
    pub fn parse(text: &str) -> Result<Expression, ExpressionError> {
        Logic::parse(text, &Scanner::test).map(Expression)
    }

    /// Whether it holds.
    pub fn holds(&self, facts: &dyn Facts) -> bool {
        self.0.holds(&|test| test.holds(facts.field(test.field())))
    }

    /// Whether it holds, where the values of some fields are unknown.
    ///
    /// # Errors
    /// Why nobody knows it.
    pub fn decide(&self, facts: &dyn Facts) -> Result<bool, String> {
        self.0.decide(&|test| match facts.field(test.field()) {
            None => match facts.unknown(test.field()) {
                Some(why) => Err(why),
                None => Ok(test.holds(None)),
            },
            value => Ok(test.holds(value)),
        })
    }

    /// The fields that it names.
    pub fn fields(&self) -> Vec<&Field> {
        let mut fields = Vec::new();
        self.0.each(&mut |test| fields.push(test.field()));
        fields
    }

    /// Whether it compares a field with this word.
    pub fn names(&self, word: &str) -> bool {
        let mut is_named = false;
        self.0.each(&mut |test| {
            is_named |= match test {
                Test::Compare(_, _, Literal::Text(text)) => text == word,
                Test::Matches(_, pattern) => pattern.source.contains(word),
                Test::Compare(..) | Test::Is(_) => false,
            };
        });
        is_named
    }

    /// Whether it reads the body.
    pub fn needs_body(&self) -> bool {
        let of_body = |field: &&Field| matches!(field, Field::Body | Field::Json(_));
        self.fields().iter().any(of_body)
    }
}

impl Test {
    fn holds(&self, value: Option<Value<'_>>) -> bool {
        match self {
            Test::Is(_) => value.is_some_and(|value| value != Value::Bool(false)),
            Test::Compare(field, comparison, literal) => {
                comparison.holds(value.as_ref(), literal, field.ignores_case())
            }
            Test::Matches(_, pattern) => value.is_some_and(|value| pattern.matches(&value.text())),
        }
    }

    fn field(&self) -> &Field {
        match self {
            Test::Is(field) | Test::Compare(field, ..) | Test::Matches(field, _) => field,
        }
    }
}

#[cfg(test)]
mod tests;
