//! A driver's process: started on its core in a group of its own, heard line by line, ended for certain.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::cores::on_core;
use crate::spec::Manifest;

/// Longest line that a driver may write; an honest one stays far below.
const LONGEST_LINE: u64 = 1 << 20;

/// How much of the error output is shown on failure.
const LAST_LINES: usize = 8;

/// A line of a driver, and when its end arrived.
#[derive(Debug)]
pub struct Line {
    /// The moment at which it was whole.
    pub at: Instant,
    /// Without its end.
    pub text: String,
}

/// A running driver. Dropping it kills the process and everything that it started.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// None after it has been closed.
    stdin: Option<ChildStdin>,
    /// Lines of stdout; closed when the driver closes it.
    pub lines: Receiver<Line>,
    /// The file that its error output goes to.
    pub log: PathBuf,
}

impl Process {
    /// Starts a client's driver in its manifest's folder.
    ///
    /// # Errors
    /// When the program or the log file cannot be opened.
    pub fn start(manifest: &Manifest, core: Option<usize>, log: &Path) -> io::Result<Process> {
        let mut command = command_of(manifest, &manifest.run);
        // A group of its own: Ctrl-C reaches the harness alone, and the harness can end all of it at once.
        without_proxies(&mut command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(log)?)
            .process_group(0);
        let mut child = on_core(core, move || command.spawn())?;
        let stdin = child.stdin.take();
        let (sender, lines) = sync_channel(4);
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || forward_lines(stdout, &sender));
        }
        Ok(Process {
            child,
            stdin,
            lines,
            log: log.to_path_buf(),
        })
    }

    /// The process id.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Writes one line.
    ///
    /// # Errors
    /// When the driver has closed its input.
    pub fn write(&mut self, line: &[u8]) -> io::Result<()> {
        match &mut self.stdin {
            Some(stdin) => stdin.write_all(line),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Closes its input.
    pub fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Asks it to end by SIGTERM.
    pub fn terminate(&self) {
        let _ = killpg(Pid::from_raw(self.pid()), Signal::SIGTERM);
    }

    /// Stops the whole group where it stands, so that it cannot disturb the rounds of others.
    ///
    /// Should the harness die meanwhile, the kernel wakes and hangs up such an orphaned group by itself.
    pub fn pause(&self) {
        let _ = killpg(Pid::from_raw(self.pid()), Signal::SIGSTOP);
    }

    /// Lets the group go on.
    pub fn resume(&self) {
        let _ = killpg(Pid::from_raw(self.pid()), Signal::SIGCONT);
    }

    /// Waits for the end of the process and says how it ended; none when it still lives after `patience`.
    pub fn ended(&mut self, patience: Duration) -> Option<String> {
        let deadline = Instant::now() + patience;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status.to_string()),
                Ok(None) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(5))
                }
                Ok(None) => return None,
                Err(error) => return Some(error.to_string()),
            }
        }
    }

    /// The end of the error output.
    pub fn last_words(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = killpg(Pid::from_raw(self.pid()), Signal::SIGKILL);
        let _ = self.child.wait();
        if std::fs::metadata(&self.log).is_ok_and(|log| log.len() == 0) {
            let _ = std::fs::remove_file(&self.log);
        }
    }
}

/// A command of a manifest, to be run in the manifest's folder.
pub fn command_of(manifest: &Manifest, words: &[String]) -> Command {
    // A path is meant from the manifest's folder, a bare name from PATH.
    let program = if words[0].contains('/') {
        manifest.folder.join(&words[0])
    } else {
        PathBuf::from(&words[0])
    };
    let mut command = Command::new(program);
    command.args(&words[1..]).current_dir(&manifest.folder);
    command
}

/// The environment's proxies, which some clients ask even for loopback: what is measured is the client.
const PROXIES: [&str; 7] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "CGI_HTTP_PROXY",
];

fn without_proxies(command: &mut Command) -> &mut Command {
    PROXIES
        .iter()
        .fold(command, |command, name| command.env_remove(name))
}

/// Sends every line on until the driver closes its output or writes one without end.
fn forward_lines(stdout: ChildStdout, lines: &SyncSender<Line>) {
    let mut reader = BufReader::with_capacity(64 << 10, stdout);
    loop {
        let mut bytes = Vec::new();
        let read = reader
            .by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut bytes);
        let at = Instant::now();
        if !matches!(read, Ok(count) if count > 0) {
            return;
        }
        let endless = bytes.last() != Some(&b'\n');
        let text = String::from_utf8_lossy(&bytes).trim_end().to_string();
        if lines.send(Line { at, text }).is_err() || endless {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_never_sees_the_proxies_of_its_surroundings() {
        let mut command = Command::new("env");
        command
            .env("http_proxy", "http://127.0.0.1:1")
            .env("HTTPS_PROXY", "x")
            .env("KEPT", "yes");
        let output = without_proxies(&mut command).output().unwrap();
        let seen = String::from_utf8(output.stdout).unwrap();
        let has = |name: &str| {
            seen.lines()
                .any(|line| line.starts_with(&format!("{name}=")))
        };
        assert!(has("KEPT"), "{seen}");
        // NO_PROXY and the like may stay: what names no proxy sends nobody to one.
        assert!(!PROXIES.into_iter().any(has), "{seen}");
    }
}
