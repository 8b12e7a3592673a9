//! Figures from the rounds of a row, for several rules.

use hecaton_test_server::{Interval, Times};

use crate::run::Round;

/// The server's logs of these rounds, as far as there is one.
pub fn seen<'a>(rounds: &'a [&Round]) -> impl Iterator<Item = &'a Interval> {
    rounds.iter().filter_map(|round| round.seen.as_ref())
}

/// The claimed latencies of these rounds.
pub fn claimed(rounds: &[&Round]) -> Times {
    together(rounds.iter().map(|round| &round.claim.latencies_us))
}

/// All of these times in one.
pub fn together<'a>(times: impl Iterator<Item = &'a Times>) -> Times {
    let mut all = Times::new();
    times.for_each(|times| all.merge(times));
    all
}

/// The first of the measured part and the probe that a rule objects to; the rule gets words for which.
pub fn find_interval(
    round: &Round,
    rule: impl Fn(&Interval, &str) -> Option<String>,
) -> Option<String> {
    let measured = round.seen.as_ref().and_then(|interval| rule(interval, ""));
    measured.or_else(|| {
        let probe = round.probe.as_ref();
        probe.and_then(|interval| rule(interval, " in the probe before the round"))
    })
}
