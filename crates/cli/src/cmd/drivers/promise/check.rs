//! The tools of a check. One process of the driver is used as long as it keeps its promises; then comes a new one.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Result, ensure};
use hecaton_lab::run::{Claim, Driver, Go, Hello, Limits, Prepare, Verify, choose_cores, new_log};
use hecaton_lab::spec::{Ability, Approach, Manifest};

/// The tools of a check.
pub struct Check<'a> {
    /// The client.
    pub manifest: &'a Manifest,
    /// How long the driver may be late.
    pub patience: Duration,
    /// Whether the driver runs as the own user.
    pub trusted: bool,
    /// Becomes true when the check should end.
    pub stop: Arc<AtomicBool>,
    /// Folder for the error output of each process.
    pub logs: PathBuf,
    /// The process that kept every promise so far.
    pub process: Cell<Option<DriverProcess>>,
}

/// A process of the driver.
pub struct DriverProcess {
    pub(super) driver: Driver,
    /// What it said.
    pub(super) hello: Hello,
    /// Whether it has been busy before.
    pub(super) warm: bool,
}

impl Check<'_> {
    /// Tries one promise; a process that breaks one is not used again.
    pub fn holds(&self, promise: fn(&Check<'_>) -> Result<()>) -> Result<()> {
        promise(self).inspect_err(|_| drop(self.process.take()))
    }

    /// Runs `act` with the process that kept every promise so far, or with a new one.
    pub(super) fn with_process<T>(
        &self,
        act: impl FnOnce(&mut DriverProcess) -> Result<T>,
    ) -> Result<T> {
        let mut process = self.take()?;
        let result = act(&mut process)?;
        self.process.set(Some(process));
        Ok(result)
    }

    /// The process that kept every promise so far, for good, or a new one.
    pub(super) fn take(&self) -> Result<DriverProcess> {
        match self.process.take() {
            Some(process) => Ok(process),
            None => self.start(),
        }
    }

    /// A new process, which has said hello.
    pub(super) fn start(&self) -> Result<DriverProcess> {
        let mut driver = Driver::start(
            self.manifest,
            choose_cores().map(|pinning| pinning.client_core),
            &new_log(&self.logs, &self.manifest.client),
            self.patience,
            self.stop.clone(),
            self.trusted,
            Limits::of(1),
        )?;
        let hello = driver.hello()?;
        self.check_hello(&hello)?;
        Ok(DriverProcess {
            driver,
            hello,
            warm: false,
        })
    }

    /// Refuses a hello that contradicts itself or the manifest.
    fn check_hello(&self, hello: &Hello) -> Result<()> {
        if hello.is_for_audits() {
            return Ok(());
        }
        ensure!(
            hello.max_concurrency >= 1,
            "max_concurrency is {}",
            hello.max_concurrency
        );
        ensure!(
            !hello.methods.is_empty() && !hello.models.is_empty(),
            "methods or models are empty, and so are calls"
        );
        let least = if self.is_reference() {
            Verify::None
        } else {
            Verify::Tail
        };
        ensure!(
            hello.verify.contains(&least),
            "verify does not contain `{least}`"
        );
        ensure!(
            hello.keepalive.contains(&true) == self.manifest.can.contains(&Ability::KeepAlive),
            "its hello and its manifest do not agree whether it keeps connections"
        );
        ensure!(
            hello.tls == self.manifest.can.contains(&Ability::Tls),
            "its hello and its manifest disagree about https"
        );
        Ok(())
    }

    /// Whether it is a load generator, of which nothing can be verified.
    pub(super) fn is_reference(&self) -> bool {
        self.manifest.approach == Approach::Reference
    }

    /// Sends `prepare`, with connections used as the client can.
    pub(super) fn prepare(&self, driver: &mut Driver, prepare: &Prepare) -> Result<()> {
        let keepalive = self.manifest.can.contains(&Ability::KeepAlive);
        driver.prepare(&Prepare {
            keepalive,
            ..prepare.clone()
        })
    }

    /// One round outside the usual: prepare, then go.
    pub(super) fn round(&self, driver: &mut Driver, prepare: &Prepare, go: Go) -> Result<Claim> {
        self.prepare(driver, prepare)?;
        Ok(driver.go(go, Duration::from_secs(1))?.0)
    }
}
