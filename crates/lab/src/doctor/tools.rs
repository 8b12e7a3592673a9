//! Which clients can run here, by language, and what installs the rest.

use std::collections::BTreeMap;

use super::{Finding, Standing};
use crate::run::receipt;
use crate::spec::Catalogue;

/// One finding for each language: how many of its clients are there, and what installs the others.
pub fn tools(catalogue: &Catalogue) -> Vec<Finding> {
    let mut languages: BTreeMap<&str, (usize, Vec<&str>)> = BTreeMap::new();
    for manifest in catalogue.all() {
        let (there, missing) = languages.entry(&manifest.language).or_default();
        match receipt(manifest) {
            Ok(_) => *there += 1,
            Err(_) => missing.push(&manifest.client),
        }
    }
    languages
        .into_iter()
        .map(|(language, (there, missing))| finding(language, there, &missing))
        .collect()
}

fn finding(language: &str, there: usize, missing: &[&str]) -> Finding {
    if missing.is_empty() {
        return Finding::good("clients", format!("{language}: all {there} are installed"));
    }
    let seen = format!(
        "{language}: {there} installed; missing: {}",
        missing.join(", ")
    );
    Finding {
        mend: Some(format!("bin/hecaton drivers install {language}")),
        standing: Standing::Note,
        ..Finding::good("clients", seen)
    }
}
