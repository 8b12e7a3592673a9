//! A client with its findings.

use std::collections::BTreeMap;

use hecaton_lab::findings::words::plural;
use serde::Serialize;

use crate::case::Verdict;
use crate::run::Finding;
use crate::subject::Reported;

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

    /// Why nothing was shown of the client: no fault of a server was applied, as where its calls fail before they send
    /// anything.
    pub fn nothing_shown(&self) -> Option<String> {
        let failed = self.of(Verdict::SetupFailed);
        let tells = |finding: &Finding| finding.verdict < Verdict::SetupFailed;
        if failed.is_empty() || self.findings.iter().any(tells) {
            return None;
        }
        let mut reported = failed.iter().flat_map(|finding| &finding.run.reported);
        let error = reported.find_map(|reported| match reported {
            Reported::Error { class, text, .. } => {
                // Drivers write a line break as `\\n`.
                let first = text.split("\\n").next().unwrap_or_default();
                Some(format!("; its call said {class}: {first}"))
            }
            Reported::Nothing { why } | Reported::Broken { why } => Some(format!("; {why}")),
            _ => None,
        });
        let (client, error) = (&self.client, error.unwrap_or_default());
        Some(format!(
            "no case could be tried with {client}: no fault of a server was applied{error}"
        ))
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

    /// How many cases were tried, and why the others could not be, in a sentence or two.
    pub fn tried(&self) -> String {
        let unsupported = self.of(Verdict::Unsupported);
        let all = self.findings.len();
        if unsupported.is_empty() {
            return match all {
                1 => "The case was tried.".to_owned(),
                _ => format!("All {all} cases were tried."),
            };
        }
        let mut lacks: BTreeMap<&str, usize> = BTreeMap::new();
        for finding in &unsupported {
            let what = finding.says.split('`').nth(1).unwrap_or("what they need");
            *lacks.entry(what).or_default() += 1;
        }
        let mut lacks: Vec<(&str, usize)> = lacks.into_iter().collect();
        lacks.sort_by_key(|(what, count)| (std::cmp::Reverse(*count), *what));
        let lacks: Vec<String> = lacks
            .into_iter()
            .map(|(what, count)| format!("{what} ({count})"))
            .collect();
        let tried = all - unsupported.len();
        let were = if tried == 1 { "was" } else { "were" };
        let others = match unsupported.len() {
            1 => "The other one needs".to_owned(),
            others => format!("The other {others} need"),
        };
        format!(
            "{tried} of {} {were} tried. {others} what the client or its driver does not support: {}.",
            plural(all as u64, "case"),
            lacks.join(", ")
        )
    }
}
