//! The files that drivers read for requests to one's own service: header fields, a body, and the like.
//!
//! Nobody else learns their names, which are drawn by chance in a folder that cannot be listed.

use std::fs;
use std::path::PathBuf;

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
        let scratch = Scratch::unlisted()?;
        let write = |content: &[u8]| scratch.keep(content);
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
