//! Damaged files whose bodies a round has replaced: they get the ending `.damaged`, so that nobody takes them for good
//! ones. A file that other records use stays.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

use serde::Deserialize;

use crate::error::{Result, at};
use crate::plan::Folder;
use crate::record::Body;
use crate::verify::DAMAGED;

/// The files that records name.
#[derive(Debug, Default)]
pub struct Aside {
    replaced: BTreeSet<String>,
    used: BTreeSet<String>,
}

impl Aside {
    /// Notes the file of a record that is replaced.
    pub fn replaced(&mut self, line: &[u8]) -> io::Result<()> {
        self.replaced.extend(file_of(line)?);
        Ok(())
    }

    /// Notes the file of a record that stays or is new.
    pub fn used(&mut self, line: &[u8]) -> io::Result<()> {
        self.used.extend(file_of(line)?);
        Ok(())
    }

    /// Renames the files that no record uses any more. To do so twice changes nothing.
    pub fn set(&self, folder: &Folder) -> Result<()> {
        for name in self.replaced.difference(&self.used) {
            let path = folder.base().join(name);
            match fs::rename(&path, folder.base().join(format!("{name}.{DAMAGED}"))) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                renamed => renamed.map_err(at("rename", Path::new(&path)))?,
            }
        }
        Ok(())
    }
}

/// The file with the body of a record, from the job's folder.
fn file_of(line: &[u8]) -> io::Result<Option<String>> {
    #[derive(Deserialize)]
    struct Line {
        body: Option<Body>,
    }
    let line: Line = serde_json::from_slice(line)?;
    Ok(match line.body {
        Some(Body::File { file }) => Some(file),
        Some(Body::Warc { warc, .. }) => Some(warc),
        Some(Body::Tar { tar, .. }) => Some(tar),
        Some(Body::Text { .. } | Body::Base64 { .. }) | None => None,
    })
}
