//! Where bodies go: nowhere, into the records, into files, into WARC files or into tar shards.
//!
//! A sink holds one body at a time. The result of `store` may be recorded after `sync` has returned: then the body is
//! on the disk. After a crash, `mend` makes torn archives whole. An archive is never appended to: each attempt begins
//! a new one under its own name.

use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::record::Body;

mod digests;
mod files;
mod gzip;
mod kind;
mod large;
mod mend;
mod names;
mod partial;
mod partials;
mod payloads;
pub mod safe_name;
mod tar_shards;
mod warc;

pub use digests::{Digested, Digests};
pub use files::Files;
pub use large::{Large, number_of};
pub use mend::{cut, keep_some, remove};
pub use names::keep_named;
pub use partial::{Partial, Representation, Whole};
pub use partials::{PARTIAL, Partials};
pub use tar_shards::TarShards;
pub use warc::Warc;

/// A response whose body is to be stored.
#[derive(Clone, Copy, Debug)]
pub struct StoredResponse<'a> {
    /// The number of the input.
    pub number: u64,
    /// The name that the file of its body is to have, if the job gives names.
    pub name: Option<&'a str>,
    /// The URL of the response.
    pub url: &'a str,
    /// Its status.
    pub status: u16,
    /// The words behind the status.
    pub reason: &'a str,
    /// Its headers in their order, as they came.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// Whether the body was decoded from what `Content-Encoding` says.
    pub decoded: bool,
    /// The address that it came from, if that is the server's.
    pub ip: Option<IpAddr>,
    /// When the request began, as RFC 3339 has it, in UTC.
    pub at: &'a str,
    /// The body.
    pub body: &'a [u8],
}

impl StoredResponse<'_> {
    /// The value of a header that is text, by its name in lower case.
    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        std::str::from_utf8(value).ok()
    }
}

/// Where bodies go.
pub enum Sink {
    /// Nowhere.
    Nowhere,
    /// Into the records, up to so many bytes; what is longer is cut there.
    Inline(usize),
    /// A file each.
    Files(Files),
    /// WARC/1.1 files.
    Warc(Box<Warc>, Large),
    /// tar files, as WebDataset reads them.
    Tar(TarShards, Large),
}

impl Sink {
    /// Stores a body; what the record says of it.
    pub fn store(&mut self, response: &StoredResponse<'_>) -> io::Result<Option<Body>> {
        match self {
            Sink::Nowhere => Ok(None),
            Sink::Inline(most) => Ok(Some(inline(response.body, *most))),
            Sink::Files(files) => files.store(response).map(Some),
            Sink::Warc(warc, _) => warc.store(response).map(Some),
            Sink::Tar(shards, _) => shards.store(response).map(Some),
        }
    }

    /// Notes in an archive of the web that a response of an earlier round still holds, as `response` says.
    pub fn revisit(&mut self, response: &StoredResponse<'_>) -> io::Result<()> {
        match self {
            Sink::Warc(warc, _) => warc.revisit(response),
            _ => Ok(()),
        }
    }

    /// How many bytes the file of a large body must have free before it.
    pub fn before(&self, response: &StoredResponse<'_>) -> u64 {
        match self {
            Sink::Nowhere | Sink::Inline(_) | Sink::Files(_) => 0,
            Sink::Warc(..) => large::before_in_warc(response),
            Sink::Tar(..) => large::before_in_tar(response),
        }
    }

    /// Puts the file of a large body where it belongs; what the record says of it. The body of the response is empty.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn adopt(
        &mut self,
        response: &StoredResponse<'_>,
        whole: Whole,
    ) -> io::Result<Option<Body>> {
        match self {
            Sink::Nowhere | Sink::Inline(_) => Ok(None),
            Sink::Files(files) => files.adopt(response, whole).map(Some),
            Sink::Warc(_, large) => large.warc(response, whole).map(Some),
            Sink::Tar(_, large) => large.tar(response, whole).map(Some),
        }
    }

    /// Comes back when all that was stored is on the disk.
    pub fn sync(&mut self) -> io::Result<()> {
        match self {
            Sink::Nowhere | Sink::Inline(_) => Ok(()),
            Sink::Files(files) => files.sync(),
            Sink::Warc(warc, large) => warc.sync().and_then(|()| large.sync()),
            Sink::Tar(shards, large) => shards.sync().and_then(|()| large.sync()),
        }
    }

    /// The archive that is written and how long it is, after a sync.
    pub fn archive(&self) -> Option<(String, u64)> {
        match self {
            Sink::Nowhere | Sink::Inline(_) | Sink::Files(_) => None,
            Sink::Warc(warc, _) => warc.archive(),
            Sink::Tar(shards, _) => shards.archive(),
        }
    }

    /// Ends the archives, and syncs.
    pub fn finish(mut self) -> io::Result<()> {
        if let Sink::Tar(shards, _) = &mut self {
            shards.close()?;
        }
        self.sync()
    }
}

/// The body as text if it is UTF-8, else in base64.
fn inline(body: &[u8], most: usize) -> Body {
    let cut = &body[..body.len().min(most)];
    let text = match std::str::from_utf8(cut) {
        Ok(text) => Some(text),
        // The limit is inside of a character.
        Err(error) if cut.len() < body.len() && error.error_len().is_none() => {
            std::str::from_utf8(&cut[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    };
    match text {
        Some(text) => Body::Text {
            text: text.to_owned(),
            cut: cut.len() < body.len(),
        },
        None => Body::Base64 {
            base64: BASE64_STANDARD.encode(cut),
            cut: cut.len() < body.len(),
        },
    }
}

/// A path as records have it: from the job's folder, with slashes.
fn shown(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        folder => format!("{folder}/{name}"),
    }
}

/// Creates an archive for appending. If another worker mended it meanwhile, late writes go behind its end and leave
/// no hole.
fn create(path: &Path) -> io::Result<File> {
    File::options().append(true).create_new(true).open(path)
}

/// Comes back when the names in this folder are on the disk.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests;
