//! One setting of one side of a pair, as it is written on the command line.

use std::str::FromStr;

use crate::spec::{Factor, Load, Usage};

/// Which side of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    A,
    B,
}

/// One setting of one side, as in `keepalive=off` (of B) or `A:concurrency=20`.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    pub(super) of: Which,
    factor: String,
    value: String,
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Setting, String> {
        let (of, rest) = match text.split_once(':') {
            Some(("A" | "a", rest)) => (Which::A, rest),
            Some(("B" | "b", rest)) => (Which::B, rest),
            _ => (Which::B, text),
        };
        let (factor, value) = rest
            .split_once('=')
            .ok_or_else(|| format!("`{text}` has no value; write it as in keepalive=off"))?;
        let setting = Setting {
            of,
            factor: factor.into(),
            value: value.into(),
        };
        setting.change(&mut { Load::PLAIN })?;
        Ok(setting)
    }
}

impl Setting {
    /// Refuses a setting of one side that stands twice.
    pub(super) fn each_once(all: &[Setting]) -> Result<(), Usage> {
        let same =
            |one: &Setting, other: &Setting| one.of == other.of && one.factor == other.factor;
        let twice = all
            .iter()
            .enumerate()
            .find(|(place, one)| all[..*place].iter().any(|earlier| same(one, earlier)));
        twice.map_or(Ok(()), |(_, Setting { of, factor, .. })| {
            Err(Usage(format!(
                "{factor} of {of:?} stands twice; name one value"
            )))
        })
    }

    /// Changes a side.
    pub(super) fn apply(&self, side: &mut Load) {
        // Its errors were reported when it was read.
        let _ = self.change(side);
    }

    fn change(&self, load: &mut Load) -> Result<(), String> {
        Factor::named(&self.factor)?.set(load, &self.value)
    }
}
