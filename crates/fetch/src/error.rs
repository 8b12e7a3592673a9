//! The kinds of failure: wrong usage, something that could not be done, and an interruption, and a pause.

use std::io;
use std::path::Path;

use hecaton::without_os_numbers;

/// Why a job, or a command that reads a job, failed. The text is one sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Wrong usage; nothing was sent.
    #[error("{}", without_os_numbers(.0.clone()))]
    Usage(String),
    /// Something could not be done.
    #[error("{}", without_os_numbers(.0.clone()))]
    Failed(String),
    /// The job was stopped before its end.
    #[error("{0}")]
    Interrupted(String),
    /// The job stopped by itself before its end.
    #[error("{0}")]
    Paused(String),
}

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Wrong usage.
    pub fn usage(text: impl ToString) -> Error {
        Error::Usage(text.to_string())
    }

    /// Something could not be done.
    pub fn failed(text: impl ToString) -> Error {
        Error::Failed(text.to_string())
    }
}

/// The beginning of a text of others, for a sentence: at most so many characters.
pub fn excerpt(text: &str, most: usize) -> &str {
    let end = text.char_indices().nth(most);
    end.map_or(text, |(end, _)| &text[..end])
}

/// Makes the error, for `map_err`, when the system refuses an operation on a file.
pub fn at<'a>(doing: &'a str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |error| Error::Failed(sentence(doing, path, &error))
}

/// A sentence for an error of the system: the operation, the path, and what helps.
pub fn sentence(doing: &str, path: &Path, error: &io::Error) -> String {
    let path = path.display();
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => format!(
            "cannot {doing} {path}: no space is left; free some, and run the same command again: it resumes"
        ),
        _ => format!("cannot {doing} {path}: {error}"),
    }
}
