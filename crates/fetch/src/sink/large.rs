//! A large body, whole in a file of its own, → where bodies go. Nothing is copied.
//!
//! With `files` the file gets its name. For an archive, it becomes an archive of its own with one response. The
//! bytes before the body are known only at the end, so space for them was left at the beginning.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tar::{EntryType, Header};

use super::partial::Whole;
use super::paths::{shown, sync_folder};
use super::response::StoredResponse;
use super::tar_shards;
use super::warc::{http_head, info, response_head};
use crate::record::Body;

/// Stands in the names of these archives behind the prefix of their attempt.
pub const LARGE: &str = "-large-";

/// A block of a tar file.
const BLOCK: u64 = 512;

/// The part of a WARC file before a body, beside the headers.
const WARC_HEAD: u64 = 4096;

/// Archives of one large response each.
pub struct Large {
    root: PathBuf,
    folder: String,
    prefix: String,
    /// Those that are not on the disk yet.
    written: Vec<File>,
}

/// How long the headers of a response are in an archive, at most.
fn longest(response: &StoredResponse<'_>) -> u64 {
    let fields = response.headers.iter();
    // JSON writes a byte with up to six, and a WARC file renames some fields.
    let fields = fields.map(|(name, value)| 6 * (name.len() + value.len()) + 32);
    (fields.sum::<usize>() + 6 * response.url.len()) as u64
}

/// Bytes to leave free before the body in a tar file.
pub(super) fn before_in_tar(response: &StoredResponse<'_>) -> u64 {
    (4 * BLOCK + longest(response)).next_multiple_of(BLOCK)
}

/// Bytes to leave free before the body in a WARC file.
pub(super) fn before_in_warc(response: &StoredResponse<'_>) -> u64 {
    WARC_HEAD + longest(response)
}

impl Large {
    /// Archives below `folder` of the job's folder `root`, whose names begin with a prefix that nobody else uses.
    pub fn new(root: &Path, folder: &str, prefix: &str) -> Large {
        Large {
            root: root.to_owned(),
            folder: folder.to_owned(),
            prefix: prefix.to_owned(),
            written: Vec::new(),
        }
    }

    /// Makes a tar file of it.
    pub(super) fn tar(&mut self, response: &StoredResponse<'_>, whole: Whole) -> io::Result<Body> {
        let name = tar_shards::name_of_body(response);
        // Spaces behind the JSON fill what is free.
        let mut about = tar_shards::about(response);
        let room = (whole.reserved - 2 * BLOCK) as usize;
        if about.len() > room {
            return Err(io::Error::other("the headers do not fit before the body"));
        }
        about.resize(room, b' ');
        let mut before = Vec::with_capacity(whole.reserved as usize);
        before.extend(header(
            &format!("{:09}.json", response.number),
            room as u64,
        )?);
        before.extend(about);
        before.extend(header(&name, whole.length)?);
        whole.file.write_all_at(&before, 0)?;
        let end = (whole.reserved + whole.length).next_multiple_of(BLOCK);
        // Two empty blocks end it.
        whole.file.set_len(end + 2 * BLOCK)?;
        let tar = self.put(response.number, "tar", whole)?;
        Ok(Body::Tar { tar, name })
    }

    /// Makes a WARC file of it.
    pub(super) fn warc(&mut self, response: &StoredResponse<'_>, whole: Whole) -> io::Result<Body> {
        let http = http_head(response, whole.length);
        let payload = whole.digested.sha256.as_deref().unwrap_or_default();
        let length = http.len() as u64 + whole.length;
        let head = response_head(response, payload, None, length);
        let rest = head.len() + http.len();
        let room = (whole.reserved as usize).checked_sub(rest);
        let info = room.and_then(|room| info(response.at, room));
        let Some(mut before) = info else {
            return Err(io::Error::other("the headers do not fit before the body"));
        };
        let offset = before.len() as u64;
        before.extend(head.as_bytes());
        before.extend(http);
        whole.file.write_all_at(&before, 0)?;
        let end = whole.reserved + whole.length;
        whole.file.write_all_at(b"\r\n\r\n", end)?;
        let warc = self.put(response.number, "warc", whole)?;
        Ok(Body::Warc { warc, offset })
    }

    /// Moves the file to its name in the results, and remembers to sync it.
    fn put(&mut self, number: u64, ending: &str, whole: Whole) -> io::Result<String> {
        let file = format!("{}{LARGE}{number:09}.{ending}", self.prefix);
        let name = shown(&self.folder, &file);
        self.written.push(whole.file.try_clone()?);
        fs::rename(&whole.path, self.root.join(&name))?;
        Ok(name)
    }

    pub(super) fn sync(&mut self) -> io::Result<()> {
        if self.written.is_empty() {
            return Ok(());
        }
        for file in self.written.drain(..) {
            file.sync_all()?;
        }
        sync_folder(&self.root.join(&self.folder))
    }
}

fn header(name: &str, length: u64) -> io::Result<[u8; BLOCK as usize]> {
    let mut header = Header::new_ustar();
    header.set_path(name)?;
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(length);
    header.set_cksum();
    Ok(*header.as_bytes())
}

/// The number of the input whose response such an archive holds, by the archive's name and the prefix of its attempt.
pub fn number_of(name: &str, prefix: &str) -> Option<u64> {
    let rest = name.strip_prefix(prefix)?.strip_prefix(LARGE)?;
    rest.split('.').next()?.parse().ok()
}
