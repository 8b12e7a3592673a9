//! Which clients can run here, by language, and what installs the rest.

use super::{Finding, Standing};
use crate::run::{Gap, Missing, gaps, receipt};
use crate::spec::{Catalogue, Manifest};

/// How many clients are installed, then one finding for each group of those that are not.
pub fn tools(catalogue: &Catalogue) -> Vec<Finding> {
    let looked: Vec<(&Manifest, Result<String, Missing>)> = catalogue
        .all()
        .map(|manifest| (manifest, receipt(manifest)))
        .collect();
    let missing = looked.iter().filter_map(|(manifest, receipt)| {
        let missing = receipt.as_ref().err()?;
        Some((*manifest, missing))
    });
    let gaps = gaps(missing);
    let absent: usize = gaps.iter().map(|gap| gap.clients.len()).sum();
    let there = format!(
        "{} of {} are installed",
        looked.len() - absent,
        looked.len()
    );
    let mut findings = vec![Finding::good("clients", there)];
    findings.extend(gaps.iter().map(finding));
    findings
}

fn finding(gap: &Gap) -> Finding {
    let seen = format!("missing of {}: {}", gap.language, gap.clients.join(", "));
    Finding {
        mend: Some(gap.advice.clone()),
        standing: Standing::Note,
        ..Finding::good("clients", seen)
    }
}
