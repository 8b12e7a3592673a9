//! Runs the real command on a list in a folder of its own, and reads what it recorded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hecaton_test_server::{Options, TestServer};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use serde_json::Value;
use tempfile::TempDir;

/// A test server and a folder for one test.
pub struct World {
    /// The server.
    pub server: TestServer,
    home: TempDir,
}

/// How the command ended.
pub struct Ending {
    /// Its status; none when a signal ended it.
    pub status: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Ending {
    /// Whether the job is done: with a good response for each input, or good but for some.
    pub fn is_done(&self) -> bool {
        matches!(self.status, Some(0 | 4))
    }
}

impl World {
    /// One with a test server as `options` say.
    pub fn with(options: Options) -> World {
        World {
            server: TestServer::start(options).expect("a test server starts on a free port"),
            home: tempfile::tempdir().expect("a folder"),
        }
    }

    /// One with a test server that responds at once.
    pub fn new() -> World {
        World::with(Options::default())
    }

    /// The server's port.
    pub fn port(&self) -> String {
        let url = self.server.base_url();
        url.rsplit(':').next().unwrap().to_owned()
    }

    /// A path in the test's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// The job's folder.
    pub fn out(&self) -> PathBuf {
        self.path("out")
    }

    /// The folder of the round of `again` that is not merged yet.
    pub fn round(&self) -> Option<PathBuf> {
        let mut rounds = files(&self.out().join("again")).into_iter();
        rounds.find(|round| round.join("plan.json").exists())
    }

    /// Writes a list of `/r/<id>` for each id.
    pub fn list(&self, ids: impl Iterator<Item = u64>) -> PathBuf {
        let base = self.server.base_url();
        self.write("urls.txt", ids.map(|id| format!("{base}/r/{id}")))
    }

    /// Writes lines into a file.
    pub fn write(&self, name: &str, lines: impl Iterator<Item = String>) -> PathBuf {
        let path = self.path(name);
        let text: String = lines.flat_map(|line| [line, "\n".into()]).collect();
        std::fs::write(&path, text).expect("the list is written");
        path
    }

    /// The command with these arguments, on the job's folder.
    pub fn fetch(&self, list: &Path, arguments: &[&str]) -> Command {
        let mut command = hecaton(&["fetch"]);
        command.arg(list).arg("-o").arg(self.out()).args(arguments);
        command
    }

    /// Runs it to its end, which must be good, or good but for some inputs.
    pub fn run(&self, list: &Path, arguments: &[&str]) -> Ending {
        let ending = ending(&mut self.fetch(list, arguments));
        assert!(ending.is_done(), "{}", ending.stderr);
        ending
    }

    /// Runs it to its end with this status; 3 when too few responses are good, and 4 when some inputs have none.
    pub fn run_to(&self, status: i32, list: &Path, arguments: &[&str]) -> Ending {
        let ending = ending(&mut self.fetch(list, arguments));
        assert_eq!(ending.status, Some(status), "{}", ending.stderr);
        ending
    }

    /// The records of all parts that are done, by the numbers of their inputs; each must be there once.
    pub fn records(&self) -> BTreeMap<u64, Value> {
        let mut found = BTreeMap::new();
        for record in self.lines() {
            let number = record["n"].as_u64().expect("a record has a number");
            // Pages that others follow have records beside the one that completes their input.
            if record["more"] != true {
                let earlier = found.insert(number, record);
                assert!(earlier.is_none(), "two records of {number}");
            }
        }
        found
    }

    /// All records, those of all pages too.
    pub fn lines(&self) -> Vec<Value> {
        let files = files(&self.out().join("results"));
        let texts = files.iter().map(|file| unpacked(file));
        let lines = texts.flat_map(|text| {
            let lines = text.lines().map(serde_json::from_str);
            lines.collect::<Vec<_>>()
        });
        lines.collect::<Result<_, _>>().expect("a record is JSON")
    }

    /// Waits until the server has received this many requests.
    pub fn wait_for(&self, requests: u64) {
        until(|| self.server.summary().requests >= requests);
    }
}

/// The command.
pub fn hecaton(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hecaton"));
    command.args(arguments).env("no_proxy", "*");
    command.env("SHOP", "tea");
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs a command to its end.
pub fn ending(command: &mut Command) -> Ending {
    let child = command.spawn().expect("the command starts");
    end_of(child)
}

/// Begins the job or resumes it, and kills the command after this many more requests.
pub fn killed(world: &World, list: &Path, arguments: &[&str], after: u64) -> Ending {
    let at = world.server.summary().requests + after;
    let child = world.fetch(list, arguments).spawn().unwrap();
    until(|| world.server.summary().requests >= at);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGKILL).unwrap();
    end_of(child)
}

/// How a command that runs ends.
pub fn end_of(child: Child) -> Ending {
    let output = child.wait_with_output().expect("it ends");
    Ending {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    }
}

/// The end of a command that might never end.
pub fn in_time(mut child: Child) -> Ending {
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            panic!("it never ended: {}", end_of(child).stderr);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    end_of(child)
}

/// A new FIFO in the test's folder.
pub fn fifo(world: &World, name: &str) -> PathBuf {
    let path = world.path(name);
    mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
    path
}

/// Waits until it is so.
pub fn until(mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(120), "it never came");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The files of a folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(folder).map(|entries| entries.flatten().map(|entry| entry.path()));
    entries.map(Iterator::collect).unwrap_or_default()
}

/// The text of a results file.
pub fn unpacked(file: &Path) -> String {
    let packed = std::fs::read(file).expect("the file is there");
    let text = zstd::decode_all(&packed[..]).expect("it is zstd");
    String::from_utf8(text).expect("text")
}

/// How many records ended so.
pub fn count(records: &BTreeMap<u64, Value>, outcome: &str) -> usize {
    records
        .values()
        .filter(|record| record["outcome"] == outcome)
        .count()
}
