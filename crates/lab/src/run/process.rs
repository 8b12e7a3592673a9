//! A driver's process: launched, read line by line, ended for certain.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, getpgid};

use super::cgroup::Group;
use super::launch::{Limits, launch, launcher};
use super::lines::{self, Line};
use super::log::Log;
use super::members;
use super::scratch::Scratch;
use super::user::User;
use crate::spec::Manifest;

/// How long a process may take to stop.
const TO_STOP: Duration = Duration::from_millis(500);

/// A running driver. Dropping it kills the process and everything that it started.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// None after it has been closed.
    stdin: Option<ChildStdin>,
    /// Lines of stdout; closed when the driver closes it.
    pub lines: Receiver<Line>,
    /// Its error output.
    pub log: Log,
    /// The control group of all processes that it starts; none if the system has none for us.
    group: Option<Group>,
    /// The user that it runs as; none is the lab's own.
    user: Option<User>,
    /// Its processes that have left its tree.
    strays: Vec<i32>,
    _starter: Sender<()>,
    _scratch: Scratch,
}

impl Process {
    /// Starts a client's driver in its manifest's folder, as `user` or else as the lab's own.
    ///
    /// # Errors
    /// When the program or the log file cannot be opened, and on a system other than Linux, where nobody could say what
    /// a driver's processes use and do.
    pub fn start(
        manifest: &Manifest,
        core: Option<usize>,
        log: &Path,
        user: Option<User>,
        limits: Limits,
    ) -> io::Result<Process> {
        if !cfg!(target_os = "linux") {
            let why = "clients are measured only on Linux, because the use of their processes is read there";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        members::adopt_orphans();
        let scratch = Scratch::of(user.as_ref())?;
        let program = command_of(manifest, &manifest.run);
        let mut command = launcher(&program, user.as_ref(), limits);
        with_own_environment(&mut command)
            .env("TMPDIR", scratch.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let launched = launch(command, core)?;
        let mut child = launched.child;
        let readers = Log::begin(log, child.stderr.take())
            .and_then(|log| Ok((log, lines::read(child.stdout.take())?)));
        let (log, lines) = readers.inspect_err(|_| members::end(&[child.id() as i32]))?;
        let stdin = child.stdin.take();
        Ok(Process {
            child,
            stdin,
            lines,
            log,
            group: launched.group,
            user,
            strays: Vec::new(),
            _starter: launched.starter,
            _scratch: scratch,
        })
    }

    /// The process id.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// The user that it runs as; none is the lab's own.
    pub fn user(&self) -> Option<u32> {
        self.user.as_ref().map(|user| user.id)
    }

    /// The control group of all processes that it starts.
    pub fn group(&self) -> Option<&Group> {
        self.group.as_ref()
    }

    /// Its processes, as far as they are known.
    pub fn members(&self) -> Vec<i32> {
        let mut all = members::tree(self.pid());
        all.extend(&self.strays);
        all.extend(self.group.iter().flat_map(Group::processes));
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Looks for processes that have left its tree. In a group they stay where they are; else they are orphans, and belong to
    /// the driver whose turn it is.
    pub fn find_strays(&mut self) {
        let found = match &self.group {
            Some(group) => {
                let tree = members::tree(self.pid());
                let left = group.processes().into_iter();
                left.filter(|pid| !tree.contains(pid) && members::lives(*pid))
                    .collect()
            }
            None => members::orphans(),
        };
        for pid in found {
            if !self.strays.contains(&pid) {
                members::enrol(pid);
                self.strays.push(pid);
            }
        }
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

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        let _ = killpg(Pid::from_raw(self.pid()), Signal::SIGTERM);
    }

    /// Stops the whole group where it stands, so that it cannot disturb the rounds of others.
    ///
    /// Should the lab die meanwhile, the kernel kills the driver, and the next lab what is left in its control group.
    pub fn pause(&self) {
        let pid = self.pid();
        members::stirrings(pid); // what was before
        let _ = killpg(Pid::from_raw(pid), Signal::SIGSTOP);
        // Children may have a group or a session of their own, and do not receive signals to the driver's.
        let apart = self.apart();
        members::signal(&apart, Signal::SIGSTOP);
        let deadline = Instant::now() + TO_STOP;
        // The system reports when the last thread has stopped, but not if the process was stopped before.
        while members::stirrings(pid) == 0 && members::lives(pid) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Only then: a process that is frozen first would not be stopped. And only where some are apart.
        if let Some(group) = self.group.as_ref().filter(|_| !apart.is_empty()) {
            group.freeze(true);
        }
    }

    /// Its processes that are in another process group than the driver itself.
    fn apart(&self) -> Vec<i32> {
        let pid = Pid::from_raw(self.pid());
        let elsewhere =
            |member: &i32| getpgid(Some(Pid::from_raw(*member))).is_ok_and(|group| group != pid);
        self.members().into_iter().filter(elsewhere).collect()
    }

    /// Resumes the group.
    pub fn resume(&self) {
        if let Some(group) = &self.group {
            group.freeze(false);
        }
        members::signal(&self.apart(), Signal::SIGCONT);
        let _ = killpg(Pid::from_raw(self.pid()), Signal::SIGCONT);
        members::stirrings(self.pid()); // that was ours
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
        self.log.last_words(|| members::lives(self.pid()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = killpg(Pid::from_raw(self.pid()), Signal::SIGKILL);
        let _ = self.child.kill(); // it may have gone to another group
        self.find_strays();
        self.group = None; // ends all that is in it
        members::end(&self.strays);
        let _ = self.child.wait();
        members::dismiss(self.pid());
        self.log.end();
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

/// The environment's proxies, which some clients obey even for loopback: what is measured is the client.
const PROXIES: [&str; 7] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "CGI_HTTP_PROXY",
];

/// The token of the test server on another machine, which is the lab's secret.
const TOKEN: &str = "HECATON_SERVER_TOKEN";

/// Takes from the environment what a driver must not obey or know.
fn with_own_environment(command: &mut Command) -> &mut Command {
    PROXIES
        .iter()
        .chain([&TOKEN])
        .fold(command, |command, name| command.env_remove(name))
}

#[cfg(test)]
mod tests {
    use super::super::cgroup::at_home;
    use super::*;

    /// A child that leaves the driver's session, and never rests.
    const WRITES: &str = "setsid sh -c 'while echo x >> words; do :; done' & wait";

    #[test]
    fn a_child_with_a_session_of_its_own_is_stopped_with_the_driver() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = Manifest {
            run: ["sh", "-c", WRITES].map(String::from).into(),
            folder: folder.path().into(),
            ..Manifest::baseline_loader(Path::new("sh"))
        };
        let log = folder.path().join("log");
        let process = Process::start(&manifest, None, &log, None, Limits::of(1)).unwrap();
        let written =
            || std::fs::metadata(folder.path().join("words")).map_or(0, |words| words.len());
        let until_it_writes = || {
            let before = written();
            while written() == before {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        until_it_writes();
        assert!(!process.apart().is_empty());
        process.pause();
        let rests = || {
            let before = written();
            std::thread::sleep(Duration::from_millis(100));
            written() == before
        };
        assert!((0..600).any(|_| rests()), "it is never stopped");
        process.resume();
        until_it_writes();
    }

    /// What a driver that runs this says first.
    fn said(script: &str, user: Option<User>) -> String {
        let folder = tempfile::tempdir().unwrap();
        let manifest = Manifest {
            run: ["sh", "-c", script].map(String::from).into(),
            folder: "/".into(),
            ..Manifest::baseline_loader(Path::new("sh"))
        };
        let log = folder.path().join("log");
        let process = Process::start(&manifest, None, &log, user, Limits::of(1)).unwrap();
        let line = process.lines.recv();
        line.map(|line| line.text).unwrap_or_default()
    }

    /// With no terminal it can neither write nor type there.
    #[test]
    fn a_driver_has_a_session_of_its_own_and_no_terminal() {
        let fields = said("cut -d ' ' -f 1,5,6,7 /proc/$$/stat", None);
        let fields: Vec<&str> = fields.split(' ').collect();
        assert_eq!(fields, [fields[0], fields[0], fields[0], "0"]);
        assert_eq!(
            said("(: > /dev/tty) 2> /dev/null || echo none", None),
            "none"
        );
    }

    #[test]
    fn a_driver_and_what_it_starts_get_no_rights_from_files() {
        assert!(said("grep NoNewPrivs /proc/self/status", None).ends_with('1'));
    }

    #[test]
    fn limits_hold_for_drivers_of_all_users_from_their_first_moment_on() {
        let own = || super::super::user::of_its_own().unwrap();
        for user in [None, own()] {
            let most: u64 = said("ulimit -Hn", user).parse().unwrap();
            assert!(most <= 4096, "{most}");
        }
        if let Some(user) = own() {
            let tasks = said("grep 'Max processes' /proc/$$/limits", Some(user));
            assert!(tasks.contains(" 1028 "), "{tasks}");
        }
    }

    #[test]
    fn temporary_files_are_gone_with_the_driver() {
        let own = || super::super::user::of_its_own().unwrap();
        for user in [None, own()] {
            let file = said("touch $TMPDIR/x && chmod 0 $TMPDIR/x && echo $TMPDIR", user);
            assert!(
                file.contains("hecaton-") && !Path::new(&file).exists(),
                "{file}"
            );
        }
    }

    #[test]
    fn a_driver_never_sees_the_proxies_of_its_surroundings_nor_the_labs_token() {
        let mut command = Command::new("env");
        command
            .env("http_proxy", "http://127.0.0.1:1")
            .env("HTTPS_PROXY", "x")
            .env(TOKEN, "a secret")
            .env("KEPT", "yes");
        with_own_environment(&mut command).stdout(Stdio::piped());
        let child = at_home(|| command.spawn()).unwrap();
        let output = child.wait_with_output().unwrap();
        let seen = String::from_utf8(output.stdout).unwrap();
        let has = |name: &str| {
            seen.lines()
                .any(|line| line.starts_with(&format!("{name}=")))
        };
        assert!(has("KEPT"), "{seen}");
        // NO_PROXY and the like may stay: what names no proxy sends nobody to one.
        assert!(!PROXIES.into_iter().chain([TOKEN]).any(has), "{seen}");
    }
}
