//! Writes the inputs of a plan in frames, each of one group of hosts.
//!
//! Memory is bounded whatever the input: a group that holds a frame is written, and each frame takes a few bytes from
//! then on.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Result, at};
use crate::frame::Packer;

/// Groups by host.
pub const GROUPS: usize = 256;
/// A group with more is written.
const FRAME: usize = 32 << 10;
/// A part of the usual size has so many frames or more, so that a host can be taken apart.
const FRAMES_OF_A_PART: u64 = 16;
/// The fewest inputs of a frame that is written before it is full.
const FEWEST: u64 = 4;

/// Where a frame is: its offset and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent(pub u64, pub u32);

/// The file of inputs in the making.
pub struct Spool {
    file: BufWriter<File>,
    packer: Packer,
    packed: Vec<u8>,
    groups: Vec<Held>,
    most_inputs: u64,
    written: u64,
    frames: Spooled,
}

/// The inputs of a group that are in no frame yet.
#[derive(Default)]
struct Held {
    bytes: Vec<u8>,
    inputs: u32,
}

/// The frames of each group in the order they were written, each with the number of its inputs.
pub type Spooled = Vec<Vec<(Extent, u32)>>;

impl Spool {
    /// A new file at this path, for parts of about this many inputs.
    ///
    /// # Errors
    /// When it cannot be created.
    pub fn create(path: &Path, part_size: u64) -> Result<Spool> {
        let file = File::create(path).map_err(at("create", path))?;
        Ok(Spool::at(file, 0, part_size))
    }

    fn at(file: File, written: u64, part_size: u64) -> Spool {
        Spool {
            file: BufWriter::with_capacity(1 << 18, file),
            packer: Packer::new(1),
            packed: Vec::new(),
            groups: (0..GROUPS).map(|_| Held::default()).collect(),
            most_inputs: (part_size / FRAMES_OF_A_PART).max(FEWEST),
            written,
            frames: none(),
        }
    }

    /// Behind what a file has.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn append(path: &Path, part_size: u64) -> Result<Spool> {
        let length = length(path)?;
        let file = File::options().append(true).open(path);
        Ok(Spool::at(
            file.map_err(at("write", path))?,
            length,
            part_size,
        ))
    }

    /// Adds one input, which `write` appends to what it is given.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(&mut self, group: usize, write: impl FnOnce(&mut Vec<u8>)) -> std::io::Result<()> {
        let held = &mut self.groups[group];
        write(&mut held.bytes);
        held.inputs += 1;
        match held.bytes.len() >= FRAME || u64::from(held.inputs) >= self.most_inputs {
            true => self.flush(group),
            false => Ok(()),
        }
    }

    fn flush(&mut self, group: usize) -> std::io::Result<()> {
        let held = &mut self.groups[group];
        if held.inputs == 0 {
            return Ok(());
        }
        self.packed.clear();
        self.packer.pack(&held.bytes, &mut self.packed)?;
        self.file.write_all(&self.packed)?;
        let extent = Extent(self.written, self.packed.len() as u32);
        self.frames[group].push((extent, held.inputs));
        self.written += self.packed.len() as u64;
        held.bytes.clear();
        held.inputs = 0;
        Ok(())
    }

    /// Writes the rest. Returns everything that was written since the last call.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn take(&mut self) -> std::io::Result<Spooled> {
        for group in 0..GROUPS {
            self.flush(group)?;
        }
        Ok(std::mem::replace(&mut self.frames, none()))
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

fn none() -> Spooled {
    vec![Vec::new(); GROUPS]
}

/// The length of a file of inputs; what a crash left behind the last frame of the plan stays there unused.
fn length(path: &Path) -> Result<u64> {
    let about = File::open(path).and_then(|file| file.metadata());
    Ok(about.map_err(at("read", path))?.len())
}
