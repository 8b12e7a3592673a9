//! A driver, asked one thing at a time.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::cgroup::Group;
use super::failure::Problem;
use super::lines::{LONGEST_LINE, Line};
use super::process::Process;
use super::wire::{self, Command, Envelope, GoReply};
use super::{
    Account, Claim, DriverError, Go, Hello, Interrupted, PROTO, Prepare, account, members, user,
    words,
};
use crate::spec::Manifest;

/// How often a waiting harness looks whether it should stop.
const GLANCE: Duration = Duration::from_millis(100);

/// How many times its patience a driver may take until it says hello: a virtual machine starts for 5 s of processor time, which
/// others may want too.
const TO_START: u32 = 4;

/// How long what a driver started may take to end after it.
const TO_FOLLOW: Duration = Duration::from_millis(500);

/// CPU time that a driver may use while it should stand still: it is stopped a moment after it was told to.
const AT_REST: Duration = Duration::from_millis(20);

/// When a driver is looked at for the first time in a round, in milliseconds, and how much later each time; drawn by chance.
const FIRST_LOOK: std::ops::Range<f64> = 2.0..12.0;
const NEXT_LOOK: std::ops::Range<f64> = 1.5..3.0;

/// A client's driver: its process, and the conversation with it.
#[derive(Debug)]
pub struct Driver {
    client: String,
    manifest: Manifest,
    core: Option<usize>,
    process: Process,
    last_id: u64,
    /// When the last command was written.
    asked_at: Instant,
    patience: Duration,
    stop: Arc<AtomicBool>,
    /// Its use when it was stopped, and when it was last looked at after that; none while it runs.
    at_rest: Option<(Account, Account)>,
    seen: Seen,
}

/// Observations of a driver's processes at random moments, since its peak of memory was last reset.
#[derive(Debug, Default)]
struct Seen {
    /// Their offence, in a sentence.
    offence: Option<String>,
    /// Their memory, in KiB.
    peak_kib: u64,
}

impl Driver {
    /// Starts the driver. A response may take three times what is expected and `patience` more; when `stop`
    /// becomes true, waiting ends with [`Interrupted`].
    ///
    /// # Errors
    /// [`DriverError`] when it cannot be started.
    pub fn start(
        manifest: &Manifest,
        core: Option<usize>,
        log: &Path,
        patience: Duration,
        stop: Arc<AtomicBool>,
    ) -> Result<Driver> {
        let user = user::of_its_own();
        let start = |user| Process::start(manifest, core, log, user);
        // The runtime may be readable for the lab's own user only.
        let barred =
            |error: &io::Error| user.is_some() && error.kind() == ErrorKind::PermissionDenied;
        let process = start(user).or_else(|error| match barred(&error) {
            true => start(None),
            false => Err(error),
        });
        let process = process.map_err(|error| DriverError {
            client: manifest.client.clone(),
            asked: "start".into(),
            problem: Problem::NotStarted(error),
            log: log.to_path_buf(),
            last_words: String::new(),
        })?;
        Ok(Driver {
            client: manifest.client.clone(),
            manifest: manifest.clone(),
            core,
            process,
            last_id: 0,
            asked_at: Instant::now(),
            patience,
            stop,
            at_rest: None,
            seen: Seen::default(),
        })
    }

    /// The client's name.
    pub fn client(&self) -> &str {
        &self.client
    }

    /// Calls it by another name from now on, once it has said its own.
    pub fn rename(&mut self, name: &str) {
        self.client = name.to_owned();
    }

    /// Asks who it is.
    ///
    /// # Errors
    /// [`DriverError`], also when it gives another name or another version of the protocol.
    pub fn hello(&mut self) -> Result<Hello> {
        let (hello, _): (Hello, _) = self.greet().or_else(|error| self.greet_again(error))?;
        if hello.proto != PROTO || hello.name != self.client {
            let response = format!("proto {} and name {}", hello.proto, hello.name);
            let why = format!("proto {PROTO} and name {} were expected", self.client);
            return Err(self.error("hello", Problem::Rubbish(response, why)));
        }
        Ok(hello)
    }

    fn greet(&mut self) -> Result<(Hello, Duration)> {
        self.ask_within(&Command::Hello { proto: PROTO }, TO_START * self.patience)
    }

    /// A driver whose files only the lab's own user may read cannot run as another: then it runs as that one, and the
    /// document says so.
    fn greet_again(&mut self, error: anyhow::Error) -> Result<(Hello, Duration)> {
        let ended = |error: &DriverError| matches!(error.problem, Problem::Ended(_));
        if self.process.user().is_none() || !error.downcast_ref().is_some_and(ended) {
            return Err(error);
        }
        let log = self.process.log.path.clone();
        match Process::start(&self.manifest, self.core, &log, None) {
            Ok(process) => self.process = process,
            Err(_) => return Err(error),
        }
        self.greet()
    }

    /// The user that it runs as; none is the lab's own.
    pub fn user(&self) -> Option<u32> {
        self.process.user()
    }

    /// Whether it may use one core only.
    pub fn is_pinned(&self) -> bool {
        self.core.is_some()
    }

    /// Whether a control group holds all of its processes.
    pub fn is_held(&self) -> bool {
        self.process.group().is_some()
    }

    /// An offence of its processes now or in earlier observations, in a sentence.
    pub fn offence(&mut self) -> Option<String> {
        let seen = self.seen.offence.take();
        if let Some(offence) = seen.or_else(|| self.process.log.floods()) {
            return Some(offence);
        }
        match self.process.find_strays() {
            0 => members::out_of_place(&self.process.members(), self.core)
                .or_else(|| self.disowned()),
            strays => Some(format!(
                "{} left the driver's tree, as if it did not belong to the driver",
                super::process::processes(strays)
            )),
        }
    }

    /// A group counts its dead too; else only those whose end somebody waits for are counted.
    fn disowned(&self) -> Option<String> {
        let disowns = |pid: &i32| members::disowns_children(*pid);
        let hides = !self.is_held() && self.process.members().iter().any(disowns);
        let says = "a process of the driver ignores the ends of its children (SIGCHLD), so that their CPU time is in no account";
        hides.then(|| says.to_string())
    }

    /// Whether another program stopped or resumed it since the lab last did.
    pub fn stirred(&self) -> bool {
        members::stirrings(self.process.pid()) > 0
    }

    /// Whether it has waited for its turn as it should since it was last asked.
    pub fn waits(&mut self) -> bool {
        let now = self.account();
        let last = self.at_rest.as_mut();
        let used = last.map_or(Duration::ZERO, |(_, last)| {
            now.total_since(&std::mem::replace(last, now))
        });
        used < AT_REST && !self.stirred() && members::is_stopped(self.process.pid())
    }

    /// Lets it get ready for requests.
    ///
    /// # Errors
    /// [`DriverError`].
    pub fn prepare(&mut self, prepare: &Prepare) -> Result<()> {
        self.ask::<Envelope>(&Command::Prepare(prepare.clone()), Duration::from_secs(1))
            .map(drop)
    }

    /// Lets it send requests; returns its claim and the time from the command to the response.
    ///
    /// # Errors
    /// [`DriverError`].
    pub fn go(&mut self, go: Go, expected: Duration) -> Result<(Claim, Duration)> {
        let (reply, wall): (GoReply, _) = self.ask(&Command::Go(go), expected)?;
        Ok((reply.into(), wall))
    }

    /// When the last command was written to it.
    pub fn asked_at(&self) -> Instant {
        self.asked_at
    }

    /// Says a word that no driver knows.
    ///
    /// # Errors
    /// [`DriverError`], which is the right answer.
    pub fn unheard(&mut self) -> Result<()> {
        self.ask::<Envelope>(&Command::Unheard, Duration::from_secs(1))
            .map(drop)
    }

    /// Asks it to end; returns how its process ended, and what it left behind, in a sentence.
    ///
    /// # Errors
    /// [`DriverError`] when it does not answer or does not end.
    pub fn bye(mut self) -> Result<(String, Option<String>)> {
        let members = self.process.members();
        self.ask::<Envelope>(&Command::Bye, Duration::ZERO)?;
        let status = self.wait_for_end("bye")?;
        let deadline = Instant::now() + TO_FOLLOW;
        loop {
            self.process.find_strays();
            let mut left = self.process.members();
            left.extend(&members);
            left.retain(|pid| members::lives(*pid));
            left.sort_unstable();
            left.dedup();
            if left.is_empty() {
                return Ok((status, None));
            }
            if Instant::now() >= deadline {
                members::end(&left);
                let count = super::process::processes(left.len());
                return Ok((
                    status,
                    Some(format!("{count} of the driver outlived its end")),
                ));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Closes its input, which ends it; returns how its process ended.
    ///
    /// # Errors
    /// [`DriverError`] when it does not end.
    pub fn close_input(mut self) -> Result<String> {
        self.process.close_input();
        self.wait_for_end("end of input")
    }

    /// Sends it SIGTERM, which ends it; returns how its process ended.
    ///
    /// # Errors
    /// [`DriverError`] when it does not end.
    pub fn terminate(mut self) -> Result<String> {
        self.process.terminate();
        self.wait_for_end("SIGTERM")
    }

    fn wait_for_end(&mut self, asked: &str) -> Result<String> {
        match self.process.ended(self.patience) {
            Some(status) => Ok(status),
            None => Err(self.error(asked, Problem::Late(self.patience))),
        }
    }

    /// CPU time that its processes have used.
    pub fn account(&self) -> Account {
        let of_group = self.process.group().and_then(Group::used);
        of_group.map_or_else(|| Account::read(&self.process.members()), Account::of_group)
    }

    /// Starts the peak of its memory afresh.
    pub fn reset_peak_memory(&mut self) {
        self.seen = Seen::default();
        account::reset_peak_memory(&self.process.members());
    }

    /// Peak of its resident memory since then, in KiB.
    pub fn peak_memory_kib(&self) -> u64 {
        let now = account::peak_memory_kib(&self.process.members());
        now.max(self.seen.peak_kib)
    }

    /// Stops its processes until [`Driver::resume`].
    pub fn pause(&mut self) {
        self.process.pause();
        // The work it did until it was stopped again must still be reported.
        let now = self.account();
        self.at_rest = Some((self.at_rest.map_or(now, |(first, _)| first), now));
    }

    /// Resumes its processes. Returns what they did while they should have waited, in a sentence; nothing where others might have
    /// woken them.
    pub fn resume(&mut self) -> Option<String> {
        let before = self.at_rest.take();
        let used = before.map_or(Duration::ZERO, |(first, _)| {
            self.account().total_since(&first)
        });
        self.process.resume();
        (used >= AT_REST && self.user().is_some()).then(|| {
            let ms = used.as_millis();
            format!("its processes used {ms} ms of CPU time while it was stopped and others were measured")
        })
    }

    /// Looks at some of its processes in the midst of their work, for whoever leaves its core and comes back, or ends before the end.
    fn look(&mut self) {
        let members = match self.process.group() {
            Some(group) => group.processes(),
            None => {
                self.process.find_strays();
                self.process.members()
            }
        };
        let seen = &mut self.seen;
        seen.peak_kib = seen.peak_kib.max(account::peak_memory_kib(&members));
        if seen.offence.is_none() {
            seen.offence = members::some_out_of_place(&members, self.core);
        }
    }

    fn ask<T: DeserializeOwned>(
        &mut self,
        command: &Command,
        expected: Duration,
    ) -> Result<(T, Duration)> {
        self.ask_within(command, 3 * expected + self.patience)
    }

    fn ask_within<T: DeserializeOwned>(
        &mut self,
        command: &Command,
        allowed: Duration,
    ) -> Result<(T, Duration)> {
        let asked = command.to_string();
        if let Ok(line) = self.process.lines.try_recv() {
            let why = "no command had been sent".to_string();
            return Err(self.error(&asked, Problem::Rubbish(shorten(&line.text), why)));
        }
        self.last_id += 1;
        let line = wire::line(self.last_id, command);
        let start = Instant::now();
        self.asked_at = start;
        if self.process.write(&line).is_err() {
            return Err(self.ended(&asked));
        }
        let line = self.wait(&asked, start, allowed)?;
        let response = self
            .read(&line.text)
            .map_err(|problem| self.error(&asked, problem))?;
        Ok((response, line.at.duration_since(start)))
    }

    fn wait(&mut self, asked: &str, start: Instant, patience: Duration) -> Result<Line> {
        let mut look_after = Duration::from_secs_f64(rand::random_range(FIRST_LOOK) / 1e3);
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Interrupted.into());
            }
            let left = patience.saturating_sub(start.elapsed());
            if start.elapsed() >= look_after {
                self.look();
                look_after = start.elapsed().mul_f64(rand::random_range(NEXT_LOOK));
            }
            let pause = GLANCE.min(look_after.saturating_sub(start.elapsed()));
            match self.process.lines.recv_timeout(left.min(pause)) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended(asked)),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    return Err(self.error(asked, Problem::Late(patience)));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn read<T: DeserializeOwned>(&self, line: &str) -> Result<T, Problem> {
        let rubbish = |why: String| Problem::Rubbish(shorten(line), why);
        if line.len() >= LONGEST_LINE {
            let most = LONGEST_LINE >> 20;
            return Err(rubbish(format!("a line may have {most} MiB at most")));
        }
        let value: serde_json::Value =
            serde_json::from_str(line).map_err(|error| rubbish(format!("not a reply, {error}")))?;
        let value = words::harmless(value);
        let envelope = Envelope::deserialize(&value)
            .map_err(|error| rubbish(format!("not a reply, {error}")))?;
        if envelope.id != self.last_id {
            return Err(rubbish(format!("the id should be {}", self.last_id)));
        }
        if !envelope.ok {
            return Err(Problem::Refused(envelope.error, envelope.what));
        }
        serde_json::from_value(value)
            .map_err(|error| rubbish(format!("not the expected reply, {error}")))
    }

    fn ended(&mut self, asked: &str) -> anyhow::Error {
        let status = self.process.ended(Duration::from_secs(1));
        self.error(
            asked,
            Problem::Ended(status.unwrap_or_else(|| "it closed its output".into())),
        )
    }

    /// The error if the driver keeps so many connections open that none may be left for others.
    pub fn hoards(&self, count: u64) -> anyhow::Error {
        self.error("go", Problem::Hoards(count))
    }

    fn error(&self, asked: &str, problem: Problem) -> anyhow::Error {
        let last_words = match problem {
            Problem::Refused(..) => String::new(),
            _ => words::plain(&self.process.last_words()),
        };
        let error = DriverError {
            client: self.client.clone(),
            asked: asked.to_string(),
            problem,
            log: self.process.log.path.clone(),
            last_words,
        };
        error.into()
    }
}

/// Enough of a line to recognise it.
fn shorten(line: &str) -> String {
    match line.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_string(),
    }
}
