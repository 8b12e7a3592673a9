//! After a crash: what was stored and has no record goes, from archives and from folders of files.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// The end of a tar file: two empty blocks.
const END: [u8; 1024] = [0; 1024];

/// Cuts a `.tar` or `.warc.gz` behind its last body that has a record; `bytes` is where that ends.
///
/// # Errors
/// When the system refuses, or the archive is shorter.
pub fn cut(path: &Path, bytes: u64) -> io::Result<()> {
    let mut file = File::options().write(true).open(path)?;
    let length = file.metadata()?.len();
    if length < bytes {
        return Err(io::Error::other(format!(
            "it has {length} bytes, and records name bodies in its first {bytes}"
        )));
    }
    file.set_len(bytes)?;
    if path.extension().is_some_and(|ending| ending == "tar") {
        file.seek(SeekFrom::Start(bytes))?;
        file.write_all(&END)?;
    }
    file.sync_all()
}

/// Removes the files below a folder whose numbers are not to stay.
///
/// # Errors
/// When the system refuses.
pub fn keep_some(folder: &Path, is_kept: &dyn Fn(u64) -> bool) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            keep_some(&entry.path(), is_kept)?;
            continue;
        }
        let name = entry.file_name();
        let number = name
            .to_str()
            .and_then(|name| name.split('.').next()?.parse().ok());
        if number.is_some_and(|number| !is_kept(number)) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes a file, unless another attempt at the part has done so already.
///
/// # Errors
/// When the system refuses.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
