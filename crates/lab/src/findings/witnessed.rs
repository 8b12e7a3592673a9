//! The server's view of several rows together, and whether it agrees with the claims.

use super::rows::Row;
use super::truth::{Truth, truth};
use crate::ledger::Document;
use crate::run::Round;

/// One line of the table of what the server saw.
pub struct Witnessed {
    /// The name of the row or rows.
    pub name: String,
    /// Counts; none when there was no log.
    pub seen: Option<Truth>,
    /// Whether it is a load generator, which sends no ids.
    pub reference: bool,
    /// The log's verdict on all its rows.
    pub ledger: String,
    /// Whether the log contradicts any row.
    pub wrong: bool,
}

impl Witnessed {
    /// Everything that was seen of these rows.
    pub fn of<'a>(
        name: String,
        run: &Document,
        rows: impl IntoIterator<Item = &'a Row>,
    ) -> Witnessed {
        let rows: Vec<&Row> = rows.into_iter().collect();
        let mut seen = rows.iter().map(|row| truth(&run.rounds, row));
        let first = seen.next().flatten();
        let seen = seen.fold(first, |all, next| Some(all?.and(next?)));
        let generator =
            |round: &Round| round.reference && rows.iter().any(|row| row.cell() == round.cell);
        let reference = run.rounds.iter().any(generator);
        let rejected = rows.iter().filter(|row| row.rejected.is_some()).count();
        let verified = rows.iter().all(|row| row.verified);
        let ledger = match rejected {
            _ if reference => "unverified".into(),
            0 if verified => "agrees".into(),
            0 => "unverified".into(),
            rejected if rejected == rows.len() => "rejected".into(),
            rejected => format!("{rejected} of {} rejected", rows.len()),
        };
        Witnessed {
            name,
            seen,
            reference,
            ledger,
            wrong: rejected > 0 && !reference,
        }
    }
}
