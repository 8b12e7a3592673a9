//! Expected findings of a client, for its own tests: any other finding fails, and so does an expected one that
//! disappears.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::Audited;
use crate::case::{Catalogue, Verdict, name_today};
use crate::run::Finding;

/// The expected findings of a client.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Expectations {
    /// The client.
    pub client: String,
    #[serde(default, rename = "expected", skip_serializing_if = "Vec::is_empty")]
    all: Vec<Expected>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    /// The id of the case.
    case: String,
    verdict: Verdict,
    /// The reason why it is so, for people.
    why: String,
}

impl Expectations {
    /// Reads a file.
    ///
    /// # Errors
    /// If the text is no such file, or lists a case that does not exist, or one twice.
    pub fn parse(text: &str, cases: &Catalogue) -> Result<Expectations> {
        let read: Expectations = toml::from_str(text)?;
        let mut known: Vec<&str> = Vec::new();
        for Expected { case, .. } in &read.all {
            let id = cases.find(case)?.id.as_str();
            ensure!(!known.contains(&id), "the case `{case}` is listed twice");
            known.push(id);
        }
        Ok(read)
    }

    /// The expectations that hold for what was found, with its sentences as reasons.
    pub fn of(audited: &Audited) -> Expectations {
        let found = audited.findings.iter().filter(|found| is_listed(found));
        let expected = found.map(
            |Finding {
                 id, verdict, says, ..
             }| Expected {
                case: id.clone(),
                verdict: *verdict,
                why: says.clone(),
            },
        );
        Expectations {
            client: audited.client.clone(),
            all: expected.collect(),
        }
    }

    /// The file's text.
    ///
    /// # Errors
    /// If a verdict's sentence cannot be written as TOML.
    pub fn text(&self) -> Result<String> {
        Ok(toml::to_string(self)?)
    }

    /// The differences, a sentence each. Only the findings of the client that the file names are compared.
    pub fn differences(&self, audited: &[Audited]) -> Vec<String> {
        let client = &self.client;
        let mut of_it = audited.iter().filter(|one| one.client == *client);
        let Some(audited) = of_it.next() else {
            return vec![format!("{client} was left out")];
        };
        let findings = audited.findings.iter();
        findings
            .filter_map(|finding| self.difference(finding))
            .collect()
    }

    fn difference(&self, finding: &Finding) -> Option<String> {
        let (id, verdict) = (&finding.id, finding.verdict);
        let same = |expected: &&Expected| {
            let name = name_today(&expected.case);
            name == id || name.eq_ignore_ascii_case(&finding.code)
        };
        match self.all.iter().find(same) {
            Some(expected) if expected.verdict == verdict => None,
            Some(Expected {
                verdict: listed,
                why,
                ..
            }) => Some(format!(
                "{id} is `{verdict}`, and the file expects `{listed}` ({why}); update the file if the new verdict is right"
            )),
            None if is_listed(finding) => Some(format!(
                "{id} is `{verdict}`, and the file does not list it: {}",
                finding.says
            )),
            None => None,
        }
    }
}

/// Whether a file of expectations must list a finding.
fn is_listed(finding: &Finding) -> bool {
    let verdict = finding.verdict;
    verdict.is_finding() || matches!(verdict, Verdict::Inconclusive | Verdict::SetupFailed)
}
