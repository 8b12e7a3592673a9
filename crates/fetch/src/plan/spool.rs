//! Writes the inputs of a plan in frames, each of one bucket: a group by host, a shard by request.
//!
//! Memory is bounded whatever the input: when what is held grows beyond [`MOST_HELD`], all of it is written.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Result, at};
use crate::frame::Packer;

/// Groups by host.
pub const GROUPS: usize = 256;
/// Shards by request, in each group.
pub const SHARDS: usize = 16;
/// A bucket with more is written.
const FRAME: usize = 32 << 10;
/// Most bytes that all buckets hold together.
const MOST_HELD: usize = 12 << 20;

/// Where a frame is: its offset and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent(pub u64, pub u32);

/// The file of inputs in the making.
pub struct Spool {
    file: BufWriter<File>,
    packer: Packer,
    packed: Vec<u8>,
    buckets: Vec<Vec<u8>>,
    held: usize,
    written: u64,
    extents: Vec<(u16, Extent)>,
    counts: Vec<u64>,
}

/// The inputs and their frames, by bucket.
pub struct Spooled {
    /// How many inputs each bucket has.
    pub counts: Vec<u64>,
    /// Where the frames of each bucket are, in the order they were written.
    pub extents: Vec<(u16, Extent)>,
}

/// The bucket of a group and a shard.
pub fn bucket(group: usize, shard: usize) -> usize {
    group * SHARDS + shard
}

impl Spool {
    /// A new file at this path.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(path: &Path) -> Result<Spool> {
        let file = File::create(path).map_err(at("create", path))?;
        Ok(Spool {
            file: BufWriter::with_capacity(1 << 18, file),
            packer: Packer::new(1),
            packed: Vec::new(),
            buckets: vec![Vec::new(); GROUPS * SHARDS],
            held: 0,
            written: 0,
            extents: Vec::new(),
            counts: vec![0; GROUPS * SHARDS],
        })
    }

    /// Adds one input, which `write` appends to what it is given.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&mut self, bucket: usize, write: impl FnOnce(&mut Vec<u8>)) -> std::io::Result<()> {
        let buffer = &mut self.buckets[bucket];
        let before = buffer.len();
        write(buffer);
        self.held += buffer.len() - before;
        self.counts[bucket] += 1;
        if buffer.len() >= FRAME {
            self.flush(bucket)?;
        } else if self.held > MOST_HELD {
            for bucket in 0..self.buckets.len() {
                self.flush(bucket)?;
            }
        }
        Ok(())
    }

    fn flush(&mut self, bucket: usize) -> std::io::Result<()> {
        let buffer = &mut self.buckets[bucket];
        if buffer.is_empty() {
            return Ok(());
        }
        self.packed.clear();
        self.packer.pack(buffer, &mut self.packed)?;
        self.file.write_all(&self.packed)?;
        let extent = Extent(self.written, self.packed.len() as u32);
        self.extents.push((bucket as u16, extent));
        self.written += self.packed.len() as u64;
        self.held -= buffer.len();
        buffer.clear();
        Ok(())
    }

    /// Writes the rest. Returns everything that was written since the last call.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn take(&mut self) -> std::io::Result<Spooled> {
        for bucket in 0..self.buckets.len() {
            self.flush(bucket)?;
        }
        let none = vec![0; self.counts.len()];
        Ok(Spooled {
            counts: std::mem::replace(&mut self.counts, none),
            extents: std::mem::take(&mut self.extents),
        })
    }

    /// Writes the rest, to the disk.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> std::io::Result<Spooled> {
        let spooled = self.take()?;
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        Ok(spooled)
    }
}
