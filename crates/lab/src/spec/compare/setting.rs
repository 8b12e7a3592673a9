//! One setting of one side of a pair, as it is written on the command line.

use std::str::FromStr;

use hecaton_origin::Delay;

use crate::spec::{Cell, parse_delay};

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
    what: What,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    Keepalive(bool),
    Concurrency(usize),
    Body(usize),
    Delay(Delay),
    Tls(bool),
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Setting, String> {
        let (of, rest) = match text.split_once(':') {
            Some(("A" | "a", rest)) => (Which::A, rest),
            Some(("B" | "b", rest)) => (Which::B, rest),
            _ => (Which::B, text),
        };
        let (key, value) = rest
            .split_once('=')
            .ok_or_else(|| format!("`{text}` sets nothing; write it as in keepalive=off"))?;
        let number = || {
            let read: Result<usize, _> = value.parse();
            read.map_err(|_| format!("`{value}` is not a number; write it as in {key}=20"))
        };
        let switch = || match value {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(format!("{key} is on or off, not `{value}`")),
        };
        let what = match key {
            "keepalive" => What::Keepalive(switch()?),
            "tls" => What::Tls(switch()?),
            "concurrency" => What::Concurrency(number()?),
            "body" => What::Body(number()?),
            "delay" => What::Delay(parse_delay(value)?),
            _ => {
                return Err(format!(
                    "`{key}` cannot be set; use keepalive, concurrency, body, delay or tls"
                ));
            }
        };
        Ok(Setting { of, what })
    }
}

impl Setting {
    /// Changes a side; `common` is the delay of both sides.
    pub(super) fn apply(&self, side: &mut Cell, common: Delay) {
        match self.what {
            What::Keepalive(keepalive) => side.keepalive = keepalive,
            What::Concurrency(concurrency) => side.concurrency = concurrency,
            What::Body(bytes) => side.body_bytes = bytes,
            What::Delay(delay) => side.own.delay = (delay != common).then_some(delay),
            What::Tls(tls) => side.own.tls = tls.then_some(true),
        }
    }
}
