//! Requests at a rate: each is sent when it is due, whether or not those before it have ended.

use std::time::Duration;

use anyhow::{Result, bail};
use hecaton_lab::findings::rejection;
use hecaton_lab::plan::Load;
use hecaton_lab::run::Round;
use hecaton_lab::spec::Skill;
use hecaton_test_server::Delay;

use super::check::Check;
use super::work::{BODIES, MOST, is_known, visit};

/// A hundred requests a second, at equal distances and drawn by chance.
const RATES: [&str; 2] = ["100", "poisson:100"];

/// Every response takes so long that more requests become due than may be in flight.
const DELAY: Duration = Duration::from_millis(300);

/// The rules of a sweep are applied to the driver, if it says that it can send at a rate.
pub(super) fn keeps_a_rate(check: &Check<'_>) -> Result<()> {
    check.with_process(|process| {
        if !process.hello.can(Skill::Rate) {
            return Ok(());
        }
        let concurrency = MOST.min(process.hello.max_concurrency);
        let loads = RATES.map(|rate| Load {
            rate: Some(rate.parse().expect("it is a rate")),
            keepalive: process.hello.keepalive.contains(&true),
            body_bytes: BODIES[0],
            delay: Delay::Fixed(DELAY),
            concurrency,
            ..Load::PLAIN
        });
        let find_offence =
            |round: &Round| rejection(&[round]).or_else(|| waits_for_responses(round));
        match visit(check, process, &loads, find_offence)? {
            Some((load, reason)) if !is_known(check, &reason) => {
                bail!("at {} a second, {reason}", load.rate.expect("each has one"))
            }
            _ => Ok(()),
        }
    })
}

/// A driver may be slow, and its requests late. But then they are sent together, up to the most that may be in flight.
fn waits_for_responses(round: &Round) -> Option<String> {
    let peak = round.seen.as_ref()?.peak_in_flight;
    let most = round.cell.load.concurrency as u64;
    (peak < most).then(|| {
        format!("{peak} requests were in flight at once, though {most} were due before a response was sent")
    })
}
