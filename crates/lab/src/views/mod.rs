//! The content of a run's report: each kind of experiment builds one form ([`View`]) from findings. How a medium
//! draws it, `report` decides (`report/html.rs` for the page of a run).

mod again;
mod bench;
mod builds;
mod changed;
mod common;
mod compare;
pub(crate) mod form;
mod percentiles;
mod rates;
mod shootout;
mod sweep;
mod warnings;

pub use bench::{Part, bench};
pub use changed::changed;
#[cfg(test)]
pub(crate) use common::SIGNS;
pub use form::View;
pub(crate) use shootout::standing;

use crate::findings::{Compared, Findings, Ranking, compared, is_all_noise, ranking};
use crate::ledger::Document;

/// A run: a sweep by concurrency, a shootout by rank, a comparison by what is compared.
pub fn view(run: &Document, findings: &Findings) -> View {
    let findings = &advised(run, findings);
    match (judged(run, findings), ranked(run, findings)) {
        (Some(found), _) => compare::view(run, findings, &found),
        (None, Some(ranking)) => shootout::view(run, findings, &ranking),
        (None, None) => sweep::view(run, findings),
    }
}

const NOTHING_BUT_NOISE: &str = "This run recommends nothing: other programs, or the machine's host, disturbed every one of its rounds \
     (NOISY), so the curves may show that as much as the clients.";

/// The findings; without recommendations where the run did not end, or others disturbed all of it.
fn advised(run: &Document, findings: &Findings) -> Findings {
    let mut findings = findings.clone();
    if run.unfinished.is_some() {
        findings.recommendations.clear();
        findings.verdicts.clear();
    } else if is_all_noise(run) {
        findings.recommendations.clear();
        findings.verdicts = vec![NOTHING_BUT_NOISE.to_string()];
    }
    findings
}

/// The ranking of a shootout; none for a run of another kind.
pub(crate) fn ranked(run: &Document, findings: &Findings) -> Option<Ranking> {
    let baseline = run.plan.baseline.as_deref()?;
    let cores = run.environment.cores;
    Some(ranking(
        &run.rounds,
        &run.starts,
        &findings.rows,
        baseline,
        cores,
    ))
}

/// The findings of a comparison; none for other runs.
pub(crate) fn judged(run: &Document, findings: &Findings) -> Option<Compared> {
    let comparison = run.plan.comparison.as_ref()?;
    Some(compared(comparison, &run.rounds, &findings.rows))
}
