//! The table and the chart of a run as far as it has been measured, which a terminal shows below the bar.

use std::collections::{BTreeMap, BTreeSet};

use hecaton_lab::findings::stats::median;
use hecaton_lab::findings::words::figure;
use hecaton_lab::plan::Load;
use hecaton_lab::run::Round;
use hecaton_lab::spec::other_words;

/// Heights of the chart: one column for each load of a client.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Widest name of a client that is shown whole.
const NAME: usize = 24;

/// Columns of a figure, with the space before it.
const FIGURE: usize = 9;

/// A line: a client, the size of its responses, and the other factors in words.
type Line = (String, usize, String);

/// A column: requests in flight, or the rate.
type Column = (usize, String);

/// All rounds so far.
#[derive(Default)]
pub struct LiveTable {
    columns: BTreeSet<Column>,
    /// Requests per second of each round.
    lines: BTreeMap<Line, BTreeMap<Column, Vec<f64>>>,
}

impl LiveTable {
    /// Adds a round, unless it is a control, which measures the run itself.
    pub fn note(&mut self, round: &Round) {
        if round.cell.control.is_some() || round.wall_ns == 0 {
            return;
        }
        let load = &round.cell.load;
        let column = match load.rate {
            Some(rate) => (0, rate.to_string()),
            None => (load.concurrency, String::new()),
        };
        self.columns.insert(column.clone());
        let line = (round.cell.client.clone(), load.body_bytes, others(load));
        let speed = round.claim.done as f64 / (round.wall_ns as f64 / 1e9);
        let speeds = self
            .lines
            .entry(line)
            .or_default()
            .entry(column)
            .or_default();
        speeds.push(speed);
    }

    /// The table, at most so many lines high: the first line names the loads.
    pub fn text(&self, height: usize) -> String {
        let room = height.saturating_sub(1);
        if self.lines.is_empty() || room == 0 {
            return String::new();
        }
        let sizes: BTreeSet<usize> = self.lines.keys().map(|line| line.1).collect();
        let name = |(client, bytes, others): &Line| {
            let size = match sizes.len() > 1 {
                true => format!(", {bytes} B"),
                false => String::new(),
            };
            match others.is_empty() {
                true => format!("{client}{size}"),
                false => format!("{client}{size}, {others}"),
            }
        };
        let width = self
            .lines
            .keys()
            .map(|line| name(line).chars().count())
            .max()
            .unwrap_or_default();
        let width = width.clamp("requests/s".len(), NAME);
        let chart = self.columns.len();
        let heads: String = self
            .columns
            .iter()
            .map(|(concurrency, rate)| match rate.is_empty() {
                true => format!("{concurrency:>FIGURE$}"),
                false => format!("{rate:>FIGURE$}"),
            })
            .collect();
        let mut text = format!("{:width$} {:chart$}{heads}", "requests/s", "");
        let hidden = self.lines.len().saturating_sub(room);
        let shown = if hidden > 0 {
            room.saturating_sub(1)
        } else {
            room
        };
        for (line, cells) in self.lines.iter().take(shown) {
            let values: Vec<Option<f64>> = self
                .columns
                .iter()
                .map(|column| median(cells.get(column)?))
                .collect();
            let figures: String = values
                .iter()
                .map(|value| format!("{:>FIGURE$}", value.map_or("…".into(), figure)))
                .collect();
            let name: String = name(line).chars().take(width).collect();
            text += &format!("\n{name:width$} {}{figures}", bars(&values));
        }
        if hidden > 0 {
            text += &format!("\nand {} more", self.lines.len() - shown);
        }
        text
    }
}

/// The factors of a load that are neither a column nor a part of the name before, in words. The delay is that of the
/// run.
fn others(load: &Load) -> String {
    let own = Load {
        delay: Load::PLAIN.delay,
        rate: None,
        ..*load
    };
    other_words(&own, &Load::PLAIN)
}

/// A bar for each value, the highest as high as the line.
fn bars(values: &[Option<f64>]) -> String {
    let most = values.iter().flatten().copied().fold(0.0, f64::max);
    let bar = |value: &Option<f64>| match value {
        Some(value) if most > 0.0 => {
            let step = (value / most * HEIGHTS.len() as f64).ceil() as usize;
            HEIGHTS[step.clamp(1, HEIGHTS.len()) - 1]
        }
        _ => ' ',
    };
    values.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rounds: &[(&str, usize, u64)]) -> LiveTable {
        let mut table = LiveTable::default();
        for (client, concurrency, done) in rounds {
            let text = format!(
                r#"{{"client":"{client}","body_bytes":133,"concurrency":{concurrency},"invocation":0,"block":0,"order":0,"count":1,
                "wall_ns":1000000000,"cpu_user_ns":0,"cpu_system_ns":0,"peak_rss_kib":0,"seen":null,"probe":null,
                "claim":{{"done":{done},"errors":0,"bytes":0,"sum":0}}}}"#
            );
            table.note(&serde_json::from_str(&text).unwrap());
        }
        table
    }

    #[test]
    fn the_table_fills_with_medians_and_what_is_missing_is_an_ellipsis() {
        let table = table(&[
            ("a", 1, 100),
            ("a", 1, 120),
            ("a", 1, 110),
            ("a", 10, 880),
            ("b", 1, 50),
        ]);
        let text = table.text(10);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[0].ends_with("        1       10"), "{text}");
        assert!(
            lines[1].starts_with("a ")
                && lines[1].contains("▁█")
                && lines[1].ends_with("110      880"),
            "{text}"
        );
        assert!(
            lines[2].starts_with("b ") && lines[2].ends_with("50.0        …"),
            "{text}"
        );
    }

    #[test]
    fn loads_that_differ_in_another_factor_have_lines_of_their_own() {
        let mut table = table(&[("a", 1, 100)]);
        let text = r#"{"client":"a","body_bytes":133,"concurrency":1,"tls":true,"job":"gzip","invocation":0,"block":0,"order":0,
            "count":1,"wall_ns":1000000000,"cpu_user_ns":0,"cpu_system_ns":0,"peak_rss_kib":0,"seen":null,"probe":null,
            "claim":{"done":7,"errors":0,"bytes":0,"sum":0}}"#;
        table.note(&serde_json::from_str(text).unwrap());
        let text = table.text(10);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[1].starts_with("a ") && lines[1].ends_with(" 100"),
            "{text}"
        );
        assert!(
            lines[2].starts_with("a, TLS, gzip ") && lines[2].ends_with(" 7.00"),
            "{text}"
        );
    }

    #[test]
    fn a_low_terminal_says_how_many_clients_it_does_not_show() {
        let rounds: Vec<(String, usize, u64)> =
            (0..9).map(|n| (format!("client-{n}"), 1, 10)).collect();
        let rounds: Vec<(&str, usize, u64)> = rounds
            .iter()
            .map(|(name, c, n)| (name.as_str(), *c, *n))
            .collect();
        let text = table(&rounds).text(5);
        assert_eq!(text.lines().count(), 5, "{text}");
        assert!(text.ends_with("and 6 more"), "{text}");
        assert_eq!(table(&rounds).text(1), "");
    }
}
