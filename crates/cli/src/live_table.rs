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
        let names: Vec<String> = self.lines.keys().map(|line| self.name(line)).collect();
        let widest = names.iter().map(|name| name.chars().count()).max();
        let width = widest.unwrap_or_default().clamp("requests/s".len(), NAME);
        let chart = self.columns.len();
        let head = |(concurrency, rate): &Column| match rate.is_empty() {
            true => format!("{concurrency:>FIGURE$}"),
            false => format!("{rate:>FIGURE$}"),
        };
        let heads: String = self.columns.iter().map(head).collect();
        let mut text = format!("{:width$} {:chart$}{heads}", "requests/s", "");
        // The last line counts those that are hidden.
        let shown = match self.lines.len() > room {
            true => room - 1,
            false => self.lines.len(),
        };
        for (name, cells) in names.iter().zip(self.lines.values()).take(shown) {
            let columns = self.columns.iter();
            let values: Vec<Option<f64>> =
                columns.map(|column| median(cells.get(column)?)).collect();
            let figure = |value: &Option<f64>| value.map_or("…".into(), figure);
            let figures = values.iter().map(figure);
            let figures: String = figures.map(|text| format!("{text:>FIGURE$}")).collect();
            text += &format!("\n{name:width$.width$} {}{figures}", bars(&values));
        }
        if shown < self.lines.len() {
            text += &format!("\nand {} more", self.lines.len() - shown);
        }
        text
    }

    /// The name of a line: the client, the size of its responses if sizes differ, and the other factors.
    fn name(&self, (client, bytes, others): &Line) -> String {
        let mut name = client.clone();
        if self.lines.keys().any(|(_, other, _)| other != bytes) {
            name += &format!(", {bytes} B");
        }
        if !others.is_empty() {
            name += &format!(", {others}");
        }
        name
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
mod tests;
