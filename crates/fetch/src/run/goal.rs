//! Whether what a job came to is good enough: its `fail_if`, and a job without one good response.

use crate::error::{Error, Result};
use crate::expression::{Counts, Threshold};
use crate::plan::{Folder, Plan};
use crate::record::count;
use crate::segment::{Tally, load};

impl Counts for Tally {
    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("records", self.records),
            ("ok", self.ok),
            ("failed", self.failed()),
            ("responses", self.responses),
            ("unchanged", self.unchanged),
            ("errors", self.errors),
            ("skipped", self.skipped),
            ("unreached", self.unreached),
            ("unknown", self.unknown),
            ("invalid", self.invalid),
        ]
    }

    fn all(&self) -> u64 {
        self.records
    }
}

/// Refuses a `fail_if` that cannot be read.
///
/// # Errors
/// Where, and what was expected there.
pub fn check(fail_if: Option<&str>) -> Result<()> {
    threshold(fail_if).map(drop)
}

fn threshold(fail_if: Option<&str>) -> Result<Option<Threshold>> {
    let read = fail_if.map(|text| Threshold::parse(text, &Tally::default()));
    read.transpose()
        .map_err(|error| Error::usage(error.to_string()))
}

/// How the inputs of the parts that are done ended.
///
/// # Errors
/// When a `COMMIT` cannot be read.
pub fn tally(folder: &Folder, plan: &Plan) -> Result<Tally> {
    let mut tally = Tally::default();
    for part in &plan.parts {
        if let Some(commit) = load(folder, part.number)? {
            tally.add(&commit.tally);
        }
    }
    Ok(tally)
}

/// Why counts are not good enough, in a sentence; none if they are.
///
/// # Errors
/// When `fail_if` cannot be read.
pub fn shortfall(fail_if: Option<&str>, tally: &Tally) -> Result<Option<String>> {
    let threshold = threshold(fail_if)?;
    if let Some(threshold) = threshold.filter(|threshold| threshold.holds(tally)) {
        let named = threshold.named(tally).into_iter();
        let named: Vec<String> = named
            .map(|(name, number)| format!("{name} {}", count(number)))
            .collect();
        return Ok(Some(format!(
            "the job failed, because '{threshold}' is true: {}, of {} records",
            named.join(", "),
            count(tally.records)
        )));
    }
    let is_empty = tally.records > 0 && tally.ok == 0;
    Ok(is_empty.then(|| {
        format!(
            "the job failed: none of its {} records has a good response",
            count(tally.records)
        )
    }))
}
