//! How far a run may be trusted: what was verified, how much room the server left, what else the machine did.

use std::collections::BTreeSet;

use super::noise::noisy;
use super::stats::median;
use super::verdict::{HEADROOM, waits};
use super::{Findings, Row};
use crate::ledger::Document;
use crate::plan::Cell;
use crate::run::Round;

/// What speaks for a run and what against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trust {
    /// Rows of clients and of the ceiling.
    pub rows: usize,
    /// Rows of which the ledger confirms everything.
    pub verified: usize,
    /// Rows that are not ranked.
    pub rejected: usize,
    /// Whether there are rows that no ledger could check.
    pub unwitnessed: bool,
    /// How much faster the server can answer than the clients ask; none without a ceiling.
    pub headroom: Option<Headroom>,
    /// What the origin itself had to do; none without a ledger.
    pub server: Option<Server>,
    /// Share of all rounds during which others took more of the machine than they should; none where that is not known.
    pub noisy: Option<f64>,
}

/// The origin's own account of the rows that the verdicts speak of, of each figure that of the row where it is worst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Server {
    /// Share of a core that it used, median over the rounds.
    pub busy: f64,
    /// How late 1 % of its answers were at least, median over the rounds, in milliseconds: from the instant that was
    /// planned, which without a delay is when the request had been read.
    pub late_ms: f64,
    /// The longest that its answers were to wait, in milliseconds, in those rows.
    pub delay_ms: f64,
}

impl Server {
    /// From this share of a core on the server may be the limit.
    pub const BUSY: f64 = 0.9;

    /// Whether its answers came so late that the clients' latencies are partly its own: by more than a millisecond, and a
    /// tenth of what they were to wait.
    pub fn is_late(&self) -> bool {
        self.late_ms > 1.0_f64.max(self.delay_ms / 10.0)
    }
}

/// The room above the fastest client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Headroom {
    /// How many times faster the ceiling is.
    Times(f64),
    /// The origin's delay bounds the clients and the ceiling alike.
    Waiting,
}

impl Headroom {
    /// Below this the server may have been the limit.
    pub const LITTLE: f64 = HEADROOM;
    /// From this on it was not.
    pub const ENOUGH: f64 = 2.0;
}

/// Looks at the rows that the verdicts speak of: the recommended ones of a sweep, the ranked ones of a shootout.
pub fn trust(run: &Document, findings: &Findings) -> Trust {
    let reference: BTreeSet<&Cell> = run
        .rounds
        .iter()
        .filter(|round| round.reference)
        .map(|round| &round.cell)
        .collect();
    // Of a load generator nothing could be verified, so nothing is promised.
    let clients = findings
        .rows
        .iter()
        .filter(|row| !reference.contains(&row.cell()));
    let rows: Vec<&Row> = clients.collect();
    Trust {
        rows: rows.len(),
        verified: rows.iter().filter(|row| row.verified).count(),
        rejected: rows.iter().filter(|row| row.rejected.is_some()).count(),
        unwitnessed: rows
            .iter()
            .any(|row| !row.verified && row.rejected.is_none()),
        headroom: headroom(run, findings),
        server: server(run, findings),
        noisy: noisy(&run.rounds, run.environment.cores),
    }
}

/// The rows that the verdicts speak of.
fn spoken_of(findings: &Findings) -> impl Iterator<Item = &Row> {
    findings.rows.iter().filter(|row| {
        let mut advice = findings.recommendations.iter();
        !row.is_ceiling() && advice.any(|advice| advice.cell() == row.cell())
    })
}

fn server(run: &Document, findings: &Findings) -> Option<Server> {
    let own = |row: &Row| {
        let cell = row.cell();
        let rounds = run.rounds.iter().filter(|round| round.cell == cell);
        // A clock that the system lacks stands at 0.
        let seen = |round: &Round| {
            let page = round.seen.as_ref().filter(|page| page.cpu_ns > 0)?;
            let busy = page.cpu_ns as f64 / round.wall_ns.max(1) as f64;
            Some((busy, page.lateness_p99_us as f64 / 1e3))
        };
        let (busy, late): (Vec<f64>, Vec<f64>) = rounds.filter_map(seen).unzip();
        Some(Server {
            busy: median(&busy)?,
            late_ms: median(&late)?,
            delay_ms: cell.wait(run.plan.delay).mean().as_secs_f64() * 1e3,
        })
    };
    spoken_of(findings).filter_map(own).reduce(|a, b| Server {
        busy: a.busy.max(b.busy),
        late_ms: a.late_ms.max(b.late_ms),
        delay_ms: a.delay_ms.max(b.delay_ms),
    })
}

fn headroom(run: &Document, findings: &Findings) -> Option<Headroom> {
    let rows = spoken_of(findings);
    let rows: Vec<&Row> = rows.filter(|row| row.ceiling_ratio.is_some()).collect();
    if rows.is_empty() {
        return None;
    }
    let shares = rows
        .iter()
        .filter(|row| !waits(row, &row.cell().wait(run.plan.delay)))
        .filter_map(|row| row.ceiling_ratio);
    let most = shares.fold(0.0, f64::max);
    Some(if most > 0.0 {
        Headroom::Times(1.0 / most)
    } else {
        Headroom::Waiting
    })
}
