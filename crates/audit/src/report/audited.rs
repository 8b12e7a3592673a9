//! A client with its findings.

use serde::Serialize;

use crate::case::Verdict;
use crate::run::Finding;

/// A client with its findings.
#[derive(Clone, Debug, Serialize)]
pub struct Audited {
    /// The client.
    pub client: String,
    /// Its version.
    pub version: String,
    /// The findings, in the order of their codes.
    pub findings: Vec<Finding>,
}

impl Audited {
    /// The findings of a verdict, the worst harm first.
    pub fn of(&self, verdict: Verdict) -> Vec<&Finding> {
        let mut found: Vec<&Finding> = self
            .findings
            .iter()
            .filter(|finding| finding.verdict == verdict)
            .collect();
        found.sort_by_key(|finding| finding.severity);
        found
    }

    /// How many findings there are of each verdict, as one line.
    pub fn sum(&self) -> String {
        let counts = Verdict::ALL.map(|verdict| (verdict, self.of(verdict).len()));
        let counts = counts.iter().filter(|(_, count)| *count > 0);
        counts
            .map(|(verdict, count)| verdict.counted(*count))
            .collect::<Vec<_>>()
            .join(", ")
    }
}
