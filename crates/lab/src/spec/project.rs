//! The project's files: a checkout's, or else the built-in copies.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The files that were built in, by their paths in a checkout.
static BUILT_IN: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/built_in.rs"));

/// Where the scenarios, the audit's cases and the drivers are.
#[derive(Clone, Debug)]
pub struct Project(Option<PathBuf>);

/// A file: how messages name it, its path in the project, and its text.
#[derive(Debug)]
pub struct ProjectFile {
    /// Its path, as messages show it.
    pub shown: String,
    /// Its path in the project.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

impl Project {
    /// The checkout at `HECATON_ROOT` when set, else the first folder that looks like one, upwards from the current
    /// directory and then from the executable. Without one, the files that were built in.
    ///
    /// # Errors
    /// A sentence when `HECATON_ROOT` leads to no checkout.
    pub fn find() -> Result<Project> {
        if let Some(root) = std::env::var_os("HECATON_ROOT") {
            // Drivers are started in folders of their own.
            let root = std::path::absolute(root)?;
            if !looks_like_root(&root) {
                bail!(
                    "HECATON_ROOT is {}, which is no checkout of Hecaton: it lacks drivers or scenarios/bench/sweep.toml; \
                     correct the variable, or unset it",
                    root.display()
                );
            }
            return Ok(Project(Some(root)));
        }
        let starts = [std::env::current_dir().ok(), std::env::current_exe().ok()];
        let mut folders = starts.iter().flatten().flat_map(|start| start.ancestors());
        Ok(Project(
            folders
                .find(|folder| looks_like_root(folder))
                .map(Path::to_path_buf),
        ))
    }

    /// The checkout in this folder.
    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Project {
        Project(Some(root.into()))
    }

    /// The files that were built in.
    #[must_use]
    pub fn built_in() -> Project {
        Project(None)
    }

    /// The checkout's folder, if there is one.
    #[must_use]
    pub fn root(&self) -> Option<&Path> {
        self.0.as_deref()
    }

    /// The checkout's folder.
    ///
    /// # Errors
    /// A sentence that says how to name it, if there is none.
    pub fn checkout(&self) -> Result<&Path> {
        self.root().context(
            "this needs a checkout of Hecaton, whose drivers it reads; run it in one, or set HECATON_ROOT to its path",
        )
    }

    /// The file with this path in the project.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn file(&self, path: impl Into<PathBuf>) -> Result<ProjectFile> {
        let path = path.into();
        let (shown, text) = match self.root() {
            Some(root) => {
                let file = root.join(&path);
                let shown = file.display().to_string();
                let text = std::fs::read_to_string(&file);
                (
                    shown.clone(),
                    text.with_context(|| format!("cannot read {shown}"))?,
                )
            }
            None => {
                let mut files = BUILT_IN.iter();
                let found = files.find(|(name, _)| Path::new(name) == path);
                let shown = format!("{} (built in)", path.display());
                let (_, text) = found.with_context(|| format!("there is no file {shown}"))?;
                (shown, (*text).to_owned())
            }
        };
        Ok(ProjectFile { shown, path, text })
    }

    /// The TOML files of a folder, and of those in it.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn files(&self, folder: &str) -> Result<Vec<ProjectFile>> {
        let mut paths = Vec::new();
        match self.root() {
            Some(root) => collect(root, Path::new(folder), &mut paths)?,
            None => {
                let names = BUILT_IN.iter().map(|(name, _)| PathBuf::from(name));
                paths.extend(names.filter(|path| path.starts_with(folder)));
            }
        }
        paths.sort();
        paths.into_iter().map(|path| self.file(path)).collect()
    }
}

/// Adds the paths of TOML files, from the root.
fn collect(root: &Path, folder: &Path, paths: &mut Vec<PathBuf>) -> Result<()> {
    let full = root.join(folder);
    let entries =
        std::fs::read_dir(&full).with_context(|| format!("{} cannot be read", full.display()))?;
    for entry in entries {
        let entry = entry?;
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            collect(root, &path, paths)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            paths.push(path);
        }
    }
    Ok(())
}

fn looks_like_root(folder: &Path) -> bool {
    folder.join("scenarios/bench/sweep.toml").is_file() && folder.join("drivers").is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_has_the_files_that_are_built_in() {
        let checkout = Project::at(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
        for folder in ["scenarios/bench", "scenarios/audit", "audit"] {
            let [own, built_in] = [&checkout, &Project::built_in()].map(|project| {
                let files = project.files(folder).unwrap().into_iter();
                files.map(|file| (file.path, file.text)).collect::<Vec<_>>()
            });
            assert!(own.len() > 1, "{folder}");
            assert_eq!(own, built_in);
        }
    }
}
