//! What to know of rows that are ranked: what the server marked, processes that were still warming, noise of their own.

use super::form::{Block, Media, Section};
use crate::findings::words::percent;
use crate::findings::{NOISY_RUN, Row, Tone, load, noisy_row};
use crate::ledger::Document;

/// The most that a terminal shows; the page has all.
const SHORT: usize = 6;

/// A list of rows with what to know of each; nothing where there is nothing to say.
pub(super) fn remarks<'a>(run: &Document, rows: impl Iterator<Item = &'a Row>) -> Vec<Section> {
    let item = |row: &Row| {
        let words = of_row(run, row);
        let subject = format!("{}, {}", row.client, load(row, true));
        (!words.is_empty()).then(|| [subject, format!("{}.", words.join("; "))])
    };
    let ranked = rows.filter(|row| row.rejected.is_none() && !row.is_ceiling());
    let all: Vec<[String; 2]> = ranked.filter_map(item).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let title = "Ranked, with a remark";
    let mut short = all.clone();
    short.truncate(SHORT);
    if all.len() > SHORT {
        let rest = format!("{} more such rows are in report.html.", all.len() - SHORT);
        short.push([String::new(), rest]);
    }
    vec![
        Section::new(title, Media::TEXT, vec![Block::List(Tone::Plain, short)]),
        Section::new(title, Media::PAGE, vec![Block::List(Tone::Plain, all)]).folded(),
    ]
}

fn of_row(run: &Document, row: &Row) -> Vec<String> {
    let mut words = row.marks.clone();
    if row.warming.is_some() {
        words.push("its processes were still warming".into());
    }
    if let Some(server) = &row.server {
        words.extend(server.lateness());
    }
    let noise = noisy_row(&run.rounds, &row.cell(), run.environment.cores);
    if let Some(share) = noise.filter(|share| *share > NOISY_RUN) {
        words.push(format!(
            "other programs, or the machine's host, took much of {} of its rounds",
            percent(share)
        ));
    }
    words
}
