//! Files of a driver that a user of its own cannot read.

use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::spec::Manifest;

/// Rights of all others: to read a file, and to enter a folder.
const READ: u32 = 0o004;
const ENTER: u32 = 0o001;

/// Where languages look for the libraries that people install for themselves, below their home.
const LIBRARIES: [&str; 3] = [".local/lib", ".local/share/gem", ".gem"];

/// Something that a driver may miss because it runs as a user of its own, which has no home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// A file or folder that others than its owner cannot read.
    Closed(PathBuf),
    /// Libraries that only one user finds.
    AtHome(PathBuf),
}

impl Hidden {
    /// A sentence that says how to help.
    pub fn advice(&self, client: &str) -> String {
        let (what, instead) = match self {
            Hidden::Closed(path) => (
                format!("cannot read {}", path.display()),
                "make that readable for everybody",
            ),
            Hidden::AtHome(path) => (
                format!("does not find libraries in {}", path.display()),
                "if it lacks one of them, install it for everybody",
            ),
        };
        format!(
            "it runs as a user of its own, which {what}; {instead}, or accept with `--trust {client}` that it runs as you, \
             unverified"
        )
    }
}

/// The files hidden from the driver, as far as its manifest and the home of the lab's user show.
pub fn hidden(manifest: &Manifest) -> Option<Hidden> {
    let at_home = || std::env::home_dir().and_then(|home| libraries(&home));
    closed_file(manifest)
        .map(Hidden::Closed)
        .or_else(|| at_home().map(Hidden::AtHome))
}

fn libraries(home: &Path) -> Option<PathBuf> {
    let mut places = LIBRARIES.iter().map(|place| home.join(place));
    places.find(|place| place.is_dir())
}

/// The first file or folder that the driver needs and that others than its owner cannot read.
fn closed_file(manifest: &Manifest) -> Option<PathBuf> {
    let folder = &manifest.folder;
    let beside = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let beside = beside
        .map(|entry| entry.path())
        .filter(|path| path.is_file());
    let words = manifest.run.iter().flat_map(|word| paths_in(word));
    let named = words.map(|path| folder.join(path));
    let mut all = named.chain([folder.clone()]).chain(beside);
    program(&manifest.run)
        .and_then(|program| closed(&program))
        .or_else(|| all.find_map(|path| closed(&path)))
}

/// The paths in a word such as `script.py` or `PYTHONPATH=one:two`.
fn paths_in(word: &str) -> impl Iterator<Item = &str> {
    let value = word.split_once('=').map_or(word, |(_, value)| value);
    value.split(':').filter(|path| !path.is_empty())
}

/// The program that a command without a path starts: the first one that others may start, or else the first.
fn program(run: &[String]) -> Option<PathBuf> {
    let name = run.first().filter(|name| !name.contains('/'))?;
    let places = std::env::var_os("PATH")?;
    let found: Vec<PathBuf> = std::env::split_paths(&places)
        .map(|folder| folder.join(name))
        .filter(|path| path.is_file())
        .collect();
    let open = found.iter().find(|path| closed(path).is_none());
    open.or(found.first()).cloned()
}

/// The path, or the first folder above it, if others cannot read it. None if there is no such file.
fn closed(path: &Path) -> Option<PathBuf> {
    let real = path.canonicalize().ok()?;
    let mut above: Vec<&Path> = real.ancestors().skip(1).collect();
    above.reverse();
    let folder = above.into_iter().find(|folder| lacks(folder, |_| ENTER));
    let right = |found: &Metadata| if found.is_dir() { READ | ENTER } else { READ };
    let own = || lacks(&real, right).then_some(real.as_path());
    folder.or_else(own).map(Path::to_path_buf)
}

fn lacks(path: &Path, rights: impl Fn(&Metadata) -> u32) -> bool {
    path.metadata().is_ok_and(|found| {
        let wanted = rights(&found);
        found.permissions().mode() & wanted != wanted
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(path: &Path, mode: u32) {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_others_cannot_read_is_found_by_its_path() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().canonicalize().unwrap();
        let (kit, program) = (folder.join("kit"), folder.join("mine.py"));
        std::fs::create_dir(&kit).unwrap();
        std::fs::write(&program, "").unwrap();
        for path in [&folder, &kit] {
            set(path, 0o755);
        }
        set(&program, 0o644);
        let path = format!("PYTHONPATH=/usr:{}", kit.display());
        let manifest = Manifest {
            run: vec!["env".into(), path, "sh".into(), "mine.py".into()],
            folder: folder.clone(),
            ..Manifest::default()
        };
        assert_eq!(closed_file(&manifest), None);
        for (path, mode, usual) in [
            (&program, 0o640, 0o644),
            (&kit, 0o754, 0o755),
            (&folder, 0o744, 0o755),
        ] {
            set(path, mode);
            assert_eq!(closed_file(&manifest).as_ref(), Some(path));
            set(path, usual);
        }
    }
}
