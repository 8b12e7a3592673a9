//! Expected findings of a client, for its own tests: any other finding fails, and so does an expected one that
//! disappears.

use anyhow::Result;
use serde::Deserialize;

use super::Audited;
use crate::case::{Verdict, name_today};

/// The expected findings of a client.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectations {
    client: String,
    #[serde(default, rename = "expected")]
    all: Vec<Expected>,
}

#[derive(Clone, Debug, Deserialize)]
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
    /// If the text is no such file.
    pub fn parse(text: &str) -> Result<Expectations> {
        Ok(toml::from_str(text)?)
    }

    /// The differences, a sentence each. Only the findings of the client that the file names are compared.
    pub fn differences(&self, audited: &Audited) -> Vec<String> {
        if audited.client != self.client {
            return Vec::new();
        }
        let mut wrong = Vec::new();
        for finding in &audited.findings {
            let (id, verdict) = (&finding.id, finding.verdict);
            match self.all.iter().find(|expected| name_today(&expected.case) == id) {
                Some(expected) if expected.verdict == verdict => {}
                Some(Expected { verdict: listed, why, .. }) => wrong.push(format!(
                    "{id} is `{verdict}`, and the file expects `{listed}` ({why}); update the file if the new verdict is right"
                )),
                None if verdict.is_finding() || matches!(verdict, Verdict::Inconclusive | Verdict::SetupFailed) => {
                    wrong.push(format!("{id} is `{verdict}`, and the file does not list it: {}", finding.says));
                }
                None => {}
            }
        }
        wrong
    }
}
