//! Names of body files that the job chooses: each is used once in a folder. No two differ by case or by Unicode's normal
//! form alone, because some file systems ignore these.
//!
//! A log beside the folder says which input each file belongs to. Its line is there before the file is, so that after
//! a crash a file without a record is found, and removed.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::hash::BuildHasher;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use foldhash::fast::FixedState;
use icu_normalizer::DecomposingNormalizer;

use super::mend::remove;
use super::safe_name;

/// The names in a folder.
pub struct Names {
    folder: PathBuf,
    log: File,
    /// Hashes of the files and of their folders, without regard to case and normal form. Two names with one hash get a
    /// number more than they need.
    files: HashSet<u64>,
    folders: HashSet<u64>,
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
            files: HashSet::new(),
            folders: HashSet::new(),
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
            let (file, folders) = hashes(&name);
            if !self.is_taken(file, &folders) && self.has_room_for(&name) {
                self.files.insert(file);
                self.folders.extend(folders);
                writeln!(self.log, "{number} {name}")?;
                return Ok(name);
            }
        }
        Err(io::Error::other("no name is free"))
    }

    /// Whether a name was given before. A file may stand where a folder would be, and the other way round.
    fn is_taken(&self, file: u64, folders: &[u64]) -> bool {
        let is_file = |hash: &u64| self.files.contains(hash);
        is_file(&file) || self.folders.contains(&file) || folders.iter().any(is_file)
    }

    /// Whether a name has its folder, and nothing stands there.
    fn has_room_for(&self, name: &str) -> bool {
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

/// A name without its case and its normal form.
fn folded(name: &str) -> String {
    let normal = DecomposingNormalizer::new_nfd();
    // Both ways, because some letters have a common form in one of them only, such as `ß` and `ss`.
    let folded = normal.normalize(name).to_uppercase().to_lowercase();
    normal.normalize(&folded).into_owned()
}

/// Hashes of a path and of each folder on its way, the same for names that differ by case or normal form alone.
fn hashes(name: &str) -> (u64, Vec<u64>) {
    let folded = folded(name);
    let hash = |path: &str| FixedState::default().hash_one(path);
    let slashes = folded.match_indices('/');
    let folders = slashes.map(|(at, _)| hash(&folded[..at])).collect();
    (hash(&folded), folders)
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
            (7, "A/X.JPG", "A/X-7.JPG"),
            (8, "A/y.jpg", "A/y.jpg"),
            (9, "B/x", "B/x"),
            (10, "b", "b-10"),
            (11, "B/X/y", "000000011.bin"),
            (12, "SS", "SS"),
            (13, "\u{df}", "\u{df}-13"),
            (14, "\u{130}", "\u{130}"),
            (15, "i\u{307}", "i\u{307}-15"),
            (16, "caf\u{e9}/x", "caf\u{e9}/x"),
            (17, "cafe\u{301}/x", "cafe\u{301}/x-17"),
            (18, "CAFE\u{301}", "CAFE\u{301}-18"),
            (19, "\u{212b}", "\u{212b}"),
            (20, "A\u{30a}", "A\u{30a}-20"),
            (21, "\u{1100}\u{1161}", "\u{1100}\u{1161}"),
            (22, "\u{ac00}", "\u{ac00}-22"),
            (23, "a\u{323}\u{307}", "a\u{323}\u{307}"),
            (24, "a\u{307}\u{323}", "a\u{307}\u{323}-24"),
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
