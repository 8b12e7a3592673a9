//! The state of a long segment up to some byte, in a file beside it, so that an attempt that resumes reads only the
//! rest.
//!
//! It is written after those bytes are on the disk, and nothing depends on it. A checkpoint that is damaged, or
//! covers more than the segment holds, is ignored. Finalizing always reads the whole segment.

use std::collections::BTreeMap;
use std::fs;

use roaring::RoaringTreemap;
use serde::{Deserialize, Serialize};

use super::commit::Tally;
use super::known_inputs::KnownInputs;
use crate::frame::{Frame, first, pack_aside};
use crate::plan::{Folder, replace};

/// So many bytes of a segment are behind the last checkpoint before there is another.
pub const EVERY: u64 = 4 << 20;

/// The state of a segment up to some byte, with everything that counted before it.
#[derive(Debug, PartialEq)]
pub struct Checkpoint {
    /// So many bytes of the segment, all of them whole frames.
    pub bytes: u64,
    /// The state at that byte.
    pub known: KnownInputs,
}

#[derive(Serialize, Deserialize)]
struct Head {
    bytes: u64,
    tally: Tally,
    archives: BTreeMap<String, u64>,
}

impl Checkpoint {
    /// That of an attempt whose segment has `length` bytes; none if there is none that is of use.
    pub fn load(folder: &Folder, part: u32, attempt: u32, length: u64) -> Option<Checkpoint> {
        let held = fs::read(folder.checkpoint(part, attempt)).ok()?;
        let mut rest = &held[..];
        let mut next = || match first(rest)? {
            Frame::Aside(content) => {
                rest = &rest[Frame::Aside(content).bytes()..];
                Some(content)
            }
            Frame::Lines(_) => None,
        };
        let head: Head = serde_json::from_slice(next()?).ok()?;
        let mut set = || RoaringTreemap::deserialize_from(next()?).ok();
        let known = KnownInputs {
            done: set()?,
            intents: set()?,
            tally: head.tally,
            archives: head.archives,
            ..KnownInputs::default()
        };
        (head.bytes <= length).then_some(Checkpoint {
            bytes: head.bytes,
            known,
        })
    }
}

/// Writes a checkpoint. A failure is ignored, because the segment has everything.
pub fn write(folder: &Folder, part: u32, attempt: u32, bytes: u64, known: &KnownInputs) {
    let head = Head {
        bytes,
        tally: known.tally.clone(),
        archives: known.archives.clone(),
    };
    let mut out = Vec::new();
    pack_aside(
        &serde_json::to_vec(&head).expect("numbers become JSON"),
        &mut out,
    );
    for set in [&known.done, &known.intents] {
        let mut content = Vec::with_capacity(set.serialized_size());
        // Into a vector nothing fails.
        let _ = set.serialize_into(&mut content);
        pack_aside(&content, &mut out);
    }
    let _ = replace(&folder.checkpoint(part, attempt), &out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Outcome;

    #[test]
    fn it_comes_back_and_one_that_is_damaged_or_says_too_much_is_none() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::at(home.path());
        fs::create_dir_all(folder.part(3)).unwrap();
        let mut known = KnownInputs::default();
        known.done.insert_range(5..5000);
        known.intents.insert(u64::MAX - 1);
        known.tally.count(Outcome::Error, false);
        let load = |length| Checkpoint::load(&folder, 3, 2, length);
        assert_eq!(load(1000), None);
        write(&folder, 3, 2, 900, &known);
        assert_eq!(load(1000), Some(Checkpoint { bytes: 900, known }));
        assert_eq!(load(899), None);
        let path = folder.checkpoint(3, 2);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(load(1000), None, "cut at {at}");
            let mut flipped = whole.clone();
            flipped[at] ^= 4;
            fs::write(&path, flipped).unwrap();
            assert_eq!(load(1000), None, "flipped at {at}");
        }
    }
}
