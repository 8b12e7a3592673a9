//! Promises about failure: a driver refuses what it cannot do, and counts failed requests.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use hecaton_lab::run::{Claim, Driver, DriverError, Prepare, Problem, Verify};
use hecaton_test_server::{ClosedPort, Delay, RoundSpec};

use super::check::Check;
use super::commands::{go, page, server, to};

/// The time limit that is tried. Some clients know only whole seconds.
const LIMIT: Duration = Duration::from_secs(1);

/// How long the server then waits before it responds.
const LATE: Duration = Duration::from_secs(6);

pub(super) fn refuses_unknown_commands(check: &Check<'_>) -> Result<()> {
    check.with_process(|process| is_unsupported(process.driver.unknown_command()))
}

/// Whether a driver refused a command that it cannot do.
pub(super) fn is_unsupported<T>(response: Result<T>) -> Result<()> {
    let Err(error) = response else {
        bail!("it responded with ok")
    };
    match error.downcast_ref::<DriverError>() {
        Some(DriverError {
            problem: Problem::Refused(kind, _),
            ..
        }) if kind == "unsupported" => Ok(()),
        _ => Err(error),
    }
}

pub(super) fn refuses_to_verify(check: &Check<'_>) -> Result<()> {
    let prepare = to("http://127.0.0.1:1/r/".to_string(), true, Verify::Tail);
    check.with_process(|process| is_unsupported(check.prepare(&mut process.driver, &prepare)))
}

pub(super) fn counts_statuses(check: &Check<'_>) -> Result<()> {
    let server = server()?;
    let prepare = to(
        format!("{}/status/500", server.base_url()),
        false,
        Verify::None,
    );
    let claim = check.with_process(|process| check.round(&mut process.driver, &prepare, go(5)))?;
    all_failed(&claim, 5)
}

pub(super) fn counts_refusals(check: &Check<'_>) -> Result<()> {
    let closed = ClosedPort::take()?;
    let url = format!("http://{}/r/", closed.address());
    let prepare = match check.is_reference() {
        true => to(url, false, Verify::None),
        false => to(url, true, Verify::Tail),
    };
    check.with_process(|process| fails_whole(check, &mut process.driver, &prepare))
}

/// A driver that ignores its limit gets all responses, only late.
pub(super) fn keeps_its_time_limit(check: &Check<'_>) -> Result<()> {
    let server = server()?;
    server.open_round(RoundSpec {
        delay: Delay::Fixed(LATE),
        ..page(2)
    });
    let prepare = Prepare {
        timeout_ms: LIMIT.as_millis() as u64,
        ..to(format!("{}/r/", server.base_url()), true, Verify::Tail)
    };
    let claim = check.with_process(|process| check.round(&mut process.driver, &prepare, go(2)))?;
    all_failed(&claim, 2).with_context(|| {
        let (limit, late) = (LIMIT.as_secs(), LATE.as_secs());
        format!("`timeout_ms` was {limit} s, and the server responded after {late} s")
    })
}

/// Whether a driver counts only failures in a round in which no request can succeed.
pub(super) fn fails_whole(check: &Check<'_>, driver: &mut Driver, prepare: &Prepare) -> Result<()> {
    match check.round(driver, prepare, go(5)) {
        Ok(claim) => all_failed(&claim, 5),
        // A driver that opens its connections early fails already at `prepare`.
        Err(error) => match error.downcast_ref::<DriverError>() {
            Some(DriverError {
                problem: Problem::Refused(kind, _),
                ..
            }) if kind == "failed" => Ok(()),
            _ => Err(error),
        },
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
        "errors_by does not give a kind for every error"
    );
    Ok(())
}
