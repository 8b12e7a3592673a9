//! The factors of an experiment: in what one cell may differ from another. A new one is a line in [`FACTORS`], and what
//! keeps it in [`Cell`]; command lines set it and reports read it from there.

use super::{Cell, Mode, parse_delay};

/// One factor beside the client and the body, which have columns of their own.
pub struct Factor {
    /// Its name on the command line, as in `--set tls=on`; empty if it cannot be set there.
    pub name: &'static str,
    /// Changes a cell to what is written, or says what is wrong with it.
    set: fn(&mut Cell, &str) -> Result<(), String>,
    /// Its words about a cell; none if the cell has the usual value.
    words: fn(&Cell) -> Option<String>,
}

/// Every factor, in the order in which loads are described.
#[rustfmt::skip]
pub const FACTORS: [Factor; 7] = [
    Factor { name: "", set: |_, _| Ok(()), words: |cell| cell.overrides.requests.map(|size| batch(size, cell.overrides.mode)) },
    Factor { name: "concurrency", set: |cell, text| number(text).map(|n| cell.concurrency = n), words: concurrency },
    Factor { name: "body", set: |cell, text| number(text).map(|n| cell.body_bytes = n), words: |_| None },
    Factor { name: "", set: |_, _| Ok(()), words: |cell| cell.overrides.round_trip_ms.map(|trip| format!("round trip {trip} ms")) },
    Factor { name: "delay", set: delay, words: |cell| cell.overrides.delay.map(|delay| format!("delay {delay}")) },
    Factor { name: "tls", set: |cell, text| switch(text).map(|on| cell.overrides.tls = on.then_some(true)), words: |cell| cell.overrides.tls?.then(|| "TLS".into()) },
    Factor { name: "keepalive", set: |cell, text| switch(text).map(|on| cell.keepalive = on), words: |cell| (!cell.keepalive).then(|| "a new connection each".into()) },
];

impl Factor {
    /// The one with this name.
    ///
    /// # Errors
    /// A sentence with the names that there are.
    pub fn named(name: &str) -> Result<&'static Factor, String> {
        let known = FACTORS.iter().filter(|factor| !factor.name.is_empty());
        let found = known.clone().find(|factor| factor.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = known.map(|factor| factor.name).collect();
            let (last, others) = names.split_last().expect("there are some");
            format!(
                "`{name}` cannot be set; use {} or {last}",
                others.join(", ")
            )
        })
    }

    /// Changes a cell to what is written.
    ///
    /// # Errors
    /// A sentence with what may be written.
    pub fn set(&self, cell: &mut Cell, text: &str) -> Result<(), String> {
        (self.set)(cell, text).map_err(|why| format!("{} {why}", self.name))
    }
}

/// The load of a cell in words: what tells it from the others of its client, the body left out.
pub fn load_words(cell: &Cell) -> String {
    let words: Vec<String> = FACTORS
        .iter()
        .filter_map(|factor| (factor.words)(cell))
        .collect();
    words.join(", ")
}

fn concurrency(cell: &Cell) -> Option<String> {
    // A batch of a known size says how many are in flight.
    cell.overrides
        .requests
        .is_none()
        .then(|| format!("concurrency {}", cell.concurrency))
}

fn batch(size: u64, mode: Option<Mode>) -> String {
    match mode {
        Some(Mode::Sync) => format!("batch of {size} one after another"),
        _ => format!("batch of {size} at once"),
    }
}

fn delay(cell: &mut Cell, text: &str) -> Result<(), String> {
    let delay = parse_delay(text).map_err(|why| format!("cannot be `{text}`: {why}"))?;
    cell.overrides.delay = Some(delay);
    Ok(())
}

fn number(text: &str) -> Result<usize, String> {
    text.parse()
        .map_err(|_| format!("is not a number: `{text}`; write it as in 20"))
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("is on or off, not `{text}`")),
    }
}
