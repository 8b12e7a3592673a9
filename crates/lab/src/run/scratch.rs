//! A folder for temporary files, under a name that nobody else can know before.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use super::user::User;

/// The folder, which is gone with its files when this is dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// One that only this user, or else the lab's own, may enter.
    ///
    /// # Errors
    /// When the system's folder for temporary files cannot be written.
    pub fn of(user: Option<&User>) -> io::Result<Scratch> {
        let scratch = Scratch::new(0o700)?;
        if let Some(user) = user {
            chown(&scratch.0, Some(user.id), Some(user.id))?;
        }
        Ok(scratch)
    }

    /// One that others may enter and not list, so they find only files whose names they know.
    ///
    /// # Errors
    /// As [`Scratch::of`].
    pub fn unlisted() -> io::Result<Scratch> {
        Scratch::new(0o711)
    }

    fn new(mode: u32) -> io::Result<Scratch> {
        let name = format!("hecaton-{:016x}", rand::random::<u64>());
        let scratch = Scratch(std::env::temp_dir().join(name));
        DirBuilder::new().mode(0o700).create(&scratch.0)?;
        // The user's umask holds for the mode of a new folder.
        fs::set_permissions(&scratch.0, Permissions::from_mode(mode))?;
        Ok(scratch)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
