//! The promises that a driver must keep, one function each. One process is used as long as it keeps them; then comes
//! a new one.

mod call;
mod commands;
mod each_request;
mod failure;
mod idle;
mod pace;
mod recorder;
mod secure;
mod work;

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Result, ensure};
use hecaton_lab::plan::Load;
use hecaton_lab::run::{Claim, Driver, Go, Hello, Limits, Prepare, Verify, choose_cores, new_log};
use hecaton_lab::spec::{Ability, Approach, Manifest};

use call::{makes_a_call, refuses_unknown_words};
use each_request::{gives_ids, takes_turns};
use failure::{
    counts_refusals, counts_statuses, keeps_its_time_limit, refuses_to_verify,
    refuses_unknown_commands,
};
use idle::{ends, is_idle};
use pace::keeps_a_rate;
use secure::{supports_http2, supports_http3, supports_tls};
use work::{MOST, claims_what_was_seen, keeps_in_flight, times_some, verifies};

/// A promise in words, and the function that tries it.
pub type Promise = (&'static str, fn(&Check<'_>) -> Result<()>);

const REFUSES_WORDS: Promise = (
    "refuses a call that needs an unknown word, if its `hello` has `calls`",
    refuses_unknown_words,
);

const MAKES_A_CALL: Promise = (
    "makes a call and reports its status, length and SHA-256, if its `hello` has `calls`",
    makes_a_call,
);

/// Every promise, in the order in which they are tried.
pub const PROMISES: [Promise; 24] = [
    ("says hello", |check| check.with_process(|_| Ok(()))),
    (
        "refuses an unknown command with `unsupported`",
        refuses_unknown_commands,
    ),
    (
        "claims nothing that its manifest lists under `cannot`",
        lacks_what_its_manifest_says,
    ),
    (
        "1 in flight: every request once, every body read, every claim true",
        |check| keeps_in_flight(check, 1, Load::PLAIN),
    ),
    ("2 in flight: the same", |check| {
        keeps_in_flight(check, 2, Load::PLAIN)
    }),
    ("7 in flight: the same", |check| {
        keeps_in_flight(check, MOST, Load::PLAIN)
    }),
    (
        "2 in flight over https, if it says that it can: the same, and it refuses an unknown certificate",
        supports_tls,
    ),
    (
        "7 in flight over HTTP/2, if it says that it can: the same",
        supports_http2,
    ),
    (
        "7 in flight over HTTP/3, if it says that it can: the same",
        supports_http3,
    ),
    (
        "at a rate, if it says that it can: each request is sent when it is due, and its latency counts from then",
        keeps_a_rate,
    ),
    ("times every k-th request when `go` says so", times_some),
    ("verifies JSON, if it says that it can", |check| {
        verifies(check, Verify::Json)
    }),
    ("decodes gzip, if it says that it can", |check| {
        verifies(check, Verify::Gzip)
    }),
    (
        "sends the requests of a file in turn, if it says that it knows `requests`",
        takes_turns,
    ),
    (
        "gives each request its id, if it says that it knows `id_field`",
        gives_ids,
    ),
    ("is idle between commands", is_idle),
    ("counts responses of status 500 as errors", counts_statuses),
    ("counts refused connections as errors", counts_refusals),
    (
        "ends requests that take longer than `timeout_ms`, as errors",
        keeps_its_time_limit,
    ),
    REFUSES_WORDS,
    MAKES_A_CALL,
    ("ends with status 0 after `bye`", |check| {
        ends(check.take()?.driver.bye()?)
    }),
    ("ends with status 0 when its input ends", |check| {
        ends(check.start()?.driver.close_input()?)
    }),
    ("ends on SIGTERM", |check| {
        check.start()?.driver.terminate().map(drop)
    }),
];

/// The manifest decides before anything is started, so it must not say less than the driver.
fn lacks_what_its_manifest_says(check: &Check<'_>) -> Result<()> {
    check.with_process(|process| {
        let said = check.manifest.cannot.iter();
        let wrong: Vec<String> = said
            .filter(|skill| process.hello.can(**skill))
            .map(ToString::to_string)
            .collect();
        ensure!(
            wrong.is_empty(),
            "`cannot` of the manifest names {}, which `hello` says the driver can do; correct one of them",
            wrong.join(", ")
        );
        Ok(())
    })
}

/// The promises of a load generator, which verifies nothing.
pub const REFERENCE_PROMISES: [Promise; 9] = [
    PROMISES[0],
    PROMISES[1],
    (
        "refuses to verify what it does not look at",
        refuses_to_verify,
    ),
    (
        "claims no more requests than the server saw",
        claims_what_was_seen,
    ),
    ("counts responses of status 500 as errors", counts_statuses),
    ("counts refused connections as errors", counts_refusals),
    PROMISES[PROMISES.len() - 3],
    PROMISES[PROMISES.len() - 2],
    PROMISES[PROMISES.len() - 1],
];

/// The promises of a driver that serves audits alone.
pub const AUDIT_PROMISES: [Promise; 7] = [
    PROMISES[0],
    PROMISES[1],
    REFUSES_WORDS,
    MAKES_A_CALL,
    PROMISES[PROMISES.len() - 3],
    PROMISES[PROMISES.len() - 2],
    PROMISES[PROMISES.len() - 1],
];

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
    driver: Driver,
    /// What it said.
    hello: Hello,
    /// Whether it has been busy before.
    warm: bool,
}

impl Check<'_> {
    /// The promises that its driver must keep. It has kept the first: it has said hello.
    pub fn promises(&self) -> Result<&'static [Promise]> {
        let is_for_audits = self.with_process(|process| Ok(process.hello.is_for_audits()))?;
        Ok(match is_for_audits {
            true => &AUDIT_PROMISES,
            false if self.is_reference() => &REFERENCE_PROMISES,
            false => &PROMISES,
        })
    }

    /// Tries one promise; a process that breaks one is not used again.
    pub fn holds(&self, promise: fn(&Check<'_>) -> Result<()>) -> Result<()> {
        promise(self).inspect_err(|_| drop(self.process.take()))
    }

    /// Runs `act` with the process that kept every promise so far, or with a new one.
    fn with_process<T>(&self, act: impl FnOnce(&mut DriverProcess) -> Result<T>) -> Result<T> {
        let mut process = self.take()?;
        let result = act(&mut process)?;
        self.process.set(Some(process));
        Ok(result)
    }

    /// The process that kept every promise so far, for good, or a new one.
    fn take(&self) -> Result<DriverProcess> {
        match self.process.take() {
            Some(process) => Ok(process),
            None => self.start(),
        }
    }

    /// A new process, which has said hello.
    fn start(&self) -> Result<DriverProcess> {
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
    fn is_reference(&self) -> bool {
        self.manifest.approach == Approach::Reference
    }

    /// Sends `prepare`, with connections used as the client can.
    fn prepare(&self, driver: &mut Driver, prepare: &Prepare) -> Result<()> {
        let keepalive = self.manifest.can.contains(&Ability::KeepAlive);
        driver.prepare(&Prepare {
            keepalive,
            ..prepare.clone()
        })
    }

    /// One round outside the usual: prepare, then go.
    fn round(&self, driver: &mut Driver, prepare: &Prepare, go: Go) -> Result<Claim> {
        self.prepare(driver, prepare)?;
        Ok(driver.go(go, Duration::from_secs(1))?.0)
    }
}
