//! Limits that a user sets for what was measured, as in `p99 > 50ms`: what `--fail-if` is about.

use std::str::FromStr;

use super::percentiles::fewest;
use super::rows::Row;
use super::words::{count, plural, short};
use crate::spec::{other_words, parse_duration, parse_memory};

/// A condition that nothing measured may meet.
#[derive(Clone, Copy, Debug)]
pub struct Threshold<T: 'static> {
    column: &'static Column<T>,
    sign: &'static Sign,
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
    /// Why it is unknown, and what to do.
    pub unknown: fn(&T) -> String,
}

#[rustfmt::skip]
const COLUMNS: [Column<Row>; 7] = [
    Column { name: "p50", unit: " ms", read: milliseconds, of: |row| row.p50_ms, unknown: |row| no_percentile(row, 50.0) },
    Column { name: "p99", unit: " ms", read: milliseconds, of: |row| row.p99_ms, unknown: |row| no_percentile(row, 99.0) },
    Column { name: "cpu", unit: " ms", read: milliseconds, of: |row| row.cpu_ms_per_request, unknown: |_| "no request ended well".into() },
    Column { name: "speed", unit: " requests/s", read: number, of: |row| Some(row.requests_per_second), unknown: |_| String::new() },
    Column { name: "memory", unit: " MB", read: parse_memory, of: |row| Some(row.peak_rss_mb), unknown: |_| String::new() },
    Column { name: "errors", unit: "", read: number, of: |row| Some(row.errors as f64), unknown: |_| String::new() },
    Column { name: "duplicates", unit: "", read: number, of: |row| row.duplicates.map(|count| count as f64), unknown: |_| "there is no log of the server; --access-log names one".into() },
];

/// Why a row lacks a percentile.
fn no_percentile(row: &Row, percent: f64) -> String {
    let (has, needs) = (row.latencies, fewest(percent));
    match has < needs {
        true => format!(
            "it has {}, and p{percent} needs {}; add --rounds, or a longer --time",
            match has {
                1 => "1 latency".to_owned(),
                has => format!("{} latencies", count(has)),
            },
            count(needs)
        ),
        false => "it is shorter than a step of the driver's clock".into(),
    }
}

/// How a figure is compared with a limit.
#[derive(Debug)]
struct Sign {
    text: &'static str,
    holds: fn(&f64, &f64) -> bool,
    /// The words for a figure for which it holds.
    words: &'static str,
}

/// The signs. The longer ones come first, because they begin with the shorter ones.
#[rustfmt::skip]
static SIGNS: [Sign; 4] = [
    Sign { text: ">=", holds: f64::ge, words: "is not below" },
    Sign { text: "<=", holds: f64::le, words: "is not above" },
    Sign { text: ">", holds: f64::gt, words: "is above" },
    Sign { text: "<", holds: f64::lt, words: "is below" },
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
    /// Reads a threshold about one of the columns. A message may show the `example`.
    ///
    /// # Errors
    /// When the text has another form, names no such column, or its limit cannot be read.
    pub fn parse(
        text: &str,
        example: &str,
        columns: impl Iterator<Item = &'static Column<T>> + Clone,
    ) -> Result<Threshold<T>, String> {
        let found = SIGNS.iter().find_map(|sign| {
            let (name, limit) = text.split_once(sign.text)?;
            Some((name.trim(), sign, limit.trim()))
        });
        let (name, sign, limit) = found
            .ok_or_else(|| format!("write a column, a sign and a limit, as in '{example}'"))?;
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
            sign,
            limit,
        })
    }

    /// Why what was measured at a place fails; none if it passes. An unknown figure fails, for nothing shows that it is
    /// within the limit.
    pub fn failure(&self, measured: &T, place: &str) -> Option<String> {
        let Column {
            name,
            unit,
            of,
            unknown,
            ..
        } = self.column;
        let Some(value) = of(measured) else {
            return Some(format!("{place}: no {name}: {}", unknown(measured)));
        };
        let Sign { holds, words, .. } = self.sign;
        holds(&value, &self.limit).then(|| {
            let limit = short(self.limit);
            format!(
                "{place}: {name} {}{unit} {words} {limit}{unit}",
                short(value)
            )
        })
    }
}

impl FromStr for Threshold<Row> {
    type Err = String;

    fn from_str(text: &str) -> Result<Threshold<Row>, String> {
        Threshold::parse(text, "p99 > 50ms", COLUMNS.iter())
    }
}

/// A threshold for the rows of one client, as in `typhoeus: p99 > 50ms`, or for all.
#[derive(Clone, Debug)]
pub struct RowThreshold {
    /// The client; none for all.
    pub client: Option<String>,
    threshold: Threshold<Row>,
}

impl FromStr for RowThreshold {
    type Err = String;

    fn from_str(text: &str) -> Result<RowThreshold, String> {
        let (client, threshold) = match text.split_once(':') {
            Some((client, threshold)) => (Some(client.trim().to_owned()), threshold),
            None => (None, text),
        };
        let threshold = threshold.parse()?;
        Ok(RowThreshold { client, threshold })
    }
}

impl RowThreshold {
    /// Why the row fails; none if it passes, or is not of the client.
    pub fn failure(&self, row: &Row) -> Option<String> {
        let of_another = |client: &String| row.client != *client;
        if self.client.as_ref().is_some_and(of_another) {
            return None;
        }
        self.threshold.failure_of_row(row)
    }
}

impl Threshold<Row> {
    /// Why the row fails; none if it passes. The baseline loader is no client, and passes.
    fn failure_of_row(&self, row: &Row) -> Option<String> {
        if row.is_baseline_loader() {
            return None;
        }
        let place = place(row);
        if row.rejected.is_some() {
            let name = self.column.name;
            return Some(format!("{place}: rejected, so its {name} is unknown"));
        }
        self.failure(row, &place)
    }
}

/// The client and the load of a row: `typhoeus, 133 bytes, 50 in flight`.
fn place(row: &Row) -> String {
    let Row {
        client,
        load,
        usual,
        ..
    } = row;
    let body = (load.body_bytes > 0).then(|| plural(load.body_bytes as u64, "byte"));
    let others = Some(other_words(load, usual)).filter(|words| !words.is_empty());
    let in_flight = format!("{} in flight", load.concurrency);
    let parts = [Some(client.clone()), body, Some(in_flight), others];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Load;

    #[test]
    fn every_column_and_sign_is_read() {
        let around = |sign: &Sign| [-1.0, 0.0, 1.0].map(|value| (sign.holds)(&value, &0.0));
        let limits = ["1ms", "50ms", "0.2ms", "1000", "200M", "0", "0"];
        for (column, limit) in COLUMNS.iter().zip(limits) {
            for sign in &SIGNS {
                for text in [
                    format!("{} {} {limit}", column.name, sign.text),
                    format!("{}{}{limit}", column.name, sign.text),
                ] {
                    let read: Threshold<Row> = text.parse().expect(&text);
                    assert_eq!(read.column.name, column.name, "{text}");
                    assert_eq!(around(read.sign), around(sign), "{text}");
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

    #[test]
    fn a_threshold_of_a_client_is_for_its_rows_alone() {
        let row = |client: &str| Row {
            client: client.into(),
            errors: 1,
            ..Row::default()
        };
        let fails = |text: &str| {
            let threshold: RowThreshold = text.parse().unwrap();
            ["curb", "typhoeus"].map(|client| threshold.failure(&row(client)).is_some())
        };
        assert_eq!(fails("errors > 0"), [true, true]);
        assert_eq!(fails("curb: errors > 0"), [true, false]);
        assert_eq!(fails("typhoeus:errors>0"), [false, true]);
        assert!("curb: p98 > 1ms".parse::<RowThreshold>().is_err());
    }

    /// Each sign below, at and above the limit.
    #[test]
    fn a_sign_means_what_it_says() {
        let met = |text: &str| {
            let threshold: Threshold<Row> = text.parse().unwrap();
            [49.0, 50.0, 51.0].map(|value| (threshold.sign.holds)(&value, &threshold.limit))
        };
        assert_eq!(met("p99 > 50ms"), [false, false, true]);
        assert_eq!(met("p99 >= 50ms"), [false, true, true]);
        assert_eq!(met("p99 < 50ms"), [true, false, false]);
        assert_eq!(met("p99 <= 50ms"), [true, true, false]);
    }

    #[test]
    fn a_sentence_names_the_row_the_figure_and_the_limit() {
        let row = |p99_ms, latencies| Row {
            client: "typhoeus".into(),
            load: Load {
                body_bytes: 133,
                concurrency: 50,
                tls: true,
                ..Load::PLAIN
            },
            p99_ms,
            latencies,
            ..Row::default()
        };
        let says =
            |text: &str, row: &Row| text.parse::<Threshold<Row>>().unwrap().failure_of_row(row);
        let place = "typhoeus, 133 bytes, 50 in flight, TLS";
        let measured = row(Some(61.0), 500);
        assert_eq!(says("p99 > 61ms", &measured), None);
        for (limit, end) in [
            ("p99 > 50ms", "p99 61 ms is above 50 ms"),
            ("p99 >= 50ms", "p99 61 ms is not below 50 ms"),
            ("errors <= 0", "errors 0 is not above 0"),
            (
                "duplicates > 0",
                "no duplicates: there is no log of the server; --access-log names one",
            ),
        ] {
            assert_eq!(says(limit, &measured), Some(format!("{place}: {end}")));
        }
        for (latencies, end) in [
            (
                1,
                "it has 1 latency, and p99 needs 381; add --rounds, or a longer --time",
            ),
            (
                120,
                "it has 120 latencies, and p99 needs 381; add --rounds, or a longer --time",
            ),
            (381, "it is shorter than a step of the driver's clock"),
        ] {
            let said = says("p99 > 50ms", &row(None, latencies));
            assert_eq!(said, Some(format!("{place}: no p99: {end}")));
        }
        let rejected = Row {
            rejected: Some("ids are missing".into()),
            ..measured
        };
        let said = says("p99 > 50ms", &rejected).unwrap();
        assert!(
            said.ends_with("TLS: rejected, so its p99 is unknown"),
            "{said}"
        );
    }
}
