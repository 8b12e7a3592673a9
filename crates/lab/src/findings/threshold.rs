//! Limits that a user sets for what was measured, as in `p99 > 50ms`: what `--fail-if` is about.

use std::str::FromStr;

use super::Row;
use super::words::figure;
use crate::spec::{parse_duration, parse_memory};

/// A condition that nothing measured may meet.
#[derive(Clone, Copy, Debug)]
pub struct Threshold<T: 'static> {
    column: &'static Column<T>,
    compare: Compare,
    limit: f64,
}

/// A figure of what was measured, which a threshold can be about.
#[derive(Debug)]
pub struct Column<T> {
    /// Its name in a threshold.
    pub name: &'static str,
    /// What follows the figure in a message.
    pub unit: &'static str,
    /// Reads a limit in that unit.
    pub read: fn(&str) -> Result<f64, String>,
    /// The figure; none if it is unknown.
    pub of: fn(&T) -> Option<f64>,
}

#[rustfmt::skip]
const COLUMNS: [Column<Row>; 7] = [
    Column { name: "p50", unit: " ms", read: milliseconds, of: |row| row.p50_ms },
    Column { name: "p99", unit: " ms", read: milliseconds, of: |row| row.p99_ms },
    Column { name: "cpu", unit: " ms", read: milliseconds, of: |row| row.cpu_ms_per_request },
    Column { name: "speed", unit: " requests/s", read: number, of: |row| Some(row.requests_per_second) },
    Column { name: "memory", unit: " MB", read: parse_memory, of: |row| Some(row.peak_rss_mb) },
    Column { name: "errors", unit: "", read: number, of: |row| Some(row.errors as f64) },
    Column { name: "duplicates", unit: "", read: number, of: |row| row.duplicates.map(|count| count as f64) },
];

/// How a figure is compared with a limit.
type Compare = fn(&f64, &f64) -> bool;

/// The signs. The longer ones come first, because they begin with the shorter ones.
const SIGNS: [(&str, Compare); 4] = [
    (">=", f64::ge),
    ("<=", f64::le),
    (">", f64::gt),
    ("<", f64::lt),
];

/// Reads a time, such as 50ms or 1.5s.
///
/// # Errors
/// When the text is no time.
pub fn milliseconds(text: &str) -> Result<f64, String> {
    parse_duration(text).map(|time| time.as_secs_f64() * 1e3)
}

/// Reads a number.
///
/// # Errors
/// When the text is no number.
pub fn number(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| format!("`{text}` is not a number; write one as in 1000"))
}

impl<T> Threshold<T> {
    /// Reads a threshold about one of the columns.
    ///
    /// # Errors
    /// When the text has another form, names no such column, or its limit cannot be read.
    pub fn parse(
        text: &str,
        columns: impl Iterator<Item = &'static Column<T>> + Clone,
    ) -> Result<Threshold<T>, String> {
        let found = SIGNS.iter().find_map(|(sign, compare)| {
            let (name, limit) = text.split_once(sign)?;
            Some((name.trim(), *compare, limit.trim()))
        });
        let (name, compare, limit) =
            found.ok_or("write a column, a sign and a limit, as in 'p99 > 50ms'")?;
        let column = columns.clone().find(|column| column.name == name);
        let column = column.ok_or_else(|| {
            let names: Vec<_> = columns.map(|column| column.name).collect();
            format!(
                "no column is called `{name}`; there are {}",
                names.join(", ")
            )
        })?;
        let limit = (column.read)(limit)?;
        Ok(Threshold {
            column,
            compare,
            limit,
        })
    }

    /// Why what was measured at a place fails; none if it passes. An unknown figure fails, for nothing shows that it is
    /// within the limit.
    pub fn failure(&self, measured: &T, place: &str) -> Option<String> {
        let Column { name, unit, of, .. } = self.column;
        match of(measured) {
            None => Some(format!("{place} has no {name}")),
            Some(value) if (self.compare)(&value, &self.limit) => {
                Some(format!("{name} of {place} is {}{unit}", figure(value)))
            }
            Some(_) => None,
        }
    }
}

impl FromStr for Threshold<Row> {
    type Err = String;

    fn from_str(text: &str) -> Result<Threshold<Row>, String> {
        Threshold::parse(text, COLUMNS.iter())
    }
}

impl Threshold<Row> {
    /// Why the row fails; none if it passes. The baseline loader is no client, and passes.
    pub fn failure_of_row(&self, row: &Row) -> Option<String> {
        let place = format!("{} at {} in flight", row.client, row.load.concurrency);
        if row.is_baseline_loader() {
            return None;
        }
        if row.rejected.is_some() {
            let name = self.column.name;
            return Some(format!("{place} was rejected, so its {name} is unknown"));
        }
        self.failure(row, &place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_and_sign_is_read() {
        let around = |sign: Compare| [-1.0, 0.0, 1.0].map(|value| sign(&value, &0.0));
        let limits = ["1ms", "50ms", "0.2ms", "1000", "200M", "0", "0"];
        for (column, limit) in COLUMNS.iter().zip(limits) {
            for (written, sign) in SIGNS {
                for text in [
                    format!("{} {written} {limit}", column.name),
                    format!("{}{written}{limit}", column.name),
                ] {
                    let read: Threshold<Row> = text.parse().expect(&text);
                    assert_eq!(read.column.name, column.name, "{text}");
                    assert_eq!(around(read.compare), around(sign), "{text}");
                }
            }
        }
        let limit = |text: &str| text.parse::<Threshold<Row>>().unwrap().limit;
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
            let said = text.parse::<Threshold<Row>>().unwrap_err();
            assert!(said.contains(why), "{text}: {said}");
        }
    }

    /// Each sign below, at and above the limit.
    #[test]
    fn a_sign_means_what_it_says() {
        let met = |text: &str| {
            let threshold: Threshold<Row> = text.parse().unwrap();
            [49.0, 50.0, 51.0].map(|value| (threshold.compare)(&value, &threshold.limit))
        };
        assert_eq!(met("p99 > 50ms"), [false, false, true]);
        assert_eq!(met("p99 >= 50ms"), [false, true, true]);
        assert_eq!(met("p99 < 50ms"), [true, false, false]);
        assert_eq!(met("p99 <= 50ms"), [true, true, false]);
    }
}
