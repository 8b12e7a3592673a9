//! The earlier attempts at a part: how many there are, which of their bytes count, and the state that they left.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use super::checkpoint::Checkpoint;
use super::entry::{Attempt, Counted};
use super::known_inputs::KnownInputs;
use super::whole_frames::{scan_from, visit};
use crate::error::{Result, at};
use crate::frame::{Frame, first};
use crate::plan::Folder;

/// No head is longer: it has a few bytes for each attempt before it.
const LONGEST_HEAD: u64 = 1 << 20;

/// The number of the newest attempt at a part; 0 if there is none.
///
/// # Errors
/// When the folder cannot be read.
pub fn newest(folder: &Folder, part: u32) -> io::Result<u32> {
    let mut newest = 0;
    for entry in fs::read_dir(folder.part(part))? {
        let name = entry?.file_name();
        let number = name
            .to_str()
            .and_then(|name| name.strip_prefix("attempt-")?.parse().ok());
        newest = newest.max(number.unwrap_or(0));
    }
    Ok(newest)
}

/// The bytes of a part's attempts that count now, if the part is not done.
///
/// # Errors
/// When the folder cannot be read.
pub fn counted(folder: &Folder, part: u32) -> Result<Vec<Counted>> {
    match newest(folder, part) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        newest => {
            let next = newest.map_err(at("read", &folder.part(part)))? + 1;
            look_back(folder, part, next).map(|(counts, _)| counts)
        }
    }
}

/// The bytes that count before this attempt, and the state that they left. The last attempt with a head says what
/// counted before it, and counts itself up to its last whole frame.
pub(super) fn look_back(
    folder: &Folder,
    part: u32,
    attempt: u32,
) -> Result<(Vec<Counted>, KnownInputs)> {
    for earlier in (1..attempt).rev() {
        let path = folder.attempt(part, earlier);
        // To the disk first: what counts once must be there for good.
        let length = File::open(&path).and_then(|file| {
            file.sync_all()?;
            Ok(file.metadata()?.len())
        });
        let length = match length {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            length => length.map_err(at("read", &path))?,
        };
        let Some((mut counts, head)) = head(&path).map_err(at("read", &path))? else {
            continue;
        };
        let checkpoint = Checkpoint::load(folder, part, earlier, length);
        let (start, mut known) = match checkpoint {
            Some(checkpoint) => (checkpoint.bytes, checkpoint.known),
            None => {
                let mut known = KnownInputs::default();
                visit(folder, part, &counts, &mut |piece, _| known.take(&piece))?;
                (head, known)
            }
        };
        let bytes = scan_from(&path, start, u64::MAX, &mut |piece, _| known.take(&piece));
        counts.push(Counted {
            attempt: earlier,
            bytes: bytes.map_err(at("read", &path))?,
        });
        return Ok((counts, known));
    }
    Ok((Vec::new(), KnownInputs::default()))
}

/// The bytes that counted before an attempt, and the length of its head; none if it has no head yet.
fn head(path: &Path) -> io::Result<Option<(Vec<Counted>, u64)>> {
    let mut held = Vec::new();
    File::open(path)?
        .take(LONGEST_HEAD)
        .read_to_end(&mut held)?;
    let Some(Frame::Aside(content)) = first(&held) else {
        return Ok(None);
    };
    Ok(match Attempt::read(content) {
        Some(Attempt::Head { counts, .. }) => Some((counts, Frame::Aside(content).bytes() as u64)),
        _ => None,
    })
}
