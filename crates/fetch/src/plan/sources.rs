//! The files that the inputs came from, so that a change is noticed when a job resumes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::draft::is_special;
use crate::error::{Result, at};
use crate::input::Entry;

/// A file as it was when it was planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its path or URL as it was given; `-` is standard input.
    pub path: PathBuf,
    /// Its length; of a stream, how many inputs came.
    pub bytes: u64,
    /// When it was changed last, in nanoseconds since 1970.
    pub modified: u128,
    /// `blake3:` and the digest of what it held.
    pub hash: String,
    /// How many entries it had.
    pub inputs: u64,
    /// The digest of these entries, whatever their format.
    pub entries: String,
}

/// The entries of a list, as they are read.
#[derive(Clone, Default)]
pub struct Listed {
    /// How many there were.
    pub inputs: u64,
    hasher: blake3::Hasher,
    /// The last of them, which the digest still lacks: many at once take it a fraction of the time.
    held: Vec<u8>,
}

impl Listed {
    /// Notes the next entry.
    pub fn note(&mut self, entry: &Entry) {
        self.inputs += 1;
        note_entry(entry, &mut self.held);
        if self.held.len() > 16 << 10 {
            self.hasher.update(&self.held);
            self.held.clear();
        }
    }

    /// The digest so far.
    pub fn digest(&self) -> String {
        let digest = self.hasher.clone().update(&self.held).finalize();
        format!("blake3:{}", digest.to_hex())
    }
}

/// Adds an entry to the text whose digest is that of its list.
fn note_entry(entry: &Entry, text: &mut Vec<u8>) {
    let mut note = |part: &str| {
        text.extend_from_slice(&(part.len() as u64).to_le_bytes());
        text.extend_from_slice(part.as_bytes());
    };
    match &entry.held {
        Ok(columns) => columns.iter().for_each(|(name, value)| {
            note(name);
            note(value);
        }),
        Err(bad) => note(&bad.text),
    }
}

/// Whether it is standard input.
pub fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The schemes of lists that are elsewhere.
const REMOTE: [&str; 5] = ["http", "https", "s3", "gs", "az"];

/// The URL of a list that is elsewhere; none for a file.
pub fn remote(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let (scheme, _) = text.split_once("://")?;
    REMOTE.contains(&scheme).then_some(text)
}

/// Whether it is standard input, or the name of a pipe, a FIFO or a device.
pub fn is_local_stream(path: &Path) -> bool {
    is_standard_input(path) || is_special(path)
}

/// Whether a list is read only once, as it comes: anything but a regular file.
pub fn is_stream(path: &Path) -> bool {
    is_local_stream(path) || remote(path).is_some()
}

impl Identity {
    /// The file as it is now. It is read whole. None for a stream, whose reader alone may read it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(path: &Path) -> Result<Option<Identity>> {
        if is_stream(path) {
            return Ok(None);
        }
        let (bytes, modified) = stamp(path)?;
        Ok(Some(Identity {
            path: path.to_owned(),
            bytes,
            modified,
            hash: digest(path)?,
            inputs: 0,
            entries: String::new(),
        }))
    }

    /// The identity of a list that was read from this path, where [`of`](Identity::of) found this before.
    pub fn complete(found: Option<Identity>, path: &Path, list: &Listed) -> Identity {
        let of_stream = || Identity {
            path: path.to_owned(),
            bytes: list.inputs,
            modified: 0,
            hash: list.digest(),
            inputs: 0,
            entries: String::new(),
        };
        Identity {
            inputs: list.inputs,
            entries: list.digest(),
            ..found.unwrap_or_else(of_stream)
        }
    }
}

fn stamp(path: &Path) -> Result<(u64, u128)> {
    let about = fs::metadata(path).map_err(at("read", path))?;
    let modified = about
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok((about.len(), modified.map_or(0, |time| time.as_nanos())))
}

fn digest(path: &Path) -> Result<String> {
    let mut hasher = blake3::Hasher::new();
    let file = File::open(path).map_err(at("read", path))?;
    hasher.update_reader(file).map_err(at("read", path))?;
    Ok(format!("blake3:{}", hasher.finalize().to_hex()))
}

/// In what these files differ from what was planned; none if they do not. A file that has its length and its time is
/// not read.
///
/// # Errors
/// When a file is there and cannot be read.
pub fn changed(planned: &[Identity], files: &[PathBuf]) -> Result<Option<String>> {
    let planned = planned.iter().filter(|was| files.contains(&was.path));
    for was in planned.filter(|was| !is_stream(&was.path)) {
        let path = was.path.display();
        // The plan holds all inputs, so the file is not needed any more.
        if !was.path.exists() {
            continue;
        }
        let (bytes, modified) = stamp(&was.path)?;
        if bytes != was.bytes {
            return Ok(Some(format!(
                "{path} had {} bytes, and has {bytes}",
                was.bytes
            )));
        }
        if modified != was.modified && digest(&was.path)? != was.hash {
            return Ok(Some(format!(
                "{path} holds other lines than it did, of the same length"
            )));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_and_a_touch_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("urls");
        fs::write(&path, "http://a/\n").unwrap();
        let was = [Identity::of(&path).unwrap().unwrap()];
        let changed = |was: &[Identity]| changed(was, std::slice::from_ref(&path));
        assert_eq!(changed(&was).unwrap(), None);
        let rewrite = |text: &str| {
            fs::write(&path, text).unwrap();
            let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
            File::options()
                .write(true)
                .open(&path)
                .unwrap()
                .set_modified(later)
                .unwrap();
        };
        rewrite("http://a/\n");
        assert_eq!(changed(&was).unwrap(), None);
        rewrite("http://b/\n");
        assert!(changed(&was).unwrap().unwrap().contains("other lines"));
        rewrite("http://a/\nhttp://b/\n");
        assert!(
            changed(&was)
                .unwrap()
                .unwrap()
                .contains("had 10 bytes, and has 20")
        );
        fs::remove_file(&path).unwrap();
        assert_eq!(changed(&was).unwrap(), None);
    }
}
