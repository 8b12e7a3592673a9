//! A driver, asked one thing at a time.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde::de::DeserializeOwned;

use super::failure::Problem;
use super::process::{Line, Process};
use super::wire::{self, Command, Envelope, GoReply};
use super::{Account, Claim, DriverError, Go, Hello, Interrupted, PROTO, Prepare, account};
use crate::spec::Manifest;

/// How often a waiting harness looks whether it should stop.
const GLANCE: Duration = Duration::from_millis(100);

/// How many times its patience a driver may take until it says hello: a virtual machine starts for 5 s of processor time, which
/// others may want too.
const TO_START: u32 = 4;

/// A client's driver: its process, and the conversation with it.
#[derive(Debug)]
pub struct Driver {
    client: String,
    process: Process,
    last_id: u64,
    patience: Duration,
    stop: Arc<AtomicBool>,
}

impl Driver {
    /// Starts the driver. An answer may take three times what is expected and `patience` more; when `stop`
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
        let process = Process::start(manifest, core, log).map_err(|error| DriverError {
            client: manifest.client.clone(),
            asked: "start".into(),
            problem: Problem::NotStarted(error),
            log: log.to_path_buf(),
            last_words: String::new(),
        })?;
        Ok(Driver {
            client: manifest.client.clone(),
            process,
            last_id: 0,
            patience,
            stop,
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
    /// [`DriverError`], also when it calls itself by another name or speaks another protocol.
    pub fn hello(&mut self) -> Result<Hello> {
        let (hello, _): (Hello, _) =
            self.ask_within(&Command::Hello { proto: PROTO }, TO_START * self.patience)?;
        if hello.proto != PROTO || hello.name != self.client {
            let answer = format!("proto {} and name {}", hello.proto, hello.name);
            let why = format!("proto {PROTO} and name {} were expected", self.client);
            return Err(self.error("hello", Problem::Rubbish(answer, why)));
        }
        Ok(hello)
    }

    /// Lets it get ready for requests.
    ///
    /// # Errors
    /// [`DriverError`].
    pub fn prepare(&mut self, prepare: &Prepare) -> Result<()> {
        self.ask::<Envelope>(&Command::Prepare(prepare.clone()), Duration::from_secs(1))
            .map(drop)
    }

    /// Lets it send requests; returns its claim and the time from the command to the answer.
    ///
    /// # Errors
    /// [`DriverError`].
    pub fn go(&mut self, go: Go, expected: Duration) -> Result<(Claim, Duration)> {
        let (reply, wall): (GoReply, _) = self.ask(&Command::Go(go), expected)?;
        Ok((reply.into(), wall))
    }

    /// Says a word that no driver knows.
    ///
    /// # Errors
    /// [`DriverError`], which is the right answer.
    pub fn unheard(&mut self) -> Result<()> {
        self.ask::<Envelope>(&Command::Unheard, Duration::from_secs(1))
            .map(drop)
    }

    /// Asks it to end; returns how its process ended.
    ///
    /// # Errors
    /// [`DriverError`] when it does not answer or does not end.
    pub fn bye(mut self) -> Result<String> {
        self.ask::<Envelope>(&Command::Bye, Duration::ZERO)?;
        self.wait_for_end("bye")
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
        Account::read(self.process.pid())
    }

    /// Starts the peak of its memory afresh.
    pub fn reset_peak_memory(&self) {
        account::reset_peak_memory(self.process.pid());
    }

    /// Peak of its resident memory since then, in KiB.
    pub fn peak_memory_kib(&self) -> u64 {
        account::peak_memory_kib(self.process.pid())
    }

    /// Stops its processes until [`Driver::resume`].
    pub fn pause(&self) {
        self.process.pause();
    }

    /// Lets its processes go on.
    pub fn resume(&self) {
        self.process.resume();
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
            let why = "nobody had asked it anything".to_string();
            return Err(self.error(&asked, Problem::Rubbish(shorten(&line.text), why)));
        }
        self.last_id += 1;
        let line = wire::line(self.last_id, command);
        let start = Instant::now();
        if self.process.write(&line).is_err() {
            return Err(self.ended(&asked));
        }
        let line = self.wait(&asked, start, allowed)?;
        let answer = self
            .read(&line.text)
            .map_err(|problem| self.error(&asked, problem))?;
        Ok((answer, line.at.duration_since(start)))
    }

    fn wait(&mut self, asked: &str, start: Instant, patience: Duration) -> Result<Line> {
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Interrupted.into());
            }
            let left = patience.saturating_sub(start.elapsed());
            match self.process.lines.recv_timeout(left.min(GLANCE)) {
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
        let envelope: Envelope = serde_json::from_str(line)
            .map_err(|error| rubbish(format!("not an answer, {error}")))?;
        if envelope.id != self.last_id {
            return Err(rubbish(format!("the id should be {}", self.last_id)));
        }
        if !envelope.ok {
            return Err(Problem::Refused(envelope.error, envelope.what));
        }
        serde_json::from_str(line)
            .map_err(|error| rubbish(format!("not the answer asked for, {error}")))
    }

    fn ended(&mut self, asked: &str) -> anyhow::Error {
        let status = self.process.ended(Duration::from_secs(1));
        self.error(
            asked,
            Problem::Ended(status.unwrap_or_else(|| "it closed its output".into())),
        )
    }

    fn error(&self, asked: &str, problem: Problem) -> anyhow::Error {
        let last_words = match problem {
            Problem::Refused(..) => String::new(),
            _ => self.process.last_words(),
        };
        let error = DriverError {
            client: self.client.clone(),
            asked: asked.to_string(),
            problem,
            log: self.process.log.clone(),
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
