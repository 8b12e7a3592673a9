//! The conductor: starts the drivers of each invocation and leads them through their trials.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Error, Result, bail};

use super::noise::nanoseconds;
use super::servers::Servers;
use super::service::Late;
use super::trial::Runner;
use super::{
    BesideRound, Claim, Driver, DriverError, Elsewhere, Hello, Later, Limits, Pinning, Round, Seen,
    Start, Work, effect,
};
use crate::plan::{Cell, ServiceTime, ToDo, Trial, later, trials};
use crate::spec::{BASELINE_LOADER, Manifest, Skill, Sweep, Target, Usage};

/// The requirements of a run besides its plan.
pub struct Setup {
    /// This very program, which is also the baseline loader.
    pub program: PathBuf,
    /// Folder for the error output of drivers.
    pub logs: PathBuf,
    /// Which core does what.
    pub pinning: Option<Pinning>,
    /// How long a response may take beyond three times what is expected.
    pub patience: Duration,
    /// Whether a client that breaks, or cannot do what is requested, is left out of the rest instead of ending the run.
    pub tolerant: bool,
    /// Where the test server is; none for this machine.
    pub server: Option<Elsewhere>,
    /// Clients whose drivers run as the lab's own user, because somebody said so.
    pub trusted: Vec<String>,
    /// Becomes true when the run should end.
    pub stop: Arc<AtomicBool>,
}

/// Events during a run.
pub enum Event<'a> {
    /// A driver has been started and said who it is.
    Started(&'a Hello),
    /// The baseline loader cannot serve this target, so the run has none.
    NoBaselineLoader(String),
    /// A client is left out of the rest of the run, and why.
    LeftOut(String),
    /// A client's driver broke, so it is left out of the rest of the run, and its rounds until then do not count.
    Broke(&'a DriverError),
    /// A new process has had its first response.
    Ready(Start),
    /// How long the user's service takes for a request, known before the first round.
    ServiceTimed(ServiceTime),
    /// A fact about a driver in an invocation, seen after its rounds were measured.
    Seen(String, u32, Seen),
    /// The work of the last process of a client in a cell, after its last round.
    Later(Cell, Later),
    /// A round has been measured.
    Measured(Box<Round>),
    /// How long the rest of the run takes, as far as the run has shown; and the whole run, once each cell has had its
    /// first round.
    Left(Duration, Option<Duration>),
    /// The access log of the user's service has more of a round that has been measured.
    Late(Late),
}

/// Makes every trial of a sweep, in order.
///
/// # Errors
/// The first thing that goes wrong, whether here or in `observe`; every round until then has been handed over. A client
/// that breaks is left out of the rest, and ends the run only when no other is left.
pub fn sweep(
    sweep: &Sweep,
    setup: &Setup,
    observe: &mut dyn FnMut(Event<'_>) -> Result<()>,
) -> Result<()> {
    let begun = Instant::now();
    let servers = Servers::start(sweep, setup.pinning, setup.server.as_ref())?;
    let mut runner = Runner::new(sweep, servers).at_service()?;
    let trials = trials(sweep);
    let mut session = Session {
        sweep,
        setup,
        observe,
        drivers: Vec::new(),
        gone: Vec::new(),
    };
    let last = trials.last().map(|trial| trial.invocation);
    let mut done = 0;
    for invocation in trials.chunk_by(|left, right| left.invocation == right.invocation) {
        let entered = Instant::now();
        session.enter(invocation[0].invocation, &mut runner)?;
        runner.shown.starts.add(entered.elapsed());
        for trial in invocation {
            session.trial(trial, &mut runner)?;
            done += 1;
            let to_do = to_do(sweep, &trials, done, &session.gone);
            session.announce(runner.shown.left(to_do), begun.elapsed(), done)?;
        }
        if Some(invocation[0].invocation) == last {
            session.look_later(&mut runner)?;
        }
        session.leave(invocation[0].invocation)?;
    }
    session.note_late(&mut runner, true)
}

/// The rest of the run after the first `done` trials, without the clients that are gone.
fn to_do(sweep: &Sweep, trials: &[Trial], done: usize, gone: &[String]) -> ToDo {
    let (made, rest) = trials.split_at(done);
    let left = rest
        .iter()
        .filter(|trial| !gone.contains(&trial.cell.client));
    let invocations = rest.chunk_by(|left, right| left.invocation == right.invocation);
    let present = made.last().map(|trial| trial.invocation);
    let invocations = invocations.filter(|those| Some(those[0].invocation) != present);
    let cells = sweep.cells.len() + sweep.controls.len();
    ToDo {
        invocations: invocations.count() as u32,
        trials: left.count() as u32,
        new_cells: cells.saturating_sub(done) as u32,
        later: later(sweep),
    }
}

/// The drivers of one invocation after another; each waits, stopped, for its turn.
struct Session<'a> {
    sweep: &'a Sweep,
    setup: &'a Setup,
    observe: &'a mut dyn FnMut(Event<'_>) -> Result<()>,
    drivers: Vec<Driver>,
    /// Clients that cannot serve the target, or broke.
    gone: Vec<String>,
}

impl Session<'_> {
    /// Starts one process of every client, and gets it going.
    fn enter(&mut self, invocation: u32, runner: &mut Runner<'_>) -> Result<()> {
        let loader = Manifest::baseline_loader(&self.setup.program);
        let loader = self.sweep.has_baseline_loader().then_some(&loader);
        for manifest in self.sweep.clients.iter().chain(loader) {
            if self.gone.contains(&manifest.client) {
                continue;
            }
            if let Err(error) = self.start(manifest, &manifest.client, invocation, runner) {
                self.go_on_without(error, runner)?;
            }
        }
        // The client that takes part twice, where its first process does.
        if let Some((manifest, name)) = self.sweep.again()
            && !self.gone.iter().any(|gone| gone == name)
            && driver_of(&mut self.drivers, &manifest.client).is_some()
            && let Err(error) = self.start(manifest, name, invocation, runner)
        {
            self.go_on_without(error, runner)?;
        }
        Ok(())
    }

    /// Starts a client's process, which is called `name` here, and gets it going.
    fn start(
        &mut self,
        manifest: &Manifest,
        name: &str,
        invocation: u32,
        runner: &mut Runner<'_>,
    ) -> Result<()> {
        let log = log_of(&self.setup.logs, name, invocation);
        let core = self.setup.pinning.map(|pinning| pinning.client_core);
        let begun = Instant::now();
        let (patience, stop) = (self.setup.patience, self.setup.stop.clone());
        let trusted = self.setup.trusted.contains(&manifest.client);
        let limits = Limits::of(self.sweep.highest_concurrency_of(name));
        let mut driver = Driver::start(manifest, core, &log, patience, stop, trusted, limits)?;
        let hello = driver.hello()?;
        let boot = begun.elapsed();
        if let Some(why) = objection(&hello, self.sweep) {
            return self.refuse(&hello, why);
        }
        driver.rename(name);
        (self.observe)(Event::Started(&hello))?;
        if self.sweep.target.is_test_server() {
            let first = runner.first_request(&mut driver)?;
            (self.observe)(Event::Ready(start_of(&driver, invocation, boot, first)))?;
        }
        if let Target::Foreign { .. } = self.sweep.target
            && let Some(failed) = runner.try_service(&mut driver)?
        {
            return self.give_up(name, &failed);
        }
        if let Some(time) = runner.time_service(&mut driver)? {
            (self.observe)(Event::ServiceTimed(time))?;
        }
        runner.warm_up(&mut driver)?;
        driver.pause();
        self.drivers.push(driver);
        Ok(())
    }

    /// A client whose tries at one's own service all failed. A status is the service's, and ends the run: the others
    /// would get it too.
    fn give_up(&mut self, client: &str, failed: &Claim) -> Result<()> {
        let Target::Foreign {
            method,
            url,
            extras,
            ..
        } = &self.sweep.target
        else {
            return Ok(());
        };
        let kind = failed.kind();
        // The baseline loader reports no number.
        if let Some(status) = kind.strip_prefix("status") {
            let status = match status.trim() {
                "" => "another status than 2xx".to_owned(),
                number => format!("status {number}"),
            };
            let what = match (status.as_str(), &extras.expect) {
                ("status 401" | "status 403", _) => {
                    "send credentials, as in -H 'Authorization: Bearer …'".to_owned()
                }
                (_, Some(expect)) => format!("`{expect}` was expected; correct the URL or --expect"),
                _ => "correct the URL, send what the service needs with --header and --data, or name the status with --expect"
                    .to_owned(),
            };
            bail!("{method} {url} responds with {status}, so nothing was measured; {what}");
        }
        self.gone.push(client.to_owned());
        let https = match url.starts_with("https:") {
            true => "; --ca FILE names whose certificates to trust",
            false => "",
        };
        let why = format!("{client} gets no response from {url} ({kind}){https}");
        let mut others = self.sweep.clients.iter();
        if others.all(|known| self.gone.contains(&known.client)) {
            // On the terminal alone: a message may quote the value of a header field, which is written nowhere.
            bail!("{why}{}", failed.first_failure());
        }
        (self.observe)(Event::LeftOut(why))
    }

    /// A client that cannot do this sweep.
    fn refuse(&mut self, hello: &Hello, why: String) -> Result<()> {
        if hello.name == BASELINE_LOADER && !self.sweep.clients.is_empty() {
            (self.observe)(Event::NoBaselineLoader(why))?;
        } else if self.setup.tolerant {
            (self.observe)(Event::LeftOut(why))?;
        } else {
            bail!(cannot(why));
        }
        self.gone.push(hello.name.clone());
        Ok(())
    }

    /// Says how long the rest takes, and after the first round of each cell, how long all of it takes.
    fn announce(&mut self, left: Duration, elapsed: Duration, done: usize) -> Result<()> {
        let is_first_block = done == self.sweep.cells.len() + self.sweep.controls.len();
        let all = (is_first_block && self.sweep.rounds > 1).then_some(elapsed + left);
        (self.observe)(Event::Left(left, all))
    }

    fn trial(&mut self, trial: &Trial, runner: &mut Runner<'_>) -> Result<()> {
        // One that is gone has been reported, and has no driver.
        let Some(driver) = driver_of(&mut self.drivers, &trial.cell.client) else {
            return Ok(());
        };
        let before = driver.work();
        driver.resume();
        match runner.trial(driver, trial) {
            Ok(mut round) => {
                driver.pause();
                round.beside = Some(beside(&round, before, driver.work()));
                self.look_at_the_others(&mut round);
                let noted = (self.observe)(Event::Measured(Box::new(round)));
                noted.map_err(|error| self.with_writers(error))?;
                self.note_late(runner, false)
            }
            Err(error) => self.go_on_without(error, runner),
        }
    }

    /// Names the driver that has written the most if the disk is full.
    fn with_writers(&self, error: Error) -> Error {
        let is_full = |cause: &(dyn std::error::Error + 'static)| {
            let cause = cause.downcast_ref::<std::io::Error>();
            cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::StorageFull)
        };
        let drivers = self.drivers.iter();
        let written = drivers.map(|driver| (driver.written(), driver.client()));
        match written.max() {
            Some((bytes, client)) if error.chain().any(is_full) => error.context(format!(
                "the disk is full; the driver of {client} has written the most since it was started: {} MB to files, pipes and sockets",
                bytes / 1_000_000
            )),
            _ => error,
        }
    }

    fn note_late(&mut self, runner: &mut Runner<'_>, is_end: bool) -> Result<()> {
        let mut late = runner.late_lines(is_end)?.into_iter();
        late.try_for_each(|late| (self.observe)(Event::Late(late)))
    }

    /// Lets the processes of the last invocation continue for a while, one after another.
    fn look_later(&mut self, runner: &mut Runner<'_>) -> Result<()> {
        let clients = self.sweep.clients.iter();
        let clients: Vec<String> = clients.map(|manifest| manifest.client.clone()).collect();
        for client in clients {
            let Some(driver) = driver_of(&mut self.drivers, &client) else {
                continue;
            };
            driver.resume();
            let looked = runner.look_later(driver);
            driver.pause();
            match looked {
                Ok(Some((cell, later))) => (self.observe)(Event::Later(cell, later))?,
                Ok(None) => {}
                Err(error) => self.go_on_without(error, runner)?,
            }
        }
        Ok(())
    }

    /// A process that ran although it was stopped may have disturbed the round; nobody knows who let it continue.
    fn look_at_the_others(&mut self, round: &mut Round) {
        let others = self.drivers.iter_mut();
        let others = others.filter(|driver| driver.client() != round.cell.client);
        let mut awake = 0;
        for driver in others {
            if !driver.waits() {
                driver.pause();
                awake += 1;
            }
        }
        if awake > 0 {
            let drivers = if awake == 1 { "driver" } else { "drivers" };
            let words = format!("{awake} {drivers} that should have waited ran meanwhile");
            round.disturbed.push(words);
        }
    }

    /// Ends the invocation's processes.
    fn leave(&mut self, invocation: u32) -> Result<()> {
        for mut driver in self.drivers.drain(..) {
            let client = driver.client().to_string();
            driver.resume();
            match driver.bye() {
                Ok(_) => {}
                Err(error) => match error.downcast_ref::<DriverError>() {
                    Some(broken) => {
                        let happened = broken.happened();
                        let seen = Seen::Ended { happened };
                        (self.observe)(Event::Seen(client, invocation, seen))?;
                    }
                    None => return Err(error),
                },
            }
        }
        Ok(())
    }

    /// Continues without a client whose driver broke, as long as another is left to measure.
    fn go_on_without(&mut self, error: Error, runner: &mut Runner<'_>) -> Result<()> {
        let Some(broken) = error.downcast_ref::<DriverError>() else {
            return Err(error);
        };
        runner.abandon();
        let client = &broken.client;
        self.drivers.retain(|driver| driver.client() != client);
        self.gone.push(client.clone());
        let clients = &mut self.sweep.clients.iter();
        if clients.all(|manifest| self.gone.contains(&manifest.client)) {
            return Err(error);
        }
        (self.observe)(Event::Broke(broken))
    }
}

/// The driver of a client, if it is still there.
fn driver_of<'d>(drivers: &'d mut [Driver], client: &str) -> Option<&'d mut Driver> {
    drivers.iter_mut().find(|driver| driver.client() == client)
}

/// The work since its last turn without that of the measured part, between these counts.
fn beside(round: &Round, before: Work, after: Work) -> BesideRound {
    let all = after.account.total_since(&before.account);
    let measured = Duration::from_nanos(round.cpu_user_ns + round.cpu_system_ns);
    BesideRound {
        cpu_ns: nanoseconds(all.saturating_sub(measured)),
        requests: (after.requests - before.requests).saturating_sub(round.count),
    }
}

fn start_of(driver: &Driver, invocation: u32, boot: Duration, first: Duration) -> Start {
    Start {
        client: driver.client().to_string(),
        invocation,
        boot_ns: nanoseconds(boot),
        first_request_ns: nanoseconds(first),
        user: driver.user(),
        held: driver.is_held(),
    }
}

fn log_of(folder: &Path, client: &str, invocation: u32) -> PathBuf {
    folder.join(format!("{client}-{invocation}.log"))
}

/// What a sweep requires of a client's driver beside plain requests.
fn required(sweep: &Sweep, name: &str) -> Vec<Skill> {
    let at_a_rate = sweep.cells_of(name).any(|cell| cell.load.rate.is_some());
    let mut wanted = vec![(Skill::Rate, at_a_rate)];
    if let Target::Foreign { extras, .. } = &sweep.target {
        wanted.extend([
            (Skill::Fields, !extras.fields.is_empty()),
            (Skill::Body, extras.body.is_some()),
            (Skill::Expect, extras.expect.is_some()),
            (Skill::IdField, extras.id_field.is_some()),
            (Skill::Urls, extras.urls.is_some()),
        ]);
    }
    let wanted = wanted.into_iter().filter(|(_, is_wanted)| *is_wanted);
    wanted.map(|(skill, _)| skill).collect()
}

/// Refuses a sweep that a client's manifest says the client cannot do, whether the client is installed or not.
///
/// # Errors
/// A sentence with the first such client.
pub fn refuse_what_cannot_be(sweep: &Sweep) -> Result<(), Usage> {
    for manifest in &sweep.clients {
        let name = &manifest.client;
        let mut required = required(sweep, name).into_iter();
        if let Some(skill) = required.find(|skill| manifest.cannot.contains(skill)) {
            return Err(cannot(format!("{name} {}", skill.refusal())));
        }
    }
    Ok(())
}

fn cannot(why: String) -> Usage {
    Usage(format!("{why}; leave it out or choose other settings"))
}

/// Why a client cannot do this sweep.
fn objection(hello: &Hello, sweep: &Sweep) -> Option<String> {
    let name = &hello.name;
    if hello.is_for_audits() {
        return Some(format!(
            "the driver of {name} serves audits alone: its hello has no `models`"
        ));
    }
    let highest = sweep.highest_concurrency_of(name);
    if hello.max_concurrency < highest {
        return Some(format!(
            "{name} cannot keep {highest} requests in flight, but {} at most",
            hello.max_concurrency
        ));
    }
    let https = matches!(&sweep.target, Target::Foreign { url, .. } if url.starts_with("https:"));
    if https && !hello.tls {
        return Some(format!("{name} does not support https"));
    }
    let mut cells = sweep.cells_of(name);
    if let Some(why) = cells.find_map(|cell| effect::objection(hello, &cell.load)) {
        return Some(format!("{name} {why}"));
    }
    let lacks = |skill: &Skill| !hello.can(*skill);
    if let Some(skill) = required(sweep, name).into_iter().find(lacks) {
        return Some(format!("{name} {}", skill.refusal()));
    }
    match &sweep.target {
        Target::Foreign { method, .. } if !hello.methods.contains(method) => {
            Some(format!("{name} does not send {method}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Load;

    fn hello() -> Hello {
        let says = serde_json::json!({
            "proto": 1, "name": "x", "version": "1", "runtime": "r", "engine": "e", "http": ["1.1"], "tls": false,
            "models": ["threads"], "keepalive": [true], "retries": "off", "max_concurrency": 50, "cores": 1,
            "verify": ["tail"], "methods": ["GET"],
        });
        serde_json::from_value(says).unwrap()
    }

    fn sweep(concurrency: usize, method: &str, url: &str) -> Sweep {
        let levels = [1, concurrency].map(|concurrency| Load {
            concurrency,
            ..Load::PLAIN
        });
        Sweep {
            budget: Default::default(),
            clients: vec![],
            cells: levels.map(|load| Cell::new("x", load)).into(),
            controls: Vec::new(),
            usual: Load::PLAIN,
            rounds: 1,
            invocations: 1,
            round_time: Duration::from_millis(100),
            warm_up: Duration::ZERO,
            seed: 1,
            target: Target::Foreign {
                method: method.into(),
                url: url.into(),
                requests: 500,
                extras: Default::default(),
            },
        }
    }

    #[test]
    fn a_client_is_only_measured_at_what_it_can_do() {
        assert_eq!(
            objection(&hello(), &sweep(50, "GET", "http://127.0.0.1/")),
            None
        );
        let cases = [
            (
                sweep(51, "GET", "http://127.0.0.1/"),
                "x cannot keep 51 requests in flight, but 50 at most",
            ),
            (
                sweep(50, "GET", "https://127.0.0.1/"),
                "x does not support https",
            ),
            (sweep(50, "PUT", "http://127.0.0.1/"), "x does not send PUT"),
        ];
        for (sweep, why) in cases {
            assert_eq!(objection(&hello(), &sweep).as_deref(), Some(why));
        }
        let mut keeping = sweep(50, "GET", "http://127.0.0.1/");
        assert_eq!(objection(&hello(), &keeping), None);
        let forgetful = Hello {
            keepalive: vec![false],
            ..hello()
        };
        assert_eq!(
            objection(&forgetful, &keeping).as_deref(),
            Some("x does not keep connections")
        );
        let mut at_a_rate = keeping.clone();
        at_a_rate.cells[0].load.rate = Some("500".parse().unwrap());
        let says = objection(&hello(), &at_a_rate).unwrap();
        assert!(says.contains("x cannot send requests at a rate"), "{says}");
        for cell in &mut keeping.cells {
            cell.load.keepalive = false;
        }
        assert_eq!(
            objection(&hello(), &keeping).as_deref(),
            Some("x does not open a connection for each request")
        );
    }
}
