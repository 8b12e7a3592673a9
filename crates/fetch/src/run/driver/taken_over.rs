//! Whether another worker has taken over a part.

use crate::error::{Result, at};
use crate::plan::Folder;

/// Whether another worker has begun a part after this attempt, or done it: then no later attempt may be left to see.
pub(super) fn is_taken_over(folder: &Folder, part: u32, attempt: u32) -> bool {
    folder.attempt(part, attempt + 1).exists() || folder.is_done(part)
}

/// The result of work on the files of an attempt. None if it failed and another worker has begun or done the part, and
/// may have taken over or removed the files.
pub(super) fn unless_taken_over<T>(
    folder: &Folder,
    part: u32,
    attempt: u32,
    came: std::io::Result<T>,
) -> Result<Option<T>> {
    match came {
        Err(_) if is_taken_over(folder, part, attempt) => Ok(None),
        came => came
            .map(Some)
            .map_err(at("write bodies below", folder.path())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_cannot_be_written_ends_the_run_unless_another_worker_has_the_part() {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::at(home.path());
        let gone = || Err::<(), _>(std::io::ErrorKind::NotFound.into());
        assert!(unless_taken_over(&folder, 3, 1, gone()).is_err());
        std::fs::create_dir_all(folder.attempt(3, 2)).unwrap();
        assert_eq!(unless_taken_over(&folder, 3, 1, gone()).unwrap(), None);
        assert!(unless_taken_over(&folder, 3, 2, gone()).is_err());
        std::fs::write(folder.commit(3), "").unwrap();
        assert_eq!(unless_taken_over(&folder, 3, 2, gone()).unwrap(), None);
    }
}
