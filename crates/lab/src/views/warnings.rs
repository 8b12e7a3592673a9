//! Warnings about ranked rows: those of the rules, processes that were still warming up, and noise.

use super::form::{Block, Media, Section};
use crate::findings::words::{percent, plural};
use crate::findings::{NOISY_RUN, Row, Tone, load, noisy_row};
use crate::ledger::Document;

/// The most warnings, and the most rows of one warning, that a terminal shows; the page has all.
const SHORT: usize = 6;

/// A list of warnings, each with the rows that it is about; nothing where there is nothing to say.
pub(super) fn warnings<'a>(run: &Document, rows: impl Iterator<Item = &'a Row>) -> Vec<Section> {
    let ranked: Vec<&Row> = rows
        .filter(|row| row.rejected.is_none() && !row.is_baseline_loader())
        .collect();
    let mut about = together(&ranked);
    about.extend(noise(run, &ranked));
    if about.is_empty() {
        return Vec::new();
    }
    let items = |most: usize| {
        let item = |(words, rows): &(String, Vec<&Row>)| {
            [named(rows, ranked.len(), most), format!("{words}.")]
        };
        let shown = about.iter().take(most).map(item);
        shown.chain(rest(about.len(), most)).collect()
    };
    let title = "Ranked, with a warning";
    vec![
        Section::new(
            title,
            Media::TEXT,
            vec![Block::List(Tone::Plain, items(SHORT))],
        ),
        Section::new(
            title,
            Media::PAGE,
            vec![Block::List(Tone::Plain, items(usize::MAX))],
        )
        .folded(),
    ]
}

/// The warnings with their rows; equal warnings are listed once.
fn together<'a>(ranked: &[&'a Row]) -> Vec<(String, Vec<&'a Row>)> {
    let mut about: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in ranked {
        let words = of_row(row).join("; ");
        match about.iter_mut().find(|(known, _)| *known == words) {
            _ if words.is_empty() => {}
            Some((_, rows)) => rows.push(*row),
            None => about.push((words, vec![*row])),
        }
    }
    about
}

/// Which rows a warning is about.
fn named(rows: &[&Row], all: usize, most: usize) -> String {
    match rows.len() {
        1 => names(rows),
        many if many == all => format!("all {all} rows"),
        many if many <= most => format!("{many} of {all} rows ({})", names(rows)),
        many => {
            let (shown, more) = (names(&rows[..most]), many - most);
            format!("{many} of {all} rows ({shown}; and {more} more)")
        }
    }
}

/// Rows by name: each load is said once, before its clients.
fn names(rows: &[&Row]) -> String {
    if let [row] = rows {
        return format!("{}, {}", row.client, load(row, true));
    }
    let mut loads: Vec<(String, Vec<&str>)> = Vec::new();
    for row in rows {
        let words = load(row, true);
        match loads.iter_mut().find(|(known, _)| *known == words) {
            Some((_, clients)) => clients.push(&row.client),
            None => loads.push((words, vec![&row.client])),
        }
    }
    let said = loads
        .iter()
        .map(|(load, clients)| format!("{load}: {}", clients.join(", ")));
    said.collect::<Vec<_>>().join("; ")
}

/// How many more warnings there are than are shown.
fn rest(all: usize, shown: usize) -> Option<[String; 2]> {
    let more = all.checked_sub(shown).filter(|more| *more > 0)? as u64;
    let verb = if more == 1 { "is" } else { "are" };
    let words = format!("{} {verb} in report.html.", plural(more, "more warning"));
    Some([String::new(), words])
}

/// The warnings about one row, except noise.
fn of_row(row: &Row) -> Vec<String> {
    let mut words = row.warnings.clone();
    if row.warming.is_some() {
        words.push("processes were still warming up".into());
    }
    if let Some(server) = &row.server {
        words.extend(server.lateness());
    }
    words
}

/// One warning for all rows whose rounds others disturbed: most of them are so together.
fn noise<'a>(run: &Document, ranked: &[&'a Row]) -> Option<(String, Vec<&'a Row>)> {
    let noisy = ranked.iter().filter_map(|row| {
        let share = noisy_row(&run.rounds, &row.cell(), run.environment.cores)?;
        (share > NOISY_RUN).then_some((*row, share))
    });
    let (rows, shares): (Vec<&Row>, Vec<f64>) = noisy.unzip();
    let least = shares.iter().copied().fold(1.0, f64::min);
    let most = shares.iter().copied().fold(0.0, f64::max);
    let share = match percent(least) == percent(most) {
        true => percent(most),
        false => format!("{:.0} to {}", least * 100.0, percent(most)),
    };
    let whose = if rows.len() == 1 { "its" } else { "their" };
    let words = format!("other programs, or the machine's host, ran in {share} of {whose} rounds");
    (!rows.is_empty()).then_some((words, rows))
}
