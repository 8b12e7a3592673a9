//! The entries of a segment beside its lines, in frames that zstd skips.

use serde::{Deserialize, Serialize};

/// How much of an attempt counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Its number, from 1.
    pub attempt: u32,
    /// So many bytes of its segment, all of them whole frames.
    pub bytes: u64,
}

/// The content of a frame that zstd skips.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Attempt {
    /// Its first frame.
    Head {
        /// Its number.
        attempt: u32,
        /// The bytes of earlier attempts that count.
        counts: Vec<Counted>,
        /// The worker that made it: a machine and a process.
        worker: String,
    },
    /// Inputs whose requests are about to be sent, of methods that must not be repeated.
    Intents(Vec<u64>),
    /// The archive that bodies go into, and how long it was when all of the lines in the next frame had theirs on the
    /// disk.
    Archive(String, u64),
}

impl Attempt {
    /// Reads the content of such a frame.
    pub fn read(content: &[u8]) -> Option<Attempt> {
        serde_json::from_slice(content).ok()
    }

    /// Writes the content of such a frame.
    pub fn content(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("numbers become JSON")
    }
}
