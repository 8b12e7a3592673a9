//! Limits that a user sets for the rows of a run, as in `p99 > 50ms`: what `--fail-if` is about.

use std::str::FromStr;

use super::Row;
use super::words::figure;
use crate::spec::{parse_duration, parse_memory};

/// A condition that no row of a client may meet.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    column: &'static Column,
    sign: Sign,
    limit: f64,
}

/// A column that a threshold can be about.
#[derive(Debug)]
struct Column {
    name: &'static str,
    unit: &'static str,
    read: fn(&str) -> Result<f64, String>,
    of: fn(&Row) -> Option<f64>,
}

const COLUMNS: [Column; 7] = [
    Column {
        name: "p50",
        unit: " ms",
        read: milliseconds,
        of: |row| row.p50_ms,
    },
    Column {
        name: "p99",
        unit: " ms",
        read: milliseconds,
        of: |row| row.p99_ms,
    },
    Column {
        name: "cpu",
        unit: " ms",
        read: milliseconds,
        of: |row| row.cpu_ms_per_request,
    },
    Column {
        name: "speed",
        unit: " requests/s",
        read: number,
        of: |row| Some(row.requests_per_second),
    },
    Column {
        name: "memory",
        unit: " MB",
        read: parse_memory,
        of: |row| Some(row.peak_rss_mb),
    },
    Column {
        name: "errors",
        unit: "",
        read: number,
        of: |row| Some(row.errors as f64),
    },
    Column {
        name: "duplicates",
        unit: "",
        read: number,
        of: |row| row.duplicates.map(|count| count as f64),
    },
];

/// How a figure is compared. The longer signs come first, because they begin with the shorter ones.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sign {
    NotBelow,
    NotAbove,
    Above,
    Below,
}

const SIGNS: [(&str, Sign); 4] = [
    (">=", Sign::NotBelow),
    ("<=", Sign::NotAbove),
    (">", Sign::Above),
    ("<", Sign::Below),
];

fn milliseconds(text: &str) -> Result<f64, String> {
    parse_duration(text).map(|time| time.as_secs_f64() * 1e3)
}

fn number(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| format!("`{text}` is not a number; write one as in 1000"))
}

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Threshold, String> {
        let found = SIGNS.iter().find_map(|(written, sign)| {
            let (name, limit) = text.split_once(written)?;
            Some((name.trim(), *sign, limit.trim()))
        });
        let (name, sign, limit) =
            found.ok_or("write a column, a sign and a limit, as in 'p99 > 50ms'")?;
        let column = COLUMNS.iter().find(|column| column.name == name);
        let column = column.ok_or_else(|| {
            let names: Vec<_> = COLUMNS.iter().map(|column| column.name).collect();
            format!(
                "no column is called `{name}`; there are {}",
                names.join(", ")
            )
        })?;
        let limit = (column.read)(limit)?;
        Ok(Threshold {
            column,
            sign,
            limit,
        })
    }
}

impl Threshold {
    fn is_met(&self, value: f64) -> bool {
        match self.sign {
            Sign::NotBelow => value >= self.limit,
            Sign::NotAbove => value <= self.limit,
            Sign::Above => value > self.limit,
            Sign::Below => value < self.limit,
        }
    }

    /// Why the row fails; none if it passes. A row whose figure is unknown fails, for nothing shows that it is within
    /// the limit. The baseline loader is no client, and passes.
    pub fn failure(&self, row: &Row) -> Option<String> {
        let Column { name, unit, of, .. } = self.column;
        let place = format!("{} at {} in flight", row.client, row.load.concurrency);
        if row.is_baseline_loader() {
            return None;
        }
        if row.rejected.is_some() {
            return Some(format!("{place} was rejected, so its {name} is unknown"));
        }
        match of(row) {
            None => Some(format!("{place} has no {name}")),
            Some(value) if self.is_met(value) => {
                Some(format!("{name} of {place} is {}{unit}", figure(value)))
            }
            Some(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_and_sign_is_read() {
        let limits = ["1ms", "50ms", "0.2ms", "1000", "200M", "0", "0"];
        for (column, limit) in COLUMNS.iter().zip(limits) {
            for (written, sign) in SIGNS {
                for text in [
                    format!("{} {written} {limit}", column.name),
                    format!("{}{written}{limit}", column.name),
                ] {
                    let read: Threshold = text.parse().expect(&text);
                    assert_eq!((read.column.name, read.sign), (column.name, sign), "{text}");
                }
            }
        }
        let limit = |text: &str| text.parse::<Threshold>().unwrap().limit;
        assert_eq!(
            [limit("p99 > 1.5s"), limit("memory > 2G")],
            [1500.0, 2000.0]
        );
    }

    #[test]
    fn what_is_no_threshold_is_refused_in_a_sentence() {
        for (text, why) in [
            ("p99", "write a column, a sign and a limit"),
            (
                "p98 > 1ms",
                "no column is called `p98`; there are p50, p99,",
            ),
            ("p99 > fast", "fast"),
            ("errors > many", "`many` is not a number"),
            ("speed < inf", "`inf` is not a number"),
        ] {
            let said = text.parse::<Threshold>().unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }

    /// Each sign below, at and above the limit.
    #[test]
    fn a_sign_means_what_it_says() {
        let met = |text: &str| {
            let threshold: Threshold = text.parse().unwrap();
            [49.0, 50.0, 51.0].map(|value| threshold.is_met(value))
        };
        assert_eq!(met("p99 > 50ms"), [false, false, true]);
        assert_eq!(met("p99 >= 50ms"), [false, true, true]);
        assert_eq!(met("p99 < 50ms"), [true, false, false]);
        assert_eq!(met("p99 <= 50ms"), [true, true, false]);
    }
}
