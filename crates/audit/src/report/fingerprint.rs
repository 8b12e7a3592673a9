//! The fingerprint of a client: values that cases measured, such as how often a request is repeated.

use anyhow::{Context, Result};
use hecaton_lab::spec::Project;
use serde::Deserialize;

use super::Audited;
use crate::case::Verdict;

/// The values of a fingerprint, as `audit/fingerprint.toml` lists them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprint {
    /// The values, in order.
    #[serde(rename = "value")]
    pub values: Vec<Value>,
}

/// One value: a fact of a case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// A short name of the value.
    pub name: String,
    /// The id of the case.
    pub case: String,
    /// The fact.
    pub fact: String,
    /// The thing that the number counts.
    #[serde(default)]
    pub unit: String,
}

impl Fingerprint {
    /// Reads `audit/fingerprint.toml` of the project.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn load(project: &Project) -> Result<Fingerprint> {
        let file = project.file("audit/fingerprint.toml")?;
        toml::from_str(&file.text).with_context(|| format!("{} is wrong", file.shown))
    }

    /// The values that an audit has a case for.
    #[must_use]
    pub fn of(&self, clients: &[Audited]) -> Vec<&Value> {
        let has = |value: &&Value| clients.iter().any(|client| value.of(client).is_some());
        self.values.iter().filter(has).collect()
    }
}

impl Value {
    /// The measured value; none if the case did not run or did not apply.
    #[must_use]
    pub fn of(&self, client: &Audited) -> Option<String> {
        let finding = client.findings.iter().find(|one| one.id == self.case)?;
        let nothing = matches!(
            finding.verdict,
            Verdict::Unsupported | Verdict::SetupFailed | Verdict::NotApplicable | Verdict::LeftOut
        );
        let fact = finding.run.facts.get(&self.fact).filter(|_| !nothing)?;
        Some(format!("{fact} {}", self.unit).trim().to_owned())
    }
}
