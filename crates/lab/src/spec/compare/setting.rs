//! One setting of one side of a pair, as it is written on the command line.

use std::str::FromStr;

use hecaton_test_server::Delay;

use crate::spec::{Cell, Factor};

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
        setting.change(&mut Cell::plain(""))?;
        Ok(setting)
    }
}

impl Setting {
    /// Changes a side; `common` is the delay of both sides.
    pub(super) fn apply(&self, side: &mut Cell, common: Delay) {
        // Its errors were reported when it was read.
        let _ = self.change(side);
        side.overrides.delay = side.overrides.delay.filter(|delay| *delay != common);
    }

    fn change(&self, cell: &mut Cell) -> Result<(), String> {
        Factor::named(&self.factor)?.set(cell, &self.value)
    }
}
