//! Files that are there whole or not at all: each is written as a draft beside its name, and then renamed. A link stays,
//! and the file that it leads to is replaced. A pipe, FIFO or device is no file to replace: it is written into.
//!
//! Two processes may write the same file at the same time, such as a report. The draft is locked, so that the second
//! begins when the first has renamed its own, and no file mixes the two. It does not wait for ever: the first may be
//! stopped.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use super::holder::Holder;
use crate::error::{Result, at};

/// The longest wait for another process that writes the same file.
const A_WHILE: Duration = Duration::from_secs(30);

/// How often the file is tried meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// An output that is being written.
pub enum Draft {
    /// A file. It gets its name with [`Draft::keep`], and is removed without it.
    Beside(Beside),
    /// A pipe, FIFO or device.
    Into(File),
}

/// A draft, and the name that it is going to have.
pub struct Beside {
    path: PathBuf,
    draft: PathBuf,
    file: Flock<File>,
    is_kept: bool,
}

impl Draft {
    /// Begins the output `path`, once no other process writes it.
    ///
    /// # Errors
    /// When the system refuses, or another process writes it for long.
    pub fn begin(path: &Path) -> io::Result<Draft> {
        if is_special(path) {
            return File::options().write(true).open(path).map(Draft::Into);
        }
        let path = end_of_links(path)?;
        let mut draft = path.clone().into_os_string();
        draft.push(".draft");
        let draft = PathBuf::from(draft);
        let file = locked(&draft)?;
        file.set_len(0)?;
        Ok(Draft::Beside(Beside {
            path,
            draft,
            file,
            is_kept: false,
        }))
    }

    /// Where to write.
    pub fn file(&self) -> &File {
        match self {
            Draft::Beside(beside) => &beside.file,
            Draft::Into(file) => file,
        }
    }

    /// Gives a file its name, so that it is there also after a power cut.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn keep(self) -> io::Result<()> {
        match self {
            Draft::Beside(beside) => beside.keep(),
            Draft::Into(_) => Ok(()),
        }
    }
}

impl Beside {
    fn keep(mut self) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.draft, &self.path)?;
        self.is_kept = true;
        sync_folder_of(&self.path)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.is_kept {
            // Half a file is of no use, and takes space.
            let _ = fs::remove_file(&self.draft);
        }
    }
}

/// Whether a path leads to something that is neither a regular file nor a folder, such as a pipe, a FIFO or a device.
pub(super) fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir())
}

/// The path of the file that links lead to, whether it is there or not.
///
/// # Errors
/// When the links have no end.
pub fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    if !path.is_symlink() {
        return Ok(path.to_owned());
    }
    match fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let target = fs::read_link(path)?;
            end_of_links(&path.parent().unwrap_or(Path::new("")).join(target))
        }
        end => end,
    }
}

/// The draft, locked. One that its last owner has renamed or removed meanwhile is another file by now.
fn locked(draft: &Path) -> io::Result<Flock<File>> {
    let begun = Instant::now();
    loop {
        match try_lock(draft)? {
            Ok(file) => return Ok(file),
            Err(file) => wait_for(Holder::of(&file), begun)?,
        }
    }
}

/// Locks the file of this name, which is made if there is none. The error is the file that another process has locked.
pub fn try_lock(path: &Path) -> io::Result<std::result::Result<Flock<File>, File>> {
    loop {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = match Flock::lock(options.open(path)?, FlockArg::LockExclusiveNonblock) {
            Ok(file) => file,
            Err((file, Errno::EWOULDBLOCK)) => return Ok(Err(file)),
            Err((_, error)) => return Err(error.into()),
        };
        // The process that had it before may have renamed or removed it meanwhile.
        let ours = file.metadata()?;
        match fs::metadata(path) {
            Ok(named) if (named.dev(), named.ino()) == (ours.dev(), ours.ino()) => {
                return Ok(Ok(file));
            }
            _ => {}
        }
    }
}

/// Waits a little for the process that writes a file, but not if that is stopped.
fn wait_for(holder: Option<Holder>, begun: Instant) -> io::Result<()> {
    let stopped = holder.as_ref().filter(|holder| holder.is_stopped());
    let who = holder.as_ref().map(Holder::to_string);
    let who = who.unwrap_or_else(|| "another process".into());
    let why = match stopped {
        Some(holder) => format!(
            "{who} has begun to write it and is stopped: {}",
            holder.remedy()
        ),
        None if begun.elapsed() < A_WHILE => {
            sleep(LOOK_EVERY);
            return Ok(());
        }
        None => format!("{who} writes it: run this command again when that has ended"),
    };
    Err(io::Error::other(why))
}

/// Writes a file that is there whole or not at all, also after a power cut.
///
/// # Errors
/// When the system refuses.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<()> {
    let write = || {
        let draft = Draft::begin(path)?;
        draft.file().write_all(content)?;
        draft.keep()
    };
    write().map_err(at("write", path))
}

/// Writes a file that whoever reads finds whole; of a power cut it knows nothing, and so it is quick. One process
/// writes it.
///
/// # Errors
/// When the system refuses.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("draft");
    fs::write(&draft, content)?;
    fs::rename(&draft, path)
}

/// Has the names in the folder of this file survive a power cut.
///
/// # Errors
/// When the system refuses.
pub fn sync_folder_of(path: &Path) -> io::Result<()> {
    match std::path::absolute(path)?.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn two_that_write_the_same_file_do_so_one_after_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        let draft = Draft::begin(&path).unwrap();
        let (ended, other) = channel();
        let second = path.clone();
        let writer = thread::spawn(move || {
            let written = write_whole(&second, b"second");
            ended.send(()).unwrap();
            written
        });
        // Time for the other to spoil the draft, if it can.
        assert!(other.recv_timeout(Duration::from_millis(300)).is_err());
        draft.file().write_all(b"the first").unwrap();
        draft.keep().unwrap();
        writer.join().unwrap().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        drop(Draft::begin(&path).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn nothing_stays_of_a_draft_whose_writer_was_killed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        fs::write(folder.path().join("table.csv.draft"), "a longer table").unwrap();
        write_whole(&path, b"short").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"short");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
