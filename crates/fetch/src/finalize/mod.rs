//! A part that is done → its results: the lines that count, in frames of a good size, in one file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use roaring::RoaringTreemap;

use crate::error::{Error, Result, at, sentence};
use crate::frame::Packer;
use crate::plan::Folder;
use crate::segment::{Counted, Piece, Tally, head_of, is_followed, visit};

/// A frame of so many bytes, packed, stays as it is.
const GOOD: usize = 24 << 10;
/// Lines of smaller ones are gathered up to this.
const GATHERED: usize = 512 << 10;

/// Writes the lines that count into one file, and looks at each: every input has exactly one. Returns how they ended.
///
/// # Errors
/// When a segment cannot be read, the file cannot be written, or an input has no line or two.
pub fn finalize(
    folder: &Folder,
    part: u32,
    counts: &[Counted],
    inputs: u64,
    path: &Path,
) -> Result<Tally> {
    let mut results = ResultsWriter::create(path).map_err(at("write", path))?;
    let (mut seen, mut tally) = (RoaringTreemap::new(), Tally::default());
    let mut failed: Option<Error> = None;
    let mut twice = None;
    visit(folder, part, counts, &mut |piece, whole| {
        let Piece::Lines(lines) = piece else {
            return Ok(());
        };
        for line in crate::frame::lines(lines) {
            let (number, outcome, ok) = head_of(line).ok_or(io::ErrorKind::InvalidData)?;
            if is_followed(line) {
                tally.pages += 1;
                continue;
            }
            tally.count(outcome, ok);
            if !seen.insert(number) {
                twice = Some(number);
            }
        }
        results
            .add(lines, whole)
            .inspect_err(|error| failed = Some(Error::Failed(sentence("write", path, error))))
    })
    .map_err(|error| failed.take().unwrap_or(error))?;
    let wrong = match (twice, seen.len()) {
        (Some(number), _) => format!("two records of the input {number}"),
        (None, found) if found != inputs => format!("{found} records of its {inputs} inputs"),
        _ => return results.finish().map_err(at("write", path)).map(|()| tally),
    };
    Err(Error::failed(format!("part {part} has {wrong}")))
}

/// A file of results in the making.
pub struct ResultsWriter {
    file: BufWriter<File>,
    packer: Packer,
    gathered: Vec<u8>,
    packed: Vec<u8>,
}

impl ResultsWriter {
    /// A new file at this path.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn create(path: &Path) -> io::Result<ResultsWriter> {
        Ok(ResultsWriter {
            file: BufWriter::with_capacity(1 << 18, File::create(path)?),
            packer: Packer::new(3),
            gathered: Vec::new(),
            packed: Vec::new(),
        })
    }

    /// Adds lines, which `frame` holds packed.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn add(&mut self, lines: &[u8], frame: &[u8]) -> io::Result<()> {
        if frame.len() < GOOD {
            return self.add_lines(lines);
        }
        self.flush()?;
        self.file.write_all(frame)
    }

    /// Adds lines.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn add_lines(&mut self, lines: &[u8]) -> io::Result<()> {
        self.gathered.extend_from_slice(lines);
        match self.gathered.len() > GATHERED {
            true => self.flush(),
            false => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        self.packed.clear();
        self.packer.pack(&self.gathered, &mut self.packed)?;
        self.gathered.clear();
        self.file.write_all(&self.packed)
    }

    /// Has all of it on the disk.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.file.flush()?;
        self.file.get_ref().sync_all()
    }
}
