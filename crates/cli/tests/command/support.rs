//! Runs the real command and looks at what it printed, returned and left on disk.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The project's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The command, with the clients of `tests/drivers/<set>`.
pub fn hecaton(set: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hecaton"));
    command
        .env("HECATON_ROOT", root())
        .env("HECATON_DRIVERS", root().join("tests/drivers").join(set));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// How the command ended.
pub struct Ending {
    /// Its status.
    pub status: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it said besides.
    pub stderr: String,
}

/// Runs the command to its end.
pub fn run(command: &mut Command) -> Ending {
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().expect("the command starts");
    Ending {
        status: status.code(),
        stdout: String::from_utf8(stdout).expect("text"),
        stderr: String::from_utf8(stderr).expect("text"),
    }
}

impl Ending {
    /// Asserts the status, and that the error output says all of these words and holds no backtrace.
    pub fn assert(&self, status: i32, words: &[&str]) {
        assert_eq!(self.status, Some(status), "{}", self.stderr);
        for word in words {
            assert!(
                self.stderr.contains(word),
                "{word:?} is not in:\n{}",
                self.stderr
            );
        }
        for word in ["panicked", "backtrace", "RUST_BACKTRACE"] {
            assert!(!self.stderr.contains(word), "{}", self.stderr);
        }
    }
}

/// The document in a run's folder.
pub fn document(folder: &Path) -> Value {
    let text = std::fs::read(folder.join("run.json")).expect("run.json is there");
    serde_json::from_slice(&text).expect("run.json is JSON")
}
