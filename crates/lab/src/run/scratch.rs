//! A folder for temporary files, under a name that nobody else can know before.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

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
    pub fn unlisted() -> Result<Scratch> {
        let failed = || format!("cannot write {}", std::env::temp_dir().display());
        Scratch::new(0o711).with_context(failed)
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

    /// Writes a file with a name that is drawn by chance, which drivers may read, whoever they run as.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, content: &[u8]) -> Result<PathBuf> {
        let path = self.0.join(format!("{:032x}", rand::random::<u128>()));
        fs::write(&path, content)
            .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o644)))
            .with_context(|| format!("cannot write {}", self.0.display()))?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A file that drivers read, under a name that nobody else learns. It is gone when this is dropped.
#[derive(Debug)]
pub struct Handout {
    path: PathBuf,
    _folder: Scratch,
}

impl Handout {
    /// Writes it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(content: &str) -> Result<Handout> {
        let folder = Scratch::unlisted()?;
        Ok(Handout {
            path: folder.keep(content.as_bytes())?,
            _folder: folder,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
