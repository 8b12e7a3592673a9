//! An attempt at a part: begun by creating its file exclusively, with what counts of the earlier ones in its head.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};

use serde::{Deserialize, Serialize};

use super::known::Known;
use super::scan::{Piece, scan, visit};
use crate::error::{Result, at};
use crate::frame::pack_aside;
use crate::plan::{Folder, sync_folder_of};

/// How much of an attempt counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Its number, from 1.
    pub attempt: u32,
    /// So many bytes of its segment, all of them whole frames.
    pub bytes: u64,
}

/// What is put aside in a segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Attempt {
    /// Its first frame.
    Head {
        /// Its number.
        attempt: u32,
        /// What counts of the earlier ones.
        counts: Vec<Counted>,
        /// Who made it: a host and a process.
        worker: String,
    },
    /// Inputs whose requests are about to be sent, of methods that must not be repeated.
    Intents(Vec<u64>),
}

impl Attempt {
    /// What a frame that was put aside says.
    pub fn read(content: &[u8]) -> Option<Attempt> {
        serde_json::from_slice(content).ok()
    }

    /// The same as a frame, appended.
    pub fn write(&self, out: &mut Vec<u8>) {
        let content = serde_json::to_vec(self).expect("numbers become JSON");
        pack_aside(&content, out);
    }
}

/// An attempt that has been begun.
pub struct Claim {
    /// The part.
    pub part: u32,
    /// The number of the attempt.
    pub attempt: u32,
    /// Its segment, behind its head.
    pub file: File,
    /// How long that is.
    pub bytes: u64,
    /// What counts of earlier attempts.
    pub counts: Vec<Counted>,
    /// What they came to.
    pub known: Known,
}

/// Begins the next attempt at a part; none if the part is done.
///
/// # Errors
/// When the folder cannot be read or written.
pub fn claim(folder: &Folder, part: u32, worker: &str) -> Result<Option<Claim>> {
    let home = folder.part(part);
    fs::create_dir_all(&home).map_err(at("create", &home))?;
    let commit = folder.commit(part);
    if commit.exists() {
        return Ok(None);
    }
    let (attempt, mut file) = create(folder, part)?;
    let (counts, known) = look_back(folder, part, attempt)?;
    // Whoever did the part meanwhile removes the segments after that, so this must be asked after looking at them.
    if commit.exists() {
        let _ = fs::remove_file(folder.attempt(part, attempt));
        return Ok(None);
    }
    let head = Attempt::Head {
        attempt,
        counts: counts.clone(),
        worker: worker.to_owned(),
    };
    let mut bytes = Vec::new();
    head.write(&mut bytes);
    let path = folder.attempt(part, attempt);
    let written = file.write_all(&bytes).and_then(|()| file.sync_all());
    written
        .and_then(|()| sync_folder_of(&path))
        .map_err(at("write", &path))?;
    Ok(Some(Claim {
        part,
        attempt,
        file,
        bytes: bytes.len() as u64,
        counts,
        known,
    }))
}

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

/// What counts of a part that is not done, as far as it is now.
///
/// # Errors
/// When the folder cannot be read.
pub fn counted(folder: &Folder, part: u32) -> Result<Vec<Counted>> {
    match newest(folder, part) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        newest => counted_before(
            folder,
            part,
            newest.map_err(at("read", &folder.part(part)))? + 1,
            &mut |_| Ok(()),
        ),
    }
}

/// What counts before this attempt, and what it came to; each segment is read once.
fn look_back(folder: &Folder, part: u32, attempt: u32) -> Result<(Vec<Counted>, Known)> {
    let mut known = Known::default();
    let counts = counted_before(folder, part, attempt, &mut |piece| known.take(&piece))?;
    if let Some((_, earlier)) = counts.split_last() {
        visit(folder, part, earlier, &mut |piece, _| known.take(&piece))?;
    }
    Ok((counts, known))
}

fn create(folder: &Folder, part: u32) -> Result<(u32, File)> {
    let home = folder.part(part);
    let mut attempt = newest(folder, part).map_err(at("read", &home))? + 1;
    loop {
        let path = folder.attempt(part, attempt);
        match File::options().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((attempt, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => attempt += 1,
            Err(error) => return Err(at("create", &path)(error)),
        }
    }
}

/// What counts before this attempt: what the last one with a head counted, and that one itself up to its last whole frame. `visit`
/// sees the frames of that one.
fn counted_before(
    folder: &Folder,
    part: u32,
    attempt: u32,
    visit: &mut dyn FnMut(Piece<'_>) -> io::Result<()>,
) -> Result<Vec<Counted>> {
    for earlier in (1..attempt).rev() {
        let path = folder.attempt(part, earlier);
        // To the disk first: what counts once must be there for good.
        let synced = File::open(&path).and_then(|file| file.sync_all());
        match synced {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            synced => synced.map_err(at("read", &path))?,
        }
        let mut head = None;
        let mut first = true;
        let bytes = scan(&path, u64::MAX, &mut |piece, _| {
            match (std::mem::take(&mut first), &piece) {
                (true, Piece::Aside(content)) => head = Attempt::read(content),
                // Without a head it counts for nothing.
                _ if head.is_some() => visit(piece)?,
                _ => {}
            }
            Ok(())
        });
        let bytes = bytes.map_err(at("read", &path))?;
        if let Some(Attempt::Head { mut counts, .. }) = head {
            counts.push(Counted {
                attempt: earlier,
                bytes,
            });
            return Ok(counts);
        }
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Packer;

    fn append(claim: &mut Claim, line: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        Packer::new(1).pack(line.as_bytes(), &mut bytes).unwrap();
        claim.file.write_all(&bytes).unwrap();
        bytes
    }

    fn lines(folder: &Folder, counts: &[Counted]) -> String {
        let mut found = String::new();
        super::super::scan::visit(folder, 0, counts, &mut |piece, _| {
            if let Piece::Lines(lines) = piece {
                found.push_str(std::str::from_utf8(lines).unwrap());
            }
            Ok(())
        })
        .unwrap();
        found
    }

    #[test]
    fn what_a_zombie_writes_after_a_takeover_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Folder::at(folder.path());
        let mut first = claim(&folder, 0, "first").unwrap().unwrap();
        append(&mut first, "one\n");
        let mut second = claim(&folder, 0, "second").unwrap().unwrap();
        append(&mut first, "late\n");
        append(&mut second, "two\n");
        let third = claim(&folder, 0, "third").unwrap().unwrap();
        append(&mut first, "later\n");
        append(&mut second, "too late\n");
        assert_eq!((first.attempt, second.attempt, third.attempt), (1, 2, 3));
        assert_eq!(lines(&folder, &third.counts), "one\ntwo\n");
        assert_eq!(newest(&folder, 0).unwrap(), 3);
    }

    #[test]
    fn an_attempt_that_has_no_head_yet_counts_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Folder::at(folder.path());
        let mut first = claim(&folder, 0, "first").unwrap().unwrap();
        append(&mut first, "one\n");
        File::create(folder.attempt(0, 2)).unwrap();
        append(&mut first, "two\n");
        let third = claim(&folder, 0, "third").unwrap().unwrap();
        assert_eq!(third.attempt, 3);
        assert_eq!(lines(&folder, &third.counts), "one\ntwo\n");
    }
}
