//! Names of body files that the job chooses: each is used once in a folder.
//!
//! A log beside the folder says which input each file belongs to. Its line is there before the file is, so that after
//! a crash a file without a record is found, and removed.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::mend::remove;
use super::safe_name;

/// The names in a folder.
pub struct Names {
    folder: PathBuf,
    log: File,
}

/// The log of a folder.
fn log_of(folder: &Path) -> PathBuf {
    folder.with_extension("names")
}

impl Names {
    /// Those of a folder that nobody else writes to.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn new(folder: &Path) -> io::Result<Names> {
        let mut options = File::options();
        let log = options.append(true).create(true).open(log_of(folder))?;
        Ok(Names {
            folder: folder.to_owned(),
            log,
        })
    }

    /// A free name for the body of an input; its folder is made. It is the name that is wanted, the same with the number
    /// of the input, or `usual`.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn claim(&mut self, wanted: &str, number: u64, usual: &str) -> io::Result<String> {
        let wanted = safe_name::path(wanted);
        let numbered = wanted.as_deref().map(|wanted| {
            let (folder, name) = wanted.split_at(wanted.rfind('/').map_or(0, |slash| slash + 1));
            let (stem, ending) = safe_name::split(name);
            format!("{folder}{stem}-{number}{ending}")
        });
        let own = || format!("{}-{usual}", uuid::Uuid::new_v4());
        let names = wanted.into_iter().chain(numbered);
        let names = names.chain([usual.to_owned()]);
        for name in names.chain(std::iter::once_with(own)) {
            if self.is_free(&name) {
                writeln!(self.log, "{number} {name}")?;
                return Ok(name);
            }
        }
        Err(io::Error::other("no name is free"))
    }

    /// Whether a name has its folder and is free. A file may stand where a folder would be, and the other way round.
    fn is_free(&self, name: &str) -> bool {
        let path = self.folder.join(name);
        let has_folder = path
            .parent()
            .is_some_and(|it| fs::create_dir_all(it).is_ok());
        has_folder && fs::symlink_metadata(path).is_err()
    }

    /// What must be on the disk with the files.
    #[cfg(not(target_os = "linux"))]
    pub fn sync(&self) -> io::Result<()> {
        self.log.sync_all()
    }
}

/// Removes the files of a folder with a log whose inputs have no record; false if it has no log.
///
/// # Errors
/// When the system refuses.
pub fn keep_named(folder: &Path, is_kept: &dyn Fn(u64) -> bool) -> io::Result<bool> {
    let log = match fs::read_to_string(log_of(folder)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        log => log?,
    };
    // A line that a crash cut belongs to no file.
    let lines = log.split_inclusive('\n').filter_map(|line| {
        let (number, name) = line.strip_suffix('\n')?.split_once(' ')?;
        Some((folder.join(name), number.parse::<u64>().ok()?))
    });
    let numbers: HashMap<PathBuf, u64> = lines.collect();
    let is_kept = |path: &Path| numbers.get(path).is_some_and(|number| is_kept(*number));
    keep_paths(folder, &is_kept)?;
    Ok(true)
}

fn keep_paths(folder: &Path, is_kept: &dyn Fn(&Path) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => keep_paths(&path, is_kept)?,
            false if is_kept(&path) => {}
            false => remove(&path)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_given_once_and_what_has_no_record_goes() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("part-000000-1");
        fs::create_dir(&folder).unwrap();
        let mut names = Names::new(&folder).unwrap();
        let mut store = |wanted: &str, number: u64| {
            let name = names
                .claim(wanted, number, &format!("{number:09}.bin"))
                .unwrap();
            fs::write(folder.join(&name), name.as_bytes()).unwrap();
            name
        };
        for (number, wanted, expected) in [
            (1, "a/x.jpg", "a/x.jpg"),
            (2, "a/x.jpg", "a/x-2.jpg"),
            (3, "a", "a-3"),
            (4, "a/x.jpg/y", "000000004.bin"),
            (5, "..", "000000005.bin"),
            (6, "000000006.bin", "000000006.bin"),
        ] {
            assert_eq!(store(wanted, number), expected);
        }
        let last = store("000000006.bin", 6);
        assert_eq!(last, "000000006-6.bin");
        fs::write(folder.join("late"), "x").unwrap();
        assert!(keep_named(&folder, &|number| number % 2 == 1).unwrap());
        let there = |name: &str| folder.join(name).exists();
        assert!(there("a/x.jpg") && there("a-3") && there("000000005.bin"));
        assert!(!there("a/x-2.jpg") && !there("000000004.bin") && !there("late"));
        assert!(!keep_named(&home.path().join("other"), &|_| true).unwrap());
    }
}
