//! Reads the inputs of a plan, a frame at a time.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::entry::{Planned, read_entry};
use super::folder::Folder;
use super::spool::Extent;
use crate::error::{Error, Result, at};
use crate::frame::Unpacker;

/// The file with all inputs.
pub struct InputFile {
    file: File,
    path: PathBuf,
    unpacker: Unpacker,
    packed: Vec<u8>,
}

impl InputFile {
    /// That of a folder.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(folder: &Folder) -> Result<InputFile> {
        InputFile::at(folder.inputs())
    }

    /// The file of this path.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn at(path: PathBuf) -> Result<InputFile> {
        Ok(InputFile {
            file: File::open(&path).map_err(at("read", &path))?,
            path,
            unpacker: Unpacker::default(),
            packed: Vec::new(),
        })
    }

    /// The frame that is there.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(&mut self, extent: Extent, out: &mut Vec<u8>) -> Result<()> {
        let length = extent.1 as usize;
        if length > self.packed.len() && !self.holds(extent)? {
            return Err(self.damaged());
        }
        self.packed.resize(length, 0);
        let read = self.file.read_exact_at(&mut self.packed, extent.0);
        let read = read.and_then(|()| self.unpacker.unpack(&self.packed, out));
        read.map_err(at("read", &self.path))
    }

    /// Visits the inputs of these frames.
    ///
    /// # Errors
    /// When one cannot be read, or the visitor's own.
    pub fn each(
        &mut self,
        extents: impl IntoIterator<Item = Extent>,
        visitor: &mut dyn FnMut(Planned) -> Result<()>,
    ) -> Result<()> {
        let mut frame = Vec::new();
        for extent in extents {
            self.read(extent, &mut frame)?;
            let mut rest = &frame[..];
            while !rest.is_empty() {
                visitor(read_entry(&mut rest).ok_or_else(|| self.damaged())?)?;
            }
        }
        Ok(())
    }

    /// Whether the file is so long. A damaged index must not take memory that nothing fills.
    fn holds(&self, extent: Extent) -> Result<bool> {
        let length = self.file.metadata().map_err(at("read", &self.path))?.len();
        Ok(extent
            .0
            .checked_add(extent.1.into())
            .is_some_and(|end| end <= length))
    }

    /// The error for a frame that holds something else.
    pub fn damaged(&self) -> Error {
        Error::failed(format!("{} is damaged", self.path.display()))
    }
}
