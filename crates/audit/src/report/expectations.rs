//! Expected findings of a client, for its own tests: any other finding fails, and so does an expected one that
//! disappears.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::{Audited, Direction};
use crate::case::{Case, Catalogue, Verdict, name_today};
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

    /// The expectations that hold for what was found. A case keeps its reason of `before`, if its verdict is the same;
    /// other reasons are the sentences of what was found. Cases that did not run stay as they were.
    pub fn of(audited: &Audited, before: Option<&Expectations>) -> Expectations {
        let before = before.filter(|before| before.client == audited.client);
        let reason = |finding: &Finding| before?.reason(finding).map(str::to_owned);
        let found = audited
            .findings
            .iter()
            .filter(|found| found.verdict.is_listed());
        let expected = found.map(|finding| Expected {
            case: finding.id.clone(),
            verdict: finding.verdict,
            why: reason(finding).unwrap_or_else(|| finding.says.clone()),
        });
        let ran = |one: &Expected| {
            let mut findings = audited.findings.iter();
            findings.any(|it| one.is_about(&it.id, &it.code))
        };
        let others = before.into_iter().flat_map(|before| &before.all);
        let others = others.filter(|one| !ran(one)).cloned();
        Expectations {
            client: audited.client.clone(),
            all: expected.chain(others).collect(),
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

    /// How a finding differs from what is expected, in a sentence; none if it does not.
    pub(super) fn difference(&self, finding: &Finding) -> Option<String> {
        let Finding {
            id, verdict, says, ..
        } = finding;
        let expected = match self.entry(id, &finding.code) {
            None if verdict.is_listed() => {
                return Some(format!(
                    "{id} is `{verdict}`, and the file does not list it: {says}"
                ));
            }
            None => return None,
            Some(expected) if expected.verdict == *verdict => return None,
            Some(expected) => expected,
        };
        let (listed, why) = (expected.verdict, &expected.why);
        let direction = Direction::of(Some(listed), Some(*verdict));
        let todo = match verdict {
            Verdict::Inconclusive => {
                "leave the case out of the audit if the client differs each time".to_owned()
            }
            _ if verdict.is_listed() => format!("write `{verdict}` in the file if that is right"),
            _ => "take it out of the file".to_owned(),
        };
        Some(format!(
            "{id} is {direction}: `{verdict}`, and the file expects `{listed}` ({why}); {todo}"
        ))
    }

    /// Why a finding is as expected; none if the file does not list it with this verdict.
    pub(super) fn reason(&self, finding: &Finding) -> Option<&str> {
        let expected = self.entry(&finding.id, &finding.code)?;
        (expected.verdict == finding.verdict).then_some(expected.why.as_str())
    }

    /// The ids of all cases that the file lists.
    pub fn cases(&self) -> Vec<&str> {
        let all = self.all.iter();
        all.map(|expected| name_today(&expected.case)).collect()
    }

    /// Whether the file lists a case.
    pub fn lists(&self, case: &Case) -> bool {
        self.entry(&case.id, &case.code).is_some()
    }

    fn entry(&self, id: &str, code: &str) -> Option<&Expected> {
        self.all.iter().find(|expected| expected.is_about(id, code))
    }
}

impl Expected {
    /// Whether it names a case by its id, an older id or its code.
    fn is_about(&self, id: &str, code: &str) -> bool {
        let name = name_today(&self.case);
        name == id || name.eq_ignore_ascii_case(code)
    }
}
