//! Why a row is rejected, or ranked with a warning: each rule compares one claim with what the server's log says, and
//! names both numbers.
//!
//! A rejected row stays visible with its reason and is never ranked. The order of [`RULES`] is the order
//! of causes: a request that never arrived also spoils the checksum, so it is reported first.

mod connections;
mod latencies;
mod logged;
mod requests;
mod warnings;
mod work;

use hecaton_test_server::Interval;

use super::words::plural;
use crate::run::Round;

pub use latencies::{clock_step, sooner_than_the_loader};
pub(super) use warnings::behind;
pub use warnings::{in_flight, warnings};
pub use work::offence;

/// Version of the rules, written in every document: rows that one version ranks another may reject.
pub const VERSION: u32 = 10;

type Rule = fn(&Round) -> Option<String>;
type RuleOfARow = fn(&[&Round]) -> Option<String>;

/// Rules that look at one round, in the order of causes.
const RULES: [Rule; 27] = [
    requests::only_a_reference,
    requests::unaccounted,
    requests::kinds_wrong,
    requests::failed,
    requests::unnoticed,
    requests::never_arrived,
    logged::never_logged,
    logged::logged_as_failed,
    logged::logged_otherwise,
    requests::duplicated,
    requests::foreign,
    requests::requested_otherwise,
    requests::too_early,
    requests::checksum_wrong,
    requests::bytes_wrong,
    requests::aborted,
    connections::over_another_version,
    connections::many_ahead,
    work::offended,
    connections::pipelined,
    connections::too_few_in_flight,
    connections::too_many_in_flight,
    connections::reused,
    connections::opened_ahead,
    connections::too_many,
    requests::probe_incomplete,
    latencies::not_all_timed,
];

/// Rules that look at all rounds of a row.
const RULES_OF_A_ROW: [RuleOfARow; 4] = [
    connections::reconnected,
    latencies::more_than_requested,
    latencies::shorter_than_held,
    latencies::shorter_than_due,
];

/// The reason why the rounds of one cell, and the proofs beside them, must not be ranked, in words; none when nothing disagrees.
///
/// Rounds without a log are only checked against themselves. Connections are checked as those of
/// HTTP/1.1: reused, or one for each request, as the cell says.
pub fn rejection(rounds: &[&Round]) -> Option<String> {
    let proofs: Vec<Round> = rounds.iter().filter_map(|round| round.of_proof()).collect();
    let all: Vec<&Round> = rounds.iter().copied().chain(&proofs).collect();
    let rounds = &all[..];
    let of_rounds = RULES.iter().find_map(|rule| {
        let reasons: Vec<String> = rounds.iter().filter_map(|round| rule(round)).collect();
        let first = reasons.first()?;
        let all = plural(rounds.len() as u64, "round");
        Some(format!("{first} (in {} of {all})", reasons.len()))
    });
    of_rounds.or_else(|| RULES_OF_A_ROW.iter().find_map(|rule| rule(rounds)))
}

/// The first of the measured part and the probe that a rule objects to; the rule gets words for which.
fn find_interval(
    round: &Round,
    rule: impl Fn(&Interval, &str) -> Option<String>,
) -> Option<String> {
    let measured = round.seen.as_ref().and_then(|interval| rule(interval, ""));
    measured.or_else(|| {
        let probe = round.probe.as_ref();
        probe.and_then(|interval| rule(interval, " in the probe before the round"))
    })
}
