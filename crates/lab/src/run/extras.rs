//! The files that drivers read for requests to one's own service: header fields, a body, and the like.
//!
//! Nobody else learns their names, which are drawn by chance in a folder that cannot be listed.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::scratch::Scratch;
use crate::spec::{Extras, Target};

/// The files of a run; gone with it.
#[derive(Debug, Default)]
pub struct Files {
    _folder: Option<Scratch>,
    /// Header fields, a line each.
    pub fields: Option<PathBuf>,
    /// The body.
    pub body: Option<PathBuf>,
    /// Certificates to trust.
    pub ca: Option<PathBuf>,
    /// URLs that take turns, a line each.
    pub urls: Option<PathBuf>,
}

impl Files {
    /// Writes what a target has; nothing where that is nothing.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub fn of(target: &Target) -> Result<Files> {
        let Target::Foreign { extras, .. } = target else {
            return Ok(Files::default());
        };
        if **extras == Extras::default() {
            return Ok(Files::default());
        }
        let scratch = folder()?;
        let failed = || format!("cannot write {}", scratch.path().display());
        let write = |content: &[u8]| keep(scratch.path(), content).with_context(failed);
        let text = |content: &str| match content {
            "" => Ok(None),
            content => write(content.as_bytes()).map(Some),
        };
        let copy = |file: &PathBuf| {
            let pem = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            write(&pem)
        };
        Ok(Files {
            fields: text(&extras.fields)?,
            urls: text(&extras.mix)?,
            body: extras.body.as_deref().map(write).transpose()?,
            ca: extras.ca.as_ref().map(copy).transpose()?,
            _folder: Some(scratch),
        })
    }
}

fn folder() -> Result<Scratch> {
    let failed = || format!("cannot write {}", std::env::temp_dir().display());
    Scratch::unlisted().with_context(failed)
}

/// Drivers may run as other users, who may read it.
fn keep(folder: &Path, content: &[u8]) -> io::Result<PathBuf> {
    let path = folder.join(format!("{:032x}", rand::random::<u128>()));
    fs::write(&path, content)?;
    fs::set_permissions(&path, Permissions::from_mode(0o644))?;
    Ok(path)
}

/// The file that says when each request of a round is due; gone with it.
#[derive(Debug)]
pub struct DueFile {
    path: PathBuf,
    _folder: Scratch,
}

impl DueFile {
    /// Writes one, a line for each request.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn of(offsets_us: &[u64]) -> Result<DueFile> {
        let folder = folder()?;
        let lines: String = offsets_us
            .iter()
            .map(|offset| format!("{offset}\n"))
            .collect();
        let path =
            keep(folder.path(), lines.as_bytes()).context("cannot write when requests are due")?;
        Ok(DueFile {
            path,
            _folder: folder,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
