//! One value of a record, for expressions, tables and the line that is written.

use std::borrow::Cow;

use serde_json::Value;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    /// It is missing.
    Nothing,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// A number; a time has three decimals.
    Number(f64),
    /// A text.
    Text(Cow<'a, str>),
}

/// The type of a value with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// True or false.
    Bool,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// RFC 3339.
    Time,
    /// A text.
    Text,
    /// One of the outcomes.
    Choice,
}

impl Kind {
    /// Whether it is a number.
    pub fn is_number(self) -> bool {
        matches!(self, Kind::Integer | Kind::Number)
    }

    /// The kind of a column that holds both.
    pub fn and(self, other: Kind) -> Kind {
        match (self, other) {
            (one, other) if one == other => one,
            (Kind::Integer, Kind::Number) | (Kind::Number, Kind::Integer) => Kind::Number,
            _ => Kind::Text,
        }
    }
}

impl Cell<'_> {
    /// Its kind; none for nothing.
    pub fn kind(&self) -> Option<Kind> {
        match self {
            Cell::Nothing => None,
            Cell::Bool(_) => Some(Kind::Bool),
            Cell::Integer(_) => Some(Kind::Integer),
            Cell::Number(_) => Some(Kind::Number),
            Cell::Text(_) => Some(Kind::Text),
        }
    }

    /// As text; empty for nothing.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Cell::Nothing => "".into(),
            Cell::Bool(truth) => truth.to_string().into(),
            Cell::Integer(integer) => integer.to_string().into(),
            // Else 1e300 would have 301 digits.
            Cell::Number(number) => match number.abs() {
                0.0 | 1e-5..1e16 => number.to_string().into(),
                _ => format!("{number:e}").into(),
            },
            Cell::Text(text) => text.as_ref().into(),
        }
    }
}

/// A value that was taken: texts as they are, lists and objects as JSON.
pub fn of_json(value: &Value) -> Cell<'_> {
    match value {
        Value::Null => Cell::Nothing,
        Value::Bool(truth) => Cell::Bool(*truth),
        Value::String(text) => Cell::Text(text.into()),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Cell::Integer(integer),
            (None, Some(float)) if number.is_f64() => Cell::Number(float),
            _ => Cell::Text(number.to_string().into()),
        },
        other => Cell::Text(other.to_string().into()),
    }
}

impl From<bool> for Cell<'_> {
    fn from(truth: bool) -> Self {
        Cell::Bool(truth)
    }
}

impl From<u64> for Cell<'_> {
    fn from(count: u64) -> Self {
        Cell::Integer(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

/// An empty text is missing.
impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        match text {
            "" => Cell::Nothing,
            text => Cell::Text(text.into()),
        }
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Cell::Nothing, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_few_digits_and_is_the_same_when_it_is_read_again() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (191.07, "191.07"),
            (10.0, "10"),
            (1e15, "1000000000000000"),
            (1e21, "1e21"),
            (-1.7e308, "-1.7e308"),
            (1.5e-22, "1.5e-22"),
        ] {
            assert_eq!(Cell::Number(number).text(), text);
            assert_eq!(text.parse(), Ok(number));
        }
    }
}
