//! Small texts that the kernel offers as files.

use std::path::PathBuf;

/// Where `/proc` and `/sys` are found; another folder than `/` only in tests.
#[derive(Clone, Debug)]
pub struct Root(PathBuf);

impl Default for Root {
    fn default() -> Root {
        Root(PathBuf::from("/"))
    }
}

impl Root {
    /// A folder with the texts of some machine.
    pub fn at(folder: impl Into<PathBuf>) -> Root {
        Root(folder.into())
    }

    /// A file's text, trimmed; none when it is not there.
    pub fn read(&self, path: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.0.join(path)).ok()?;
        Some(text.trim().to_owned())
    }

    /// A file's text as a number.
    pub fn number(&self, path: &str) -> Option<u64> {
        self.read(path)?.parse().ok()
    }

    /// The rest of the first line that begins with `key`.
    pub fn field(&self, path: &str, key: &str) -> Option<String> {
        let text = self.read(path)?;
        let rest = text.lines().find_map(|line| line.strip_prefix(key))?;
        Some(rest.trim_start_matches([':', '\t', ' ']).trim().to_owned())
    }

    /// Names in a folder.
    pub fn names(&self, path: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.join(path)).into_iter().flatten();
        entries
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    }
}
