//! Promises about sending: all requests, each once, as many at a time as commanded, and every claim true.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use hecaton_lab::findings::{rejection, reopened};
use hecaton_lab::plan::{Cell, Load, Trial};
use hecaton_lab::run::{Claim, Go, Round, Runner, Servers, Verify, server_for};
use hecaton_lab::spec::{Manifest, Pitfall, Sweep, Target};
use hecaton_test_server::{Delay, RoundSpec, TestServer};

use super::check::{Check, DriverProcess};
use super::commands::{FIRST, go, page, server, to};

/// Most requests in flight that are tried, if the driver can.
pub(super) const MOST: usize = 7;

/// The rules of a sweep, applied to the driver under this load, agree with the driver's manifest.
pub(super) fn keeps_in_flight(check: &Check<'_>, concurrency: usize, over: Load) -> Result<()> {
    let pitfall = check.manifest.pitfall.as_ref();
    let reason =
        check.with_process(|process| reason_to_reject(check, process, concurrency, over))?;
    match (reason, pitfall) {
        (
            None,
            Some(Pitfall {
                from: Some(from),
                why,
                ..
            }),
        ) if concurrency == MOST && *from <= MOST => {
            bail!("nothing is rejected, although its manifest says so: {why}")
        }
        (None, _) => Ok(()),
        (Some(reason), _) if is_known(check, &reason) => Ok(()),
        (Some(reason), _) => bail!(reason),
    }
}

/// Whether the driver's manifest says that its client is rejected for this reason.
pub(super) fn is_known(check: &Check<'_>, reason: &str) -> bool {
    let pitfall = check.manifest.pitfall.as_ref();
    pitfall.is_some_and(|pitfall| reason.contains(&pitfall.says))
}

/// Bytes of small and larger bodies.
pub(super) const BODIES: [usize; 2] = [133, 13801];

/// Small and larger bodies, over connections as the client can use them, as many in flight as it can.
fn reason_to_reject(
    check: &Check<'_>,
    process: &mut DriverProcess,
    concurrency: usize,
    over: Load,
) -> Result<Option<String>> {
    let load = |keepalive: bool, body_bytes: usize| Load {
        body_bytes,
        keepalive,
        concurrency: concurrency.min(process.hello.max_concurrency),
        delay: Delay::Fixed(Duration::from_millis(3)),
        ..over
    };
    let ways = process.hello.keepalive.iter();
    let ways = ways.filter(|keepalive| **keepalive || !over.shares_connections());
    let loads = ways.flat_map(|keepalive| BODIES.map(|body_bytes| load(*keepalive, body_bytes)));
    let loads: Vec<Load> = loads.collect();
    let rejected = visit(check, process, &loads, |round| {
        rejection(&[round]).or_else(|| reopened(&[round]))
    })?;
    Ok(rejected.map(|(load, reason)| {
        let way = match load.keepalive {
            true => "",
            false => " and a new connection each",
        };
        format!("with bodies of {} bytes{way}, {reason}", load.body_bytes)
    }))
}

/// A sweep of one round for each load.
fn short_sweep(manifest: &Manifest, loads: &[Load]) -> Sweep {
    let cell = |load: &Load| Cell::new(&manifest.client, *load);
    Sweep {
        budget: Default::default(),
        clients: vec![manifest.clone()],
        cells: loads.iter().map(cell).collect(),
        controls: Vec::new(),
        usual: Load {
            delay: loads[0].delay,
            tls: loads[0].tls,
            ..Load::PLAIN
        },
        rounds: 1,
        invocations: 1,
        round_time: Duration::from_millis(100),
        warm_up: Duration::from_millis(300),
        seed: 1,
        target: Target::TestServer,
    }
}

/// Measures each load for a moment as a sweep does, until a round is rejected: with which load, and why.
pub(super) fn visit(
    check: &Check<'_>,
    process: &mut DriverProcess,
    loads: &[Load],
    find_offence: impl Fn(&Round) -> Option<String>,
) -> Result<Option<(Load, String)>> {
    let DriverProcess { driver, warm, .. } = process;
    let sweep = short_sweep(check.manifest, loads);
    let server = TestServer::start(server_for(&loads[0]))?;
    let mut runner = Runner::new(&sweep, Servers::for_load(&loads[0], server)?);
    if !std::mem::replace(warm, true) {
        runner.warm_up(driver)?;
    }
    for cell in sweep.cells.clone() {
        let load = cell.load;
        let trial = Trial {
            cell,
            invocation: 0,
            block: 0,
            order: 0,
        };
        if let Some(reason) = find_offence(&runner.trial(driver, &trial)?) {
            return Ok(Some((load, reason)));
        }
    }
    Ok(None)
}

/// Whether a driver claims that all of these requests ended well.
pub(super) fn all_done(claim: &Claim, count: u64) -> Result<()> {
    let kinds = claim.errors_by.iter();
    let kinds: Vec<String> = kinds.map(|(kind, n)| format!("{n} × {kind}")).collect();
    let kinds = match kinds.is_empty() {
        true => "none".to_owned(),
        false => kinds.join(", "),
    };
    ensure!(
        claim.done == count,
        "{} of {count} done; errors: {kinds}{}",
        claim.done,
        claim.first_failure()
    );
    Ok(())
}

pub(super) fn times_some(check: &Check<'_>) -> Result<()> {
    let server = server()?;
    let prepare = to(format!("{}/r/", server.base_url()), true, Verify::Tail);
    let go = Go {
        first: FIRST,
        count: 50,
        lat_every: 7,
        ..Go::default()
    };
    let claim = check.with_process(|process| check.round(&mut process.driver, &prepare, go))?;
    ensure!(
        claim.latencies_us.len() == 8,
        "50 requests, every 7th timed: {} of 8 times",
        claim.latencies_us.len()
    );
    Ok(())
}

/// Bodies that end in no check value: the one way to find it, if the driver says that it knows it.
pub(super) fn verifies(check: &Check<'_>, way: Verify) -> Result<()> {
    if !check.with_process(|process| Ok(process.hello.verify.contains(&way)))? {
        return Ok(());
    }
    let server = server()?;
    server.open_round(RoundSpec {
        gzip: way == Verify::Gzip,
        ..page(20)
    });
    let prepare = to(format!("{}/r/", server.base_url()), true, way);
    let claim = check.with_process(|process| check.round(&mut process.driver, &prepare, go(20)))?;
    let page = server.close_round();
    all_done(&claim, 20)?;
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

/// A generator that stops by the clock leaves a few requests behind that it does not count.
pub(super) fn claims_what_was_seen(check: &Check<'_>) -> Result<()> {
    let server = server()?;
    server.open_round(page(20));
    let prepare = to(
        format!("{}/bytes/133", server.base_url()),
        false,
        Verify::None,
    );
    let claim = check.with_process(|process| check.round(&mut process.driver, &prepare, go(20)))?;
    let seen = server.close_round().requests;
    ensure!(
        claim.done >= 20 && (claim.done..=claim.done + 2).contains(&seen),
        "20 requests were to be sent, 2 at a time: it claims {} done, the test server saw {seen}",
        claim.done
    );
    Ok(())
}
