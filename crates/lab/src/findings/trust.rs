//! How far a run may be trusted: what was verified, how much spare time the server had, what else the machine did.

use std::collections::BTreeSet;

use super::Findings;
use super::noise::{Noisy, noisy};
use super::rows::Row;
use super::server::Server;
use super::verdict::waits;
use crate::ledger::Document;
use crate::plan::Cell;

/// Reasons to trust or to doubt a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trust {
    /// Rows of clients and of the baseline loader.
    pub rows: usize,
    /// Rows of which the server's log confirms everything.
    pub verified: usize,
    /// Rows that are not ranked.
    pub rejected: usize,
    /// Whether there are rows that no log could check.
    pub unwitnessed: bool,
    /// Whether a driver ran as the lab's own user.
    pub trusted: bool,
    /// Whether an access log confirms the numbers of such rows.
    pub logged: bool,
    /// How the baseline loader compares with the fastest client; none without a baseline loader.
    pub headroom: Option<Headroom>,
    /// The load of the test server, in the worst of the rows behind the verdicts; none without a log.
    pub server: Option<Server>,
    /// Shares of all rounds during which others took more of the machine than they should; none where that is not known.
    pub noisy: Option<Noisy>,
}

/// How the fastest client compares with the baseline loader, which does the least that a client can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Headroom {
    /// The baseline loader is this many times as fast.
    Times(f64),
    /// The test server's delay bounds the clients and the baseline loader alike.
    Waiting,
}

/// Looks at the rows behind the verdicts: the recommended ones of a sweep, the ranked ones of a shootout.
pub fn trust(run: &Document, findings: &Findings) -> Trust {
    let reference = run.rounds.iter().filter(|round| round.reference);
    let reference: BTreeSet<&Cell> = reference.map(|round| &round.cell).collect();
    // Nothing about a load generator could be verified, so nothing is promised.
    let rows = findings.rows.iter();
    let rows: Vec<&Row> = rows
        .filter(|row| !reference.contains(&row.cell()))
        .collect();
    let is_open = |row: &&&Row| !row.verified && row.rejected.is_none();
    Trust {
        rows: rows.len(),
        verified: rows.iter().filter(|row| row.verified).count(),
        rejected: rows.iter().filter(|row| row.rejected.is_some()).count(),
        unwitnessed: rows.iter().any(|row| is_open(&row)),
        trusted: run.rounds.iter().any(|round| round.trusted),
        logged: rows.iter().any(|row| row.logged),
        headroom: headroom(findings),
        server: worst_server(findings),
        noisy: noisy(&run.rounds, run.environment.cores),
    }
}

/// The rows behind the verdicts: those that are recommended.
fn recommended(findings: &Findings) -> impl Iterator<Item = &Row> {
    findings.rows.iter().filter(|row| {
        let mut advice = findings.recommendations.iter();
        !row.is_baseline_loader() && advice.any(|advice| advice.cell() == row.cell())
    })
}

/// For each figure, the value of the worst row.
fn worst_server(findings: &Findings) -> Option<Server> {
    let own = recommended(findings).filter_map(|row| row.server);
    own.reduce(|a, b| Server {
        busy: a.busy.max(b.busy),
        late_ms: a.late_ms.max(b.late_ms),
        delay_ms: a.delay_ms.max(b.delay_ms),
    })
}

fn headroom(findings: &Findings) -> Option<Headroom> {
    let rows = recommended(findings);
    let rows: Vec<&Row> = rows
        .filter(|row| row.baseline_loader_ratio.is_some())
        .collect();
    if rows.is_empty() {
        return None;
    }
    let shares = rows
        .iter()
        .filter(|row| !waits(row))
        .filter_map(|row| row.baseline_loader_ratio);
    let most = shares.fold(0.0, f64::max);
    Some(if most > 0.0 {
        Headroom::Times(1.0 / most)
    } else {
        Headroom::Waiting
    })
}
