//! Runs side by side in sentences: the first next to each of the others.

use super::change::{Change, Changes, Direction, changes};
use super::rows::Row;
use super::stats::Estimate;
use super::verdict::body_words;
use super::words::{interval, plural, times};
use crate::ledger::Document;
use crate::spec::load_words;

/// The first of several runs next to one of the others.
pub struct Beside<'a> {
    /// The older run and its name.
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
    let new = others.iter().map(|(name, run)| (name.as_str(), run));
    new.map(|new| Beside {
        old,
        new,
        found: changes(old.1, new.1),
    })
    .collect()
}

impl Beside<'_> {
    /// The changes in sentences, the most important first.
    pub fn verdict(&self) -> Vec<String> {
        let found = &self.found;
        if !found.unlike.is_empty() {
            return vec![format!(
                "The runs cannot be compared, because their plans differ: {}.",
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
                "Requested after, and missing: {}.",
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
            .then(|| "no row has four rounds or more in both runs".to_owned())
    }

    /// How many rows went which way, and the worst of them.
    fn tally(&self) -> String {
        let rows = &self.found.rows;
        let of = |direction| rows.iter().filter(move |row| row.direction() == direction);
        use Direction::{Faster, Rejected, Same, Slower, TooFew, Unclear};
        let ways = [Slower, Faster, Same, Unclear, TooFew, Rejected];
        let ways = ways.map(|way| (way, of(way).count())).into_iter();
        let counts = ways.filter(|(_, count)| *count > 0);
        let counts = counts.map(|(way, count)| format!("{count} {}", way.words()));
        let counts: Vec<String> = counts.collect();
        let most = plural(rows.len() as u64, "row");
        let slowest = of(Direction::Slower).min_by(|a, b| value(a).total_cmp(&value(b)));
        let worst = slowest.map_or_else(String::new, |change| {
            let ratio = |ratio: Estimate| format!("{} {}", times(ratio.value), interval(&ratio));
            let ratio = change.ratio.map(ratio).unwrap_or_default();
            format!(" The largest: {}: {ratio}.", self.name(change))
        });
        format!("Of {most} in both runs: {}.{worst}", counts.join(", "))
    }

    /// Rows that were ranked and now are rejected, with the first reason.
    fn broken(&self) -> Option<String> {
        let broken =
            |change: &&Change| change.old.rejected.is_none() && change.new.rejected.is_some();
        let rows: Vec<&Change> = self.found.rows.iter().filter(broken).collect();
        let first = rows.first()?;
        Some(format!(
            "Rejected in the later run only: {}; the first is {}, because {}.",
            plural(rows.len() as u64, "row"),
            self.name(first),
            first.new.rejected.as_deref().unwrap_or_default()
        ))
    }

    /// The quantity in which changes are given.
    fn measure(&self) -> &'static str {
        match self.found.rows.iter().all(|change| change.against_loader) {
            true => {
                "Each speed is first divided by that of the baseline loader in its own run, so a change of the machine's own speed does not count."
            }
            false => {
                "The baseline loader is not in both runs, so a change may come from the machine instead of the client."
            }
        }
    }

    /// The client and its load, with the body size if the runs have several.
    pub fn name(&self, change: &Change) -> String {
        let rows = &self.found.rows;
        let several = rows
            .iter()
            .any(|row| row.new.load.body_bytes != rows[0].new.load.body_bytes);
        format!("{}, {}", change.new.client, load(&change.new, several))
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

/// The load of a row in words: how it differs from the others of its client.
pub fn load(row: &Row, with_body: bool) -> String {
    let body = with_body.then(|| body_words(row.load.body_bytes));
    let words = body.into_iter().chain([load_words(&row.load, &row.usual)]);
    words.collect::<Vec<_>>().join(", ")
}
