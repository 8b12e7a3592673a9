//! How the verdicts of two runs differ.

use std::collections::BTreeMap;

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
    /// Whether it is worse: a finding that was none, or a graver one.
    pub worse: bool,
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
        let grave = |verdict: Option<Verdict>| verdict.filter(|verdict| verdict.is_finding());
        let worse = match (grave(before), grave(after)) {
            (Some(before), Some(after)) => after < before,
            (None, Some(_)) => true,
            _ => false,
        };
        (before != after).then(|| Change {
            client: key.0.clone(),
            case: key.1.clone(),
            before,
            after,
            worse,
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
        assert_eq!((changed.len(), changed[0].worse), (1, true));
    }

    #[test]
    fn a_graver_verdict_is_worse_and_a_missing_one_is_not() {
        let worse = |before, after| {
            changes(&run(before), &run(after))
                .iter()
                .any(|change| change.worse)
        };
        assert!(
            worse("pass", "deviation")
                && worse("deviation", "violation")
                && worse("not-applicable", "hazard")
        );
        assert!(
            !worse("violation", "deviation")
                && !worse("pass", "info")
                && !worse("hazard", "hazard")
        );
        let gone = changes(&run("pass"), &Verdicts::new());
        assert_eq!((gone.len(), gone[0].worse), (1, false));
        assert!(verdicts("{}").is_err());
    }
}
