//! All cases, read from their folder.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use hecaton_lab::spec::{Project, ProjectFile, did_you_mean};

use super::Case;

/// All cases, in the order of their codes.
#[derive(Clone, Debug)]
pub struct Catalogue {
    cases: Vec<Case>,
}

impl Catalogue {
    /// Reads `scenarios/audit/<group>/<id>.toml` of the project.
    ///
    /// # Errors
    /// A sentence with the file that is wrong.
    pub fn load(project: &Project) -> Result<Catalogue> {
        let files = project.files("scenarios/audit")?.into_iter();
        let mut cases: Vec<Case> = files
            .map(|file| read(&file).with_context(|| format!("{} is not a case", file.shown)))
            .collect::<Result<_>>()?;
        cases.sort_by(|a, b| a.code.cmp(&b.code));
        for pair in cases.windows(2) {
            let (a, b) = (&pair[0], &pair[1]);
            ensure!(
                a.code != b.code,
                "{} and {} have the same code, {}",
                a.id,
                b.id,
                a.code
            );
        }
        let mut ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
        ids.sort_unstable();
        if let Some(pair) = ids.windows(2).find(|pair| pair[0] == pair[1]) {
            bail!("two cases have the id {}", pair[0]);
        }
        Ok(Catalogue { cases })
    }

    /// All of them.
    pub fn all(&self) -> &[Case] {
        &self.cases
    }

    /// The case of an id or a code.
    ///
    /// # Errors
    /// A sentence that names the command which lists all cases.
    pub fn find(&self, name: &str) -> Result<&Case> {
        let name = name_today(name);
        let same = |case: &&Case| case.id == name || case.code.eq_ignore_ascii_case(name);
        self.cases.iter().find(same).with_context(|| {
            let cases = self.cases.iter();
            let guess = did_you_mean(name, cases.flat_map(|case| [&*case.id, &*case.code]));
            format!("there is no case `{name}`{guess} `hecaton audit --list` lists all")
        })
    }

    /// The cases of some groups; all if none is named.
    ///
    /// # Errors
    /// A sentence with the groups that exist.
    pub fn groups(&self, names: &[String]) -> Result<Vec<&Case>> {
        for name in names {
            if !self.cases.iter().any(|case| case.group == *name) {
                let mut groups: Vec<&str> =
                    self.cases.iter().map(|case| case.group.as_str()).collect();
                groups.sort_unstable();
                groups.dedup();
                bail!(
                    "there is no group `{name}`; the groups are {}",
                    groups.join(", ")
                );
            }
        }
        let chosen = |case: &&Case| names.is_empty() || names.contains(&case.group);
        Ok(self.cases.iter().filter(chosen).collect())
    }
}

/// Names of cases that were renamed, and their names today.
const RENAMED: [(&str, &str); 7] = [
    ("fresh-drop-get", "new-drop-get"),
    ("fresh-drop-post", "new-drop-post"),
    ("fresh-reset-post", "new-reset-post"),
    ("late-answer", "late-response"),
    ("place-after-error", "slot-after-error"),
    ("place-after-time-out", "slot-after-time-out"),
    ("place-wait", "slot-wait"),
];

/// The present name of a case, for a name from a document or a file of expectations that may be older.
pub fn name_today(name: &str) -> &str {
    let renamed = RENAMED.iter().find(|(before, _)| *before == name);
    renamed.map_or(name, |(_, today)| today)
}

fn read(file: &ProjectFile) -> Result<Case> {
    let (path, mut case) = (&file.path, Case::parse(&file.text)?);
    let name = |path: Option<&Path>| {
        path.and_then(Path::file_stem)
            .map(|name| name.to_string_lossy().into_owned())
    };
    let stem = name(Some(path)).unwrap_or_default();
    ensure!(
        stem == case.id,
        "the id is {}, but the file is {stem}.toml",
        case.id
    );
    case.group = name(path.parent()).unwrap_or_default();
    Ok(case)
}
