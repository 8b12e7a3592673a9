//! Writes an expression as text. Reading that text gives the same expression.

use std::fmt::{self, Display, Formatter, Write};

use super::value::Literal;
use super::{Expression, Field, Test};

impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Display for Test {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Test::Is(field) => field.fmt(f),
            Test::Compare(field, comparison, literal) => {
                write!(f, "{field} {} ", comparison.sign())?;
                match literal {
                    Literal::Number(number) => number.fmt(f),
                    Literal::Bool(truth) => truth.fmt(f),
                    Literal::Text(text) => quoted(f, text),
                    Literal::Null => f.write_str("null"),
                }
            }
            Test::Matches(field, pattern) => {
                let flag = if pattern.ignores_case { "i" } else { "" };
                write!(f, "{field} matches /{}/{flag}", pattern.source)
            }
        }
    }
}

fn quoted(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('\'')?;
    for character in text.chars() {
        match character {
            '\'' => f.write_str("\\'")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('\'')
}

impl Display for Field {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut named = |kind: &str, name: &str| {
            write!(f, "{kind}[")?;
            quoted(f, name)?;
            f.write_char(']')
        };
        match self {
            Field::Header(name) => named("header", name),
            Field::Column(name) => named("column", name),
            Field::Taken(name) => named("taken", name),
            Field::Json(pointer) => {
                f.write_str("json:")?;
                quoted(f, pointer)
            }
            Field::Named(name) => f.write_str(name.name),
            Field::Host => f.write_str("host"),
            Field::Body => f.write_str("body"),
        }
    }
}
