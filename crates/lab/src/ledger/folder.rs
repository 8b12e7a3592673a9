//! The folder of one run: rounds are appended as they come, so a crash keeps what was measured.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::stamp::Stamp;
use crate::run::Round;
use crate::spec::Usage;

/// The document of a finished run; compressed, as kept runs are.
pub(super) const DOCUMENTS: [&str; 2] = ["run.json", "run.json.zst"];

/// Rounds in the order in which they were made, one JSON object a line; gone when `run.json` is whole.
pub(super) const ROUNDS: &str = "rounds.jsonl";

/// The plan and the machine of an unfinished run; `run.json` replaces it at the end.
pub(super) const HEAD: &str = "unfinished.json";

/// Folder of all runs, below the current directory.
const REPORTS: &str = "hecaton-report";

/// Whether a run is in this folder, whole or not, or the runs of a benchmark.
pub fn holds_run(folder: &Path) -> bool {
    let here = |folder: &Path| {
        let mut names = DOCUMENTS.iter().chain(&[ROUNDS, HEAD]);
        names.any(|name| folder.join(name).exists())
    };
    let parts = std::fs::read_dir(folder).into_iter().flatten().flatten();
    here(folder) || parts.into_iter().any(|part| here(&part.path()))
}

/// A run's folder, open for writing.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    rounds: File,
    kept: usize,
}

fn unwritable(path: &Path, error: &io::Error) -> Usage {
    let shown = path.display();
    Usage(format!(
        "cannot write the report to {shown} ({error}); choose another place with --out"
    ))
}

impl Folder {
    /// `chosen`, or `hecaton-report/<UTC time>-<verb>` below the current directory; makes nothing.
    pub fn path_for(chosen: Option<&Path>, verb: &str) -> PathBuf {
        chosen.map_or_else(
            || {
                let time = Stamp::now().compact();
                Path::new(REPORTS).join(format!("{time}-{verb}"))
            },
            Path::to_path_buf,
        )
    }

    /// Makes `chosen`, or `hecaton-report/<UTC time>-<verb>` below the current directory.
    ///
    /// # Errors
    /// [`Usage`] with the path when it cannot be written.
    pub fn create(chosen: Option<&Path>, verb: &str) -> Result<Folder> {
        let path = Folder::path_for(chosen, verb);
        let problem = |error| unwritable(&path, &error);
        std::fs::create_dir_all(path.join("drivers")).map_err(problem)?;
        let rounds = File::create(path.join(ROUNDS)).map_err(problem)?;
        Ok(Folder {
            path,
            rounds,
            kept: 0,
        })
    }

    /// Makes a folder that other folders are to be in.
    ///
    /// # Errors
    /// [`Usage`] with the path when nothing can be written there.
    pub fn make(path: &Path) -> Result<()> {
        let problem = |error| unwritable(path, &error);
        std::fs::create_dir_all(path).map_err(problem)?;
        let probe = path.join(format!(".{}", std::process::id()));
        File::create(&probe).map_err(problem)?;
        Ok(std::fs::remove_file(probe)?)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the drivers' error output goes.
    pub fn drivers(&self) -> PathBuf {
        self.path.join("drivers")
    }

    /// How many rounds are on disk.
    pub fn kept(&self) -> usize {
        self.kept
    }

    /// Keeps what is known before the first round.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn begin(&self, head: &impl Serialize) -> Result<()> {
        self.write(HEAD, &serde_json::to_vec(head)?).map(drop)
    }

    /// Keeps one round.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn append(&mut self, round: &Round) -> Result<()> {
        let mut line = serde_json::to_vec(round)?;
        line.push(b'\n');
        self.rounds
            .write_all(&line)
            .with_context(|| format!("cannot write {}", self.path.join(ROUNDS).display()))?;
        self.kept += 1;
        Ok(())
    }

    /// Writes a file of the run, replacing it as a whole.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf> {
        let path = self.path.join(name);
        let beside = self.path.join(format!("{name}.part"));
        std::fs::write(&beside, content)
            .and_then(|()| std::fs::rename(&beside, &path))
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// Takes an empty run away; what the drivers wrote stays, since an error may refer to it.
    pub fn discard(&self) {
        self.clear();
        let _ = std::fs::remove_dir(&self.path);
        if let Some(parent) = self
            .path
            .parent()
            .filter(|parent| parent.ends_with(REPORTS))
        {
            let _ = std::fs::remove_dir(parent); // only when no other run is in it
        }
    }

    /// Writes the whole document as `run.json`. The list of rounds and the compressed document of an earlier run, which
    /// are beside it, are then no longer needed.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn finish(&self, document: &impl Serialize) -> Result<PathBuf> {
        let [name, compressed] = DOCUMENTS;
        let path = self.write(name, &serde_json::to_vec(document)?)?;
        let _ = std::fs::remove_file(self.path.join(compressed));
        self.clear();
        Ok(path)
    }

    /// The SHA-256 of `run.json` in hexadecimal digits: who stores it can prove later that nobody has changed the
    /// document.
    ///
    /// # Errors
    /// When the run is not finished.
    pub fn fingerprint(&self) -> Result<String> {
        let path = self.path.join("run.json");
        let bytes =
            std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let digest = Sha256::digest(&bytes);
        Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Removes what only an unfinished run needs.
    fn clear(&self) {
        for name in [ROUNDS, HEAD] {
            let _ = std::fs::remove_file(self.path.join(name));
        }
        let _ = std::fs::remove_dir(self.drivers()); // only when no driver wrote anything
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Cell;
    use crate::run::Claim;

    fn round(block: u32) -> Round {
        Round {
            cell: Cell::plain("baseline-loader"),
            invocation: 0,
            block,
            order: 0,
            count: 10,
            wall_ns: 1,
            cpu_user_ns: 1,
            cpu_system_ns: 1,
            peak_rss_kib: 1,
            claim: Claim::default(),
            seen: None,
            reference: false,
            trusted: false,
            no_interim: false,
            logged: None,
            beside: None,
            left_open: None,
            server_cpu_ns: None,
            later: None,
            probe: None,
            proof: None,
            lat_every: 0,
            per_second: None,
            facts: Vec::new(),
            isolation: None,
            disturbed: Vec::new(),
            noise: None,
        }
    }

    #[test]
    fn rounds_are_on_disk_as_soon_as_they_are_appended() {
        let place = tempfile::tempdir().unwrap();
        let mut folder = Folder::create(Some(&place.path().join("deep/run")), "sweep").unwrap();
        folder.append(&round(0)).unwrap();
        folder.append(&round(1)).unwrap();
        let text = std::fs::read_to_string(folder.path().join(ROUNDS)).unwrap();
        let read: Vec<Round> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(read, [round(0), round(1)]);
        assert_eq!(folder.kept(), 2);

        folder.begin(&"head").unwrap();
        folder.finish(&read).unwrap();
        let names: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["run.json"]);
        std::fs::write(folder.path().join("run.json"), "abc").unwrap();
        // FIPS 180-4's own example.
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(folder.fingerprint().unwrap(), known);
    }

    #[test]
    fn an_empty_run_leaves_an_earlier_one_alone() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::create(Some(place.path()), "sweep").unwrap();
        folder.finish(&"the first").unwrap();
        let folder = Folder::create(Some(place.path()), "sweep").unwrap();
        folder.begin(&"the second").unwrap();
        folder.discard();
        assert_eq!(
            std::fs::read_to_string(place.path().join("run.json")).unwrap(),
            "\"the first\""
        );
    }

    #[test]
    fn a_compressed_run_is_a_run_until_another_replaces_it() {
        let place = tempfile::tempdir().unwrap();
        assert!(!holds_run(place.path()));
        std::fs::write(place.path().join("run.json.zst"), "kept").unwrap();
        assert!(holds_run(place.path()));
        let folder = Folder::create(Some(place.path()), "sweep").unwrap();
        folder.finish(&"the next").unwrap();
        assert!(place.path().join("run.json").exists());
        assert!(!place.path().join("run.json.zst").exists());
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let error = format!(
            "{:#}",
            Folder::create(Some(Path::new("/proc/nowhere")), "sweep").unwrap_err()
        );
        assert!(
            error.contains("/proc/nowhere") && error.contains("--out"),
            "{error}"
        );
    }
}
