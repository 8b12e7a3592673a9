//! What to know of rows that are ranked: what the server marked, processes that were still warming, noise of their own.

use super::form::{Block, Media, Section};
use crate::findings::words::{percent, plural};
use crate::findings::{NOISY_RUN, Row, load, noisy_row};
use crate::ledger::Document;

/// The most that a terminal shows; the page has all.
const SHORT: usize = 6;

/// A list of rows with what to know of each, and of those that were disturbed together; nothing where there is nothing
/// to say.
pub(super) fn remarks<'a>(run: &Document, rows: impl Iterator<Item = &'a Row>) -> Vec<Section> {
    let ranked: Vec<&Row> = rows
        .filter(|row| row.rejected.is_none() && !row.is_ceiling())
        .collect();
    let item = |row: &&Row| {
        let words = of_row(row);
        (!words.is_empty()).then(|| [subject(row), format!("{}.", words.join("; "))])
    };
    let own: Vec<[String; 2]> = ranked.iter().filter_map(item).collect();
    let all = |most| -> Vec<[String; 2]> {
        let noise = noise(run, &ranked, most);
        let shown = own.iter().take(most).cloned();
        shown.chain(rest(own.len(), most)).chain(noise).collect()
    };
    let page = all(usize::MAX);
    if page.is_empty() {
        return Vec::new();
    }
    let title = "Ranked, with a remark";
    vec![
        Section::new(title, Media::TEXT, vec![Block::List(all(SHORT))]),
        Section::new(title, Media::PAGE, vec![Block::List(page)]).folded(),
    ]
}

fn subject(row: &Row) -> String {
    format!("{}, {}", row.client, load(row, true))
}

/// How many more there are than are shown.
fn rest(all: usize, shown: usize) -> Option<[String; 2]> {
    let more = all.checked_sub(shown).filter(|more| *more > 0)? as u64;
    let verb = if more == 1 { "is" } else { "are" };
    let words = format!("{} {verb} in report.html.", plural(more, "more remark"));
    Some([String::new(), words])
}

/// What to know of one row, besides noise.
fn of_row(row: &Row) -> Vec<String> {
    let mut words = row.marks.clone();
    if row.warming.is_some() {
        words.push("its processes were still warming up".into());
    }
    if let Some(server) = &row.server {
        words.extend(server.lateness());
    }
    words
}

/// One item for all rows whose rounds others disturbed: most of them are so together.
fn noise(run: &Document, ranked: &[&Row], most: usize) -> Option<[String; 2]> {
    let share = |row: &&&Row| noisy_row(&run.rounds, &row.cell(), run.environment.cores);
    let noisy = ranked.iter().filter_map(|row| {
        let share = share(&row).filter(|share| *share > NOISY_RUN)?;
        Some((*row, share))
    });
    let noisy: Vec<(&Row, f64)> = noisy.collect();
    let least = noisy.iter().map(|it| it.1).fold(1.0, f64::min);
    let worst = noisy.iter().map(|it| it.1).fold(0.0, f64::max);
    let rounds = match percent(least) == percent(worst) {
        true => percent(worst),
        false => format!("{:.0} to {}", least * 100.0, percent(worst)),
    };
    let whose = if noisy.len() == 1 { "its" } else { "their" };
    let words =
        format!("other programs, or the machine's host, ran in {rounds} of {whose} rounds.");
    let named = |rows: &[(&Row, f64)]| {
        let names: Vec<String> = rows.iter().map(|(row, _)| subject(row)).collect();
        names.join("; ")
    };
    let subject = match noisy.len() {
        0 => return None,
        1 => named(&noisy),
        all if all == ranked.len() => format!("all {all} rows"),
        some if some <= most => format!("{some} of {} rows ({})", ranked.len(), named(&noisy)),
        some => {
            let (shown, more) = (named(&noisy[..most]), some - most);
            format!("{some} of {} rows ({shown}; and {more} more)", ranked.len())
        }
    };
    Some([subject, words])
}
