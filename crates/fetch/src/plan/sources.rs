//! The files that the inputs came from, so that a change is noticed when a job resumes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::make::note_entry;
use crate::error::{Error, Result, at};
use crate::input::Inputs;

/// A file as it was when it was planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its path as it was given; `-` is standard input.
    pub path: PathBuf,
    /// Its length; of a stream, how many inputs came.
    pub bytes: u64,
    /// When it was changed last, in nanoseconds since 1970.
    pub modified: u128,
    /// `blake3:` and the digest of what it held.
    pub hash: String,
}

/// Whether it is standard input.
pub fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

impl Identity {
    /// The file as it is now. It is read whole.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(path: &Path) -> Result<Identity> {
        let (bytes, modified) = stamp(path)?;
        Ok(Identity {
            path: path.to_owned(),
            bytes,
            modified,
            hash: digest(path)?,
        })
    }

    /// A stream of so many inputs, with the digest of what they held.
    pub fn of_stream(inputs: u64, hasher: &blake3::Hasher) -> Identity {
        Identity {
            path: "-".into(),
            bytes: inputs,
            modified: 0,
            hash: format!("blake3:{}", hasher.finalize().to_hex()),
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

/// In what a stream differs from what was planned; none if it does not, or nothing comes.
///
/// # Errors
/// When it cannot be read.
pub fn changed_stream(planned: &[Identity], inputs: Inputs) -> Result<Option<String>> {
    let Some(was) = planned.iter().find(|was| is_standard_input(&was.path)) else {
        return Ok(None);
    };
    let (mut hasher, mut count) = (blake3::Hasher::new(), 0);
    for entry in inputs {
        let entry = entry.map_err(|error| Error::usage(error.to_string()))?;
        note_entry(&entry, &mut hasher);
        count += 1;
    }
    let is = Identity::of_stream(count, &hasher);
    Ok(match (count, is == *was) {
        (0, _) | (_, true) => None,
        _ if count != was.bytes => Some(format!(
            "standard input had {} inputs, and has {count}",
            was.bytes
        )),
        _ => Some("standard input holds other lines than it did, as many".into()),
    })
}

/// In what these files differ from what was planned; none if they do not. One that has its length and its time is not read.
///
/// # Errors
/// When a file is there and cannot be read.
pub fn changed(planned: &[Identity]) -> Result<Option<String>> {
    for was in planned.iter().filter(|was| !is_standard_input(&was.path)) {
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
        let was = [Identity::of(&path).unwrap()];
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
