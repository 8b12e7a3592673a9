//! Where bodies go: nowhere, into the records, into files, into WARC files or into tar shards.
//!
//! A sink holds one body at a time. The result of `store` may be recorded after `sync` has returned: then the body is
//! on the disk. After a crash, `mend` makes torn archives whole. An archive is never appended to: each attempt begins
//! a new one under its own name.

use std::io;

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
mod paths;
mod payloads;
mod response;
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
pub use response::StoredResponse;
pub use tar_shards::TarShards;
pub use warc::Warc;

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

#[cfg(test)]
mod tests;
