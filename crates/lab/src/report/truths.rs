//! The truth table of every page: what the origin's ledger saw, beside what was asked and what the driver says.

use super::page::{cell, table};
use crate::findings::words::count;
use crate::findings::{Row, Truth, truth};
use crate::ledger::Document;
use crate::run::Round;

/// A column: its heading, and what stands below it for a row.
type Fact = (&'static str, fn(&Truth) -> u64);

const FACTS: [Fact; 10] = [
    ("requests<br>asked", |truth| truth.asked),
    ("arrived", |truth| truth.arrived),
    ("arrived<br>again", |truth| truth.again),
    ("not asked<br>for", |truth| truth.foreign),
    ("failed, it<br>says", |truth| truth.failed),
    ("timed out,<br>it says", |truth| truth.timed_out),
    ("most con-<br>nections", |truth| truth.connections),
    ("opened in<br>rounds", |truth| truth.opened),
    ("in flight,<br>asked", |truth| truth.concurrency),
    ("most in<br>flight", |truth| truth.in_flight),
];

/// Those that rest on the ids of requests, which load generators do not send.
const OF_IDS: [&str; 4] = [
    "arrived",
    "arrived<br>again",
    "not asked<br>for",
    "most con-<br>nections",
];

/// One line of the table.
pub(super) struct Witnessed {
    /// Whose it is.
    pub(super) name: String,
    seen: Option<Truth>,
    reference: bool,
    rows: usize,
    rejected: usize,
    verified: usize,
}

impl Witnessed {
    /// Everything that was seen of these rows.
    pub(super) fn of<'a>(
        name: String,
        run: &Document,
        rows: impl IntoIterator<Item = &'a Row>,
    ) -> Witnessed {
        let rows: Vec<&Row> = rows.into_iter().collect();
        let mut seen = rows.iter().map(|row| truth(&run.rounds, row));
        let first = seen.next().flatten();
        let reference =
            |round: &Round| round.reference && rows.iter().any(|row| row.cell() == round.cell);
        Witnessed {
            name,
            seen: seen.fold(first, |all, next| Some(all?.and(next?))),
            reference: run.rounds.iter().any(reference),
            rows: rows.len(),
            rejected: rows.iter().filter(|row| row.rejected.is_some()).count(),
            verified: rows.iter().filter(|row| row.verified).count(),
        }
    }

    /// How the line looks, and what it says of the ledger.
    fn judgement(&self) -> (&'static str, String) {
        if self.reference {
            return ("", "unverified".into());
        }
        match (self.rejected, self.verified) {
            (0, verified) if verified == self.rows => ("", "agrees".into()),
            (0, _) => ("", "unverified".into()),
            (rejected, _) if rejected == self.rows => ("no", "rejected".into()),
            (rejected, _) => ("no", format!("{rejected} of {} rejected", self.rows)),
        }
    }

    fn line(&self) -> String {
        let mut cells = cell("td", "word", &self.name);
        for (heading, value) in FACTS {
            // What a load generator sends has no ids, so none of it is known to have been asked for, or to be the same.
            let known = !self.reference || !OF_IDS.contains(&heading);
            let seen = self.seen.as_ref().filter(|_| known);
            let text = seen.map_or_else(|| "–".into(), |seen| count(value(seen)));
            cells += &cell("td", "", &text);
        }
        let (class, words) = self.judgement();
        cells += &cell("td", "word", &words);
        format!("<tr class=\"{class}\">{cells}</tr>")
    }
}

/// The section with the table; nothing when no server kept a ledger.
pub(super) fn truths(what: &str, lines: &[Witnessed]) -> String {
    if lines.iter().all(|line| line.seen.is_none()) {
        return String::new();
    }
    let mut heads = cell("th", "word", what);
    let titles = FACTS.map(|(head, _)| format!("<th scope=\"col\">{head}</th>"));
    heads += &titles.concat();
    heads += &cell("th", "word", "ledger");
    let rows: String = lines.iter().map(Witnessed::line).collect();
    let name = "What the server saw";
    format!(
        "<section><h2>{name}</h2><p>All rounds together, by the origin’s ledger; only what failed and what timed out is \
         the driver’s own word.</p>{}</section>",
        table(name, &heads, &rows)
    )
}
