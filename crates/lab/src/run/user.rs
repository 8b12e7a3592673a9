//! Users that drivers run as, so that none may look into the lab, signal another, or change what was written down.

use std::fs::{DirBuilder, File, symlink_metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, ensure};
use nix::fcntl::{Flock, FlockArg};

/// Numbers that systems leave to users who come and go (systemd's `DynamicUser`).
const FIRST: u32 = 61_184;
const COUNT: u32 = 4000;

/// A folder of root. Nobody else can claim a user there.
const CLAIMS: &str = "/run/hecaton";

/// A user that no driver of any lab on this machine runs as.
#[derive(Debug)]
pub struct User {
    pub id: u32,
    /// A lock that one process can have at a time, and that is free again when the process ends, however it does.
    _claim: Flock<File>,
}

/// Whether drivers can run as others than this process; not if `HECATON_USERS` is `off`.
pub fn are_possible() -> bool {
    let unwanted = std::env::var_os("HECATON_USERS").is_some_and(|wish| wish == "off");
    cfg!(target_os = "linux") && nix::unistd::geteuid().is_root() && !unwanted
}

/// A user that nothing else runs as; none where that is not possible.
///
/// # Errors
/// When none can be claimed: a driver that ran as the lab's own user instead could do as it likes.
pub fn of_its_own() -> Result<Option<User>> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    if !are_possible() {
        return Ok(None);
    }
    let ids = (0..COUNT).map(|_| {
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        FIRST + std::process::id().wrapping_mul(97).wrapping_add(next) % COUNT
    });
    first_free(folder_of_claims()?, ids).map(Some)
}

fn folder_of_claims() -> Result<&'static Path> {
    let folder = Path::new(CLAIMS);
    let refusal = || {
        format!(
            "{CLAIMS} cannot be a folder of root alone, where users for drivers are claimed; choose HECATON_USERS=off"
        )
    };
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(error).with_context(refusal);
        }
        _ => {}
    }
    let found = symlink_metadata(folder).with_context(refusal)?;
    ensure!(
        found.is_dir() && found.uid() == 0 && found.mode() & 0o077 == 0,
        refusal()
    );
    Ok(folder)
}

fn first_free(folder: &Path, mut ids: impl Iterator<Item = u32>) -> Result<User> {
    ids.find_map(|id| claim(folder, id))
        .context("no user is free for a driver: other labs have them all; end them, or choose HECATON_USERS=off")
}

fn claim(folder: &Path, id: u32) -> Option<User> {
    let file = File::create(folder.join(id.to_string())).ok()?;
    let claim = Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()?;
    Some(User { id, _claim: claim })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_that_another_has_is_free_again_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let first = claim(folder.path(), FIRST).unwrap();
        assert_eq!(first.id, FIRST);
        assert!(claim(folder.path(), FIRST).is_none());
        let error = first_free(folder.path(), [FIRST].into_iter()).unwrap_err();
        assert!(error.to_string().contains("no user is free"), "{error}");
        drop(first);
        assert!(claim(folder.path(), FIRST).is_some());
    }
}
