//! How the verdicts of two runs differ.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::case::{Verdict, name_today};

/// Verdicts by client and case.
pub type Verdicts = BTreeMap<(String, String), Verdict>;

/// A verdict that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The client.
    pub client: String,
    /// The case.
    pub case: String,
    /// Its verdict before; none if it was not run.
    pub before: Option<Verdict>,
    /// Its verdict after.
    pub after: Option<Verdict>,
    /// In which direction.
    pub direction: Direction,
}

/// The direction in which a verdict changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// A finding that was none, or a graver one.
    Worse,
    /// A finding that was mended, or one that is less grave.
    Better,
    /// Neither: one of both is no finding and no success.
    Other,
}

impl Direction {
    /// The direction from one verdict to another; none stands for a case that did not run.
    pub(super) fn of(before: Option<Verdict>, after: Option<Verdict>) -> Direction {
        let grave = |verdict: Option<Verdict>| verdict.filter(|verdict| verdict.is_finding());
        match (grave(before), grave(after)) {
            (None, Some(_)) => Direction::Worse,
            (Some(before), Some(after)) if after < before => Direction::Worse,
            (Some(before), Some(after)) if after > before => Direction::Better,
            (Some(_), None) if matches!(after, Some(Verdict::Pass | Verdict::Info)) => {
                Direction::Better
            }
            _ => Direction::Other,
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Direction::Worse => "worse",
            Direction::Better => "better",
            Direction::Other => "other",
        })
    }
}

#[derive(Deserialize)]
struct WrittenClient {
    client: String,
    findings: Vec<WrittenFinding>,
}

#[derive(Deserialize)]
struct WrittenFinding {
    id: String,
    verdict: Verdict,
}

/// The verdicts of a `run.json`.
///
/// # Errors
/// If the text is no such document.
pub fn verdicts(text: &str) -> Result<Verdicts> {
    let clients: Vec<WrittenClient> =
        serde_json::from_str(text).context("a list of clients with their findings was expected")?;
    let all = clients.into_iter().flat_map(|entry| {
        let client = entry.client;
        entry.findings.into_iter().map(move |of| {
            let case = name_today(&of.id).to_owned();
            ((client.clone(), case), of.verdict)
        })
    });
    Ok(all.collect())
}

/// The verdicts that differ, by client and case.
pub fn changes(before: &Verdicts, after: &Verdicts) -> Vec<Change> {
    let mut keys: Vec<_> = before.keys().chain(after.keys()).collect();
    keys.sort();
    keys.dedup();
    let changed = keys.into_iter().filter_map(|key| {
        let (before, after) = (before.get(key).copied(), after.get(key).copied());
        (before != after).then(|| Change {
            client: key.0.clone(),
            case: key.1.clone(),
            before,
            after,
            direction: Direction::of(before, after),
        })
    });
    changed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(verdict: &str) -> Verdicts {
        verdicts(&format!(
            r#"[{{"client":"x","findings":[{{"id":"a","verdict":"{verdict}"}}]}}]"#
        ))
        .unwrap()
    }

    #[test]
    fn a_renamed_case_is_compared_with_itself() {
        let run = |case: &str, verdict: &str| {
            let run = format!(
                r#"[{{"client":"x","findings":[{{"id":"{case}","verdict":"{verdict}"}}]}}]"#
            );
            verdicts(&run).unwrap()
        };
        let before = run("late-answer", "pass");
        assert!(changes(&before, &run("late-response", "pass")).is_empty());
        let changed = changes(&before, &run("late-response", "violation"));
        assert_eq!((changed.len(), changed[0].direction), (1, Direction::Worse));
    }

    #[test]
    fn a_graver_verdict_is_worse_and_a_mended_finding_is_better() {
        for (before, after, direction) in [
            ("pass", "deviation", Direction::Worse),
            ("deviation", "violation", Direction::Worse),
            ("not-applicable", "hazard", Direction::Worse),
            ("violation", "deviation", Direction::Better),
            ("hazard", "pass", Direction::Better),
            ("mismatch", "info", Direction::Better),
            ("hazard", "inconclusive", Direction::Other),
            ("hazard", "unsupported", Direction::Other),
            ("pass", "info", Direction::Other),
        ] {
            let changed = changes(&run(before), &run(after));
            let found: Vec<_> = changed.iter().map(|change| change.direction).collect();
            assert_eq!(found, [direction], "{before} → {after}");
        }
        assert!(changes(&run("hazard"), &run("hazard")).is_empty());
        let gone = changes(&run("violation"), &Verdicts::new());
        assert_eq!(
            (gone.len(), gone[0].direction),
            (1, Direction::Other),
            "a case that did not run"
        );
        assert!(verdicts("{}").is_err());
    }
}
