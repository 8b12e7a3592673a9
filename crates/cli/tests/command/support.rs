//! Runs the real command and looks at what it printed, returned and left on disk.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

/// The project's folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The project's folder, with scenarios whose times are short: what is asserted here are verdicts, and no figures.
fn hasty_root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let hasty = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hasty-root");
        let bench = hasty.join("scenarios/bench");
        std::fs::create_dir_all(hasty.join("drivers")).expect("a folder");
        std::fs::create_dir_all(&bench).expect("a folder");
        for scenario in root()
            .join("scenarios/bench")
            .read_dir()
            .expect("scenarios")
        {
            let scenario = scenario.expect("a scenario");
            let text = std::fs::read_to_string(scenario.path()).expect("text");
            let lines = text.lines().map(hasty_line);
            let text = lines.collect::<Vec<_>>().join("\n");
            std::fs::write(bench.join(scenario.file_name()), text).expect("a copy");
        }
        hasty
    })
}

fn hasty_line(line: &str) -> &str {
    match line.split_once(" = ") {
        Some(("warm_up_seconds", "0.0")) => line,
        Some(("warm_up_seconds", _)) => "warm_up_seconds = 0.05",
        Some(("round_seconds", _)) => "round_seconds = 0.05",
        _ => line,
    }
}

/// The command, with the clients of `tests/drivers/<set>`.
pub fn hecaton(set: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hecaton"));
    command
        .env("HECATON_ROOT", hasty_root())
        .env("HECATON_DRIVERS", root().join("tests/drivers").join(set))
        // Charts have another alphabet in a terminal that is dumb.
        .env("TERM", "xterm-256color");
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
    /// Its standard error.
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

/// The document of a run with these clients, among which the cheats are, and how the command ended.
pub fn measured(line: &str, clients: &str) -> (Value, Ending) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    command.args(line.split(' ')).args(["--json", "--quiet"]);
    command
        .args(["--client", clients, "--out"])
        .arg(folder.path());
    let ending = run(&mut command);
    let document = serde_json::from_str(&ending.stdout);
    (document.expect(&ending.stderr), ending)
}

/// The document in a run's folder.
pub fn document(folder: &Path) -> Value {
    let text = std::fs::read(folder.join("run.json")).expect("run.json is there");
    serde_json::from_slice(&text).expect("run.json is JSON")
}

/// Whether drivers run as users of their own.
pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}
