//! Runs side by side: the first next to each of the others, in every view.

mod chart;
mod data;
mod markdown;
mod page;
mod terminal;

pub use data::{csv, json};
pub use markdown::markdown;
pub use page::html;
pub use terminal::terminal;

use super::view::load_words;
use crate::findings::words::{figure, interval, plural, times};
use crate::findings::{Change, Changes, Direction, Row, changes};
use crate::ledger::Document;
use crate::plan::Own;

/// The first of several runs next to one of the others.
pub struct Beside<'a> {
    /// What the older one is called, and itself.
    pub old: (&'a str, &'a Document),
    /// The newer one.
    pub new: (&'a str, &'a Document),
    /// What changed.
    pub found: Changes,
}

/// The first run next to each of the others; `runs` have names, of which each should be another.
pub fn beside(runs: &[(String, Document)]) -> Vec<Beside<'_>> {
    let [first, others @ ..] = runs else {
        return Vec::new();
    };
    let old = (first.0.as_str(), &first.1);
    others
        .iter()
        .map(|(name, run)| Beside {
            old,
            new: (name, run),
            found: changes(old.1, run),
        })
        .collect()
}

/// A chart for each pair of runs, as file names and SVG documents; none of pairs that have nothing in common.
pub fn drawings(pairs: &[Beside]) -> Vec<(String, String)> {
    let drawn = pairs.iter().enumerate().filter(|(_, pair)| pair.draws());
    drawn
        .map(|(place, pair)| {
            let chart = chart::ratios(pair, true, "a");
            let name = format!("change-{}.svg", place + 1);
            (name, super::drawings::standalone(&chart))
        })
        .collect()
}

/// The table of changes of one pair.
struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

struct Column {
    /// In two lines.
    title: [&'static str; 2],
    /// Whether it holds words; else it holds figures.
    words: bool,
}

/// What a column shows of a change.
type Cell = fn(&Change) -> String;

impl Table {
    fn new(found: &Changes) -> Table {
        let rows = &found.rows;
        let several = rows
            .iter()
            .any(|row| row.new.body_bytes != rows[0].new.body_bytes);
        // Where nothing else tells rows apart, their number is what sorts them.
        let plain = rows
            .iter()
            .all(|row| row.new.own == Own::default() && row.new.keepalive);
        let load: ([&str; 2], bool, Cell) = match plain {
            true => (["concur-", "rency"], false, |it| {
                it.new.concurrency.to_string()
            }),
            false => (["load", ""], true, |it| load_words(&it.new, false)),
        };
        let before: Cell = |it| figure(it.old.requests_per_second);
        let after: Cell = |it| figure(it.new.requests_per_second);
        let mut all: Vec<([&str; 2], bool, Cell)> = vec![
            (["client", ""], true, |it| it.new.client.clone()),
            load,
            (["requests/s", "before"], false, before),
            (["requests/s", "after"], false, after),
            (["change", ""], false, change),
            (["which", "way"], true, |it| it.direction().words().into()),
        ];
        if several {
            all.insert(
                1,
                (["body", "bytes"], false, |it| it.new.body_bytes.to_string()),
            );
        }
        let line = |row: &Change| all.iter().map(|(.., cell)| cell(row)).collect();
        Table {
            rows: rows.iter().map(line).collect(),
            columns: all
                .iter()
                .map(|(title, words, _)| Column {
                    title: *title,
                    words: *words,
                })
                .collect(),
        }
    }
}

impl Table {
    /// Takes a column with this title away; false when there is none.
    fn leave_out(&mut self, title: &str) -> bool {
        let mut columns = self.columns.iter();
        let Some(place) = columns.position(|column| column.title[0] == title) else {
            return false;
        };
        self.columns.remove(place);
        for row in &mut self.rows {
            row.remove(place);
        }
        true
    }

    /// Cuts every change off behind its figure.
    fn leave_out_intervals(&mut self) {
        let place = self.columns.len() - 2;
        for row in &mut self.rows {
            let end = row[place].find(' ').unwrap_or(row[place].len());
            row[place].truncate(end);
        }
    }
}

impl Column {
    /// The title in one line, with this between its parts; without when they are one word.
    fn title(&self, between: &str) -> String {
        match self.title {
            [whole, ""] => whole.to_owned(),
            [first, second] => match first.strip_suffix('-') {
                Some(start) => format!("{start}{second}"),
                None => format!("{first}{between}{second}"),
            },
        }
    }
}

fn change(change: &Change) -> String {
    change.ratio.map_or_else(
        || "–".to_owned(),
        |ratio| {
            let sure = ratio.confidence.map(|_| format!(" {}", interval(&ratio)));
            format!("{}{}", times(ratio.value), sure.unwrap_or_default())
        },
    )
}

impl Beside<'_> {
    /// What changed, in sentences, the most important first.
    fn verdict(&self) -> Vec<String> {
        let found = &self.found;
        if !found.unlike.is_empty() {
            return vec![format!(
                "Nothing can be compared, for the runs asked different things: {}.",
                found.unlike.join("; ")
            )];
        }
        if found.rows.is_empty() {
            return vec![format!(
                "{} and {} have no client, body and load in common.",
                self.old.0, self.new.0
            )];
        }
        let mut sentences = vec![self.tally()];
        sentences.extend(self.broken());
        if !found.failed.is_empty() {
            sentences.push(format!(
                "Asked for after, and missing: {}.",
                listed(&found.failed)
            ));
        }
        for (rows, run) in [(&found.gone, "before"), (&found.added, "after")] {
            if !rows.is_empty() {
                sentences.push(format!("Measured only {run}: {}.", listed(rows)));
            }
        }
        sentences.push(self.measure().into());
        sentences
    }

    /// Why nothing can be said of whether something became worse; none when it can.
    pub fn doubt(&self) -> Option<String> {
        if self.found.rows.is_empty() {
            return self.verdict().into_iter().next();
        }
        (!self.found.says_anything())
            .then(|| "No row has four rounds or more in both runs.".to_owned())
    }

    /// How many rows went which way, and the worst of them.
    fn tally(&self) -> String {
        let rows = &self.found.rows;
        let of = |direction| rows.iter().filter(move |row| row.direction() == direction);
        let ways = [
            Direction::Slower,
            Direction::Faster,
            Direction::Same,
            Direction::Unclear,
            Direction::TooFew,
            Direction::Rejected,
        ];
        let counts: Vec<String> = ways
            .into_iter()
            .map(|way| (way, of(way).count()))
            .filter(|(_, count)| *count > 0)
            .map(|(way, count)| format!("{count} {}", way.words()))
            .collect();
        let most = plural(rows.len() as u64, "row");
        let slowest = of(Direction::Slower).min_by(|a, b| value(a).total_cmp(&value(b)));
        let worst = slowest.map_or_else(String::new, |change| {
            let ratio = change
                .ratio
                .map(|ratio| format!("{} {}", times(ratio.value), interval(&ratio)));
            format!(
                " The most: {}: {}.",
                self.name(change),
                ratio.unwrap_or_default()
            )
        });
        format!("Of {most} in both runs: {}.{worst}", counts.join(", "))
    }

    /// What was measured and now is rejected, with the first reason.
    fn broken(&self) -> Option<String> {
        let broken =
            |change: &&Change| change.old.rejected.is_none() && change.new.rejected.is_some();
        let rows: Vec<&Change> = self.found.rows.iter().filter(broken).collect();
        let first = rows.first()?;
        Some(format!(
            "Rejected only after: {}, the first ({}) because {}.",
            plural(rows.len() as u64, "row"),
            self.name(first),
            first.new.rejected.as_deref().unwrap_or_default()
        ))
    }

    /// What a change is a change of.
    fn measure(&self) -> &'static str {
        match self.found.rows.iter().all(|change| change.against_ceiling) {
            true => {
                "Changes are those of the share of each run's own ceiling: what the machine itself changed is left out."
            }
            false => "Without a ceiling in both runs, a change may also be the machine's.",
        }
    }

    /// Whose row it is, and under which load, with the body where there are several.
    fn name(&self, change: &Change) -> String {
        let rows = &self.found.rows;
        let several = rows
            .iter()
            .any(|row| row.new.body_bytes != rows[0].new.body_bytes);
        format!(
            "{}, {}",
            change.new.client,
            load_words(&change.new, several)
        )
    }

    /// Whether there is anything to draw.
    fn draws(&self) -> bool {
        self.found.rows.iter().any(|change| change.ratio.is_some())
    }
}

fn value(change: &Change) -> f64 {
    change.ratio.map_or(f64::NAN, |ratio| ratio.value)
}

/// The clients of rows, each with how many it has.
fn listed(rows: &[Row]) -> String {
    let clients = rows.chunk_by(|a, b| a.client == b.client);
    let words =
        clients.map(|own| format!("{} ({})", own[0].client, plural(own.len() as u64, "row")));
    words.collect::<Vec<_>>().join(", ")
}
