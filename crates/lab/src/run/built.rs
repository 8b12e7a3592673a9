//! Whether a driver was built from the sources that are there now: a time stamp beside it, as old as the build.

use std::fs::{File, create_dir_all};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::spec::Manifest;

/// The folder of time stamps and logs, in the manifest's folder; git ignores it.
const FOLDER: &str = ".installed";

/// Why the driver must be built first; none when it needs no build or the last one is still true.
pub fn outdated(manifest: &Manifest) -> Option<String> {
    if manifest.build.is_empty() {
        return None;
    }
    let Ok(built) = modified(&mark(manifest)) else {
        return Some("its driver has not been built".into());
    };
    let newer = |name: &&String| newest(&manifest.folder.join(name)).is_ok_and(|at| at > built);
    let changed = manifest.from.iter().find(newer)?;
    Some(format!("{changed} has changed since its driver was built"))
}

/// Notes that a build begins: the time stamp, once [`keep`] has moved it there, is older than whatever changes
/// meanwhile.
///
/// # Errors
/// When the folder cannot be written.
pub fn begin(manifest: &Manifest) -> io::Result<()> {
    create_dir_all(manifest.folder.join(FOLDER))?;
    File::create(begun(manifest)).map(drop)
}

/// Notes that the build that began is done.
///
/// # Errors
/// When the folder cannot be written.
pub fn keep(manifest: &Manifest) -> io::Result<()> {
    std::fs::rename(begun(manifest), mark(manifest))
}

/// The log of the build.
pub fn log(manifest: &Manifest) -> PathBuf {
    note(manifest, "log")
}

fn mark(manifest: &Manifest) -> PathBuf {
    note(manifest, "built")
}

fn begun(manifest: &Manifest) -> PathBuf {
    note(manifest, "begun")
}

fn note(manifest: &Manifest, what: &str) -> PathBuf {
    let name = format!("{}.{what}", manifest.client);
    manifest.folder.join(FOLDER).join(name)
}

fn modified(path: &Path) -> io::Result<SystemTime> {
    path.metadata()?.modified()
}

/// The time of the last change of a file, or of any file in a folder.
fn newest(path: &Path) -> io::Result<SystemTime> {
    let mut newest_yet = modified(path)?;
    if path.is_dir() {
        for entry in std::fs::read_dir(path)? {
            newest_yet = newest_yet.max(newest(&entry?.path())?);
        }
    }
    Ok(newest_yet)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_build_is_true_until_one_of_its_sources_changes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        std::fs::write(
            &path,
            "client = 'x'\nlanguage = 'sh'\nhomepage = ''\napproach = 'tuned'\ncan = []\nrun = ['true']\n\
             version = ['true']\nbuild = [['true']]\nfrom = ['lock', 'src']",
        )
        .unwrap();
        let manifest = Manifest::load(&path).unwrap();
        let source = folder.path().join("src/deep/a.c");
        std::fs::create_dir_all(source.parent().unwrap()).unwrap();
        std::fs::write(&source, "a").unwrap();
        assert!(outdated(&manifest).unwrap().contains("not been built"));

        begin(&manifest).unwrap();
        assert!(outdated(&manifest).unwrap().contains("not been built"));
        keep(&manifest).unwrap();
        let later = SystemTime::now() + Duration::from_secs(60);
        File::open(mark(&manifest))
            .unwrap()
            .set_modified(later)
            .unwrap();
        assert_eq!(outdated(&manifest), None);

        File::open(&source)
            .unwrap()
            .set_modified(later + Duration::from_secs(1))
            .unwrap();
        assert!(outdated(&manifest).unwrap().starts_with("src has changed"));
    }
}
