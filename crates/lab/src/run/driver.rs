//! A driver, which gets one command at a time.

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
use super::held::Held;
use super::hidden::{Hidden, hidden};
use super::lines::{LONGEST_LINE, Line};
use super::process::Process;
use super::wire::{self, Command, Envelope, GoReply};
use super::{
    Account, Call, CallReply, Claim, DriverError, Go, Hello, Interrupted, Limits, PROTO, Prepare,
    Seen, account, members, user, words,
};
use crate::spec::Manifest;

/// When a driver's time is over and it still uses CPU, its time grows up to this factor. On a busy machine, opening many
/// connections over TLS takes long.
const MOST_PATIENCE: u32 = 4;

/// How often a waiting harness looks whether it should stop.
const GLANCE: Duration = Duration::from_millis(100);

/// How many times its patience a driver may take until it says hello: a virtual machine starts for 5 s of processor
/// time, which others may need too.
const TO_START: u32 = 4;

/// How long what a driver started may take to end after it.
const TO_FOLLOW: Duration = Duration::from_millis(500);

/// How often the memory of its processes is read while it works.
const BETWEEN_LOOKS: Duration = Duration::from_millis(30);

/// What a driver has done in its life, up to some moment.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Requests that it was told to send.
    pub requests: u64,
    /// The CPU time that its processes have used.
    pub account: Account,
}

/// A client's driver: its process, and the conversation with it.
#[derive(Debug)]
pub struct Driver {
    client: String,
    /// The client as a command line names it.
    argument: String,
    /// The name that it must give itself.
    reports: String,
    /// A file that is hidden from the user that it runs as.
    hidden: Option<Hidden>,
    core: Option<usize>,
    process: Process,
    last_id: u64,
    /// When the last command was written.
    sent_at: Instant,
    patience: Duration,
    stop: Arc<AtomicBool>,
    /// Its use when it was stopped; none while it runs.
    at_rest: Option<Account>,
    /// The most memory of its processes at one moment of the round, in KiB.
    peak_kib: u64,
    trusted: bool,
    /// Requests that it was told to send in its life.
    requested: u64,
}

impl Driver {
    /// Starts the driver, as a user of its own, or if the user of the lab trusts it, as that one. A response may take
    /// three times what is expected and `patience` more; when `stop` becomes true, waiting ends with [`Interrupted`].
    ///
    /// # Errors
    /// [`DriverError`] when it cannot be started.
    pub fn start(
        manifest: &Manifest,
        core: Option<usize>,
        log: &Path,
        patience: Duration,
        stop: Arc<AtomicBool>,
        trusted: bool,
        limits: Limits,
    ) -> Result<Driver> {
        let user = if trusted { None } else { user::of_its_own()? };
        let hidden = user.as_ref().and_then(|_| hidden(manifest));
        let process =
            Process::start(manifest, core, log, user, limits).map_err(|error| DriverError {
                client: manifest.client.clone(),
                argument: manifest.argument(),
                command: "start".into(),
                problem: Problem::NotStarted(error),
                log: log.to_path_buf(),
                last_words: String::new(),
                hidden: hidden.clone(),
            })?;
        Ok(Driver {
            client: manifest.client.clone(),
            argument: manifest.argument(),
            reports: manifest.reports.clone().unwrap_or(manifest.client.clone()),
            hidden,
            core,
            process,
            last_id: 0,
            sent_at: Instant::now(),
            patience,
            stop,
            at_rest: None,
            peak_kib: 0,
            trusted: trusted && user::are_possible(),
            requested: 0,
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

    /// Sends `hello`.
    ///
    /// # Errors
    /// [`DriverError`], also when it gives another name or another version of the protocol.
    pub fn hello(&mut self) -> Result<Hello> {
        let command = Command::Hello { proto: PROTO };
        let greeted = self.send_within(&command, TO_START * self.patience, Held::default());
        let (mut hello, _): (Hello, _) = greeted.map_err(|error| self.ended_at_start(error))?;
        if hello.proto != PROTO || hello.name != self.reports {
            let response = format!("proto {} and name {}", hello.proto, hello.name);
            let why = format!("proto {PROTO} and name {} were expected", self.reports);
            return Err(self.error("hello", Problem::Rubbish(response, why)));
        }
        hello.name.clone_from(&self.client);
        Ok(hello)
    }

    /// A driver that ends before its first word may only lack the right to read its files.
    fn ended_at_start(&self, mut error: anyhow::Error) -> anyhow::Error {
        if let Some(failure) = error.downcast_mut::<DriverError>()
            && let Problem::Ended(status) = &mut failure.problem
        {
            failure.problem = Problem::EndedAtStart(std::mem::take(status));
            failure.hidden.clone_from(&self.hidden);
        }
        error
    }

    /// The user that it runs as; none is the lab's own.
    pub fn user(&self) -> Option<u32> {
        self.process.user()
    }

    /// Whether it runs as the lab's own user although it could have had one of its own: it may read and stop all
    /// others.
    pub fn is_trusted(&self) -> bool {
        self.trusted
    }

    /// Whether it may use one core only.
    pub fn is_pinned(&self) -> bool {
        self.core.is_some()
    }

    /// Whether a control group holds all of its processes.
    pub fn is_held(&self) -> bool {
        self.process.group().is_some()
    }

    /// The most telling fact about its processes now.
    pub fn fact(&mut self) -> Option<Seen> {
        self.process.find_strays();
        let floods = self.process.log.floods();
        floods.or_else(|| members::out_of_place(&self.process.members(), self.core?))
    }

    /// Whether another program stopped or resumed it since the lab last did.
    pub fn stirred(&self) -> bool {
        members::stirrings(self.process.pid()) > 0
    }

    /// Whether it has waited for its turn as it should since the last question.
    pub fn waits(&self) -> bool {
        !self.stirred() && members::is_stopped(self.process.pid())
    }

    /// Lets it get ready for requests.
    ///
    /// # Errors
    /// [`DriverError`].
    pub fn prepare(&mut self, prepare: &Prepare) -> Result<()> {
        self.send::<Envelope>(&Command::Prepare(prepare.clone()), Duration::from_secs(1))
            .map(drop)
    }

    /// Lets it send requests; returns its claim and the time from the command to the response.
    ///
    /// # Errors
    /// [`DriverError`].
    pub fn go(&mut self, go: Go, expected: Duration) -> Result<(Claim, Duration)> {
        self.go_held(go, expected, Held::default())
    }

    /// Does the same while the server holds responses.
    ///
    /// # Errors
    /// [`DriverError`].
    pub fn go_held(
        &mut self,
        go: Go,
        expected: Duration,
        held: Held<'_>,
    ) -> Result<(Claim, Duration)> {
        self.requested += go.count;
        let allowed = self.allowed(expected);
        let (reply, wall): (GoReply, _) = self.send_within(&Command::Go(go), allowed, held)?;
        Ok((reply.into(), wall))
    }

    /// Lets it make one call.
    ///
    /// # Errors
    /// [`DriverError`], also when its client does not support this.
    pub fn call(&mut self, call: &Call) -> Result<CallReply> {
        let limit = Duration::from_millis(call.timeout_ms);
        self.send(&Command::Call(call.keys()), limit)
            .map(|(reply, _)| reply)
    }

    /// When the last command was written to it.
    pub fn sent_at(&self) -> Instant {
        self.sent_at
    }

    /// Says a word that no driver knows.
    ///
    /// # Errors
    /// [`DriverError`], which is the right outcome.
    pub fn unknown_command(&mut self) -> Result<()> {
        self.send::<Envelope>(&Command::Unknown, Duration::from_secs(1))
            .map(drop)
    }

    /// Sends `bye`; returns how its process ended. What it left behind is given a moment, and ended with the process.
    ///
    /// # Errors
    /// [`DriverError`] when it does not reply or does not end.
    pub fn bye(mut self) -> Result<String> {
        let members = self.process.members();
        self.send::<Envelope>(&Command::Bye, Duration::ZERO)?;
        let status = self.wait_for_end("bye")?;
        let deadline = Instant::now() + TO_FOLLOW;
        loop {
            self.process.find_strays();
            let mut left = self.process.members();
            left.extend(&members);
            left.retain(|pid| members::lives(*pid));
            left.sort_unstable();
            left.dedup();
            if left.is_empty() || Instant::now() >= deadline {
                members::end(&left);
                return Ok(status);
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

    fn late(&self, waited: Duration) -> Problem {
        Problem::Late(waited, members::doing(self.process.pid()))
    }

    fn wait_for_end(&mut self, command: &str) -> Result<String> {
        match self.process.ended(self.patience) {
            Some(status) => Ok(status),
            None => Err(self.error(command, self.late(self.patience))),
        }
    }

    /// CPU time that its processes have used.
    pub fn account(&self) -> Account {
        let of_group = self.process.group().and_then(Group::used);
        of_group.map_or_else(|| Account::read(&self.process.members()), Account::of_group)
    }

    /// Starts the peak of its memory anew.
    pub fn begin_round(&mut self) {
        self.peak_kib = 0;
        account::reset_peak_memory(&self.process.members());
    }

    /// Bytes that its processes have written to files, pipes and sockets.
    pub fn written(&self) -> u64 {
        members::written(&self.process.members())
    }

    /// Descriptors that its processes have open together.
    pub fn descriptors(&self) -> usize {
        members::descriptors(&self.process.members())
    }

    /// What it has done so far; while it is stopped, until it was.
    pub fn work(&self) -> Work {
        Work {
            requests: self.requested,
            account: self.at_rest.unwrap_or_else(|| self.account()),
        }
    }

    /// Peak of its resident memory since then, in KiB.
    pub fn peak_memory_kib(&self) -> u64 {
        let now = account::peak_memory_kib(&self.process.members());
        now.max(self.peak_kib)
    }

    /// Stops its processes until [`Driver::resume`].
    pub fn pause(&mut self) {
        self.process.pause();
        // Should another program have resumed it meanwhile, its work since it was first stopped counts.
        self.at_rest = Some(self.at_rest.unwrap_or_else(|| self.account()));
    }

    /// Resumes its processes.
    pub fn resume(&mut self) {
        self.at_rest = None;
        self.process.resume();
    }

    /// Looks at its processes in the midst of their work, and opens the gate once they can send nothing more.
    fn look(&mut self, held: &mut Held<'_>) {
        let members = match self.process.group() {
            Some(group) => group.processes(),
            None => {
                self.process.find_strays();
                self.process.members()
            }
        };
        self.peak_kib = self.peak_kib.max(account::peak_memory_kib(&members));
        if held.is_closed() {
            held.look(self.account(), members::are_awake(&members));
        }
    }

    fn send<T: DeserializeOwned>(
        &mut self,
        command: &Command,
        expected: Duration,
    ) -> Result<(T, Duration)> {
        self.send_within(command, self.allowed(expected), Held::default())
    }

    fn allowed(&self, expected: Duration) -> Duration {
        3 * expected + self.patience
    }

    fn send_within<T: DeserializeOwned>(
        &mut self,
        command: &Command,
        allowed: Duration,
        held: Held<'_>,
    ) -> Result<(T, Duration)> {
        let name = command.to_string();
        if let Ok(line) = self.process.lines.try_recv() {
            let why = "no command had been sent".to_string();
            return Err(self.error(&name, Problem::Rubbish(shorten(&line.text), why)));
        }
        self.last_id += 1;
        let line = wire::line(self.last_id, command);
        let start = Instant::now();
        self.sent_at = start;
        if self.process.write(&line).is_err() {
            return Err(self.ended(&name));
        }
        let line = self.wait(&name, start, allowed, held)?;
        let response = self
            .read(&line.text)
            .map_err(|problem| self.error(&name, problem))?;
        Ok((response, line.at.duration_since(start)))
    }

    fn wait(
        &mut self,
        command: &str,
        start: Instant,
        patience: Duration,
        mut held: Held<'_>,
    ) -> Result<Line> {
        let mut look_after = BETWEEN_LOOKS;
        let (mut allowed, mut used) = (patience, None);
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Interrupted.into());
            }
            let left = allowed.saturating_sub(start.elapsed());
            if start.elapsed() >= look_after {
                self.look(&mut held);
                look_after = start.elapsed() + BETWEEN_LOOKS;
            }
            let pause = GLANCE.min(look_after.saturating_sub(start.elapsed()));
            match self.process.lines.recv_timeout(left.min(pause)) {
                Ok(line) => return Ok(line),
                Err(RecvTimeoutError::Disconnected) => return Err(self.ended(command)),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                    let now = self.account();
                    let works = used.is_none_or(|used| now.total_since(&used) > Duration::ZERO);
                    if works && allowed < MOST_PATIENCE * patience {
                        (allowed, used) = (allowed + patience / 4, Some(now));
                    } else if held.open() {
                        (allowed, used) = (start.elapsed() + patience, None);
                    } else {
                        return Err(self.error(command, self.late(allowed)));
                    }
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

    fn ended(&mut self, command: &str) -> anyhow::Error {
        let status = self.process.ended(Duration::from_secs(1));
        self.error(
            command,
            Problem::Ended(status.unwrap_or_else(|| "it closed its output".into())),
        )
    }

    /// The error if the driver keeps so many connections open that none may be left for others.
    pub fn holds_too_many(&self, count: u64) -> anyhow::Error {
        self.error("go", Problem::HoldsTooMany(count))
    }

    fn error(&self, command: &str, problem: Problem) -> anyhow::Error {
        let last_words = match problem {
            Problem::Refused(..) => String::new(),
            _ => words::plain(&self.process.last_words()),
        };
        let error = DriverError {
            client: self.client.clone(),
            argument: self.argument.clone(),
            command: command.to_string(),
            problem,
            log: self.process.log.path.clone(),
            last_words,
            hidden: None,
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
