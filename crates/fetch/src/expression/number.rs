//! Numbers of expressions. Integers are compared exactly: as floats, neighbours beyond 2^53 would be equal.

use std::cmp::Ordering;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A number.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// A whole number that was written without a point.
    Integer(i128),
    /// Any other.
    Float(f64),
}

impl Number {
    /// That of a piece of JSON; none if it has no 64 bits.
    pub(super) fn of_json(number: &serde_json::Number) -> Option<Number> {
        let integer = number.as_i64().map(i128::from);
        let integer = integer.or_else(|| number.as_u64().map(i128::from));
        let float = || number.as_f64().map(Number::Float);
        integer.map(Number::Integer).or_else(float)
    }

    /// The nearest float.
    #[expect(clippy::cast_precision_loss, reason = "the nearest is what is meant")]
    pub(super) fn as_float(self) -> f64 {
        match self {
            Number::Integer(integer) => integer as f64,
            Number::Float(float) => float,
        }
    }
}

impl FromStr for Number {
    type Err = std::num::ParseFloatError;

    fn from_str(text: &str) -> Result<Number, Self::Err> {
        match text.parse() {
            Ok(integer) => Ok(Number::Integer(integer)),
            Err(_) => text.parse().map(Number::Float),
        }
    }
}

impl From<f64> for Number {
    fn from(float: f64) -> Number {
        Number::Float(float)
    }
}

impl From<i64> for Number {
    fn from(integer: i64) -> Number {
        Number::Integer(integer.into())
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        match (*self, *other) {
            (Number::Integer(one), Number::Integer(other)) => Some(one.cmp(&other)),
            (Number::Float(one), Number::Float(other)) => one.partial_cmp(&other),
            (Number::Integer(integer), Number::Float(float)) => compare(integer, float),
            (Number::Float(float), Number::Integer(integer)) => {
                compare(integer, float).map(Ordering::reverse)
            }
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a float beyond all integers becomes the last one, and is looked at first"
)]
fn compare(integer: i128, float: f64) -> Option<Ordering> {
    // 2^127 is the first float beyond all integers.
    const BEYOND: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    if float.is_nan() {
        None
    } else if float >= BEYOND {
        Some(Ordering::Less)
    } else if float < -BEYOND {
        Some(Ordering::Greater)
    } else {
        let whole = integer.cmp(&(float.trunc() as i128));
        whole.then(0.0_f64.partial_cmp(&float.fract())?).into()
    }
}

impl Display for Number {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Number::Integer(integer) => integer.fmt(f),
            // With a point, so that it is read as a float again.
            Number::Float(float) if float.fract() == 0.0 => write!(f, "{float:.1}"),
            Number::Float(float) => float.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_are_compared_without_rounding() {
        for (one, other, expected) in [
            ("9007199254740993", "9007199254740992", Ordering::Greater),
            ("9007199254740993", "9007199254740992.0", Ordering::Greater),
            ("5", "5.0", Ordering::Equal),
            ("5", "5.5", Ordering::Less),
            ("-5", "-5.5", Ordering::Greater),
            ("5", "4.5", Ordering::Greater),
            ("7", "1e300", Ordering::Less),
            ("7", "-1e300", Ordering::Greater),
            ("0.10000000000000001", "0.1", Ordering::Equal),
            ("1.9000000000000001", "1.9", Ordering::Greater),
        ] {
            let [one, other]: [Number; 2] = [one, other].map(|text| text.parse().unwrap());
            assert_eq!(one.partial_cmp(&other), Some(expected), "{one} {other}");
            assert_eq!(other.partial_cmp(&one), Some(expected.reverse()));
        }
        assert!(Number::Integer(5).partial_cmp(&f64::NAN.into()).is_none());
    }
}
