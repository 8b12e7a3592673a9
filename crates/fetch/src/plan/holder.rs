//! The process that holds a lock: messages name it, so that a person can look at it, resume it or end it.

use std::fmt;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;

/// A process on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    process: u32,
    machine: String,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {}", self.process, self.machine)
    }
}

/// The name of this machine.
pub fn machine() -> String {
    let name = nix::unistd::gethostname().ok();
    let name = name.and_then(|name| name.into_string().ok());
    name.unwrap_or_else(|| "unknown".into())
}

impl Holder {
    /// Writes that this process holds a file. A full disk must not keep anyone from working.
    pub fn note(file: &mut File) {
        let text = format!("{} {}\n", std::process::id(), machine());
        let _ = file
            .set_len(0)
            .and_then(|()| file.write_all(text.as_bytes()));
    }

    /// The process that wrote so into a file; none if it wrote nothing, or has ended on this machine.
    pub fn noted(file: &mut File) -> Option<Holder> {
        let mut text = String::new();
        file.take(1024).read_to_string(&mut text).ok()?;
        let (process, machine) = text.trim_end().split_once(' ')?;
        let holder = Holder {
            process: process.parse().ok()?,
            machine: machine.to_owned(),
        };
        (holder.state() != Some(State::Ended)).then_some(holder)
    }

    /// The process on this machine that has locked a file, where the system says so.
    pub fn of(file: &File) -> Option<Holder> {
        let inode = file.metadata().ok()?.ino();
        let locks = fs::read_to_string("/proc/locks").ok()?;
        let found = locks.lines().find_map(|line| locker(line, inode));
        found.map(|process| Holder {
            process,
            machine: machine(),
        })
    }

    /// Whether it is stopped, as by SIGSTOP or Ctrl-Z. False for a process on another machine, whose state is unknown.
    pub fn is_stopped(&self) -> bool {
        self.state() == Some(State::Stopped)
    }

    /// The commands that resume and end it, for messages about a stopped process.
    pub fn remedy(&self) -> String {
        let process = self.process;
        format!("`kill -CONT {process}` resumes it, and `kill -KILL {process}` ends it")
    }

    /// Its state; none if nobody knows.
    fn state(&self) -> Option<State> {
        if self.machine != machine() || !fs::exists("/proc/self/stat").ok()? {
            return None;
        }
        let Ok(text) = fs::read_to_string(format!("/proc/{}/stat", self.process)) else {
            return Some(State::Ended);
        };
        // The name of its program may have any characters.
        let (_, behind) = text.rsplit_once(") ")?;
        Some(match behind.chars().next()? {
            'T' | 't' => State::Stopped,
            'Z' | 'X' => State::Ended,
            _ => State::Running,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Stopped,
    Ended,
}

/// The process that holds a lock of a file with this number, if a line of `/proc/locks` says so, as
/// `1: FLOCK  ADVISORY  WRITE 4711 fd:00:1835018 0 EOF`.
fn locker(line: &str, inode: u64) -> Option<u32> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let [_, "FLOCK", _, "WRITE", process, file, ..] = words[..] else {
        return None;
    };
    let number = file.rsplit(':').next()?.parse::<u64>().ok()?;
    (number == inode).then(|| process.parse().ok())?
}

#[cfg(test)]
mod tests {
    use nix::fcntl::{Flock, FlockArg};

    use super::*;

    #[test]
    fn the_holder_of_a_file_is_named() {
        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(Holder::noted(&mut file), None);
        let lock = Flock::lock(file.try_clone().unwrap(), FlockArg::LockExclusive);
        let this = Holder::of(&file).unwrap();
        assert_eq!(
            this.to_string(),
            format!("process {} on {}", std::process::id(), machine())
        );
        assert!(!this.is_stopped());
        Holder::note(&mut file);
        let mut again = File::open(format!(
            "/proc/self/fd/{}",
            std::os::fd::AsRawFd::as_raw_fd(&file)
        ))
        .unwrap();
        assert_eq!(Holder::noted(&mut again), Some(this));
        drop(lock);
        assert_eq!(Holder::of(&file), None);
        let line = "7: FLOCK  ADVISORY  WRITE 4711 fd:00:1835018 0 EOF";
        assert_eq!(locker(line, 1_835_018), Some(4711));
        assert_eq!(locker(line, 183_501), None);
        assert_eq!(
            locker(
                "7: -> FLOCK  ADVISORY  WRITE 4711 fd:00:1835018 0 EOF",
                1_835_018
            ),
            None
        );
        assert_eq!(
            locker(
                "7: POSIX  ADVISORY  WRITE 4711 fd:00:1835018 0 EOF",
                1_835_018
            ),
            None
        );
    }
}
