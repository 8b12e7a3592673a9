//! Files and folders below the folder of a job.

use std::fs::File;
use std::io;
use std::path::Path;

/// A path as records have it: from the job's folder, with slashes.
pub(super) fn shown(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        folder => format!("{folder}/{name}"),
    }
}

/// Creates an archive for appending. If another worker mended it meanwhile, late writes go behind its end and leave
/// no hole.
pub(super) fn create(path: &Path) -> io::Result<File> {
    File::options().append(true).create_new(true).open(path)
}

/// Comes back when the names in this folder are on the disk.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
