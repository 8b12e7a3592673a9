//! Any program that sends requests, run as it is at a test server of its own.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hecaton_test_server::{Delay, Options, Summary, TestServer};
use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Serialize;

use super::cores::choose_cores;

/// Stands for the server's address in the arguments of a program.
pub const PLACEHOLDER: &str = "{url}";

/// The variable of the environment that has the server's address too.
pub const VARIABLE: &str = "HECATON_URL";

/// How often, and how long in between, a server looks whether the program's connections have ended.
const LOOKS: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// A program, and the server that it gets.
#[derive(Debug)]
pub struct Program {
    /// Its name and its arguments.
    pub line: Vec<String>,
    /// Bytes of a response's body.
    pub body_bytes: usize,
    /// How long the server waits before each response.
    pub delay: Delay,
    /// Whether it writes to this process's standard output; else what it writes there is lost.
    pub shown: bool,
}

/// What one run of a program was seen to do.
#[derive(Clone, Debug, Serialize)]
pub struct Ran {
    /// From its start to its end.
    pub wall_ns: u64,
    /// CPU time of the program, and of its children that it waited for.
    pub cpu_ns: u64,
    /// Most memory that one of these processes had resident, in this run or in one before.
    pub peak_rss_kb: u64,
    /// Least memory that can be seen: a new process begins as a copy of this one.
    pub least_rss_kb: u64,
    /// How it ended; none after a signal.
    pub status: Option<i32>,
    /// The log of its server.
    pub server: Summary,
}

impl Program {
    /// Runs it once, with a new server.
    ///
    /// # Errors
    /// When the server or the program cannot be started.
    pub fn run(&self) -> Result<Ran> {
        let server = TestServer::start(Options {
            body_bytes: self.body_bytes,
            delay: self.delay,
            core: choose_cores().map(|pinning| pinning.server_core),
            ..Options::default()
        })?;
        let mut command = self.command(&server.base_url());
        let (own, before) = (
            usage(UsageWho::RUSAGE_SELF)?,
            usage(UsageWho::RUSAGE_CHILDREN)?,
        );
        let start = Instant::now();
        let status = command.status().with_context(|| self.not_started())?;
        let wall_ns = start.elapsed().as_nanos() as u64;
        let after = usage(UsageWho::RUSAGE_CHILDREN)?;
        Ok(Ran {
            wall_ns,
            cpu_ns: cpu_ns(&after) - cpu_ns(&before),
            peak_rss_kb: kilobytes(&after),
            least_rss_kb: kilobytes(&own),
            status: status.code(),
            server: stopped(server),
        })
    }

    fn command(&self, url: &str) -> Command {
        let mut words = self.line.iter().map(|word| word.replace(PLACEHOLDER, url));
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).env(VARIABLE, url).stdin(Stdio::null());
        if !self.shown {
            command.stdout(Stdio::null());
        }
        command
    }

    fn not_started(&self) -> String {
        let name = self.line.first().map_or("", String::as_str);
        let hint = match name.contains(char::is_whitespace) {
            true => {
                "; write its arguments as words of their own, or a line of a shell as sh -c '…'"
            }
            false => "",
        };
        format!("cannot start `{name}`{hint}")
    }
}

/// The server's log, when all connections have ended or will not end soon.
fn stopped(server: TestServer) -> Summary {
    for _ in 0..LOOKS {
        if server.summary().connections_open == 0 {
            break;
        }
        sleep(PAUSE);
    }
    server.stop()
}

fn usage(who: UsageWho) -> Result<Usage> {
    Ok(getrusage(who)?)
}

fn cpu_ns(usage: &Usage) -> u64 {
    let time = usage.user_time() + usage.system_time();
    u64::try_from(time.num_nanoseconds()).unwrap_or(0)
}

/// Linux counts kilobytes, and macOS bytes.
fn kilobytes(usage: &Usage) -> u64 {
    let rss = u64::try_from(usage.max_rss()).unwrap_or(0);
    if cfg!(target_os = "macos") {
        rss / 1024
    } else {
        rss
    }
}
