//! An attempt at a part: begun by creating its file exclusively, with what counts of the earlier ones in its head.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::checkpoint;
use super::entry::{Attempt, Counted};
use super::known_inputs::KnownInputs;
use super::look_back::{look_back, newest};
use crate::error::{Result, at};
use crate::frame::pack_aside;
use crate::plan::{Folder, sync_folder_of};

/// So many records take a while to read.
const LONG: u64 = 50_000;

/// How long a new attempt waits for the worker of the last one to leave the part. A worker that is stopped does not
/// leave.
const HANDOVER: Duration = Duration::from_secs(5);

/// An attempt whose file exists, which makes an earlier worker leave the part.
pub struct Announced {
    /// The part.
    pub part: u32,
    attempt: u32,
    file: File,
    lock: Option<Flock<File>>,
    /// The file of the attempt before it, until nobody holds that any more.
    earlier: Option<File>,
    until: Instant,
}

/// An attempt that has been begun.
pub struct Claim {
    /// The part.
    pub part: u32,
    /// The number of the attempt.
    pub attempt: u32,
    /// Its segment, behind its head.
    pub file: File,
    /// Held while the attempt is worked on, so that the next one knows.
    pub lock: Option<Flock<File>>,
    /// How long that is.
    pub bytes: u64,
    /// The bytes of earlier attempts that count.
    pub counts: Vec<Counted>,
    /// The state that they left.
    pub known: KnownInputs,
}

/// Begins the next attempt at a part without waiting for an earlier worker; none if the part is done.
///
/// # Errors
/// When the folder cannot be read or written.
pub fn claim(folder: &Folder, part: u32, worker: &str) -> Result<Option<Claim>> {
    match announce(folder, part)? {
        Some(announced) => announced.begin(folder, worker),
        None => Ok(None),
    }
}

/// Creates the file of the next attempt at a part; none if the part is done.
///
/// # Errors
/// When the folder cannot be read or written.
pub fn announce(folder: &Folder, part: u32) -> Result<Option<Announced>> {
    if folder.is_done(part) {
        return Ok(None);
    }
    let home = folder.part(part);
    fs::create_dir_all(&home).map_err(at("create", &home))?;
    let (attempt, file) = match folder.mirror() {
        None => create(folder, part)?,
        Some(mirror) => loop {
            mirror.inputs(folder, part)?;
            mirror.pull(folder, part, u32::MAX)?;
            if folder.is_done(part) {
                return Ok(None);
            }
            let (attempt, file) = create(folder, part)?;
            if mirror.claim(part, attempt)? {
                break (attempt, file);
            }
        },
    };
    let earlier = (1..attempt).rev();
    let earlier = earlier
        .filter_map(|earlier| File::open(folder.attempt(part, earlier)).ok())
        .next();
    Ok(Some(Announced {
        part,
        attempt,
        file,
        lock: hold(folder, part, attempt),
        earlier,
        until: Instant::now() + HANDOVER,
    }))
}

/// Locks the file of an attempt for as long as its worker has it open.
fn hold(folder: &Folder, part: u32, attempt: u32) -> Option<Flock<File>> {
    let file = File::open(folder.attempt(part, attempt)).ok()?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()
}

/// Whether a worker that lives holds the newest attempt at a part.
pub fn is_held(folder: &Folder, part: u32) -> bool {
    let newest = newest(folder, part).unwrap_or(0);
    match File::open(folder.attempt(part, newest)) {
        Ok(file) => matches!(
            Flock::lock(file, FlockArg::LockSharedNonblock),
            Err((_, Errno::EWOULDBLOCK))
        ),
        Err(_) => false,
    }
}

impl Announced {
    /// Whether the worker of the last attempt has left the part, or was waited for long enough.
    pub fn may_begin(&mut self, now: Instant) -> bool {
        let Some(earlier) = self.earlier.take() else {
            return true;
        };
        match Flock::lock(earlier, FlockArg::LockSharedNonblock) {
            Err((earlier, Errno::EWOULDBLOCK)) if now < self.until => {
                self.earlier = Some(earlier);
                false
            }
            _ => true,
        }
    }

    /// Begins the attempt; none if the part is done.
    ///
    /// # Errors
    /// When the folder cannot be read or written.
    pub fn begin(self, folder: &Folder, worker: &str) -> Result<Option<Claim>> {
        let (part, attempt, mut file, lock) = (self.part, self.attempt, self.file, self.lock);
        // After the claim: an earlier worker that sends anything after this sees the claim first.
        if let Some(mirror) = folder.mirror() {
            mirror.pull(folder, part, attempt)?;
        }
        let (counts, known) = look_back(folder, part, attempt)?;
        // A worker that finished the part meanwhile has removed the segments, so this must be checked after reading
        // them.
        if folder.is_done(part) {
            let _ = fs::remove_file(folder.attempt(part, attempt));
            return Ok(None);
        }
        let head = Attempt::Head {
            attempt,
            counts: counts.clone(),
            worker: worker.to_owned(),
        };
        let mut bytes = Vec::new();
        pack_aside(&head.content(), &mut bytes);
        let path = folder.attempt(part, attempt);
        let written = file.write_all(&bytes).and_then(|()| file.sync_all());
        written
            .and_then(|()| sync_folder_of(&path))
            .map_err(at("write", &path))?;
        // A checkpoint does not say which pages inputs have had.
        if known.done.len() >= LONG && known.unfinished.is_empty() {
            // The next attempt need not read what came before this one.
            checkpoint::write(folder, part, attempt, bytes.len() as u64, &known);
        }
        Ok(Some(Claim {
            part,
            attempt,
            file,
            lock,
            bytes: bytes.len() as u64,
            counts,
            known,
        }))
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Packer;
    use crate::segment::Piece;
    use crate::segment::checkpoint::write;

    fn append(claim: &mut Claim, line: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        Packer::new(1).pack(line.as_bytes(), &mut bytes).unwrap();
        claim.file.write_all(&bytes).unwrap();
        bytes
    }

    fn line(n: u64) -> String {
        format!("{{\"n\":{n},\"outcome\":\"response\",\"ok\":true}}\n")
    }

    fn lines(folder: &Folder, counts: &[Counted]) -> String {
        let mut found = String::new();
        super::super::whole_frames::visit(folder, 0, counts, &mut |piece, _| {
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
        append(&mut first, &line(1));
        let mut second = claim(&folder, 0, "second").unwrap().unwrap();
        append(&mut first, &line(3));
        append(&mut second, &line(2));
        let third = claim(&folder, 0, "third").unwrap().unwrap();
        append(&mut first, &line(4));
        append(&mut second, &line(5));
        assert_eq!((first.attempt, second.attempt, third.attempt), (1, 2, 3));
        assert_eq!(lines(&folder, &third.counts), line(1) + &line(2));
        assert_eq!(newest(&folder, 0).unwrap(), 3);
    }

    #[test]
    fn a_new_attempt_waits_until_the_last_one_is_left_or_its_worker_is_silent() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Folder::at(folder.path());
        let mut first = claim(&folder, 0, "first").unwrap().unwrap();
        assert!(is_held(&folder, 0));
        let mut second = announce(&folder, 0).unwrap().unwrap();
        let now = Instant::now();
        assert!(!second.may_begin(now));
        // Records that are written before the first worker leaves count.
        append(&mut first, &line(1));
        drop(first);
        assert!(second.may_begin(now));
        let second = second.begin(&folder, "second").unwrap().unwrap();
        assert!(second.known.done.contains(1));
        let mut third = announce(&folder, 0).unwrap().unwrap();
        assert!(!third.may_begin(now));
        assert!(third.may_begin(now + 2 * HANDOVER));
        drop((second, third));
        assert!(!is_held(&folder, 0));
    }

    #[test]
    fn an_attempt_that_has_no_head_yet_counts_for_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Folder::at(folder.path());
        let mut first = claim(&folder, 0, "first").unwrap().unwrap();
        append(&mut first, &line(1));
        File::create(folder.attempt(0, 2)).unwrap();
        append(&mut first, &line(2));
        let third = claim(&folder, 0, "third").unwrap().unwrap();
        assert_eq!(third.attempt, 3);
        assert_eq!(lines(&folder, &third.counts), line(1) + &line(2));
    }

    #[test]
    fn behind_a_checkpoint_alone_is_read_and_a_segment_that_is_shorter_is_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let folder = Folder::at(folder.path());
        let mut first = claim(&folder, 0, "first").unwrap().unwrap();
        let before = first.bytes + append(&mut first, &line(1)).len() as u64;
        append(&mut first, &line(2));
        let known = |numbers: &[u64]| {
            let mut known = KnownInputs::default();
            for number in numbers {
                known.take(&Piece::Lines(line(*number).as_bytes())).unwrap();
            }
            known
        };
        // The checkpoint is trusted for the bytes before it.
        write(&folder, 0, 1, before, &known(&[1, 77]));
        let mut second = claim(&folder, 0, "second").unwrap().unwrap();
        assert_eq!(second.known, known(&[1, 77, 2]));
        append(&mut second, &line(3));
        // The head of the second says how much of the first counts, and so all of it is read.
        let third = claim(&folder, 0, "third").unwrap().unwrap();
        assert_eq!(third.known, known(&[1, 2, 3]));
        fs::remove_file(folder.attempt(0, 2)).unwrap();
        fs::remove_file(folder.attempt(0, 3)).unwrap();
        first.file.set_len(before - 1).unwrap();
        let again = claim(&folder, 0, "again").unwrap().unwrap();
        assert_eq!(again.known, known(&[]));
    }
}
