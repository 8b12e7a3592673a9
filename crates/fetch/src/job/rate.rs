//! The rate of a host: a number of requests a second, or one that follows what the host can do.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// The word for a rate that adapts.
const AUTO: &str = "auto";

/// How many requests a second a host gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// At most this many.
    Fixed(f64),
    /// As many as it can take, and at most this many: `auto` or `auto:50`.
    Auto(Option<f64>),
}

impl Rate {
    /// The number that is never exceeded, if there is one.
    pub fn most(self) -> Option<f64> {
        match self {
            Rate::Fixed(rate) => Some(rate),
            Rate::Auto(most) => most,
        }
    }

    /// Whether it follows what the host can do.
    pub fn is_auto(self) -> bool {
        matches!(self, Rate::Auto(_))
    }

    /// Refuses a number that is no rate.
    pub(super) fn check(self) -> Result<(), String> {
        self.most().map_or(Ok(()), hecaton::check_rate)
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Rate, String> {
        let number = |text: &str| text.parse::<f64>().ok();
        let rate = match text.strip_prefix(AUTO) {
            Some("") => Some(Rate::Auto(None)),
            Some(most) => most
                .strip_prefix(':')
                .and_then(number)
                .map(|most| Rate::Auto(Some(most))),
            None => number(text).map(Rate::Fixed),
        };
        rate.ok_or_else(|| {
            format!("{text:?} is not a rate: write a number, auto, or auto:50 for at most 50")
        })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rate::Fixed(rate) => write!(f, "{rate}"),
            Rate::Auto(None) => f.write_str(AUTO),
            Rate::Auto(Some(most)) => write!(f, "{AUTO}:{most}"),
        }
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Rate::Fixed(rate) => to.serialize_f64(*rate),
            auto => to.collect_str(auto),
        }
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Rate, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Given {
            Number(f64),
            Text(String),
        }
        match Given::deserialize(from)? {
            Given::Number(rate) => Ok(Rate::Fixed(rate)),
            Given::Text(text) => text.parse().map_err(D::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_read_and_written() {
        for (text, rate) in [
            ("20", Rate::Fixed(20.0)),
            ("0.5", Rate::Fixed(0.5)),
            ("auto", Rate::Auto(None)),
            ("auto:50", Rate::Auto(Some(50.0))),
        ] {
            assert_eq!(text.parse(), Ok(rate));
            assert_eq!(rate.to_string(), text);
        }
        for wrong in ["", "automatic", "auto:", "auto:x", "auto50", "fast"] {
            assert!(wrong.parse::<Rate>().is_err(), "{wrong}");
        }
        assert!(Rate::Auto(Some(0.0)).check().is_err());
        assert!(Rate::Fixed(f64::NAN).check().is_err());
        assert!(Rate::Auto(None).check().is_ok());
    }
}
