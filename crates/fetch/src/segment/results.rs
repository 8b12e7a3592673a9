//! Reads the results of parts that are done. A file that is not whole is refused: nothing may be missing from it.

use std::fs::File;
use std::io;
use std::path::Path;

use serde::Deserialize;
use serde::de::Error as _;

use super::commit::load;
use super::whole_frames::{Piece, head_of, is_followed, scan_open};
use crate::error::{Error, Result, at};
use crate::plan::Folder;
use crate::record::Record;

/// A line as a record. A frame that is whole may have other lines in it, that another program wrote.
///
/// # Errors
/// When it is none, or does not begin as all records do.
pub fn record_of(line: &[u8]) -> serde_json::Result<Record> {
    let record: Record = fields_of(line)?;
    let begins = head_of(line) == Some((record.n, record.outcome, record.ok));
    match begins && is_followed(line) == (record.more == Some(true)) {
        true => Ok(record),
        false => Err(serde_json::Error::custom("it begins otherwise")),
    }
}

/// Some fields of a line.
///
/// # Errors
/// When they are not those of a record.
pub fn fields_of<'a, R: Deserialize<'a>>(line: &'a [u8]) -> serde_json::Result<R> {
    // All of it at once is quicker than each of its texts.
    let text = std::str::from_utf8(line).map_err(serde_json::Error::custom)?;
    serde_json::from_str(text)
}

/// Visits a line of results.
pub type VisitLine<'a> = &'a mut dyn FnMut(&[u8]) -> io::Result<()>;

/// Visits each line of a part's results, which must have as many records as its `COMMIT` says.
///
/// # Errors
/// When the file is damaged or cannot be read, or the visitor fails.
pub fn each_result(folder: &Folder, part: u32, visit: VisitLine<'_>) -> Result<()> {
    let path = folder.result(part);
    let found = each_whole(&path, visit)?;
    match load(folder, part)? {
        Some(commit) if commit.tally.records != found => Err(damaged(
            folder,
            &path,
            &format!("it holds {found} of its {} records", commit.tally.records),
        )),
        _ => Ok(()),
    }
}

/// Refuses the results of a part that is done if they are damaged. A file is read only if it was written to after its
/// `COMMIT`, which is the last that a part gets: what a disk does to a file by itself, `verify` finds.
///
/// # Errors
/// As [`each_result`].
pub fn refuse_changed(folder: &Folder, part: u32) -> Result<()> {
    let written = |path: &Path| std::fs::metadata(path).and_then(|it| it.modified());
    let Ok(commit) = written(&folder.commit(part)) else {
        return Ok(());
    };
    match written(&folder.result(part)) {
        Ok(results) if results <= commit => Ok(()),
        _ => each_result(folder, part, &mut |_| Ok(())),
    }
}

/// Visits each line of a file of results, up to its last byte. Returns how many inputs have their record there.
///
/// # Errors
/// As [`each_result`].
pub fn each_whole(path: &Path, visit: VisitLine<'_>) -> Result<u64> {
    let (found, whole, length) = readable(path, visit)?;
    match whole < length {
        true => Err(torn(path, whole)),
        false => Ok(found),
    }
}

/// Visits the lines of a file of results up to the first damage. Returns how many inputs have their record there, and
/// whether that is all of the file.
///
/// # Errors
/// When the file cannot be read, or the visitor fails.
pub fn each_readable(path: &Path, visit: VisitLine<'_>) -> Result<(u64, bool)> {
    let (found, whole, length) = readable(path, visit)?;
    Ok((found, whole == length))
}

fn readable(path: &Path, visit: VisitLine<'_>) -> Result<(u64, u64, u64)> {
    let file = File::open(path).map_err(at("read", path))?;
    let length = file.metadata().map_err(at("read", path))?.len();
    let mut found = 0;
    let scanned = scan_open(file, 0, length, &mut |piece, _| {
        let Piece::Lines(lines) = piece else {
            return Ok(());
        };
        crate::frame::lines(lines).try_for_each(|line| {
            found += u64::from(!is_followed(line));
            visit(line)
        })
    });
    let whole = scanned.map_err(at("read", path))?;
    Ok((found, whole, length))
}

/// The error for a part that is done, and whose results are nowhere.
pub fn gone(folder: &Folder, part: u32) -> Error {
    Error::failed(format!(
        "{} is gone: `hecaton fetch verify {}` says what is lost",
        folder.result(part).display(),
        folder.shown()
    ))
}

fn torn(path: &Path, byte: u64) -> Error {
    Error::failed(format!(
        "{} is damaged at byte {byte}: `hecaton fetch verify` on the job's folder says what is lost",
        path.display()
    ))
}

fn damaged(folder: &Folder, path: &Path, why: &str) -> Error {
    Error::failed(format!(
        "{} is damaged, {why}: `hecaton fetch verify {}` says what is lost",
        path.display(),
        folder.shown()
    ))
}
