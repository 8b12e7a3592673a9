//! What a driver must do, one function for each promise, each with a process of its own.

use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Result, ensure};
use hecaton_lab::findings::rejection;
use hecaton_lab::plan::{Cell, Own, Visit};
use hecaton_lab::run::{
    Bench, Claim, Driver, DriverError, Go, Hello, Prepare, Problem, Round, Servers, Verify,
};
use hecaton_lab::spec::{Ability, Approach, Job, Manifest, Pitfall, Sweep, Target};
use hecaton_origin::{Delay, Options, Origin, RoundSpec};

/// How often a driver is watched: what compiles while it runs may finish what the first requests began.
const WATCHES: usize = 4;

/// How long a driver is watched to see that it does nothing.
const IDLE: Duration = Duration::from_millis(300);

/// Share of a core that a driver may use while nothing is asked of it.
const IDLE_SHARE: f64 = 0.1;

/// First id of the rounds made here.
const FIRST: u64 = 5_000_000_000;

/// Most requests in flight that are tried, if the driver can.
const MOST: usize = 7;

/// A promise in words, and the function that tries it.
pub type Promise = (&'static str, fn(&Trial<'_>) -> Result<()>);

/// Every promise, in the order in which they are tried.
pub const TRIALS: [Promise; 13] = [
    ("says hello", |trial| trial.start().map(drop)),
    (
        "calls a command that it does not know unsupported",
        refuses_the_unheard,
    ),
    (
        "1 in flight: every request once, every body read, every claim true",
        |trial| keeps_in_flight(trial, 1),
    ),
    ("2 in flight: the same", |trial| keeps_in_flight(trial, 2)),
    ("7 in flight: the same", |trial| {
        keeps_in_flight(trial, MOST)
    }),
    ("times every k-th request", times_some),
    ("verifies JSON, if it says so", verifies_json),
    ("is idle between commands", is_idle),
    ("counts answers of status 500 as errors", counts_statuses),
    ("counts refused connections as errors", counts_refusals),
    ("ends with status 0 on bye", |trial| {
        ends(trial.start()?.bye()?)
    }),
    ("ends with status 0 when its input ends", |trial| {
        ends(trial.start()?.close_input()?)
    }),
    ("ends on SIGTERM", |trial| {
        trial.start()?.terminate().map(drop)
    }),
];

/// What is left to promise for a load generator, which verifies nothing.
pub const REFERENCE_TRIALS: [Promise; 9] = [
    TRIALS[0],
    TRIALS[1],
    (
        "refuses to verify what it does not look at",
        refuses_to_verify,
    ),
    (
        "claims no more requests than the origin saw",
        claims_what_was_seen,
    ),
    ("counts answers of status 500 as errors", counts_statuses),
    ("counts refused connections as errors", counts_refusals),
    TRIALS[10],
    TRIALS[11],
    TRIALS[12],
];

/// What a trial works with.
pub struct Trial<'a> {
    /// The client.
    pub manifest: &'a Manifest,
    /// How long the driver may be late.
    pub patience: Duration,
    /// Becomes true when the check should end.
    pub stop: Arc<AtomicBool>,
    /// File for the driver's error output.
    pub log: PathBuf,
}

impl Trial<'_> {
    /// A driver that has said hello.
    fn start(&self) -> Result<Driver> {
        Ok(self.start_and_ask()?.0)
    }

    /// A driver, and what it said.
    fn start_and_ask(&self) -> Result<(Driver, Hello)> {
        let mut driver = Driver::start(
            self.manifest,
            None,
            &self.log,
            self.patience,
            self.stop.clone(),
        )?;
        let hello = driver.hello()?;
        ensure!(
            hello.max_concurrency >= 1,
            "max_concurrency is {}",
            hello.max_concurrency
        );
        ensure!(
            !hello.methods.is_empty() && !hello.models.is_empty(),
            "methods or models are empty"
        );
        let least = if self.is_reference() {
            Verify::None
        } else {
            Verify::Tail
        };
        ensure!(
            hello.verify.contains(&least),
            "verify does not contain {least:?}"
        );
        ensure!(
            hello.keepalive.contains(&true) == self.manifest.can.contains(&Ability::KeepAlive),
            "its hello and its manifest do not agree whether it keeps connections"
        );
        Ok((driver, hello))
    }

    /// Whether it is a load generator, of which nothing can be verified.
    fn is_reference(&self) -> bool {
        self.manifest.approach == Approach::Reference
    }

    /// Asks to prepare, with connections used as the client can.
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

fn origin() -> Result<Origin> {
    Ok(Origin::start(Options::default())?)
}

fn to(url: String, append_id: bool, verify: Verify) -> Prepare {
    Prepare {
        method: "GET".into(),
        url,
        append_id,
        concurrency: 2,
        keepalive: true,
        verify,
        timeout_ms: 5000,
        ca: None,
    }
}

fn refuses_the_unheard(trial: &Trial<'_>) -> Result<()> {
    let Err(error) = trial.start()?.unheard() else {
        anyhow::bail!("it said ok")
    };
    match error
        .downcast_ref::<DriverError>()
        .map(|error| &error.problem)
    {
        Some(Problem::Refused(kind, _)) if kind == "unsupported" => Ok(()),
        _ => Err(error),
    }
}

fn refuses_to_verify(trial: &Trial<'_>) -> Result<()> {
    let prepare = to("http://127.0.0.1:1/r/".to_string(), true, Verify::Tail);
    match trial.prepare(&mut trial.start()?, &prepare) {
        Ok(()) => anyhow::bail!("it said that it would"),
        Err(error) => match error
            .downcast_ref::<DriverError>()
            .map(|error| &error.problem)
        {
            Some(Problem::Refused(kind, _)) if kind == "unsupported" => Ok(()),
            _ => Err(error),
        },
    }
}

/// A generator that stops by the clock leaves a few requests behind that it does not count.
fn claims_what_was_seen(trial: &Trial<'_>) -> Result<()> {
    let origin = origin()?;
    origin.open_round(page(20));
    let prepare = to(
        format!("{}/bytes/133", origin.base_url()),
        false,
        Verify::None,
    );
    let claim = trial.round(&mut trial.start()?, &prepare, go(20))?;
    let seen = origin.close_round().requests;
    ensure!(
        claim.done >= 20 && (claim.done..=claim.done + 2).contains(&seen),
        "20 requests were to be sent, 2 at a time: it claims {} done, the origin saw {seen}",
        claim.done
    );
    Ok(())
}

/// The rules of a sweep judge the driver, and agree with what its manifest says of itself.
fn keeps_in_flight(trial: &Trial<'_>, concurrency: usize) -> Result<()> {
    let pitfall = trial.manifest.pitfall.as_ref();
    match (reason_to_reject(trial, concurrency)?, pitfall) {
        (
            None,
            Some(Pitfall {
                from: Some(from),
                why,
                ..
            }),
        ) if concurrency == MOST && *from <= MOST => {
            anyhow::bail!("nothing is rejected, although its manifest says so: {why}")
        }
        (None, _) => Ok(()),
        (Some(reason), Some(pitfall)) if reason.contains(&pitfall.says) => Ok(()),
        (Some(reason), _) => anyhow::bail!(reason),
    }
}

/// Visits small and larger bodies as a sweep does, and lets the same rules judge; as many in flight as the driver can.
fn reason_to_reject(trial: &Trial<'_>, concurrency: usize) -> Result<Option<String>> {
    let (mut driver, hello) = trial.start_and_ask()?;
    let concurrency = concurrency.min(hello.max_concurrency);
    let delay = Delay::Fixed(Duration::from_millis(3));
    let sweep = Sweep {
        clients: vec![trial.manifest.clone()],
        concurrency: vec![concurrency],
        body_bytes: vec![133, 13801],
        cells: Vec::new(),
        keepalive: vec![true],
        job: Job::Plain,
        requests: None,
        tls: false,
        ceiling: true,
        delay,
        rounds: 1,
        launches: 1,
        round_time: Duration::from_millis(100),
        warm_up: Duration::from_millis(300),
        seed: 1,
        target: Target::Origin,
    };
    let mut bench = Bench::new(&sweep, Servers::clear(origin()?));
    bench.warm_up(&mut driver)?;
    let both = |&keepalive| {
        sweep
            .body_bytes
            .iter()
            .map(move |&body_bytes| (keepalive, body_bytes))
    };
    for (keepalive, body_bytes) in hello.keepalive.iter().flat_map(both) {
        let cell = Cell {
            client: trial.manifest.client.clone(),
            body_bytes,
            keepalive,
            concurrency,
            own: Own::default(),
        };
        let visit = Visit {
            cell,
            launch: 0,
            block: 0,
            order: 0,
        };
        let round: Round = bench.visit(&mut driver, &visit)?;
        if let Some(reason) = rejection(&[&round], &delay) {
            let way = if keepalive {
                ""
            } else {
                " and a new connection each"
            };
            return Ok(Some(format!(
                "with bodies of {body_bytes} bytes{way}, {reason}"
            )));
        }
    }
    Ok(None)
}

fn times_some(trial: &Trial<'_>) -> Result<()> {
    let origin = origin()?;
    let prepare = to(format!("{}/r/", origin.base_url()), true, Verify::Tail);
    let claim = trial.round(
        &mut trial.start()?,
        &prepare,
        Go {
            first: FIRST,
            count: 50,
            lat_every: 7,
        },
    )?;
    ensure!(
        claim.latencies_us.len() == 8,
        "50 requests, every 7th timed: {} of 8 times",
        claim.latencies_us.len()
    );
    Ok(())
}

fn verifies_json(trial: &Trial<'_>) -> Result<()> {
    let (mut driver, hello) = trial.start_and_ask()?;
    if !hello.verify.contains(&Verify::Json) {
        return Ok(());
    }
    let origin = origin()?;
    origin.open_round(page(20));
    let prepare = to(format!("{}/r/", origin.base_url()), true, Verify::Json);
    let claim = trial.round(&mut driver, &prepare, go(20))?;
    let page = origin.close_round();
    ensure!(
        claim.done == 20,
        "{} of 20 done, errors by kind: {:?}",
        claim.done,
        claim.errors_by
    );
    ensure!(
        claim.sum == page.expected_sum,
        "the sum is {}, not {}",
        claim.sum,
        page.expected_sum
    );
    ensure!(
        claim.bytes == page.body_bytes_out,
        "{} bytes of {}",
        claim.bytes,
        page.body_bytes_out
    );
    Ok(())
}

/// Watches the driver after a round, with its connections open.
fn is_idle(trial: &Trial<'_>) -> Result<()> {
    let origin = origin()?;
    let mut driver = trial.start()?;
    let prepare = to(format!("{}/r/", origin.base_url()), true, Verify::Tail);
    origin.open_round(page(0));
    trial.prepare(&mut driver, &prepare)?;
    ensure!(
        origin.close_round().requests == 0,
        "it sent requests when asked to prepare"
    );
    trial.round(&mut driver, &prepare, go(20))?;
    let mut least = f64::INFINITY;
    for _ in 0..WATCHES {
        origin.open_round(page(0));
        let before = driver.account();
        std::thread::sleep(IDLE);
        let (user, system) = driver.account().since(&before);
        let page = origin.close_round();
        ensure!(
            page.requests == 0,
            "it sent {} requests that nobody had asked for",
            page.requests
        );
        least = least.min((user + system).as_secs_f64() / IDLE.as_secs_f64());
        if least < IDLE_SHARE {
            return Ok(());
        }
    }
    anyhow::bail!("it used {:.0} % of a core", least * 100.0)
}

fn counts_statuses(trial: &Trial<'_>) -> Result<()> {
    let origin = origin()?;
    let prepare = to(
        format!("{}/status/500", origin.base_url()),
        false,
        Verify::None,
    );
    let claim = trial.round(&mut trial.start()?, &prepare, go(5))?;
    all_failed(&claim, 5)
}

fn counts_refusals(trial: &Trial<'_>) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/r/", listener.local_addr()?);
    let prepare = match trial.is_reference() {
        true => to(url, false, Verify::None),
        false => to(url, true, Verify::Tail),
    };
    drop(listener);
    let mut driver = trial.start()?;
    match trial.round(&mut driver, &prepare, go(5)) {
        Ok(claim) => all_failed(&claim, 5),
        // A driver that opens its connections early says so when asked to prepare.
        Err(error) => match error.downcast_ref::<DriverError>() {
            Some(DriverError {
                problem: Problem::Refused(kind, _),
                ..
            }) if kind == "failed" => Ok(()),
            _ => Err(error),
        },
    }
}

/// The first ids, every request timed.
fn go(count: u64) -> Go {
    Go {
        first: FIRST,
        count,
        lat_every: 1,
    }
}

/// A page of the ledger for the first ids, or for none.
fn page(count: u64) -> RoundSpec {
    RoundSpec {
        first: FIRST,
        count,
        body_bytes: 133,
        delay: Delay::None,
        round_trip: Duration::ZERO,
        gate: None,
    }
}

fn all_failed(claim: &Claim, count: u64) -> Result<()> {
    ensure!(
        claim.done == 0 && claim.errors == count,
        "{count} requests had to fail: it claims {} done and {} failed",
        claim.done,
        claim.errors
    );
    ensure!(
        claim.errors_by.values().sum::<u64>() == count,
        "errors_by does not say of what kind the errors are"
    );
    Ok(())
}

fn ends(status: String) -> Result<()> {
    ensure!(status == "exit status: 0", "it ended with {status}");
    Ok(())
}
