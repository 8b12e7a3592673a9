//! Behaviours that are described in public, and the files that say so. The report hides all other behaviours that could
//! be abused.

use anyhow::{Context, Result};
use hecaton_lab::spec::{Project, ProjectFile};
use serde::Deserialize;

use super::Audited;
use crate::case::{Severity, Verdict};
use crate::run::{Described, Finding};

/// Groups in which a client that misreads can be made to mix, leak or accept what it should not.
const OPEN_TO_ABUSE: [&str; 6] = ["framing", "headers", "cookies", "tls", "proxies", "http2"];

/// What `audit/documented/*.toml` says.
#[derive(Debug, Default)]
pub struct Library(Vec<File>);

/// One file: a library, which may have several drivers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    clients: Vec<String>,
    #[serde(rename = "behaviour")]
    behaviours: Vec<Described>,
}

impl Library {
    /// Reads `audit/documented/*.toml` of the project.
    ///
    /// # Errors
    /// A sentence that says which file is wrong.
    pub fn load(project: &Project) -> Result<Library> {
        let read = |file: ProjectFile| {
            let ProjectFile { shown, text, .. } = file;
            toml::from_str(&text).with_context(|| format!("{shown} is wrong"))
        };
        let files = project.files("audit/documented")?;
        Ok(Library(files.into_iter().map(read).collect::<Result<_>>()?))
    }

    /// Where behaviours are described: URLs and, because our own documentation has no address yet, files of the project.
    pub fn sources(&self) -> impl Iterator<Item = &str> {
        let behaviours = self.0.iter().flat_map(|file| &file.behaviours);
        behaviours.map(|one| &*one.source)
    }

    /// All pairs of a client and the id of a case.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().flat_map(|file| {
            file.clients.iter().flat_map(|client| {
                let cases = file.behaviours.iter();
                cases.map(|one| (client.as_str(), one.case.as_str()))
            })
        })
    }

    /// Adds to each finding where it is described.
    pub fn describe(&self, audited: &mut Audited) {
        for file in &self.0 {
            if !file.clients.contains(&audited.client) {
                continue;
            }
            for finding in &mut audited.findings {
                let found = file.behaviours.iter().find(|one| one.case == finding.id);
                finding.described = found.cloned().or(finding.described.take());
            }
        }
    }
}

/// The audit as it may be published: what could be abused is shown only where it is public already.
///
/// A pass is left out too. Otherwise a gap would show where the findings are.
#[must_use]
pub fn published(mut audited: Audited) -> Audited {
    // Ours are shown as they are: who maintains them reads this.
    let ours = audited.client.contains("hecaton");
    for finding in audited.findings.iter_mut().filter(|_| !ours) {
        if could_be_abused(finding) && finding.described.is_none() {
            finding.verdict = Verdict::LeftOut;
            finding.says = "Left out, as SECURITY.md says.".into();
            finding.runs.clear();
            finding.run.empty();
        }
    }
    audited
}

fn could_be_abused(finding: &Finding) -> bool {
    match finding.severity {
        Severity::LeaksCredential | Severity::MixesResponses => true,
        Severity::Misreads => OPEN_TO_ABUSE.contains(&finding.group.as_str()),
        _ => false,
    }
}
