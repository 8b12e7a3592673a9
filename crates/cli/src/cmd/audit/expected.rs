//! `--expect`: the files of expected findings, read before the first request, and compared after the last. And
//! `--write-expect`.

use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use hecaton_audit::case::{Case, Catalogue};
use hecaton_audit::report::{Audited, Expectations};
use hecaton_lab::run::receipt;

use crate::ending::Unexpected;

use super::compare::counted;
use super::{Arguments, Format, Subjects, usage, wrong};

/// A file, and its expectations.
pub struct Expected<'a> {
    file: &'a Path,
    pub(super) expectations: Expectations,
}

impl Expected<'_> {
    /// Refuses a file about a client that is not audited, or not installed as its manifest says.
    fn check_client(&self, subjects: &Subjects<'_>) -> Result<()> {
        let (file, client) = (self.file.display(), self.expectations.client.as_str());
        let names = subjects.names();
        if !names.contains(&client) {
            return wrong(&format!(
                "{file} is about the client {client}, which is not audited; audited are {}",
                names.join(", ")
            ));
        }
        let mut manifests = subjects.manifests.iter();
        match manifests.find(|manifest| manifest.client == client) {
            Some(manifest) => Ok(receipt(manifest).map(drop)?),
            None => Ok(()),
        }
    }

    /// Refuses a file that lists none of the cases that `--case` names.
    fn check_cases(&self, cases: &[&Case]) -> Result<()> {
        let listed = self.expectations.cases();
        if listed.is_empty() || cases.iter().any(|case| self.expectations.lists(case)) {
            return Ok(());
        }
        wrong(&format!(
            "{} lists none of the cases of `--case`, so nothing would be compared; leave `--expect` out, or name one that it \
             lists: {}",
            self.file.display(),
            listed.join(", ")
        ))
    }
}

/// Reads the files.
///
/// # Errors
/// If a file is missing, or would be compared with nothing. Such a file names a client that is not audited or a case that
/// does not exist, or lists none of the cases of `--case`. Also if no file is about an audited client.
pub fn read<'a>(
    arguments: &'a Arguments,
    subjects: &Subjects<'_>,
    catalogue: &Catalogue,
    chosen: &[&Case],
) -> Result<Vec<Expected<'a>>> {
    let read: Vec<Expected<'_>> = arguments
        .expect
        .iter()
        .map(|file| {
            let expectations = expectations(file, catalogue).map_err(usage)?;
            Ok(Expected { file, expectations })
        })
        .collect::<Result<_>>()?;
    for expected in &read {
        expected.check_client(subjects)?;
        if !arguments.case.is_empty() {
            expected.check_cases(chosen)?;
        }
    }
    let names = subjects.names();
    let about = |name: &&&str| !read.iter().any(|one| one.expectations.client == **name);
    match names.iter().find(about) {
        Some(name) if !read.is_empty() && !arguments.all => wrong(&format!(
            "no file of `--expect` is about {name}; give each client its file, or audit it apart"
        )),
        _ if names.len() > 1 && arguments.write_expect.is_some() => {
            wrong("`--write-expect` writes the file of one client; audit one at a time")
        }
        _ => Ok(read),
    }
}

fn expectations(file: &Path, cases: &Catalogue) -> Result<Expectations> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("{} cannot be read", file.display()))?;
    Expectations::parse(&text, cases).with_context(|| format!("{} is wrong", file.display()))
}

/// Fails if the findings are not the expected ones.
pub fn differences(expected: &[Expected<'_>], audited: &[Audited]) -> Result<()> {
    let (mut wrong, mut files) = (Vec::new(), Vec::new());
    for Expected { file, expectations } in expected {
        let differences = expectations.differences(audited);
        if !differences.is_empty() {
            files.push(file.display().to_string());
        }
        wrong.extend(differences);
    }
    match counted(
        wrong.len(),
        "differs",
        "differ",
        &format!("from {}", files.join(", ")),
    ) {
        Some(differ) => bail!(Unexpected(format!("{differ}:\n  {}", wrong.join("\n  ")))),
        None => Ok(()),
    }
}

/// Says that the findings are those of the files, so that a green build shows that it compared them.
pub fn say_that_all_is_expected(arguments: &Arguments, expected: &[Expected<'_>]) -> Result<()> {
    let files: Vec<String> = expected
        .iter()
        .map(|expected| expected.file.display().to_string())
        .collect();
    if !files.is_empty() && arguments.format == Format::Text {
        writeln!(
            stdout(),
            "The findings are those that {} expects.",
            files.join(" and ")
        )?;
    }
    Ok(())
}

/// Writes what was found as what is expected from then on. Reasons that the file has already are kept.
pub fn write(file: &PathBuf, audited: &[Audited], cases: &Catalogue) -> Result<()> {
    let [audited] = audited else {
        return wrong("`--write-expect` writes the file of one client; audit one at a time");
    };
    let before = expectations(file, cases).ok();
    let text = Expectations::of(audited, before.as_ref()).text()?;
    std::fs::write(file, text).with_context(|| format!("{} cannot be written", file.display()))
}
