//! Rules of the work itself: it was done by the driver, on its core, in its time.

use crate::findings::stats::median;
use crate::findings::words::{figure, percent};
use crate::run::Round;

/// CPU time that a request takes at least, in nanoseconds: it can not be sent and its answer can not be read for less than two
/// questions to the kernel.
const LEAST_CPU_NS: f64 = 500.0;

/// Share of a core that is used by nobody known while a row is measured, more than while others are, from which on it is the row's.
const ELSEWHERE: f64 = 0.3;

/// Share of a core that others may use all the time, for that to be said; and how many rounds it takes.
const QUIET: f64 = 0.1;
const FEWEST_ROUNDS: usize = 3;

/// CPU time of other programs during a row's rounds, as a share of a core, median; none where it is not known.
pub fn foreign(rounds: &[&Round]) -> Option<f64> {
    let shares = rounds.iter().filter_map(|round| {
        let noise = round.noise?;
        Some(noise.foreign_ns as f64 / round.wall_ns.max(1) as f64)
    });
    let shares: Vec<f64> = shares.collect();
    median(&shares).filter(|_| shares.len() >= FEWEST_ROUNDS)
}

/// Work that nobody accounts for, whenever this client is measured and never else. `others`: the same share of all other clients.
pub fn done_elsewhere(own: Option<f64>, others: &[f64]) -> Option<String> {
    let (own, usual) = (own?, median(others)?);
    (usual < QUIET && own > usual + ELSEWHERE).then(|| {
        format!(
            "work was done elsewhere: while it was measured, other programs used {} of a core, else {}",
            percent(own),
            percent(usual)
        )
    })
}

/// What the lab saw itself.
pub(super) fn offended(round: &Round) -> Option<String> {
    round.offences.first().cloned()
}

pub(super) fn nothing_used(round: &Round) -> Option<String> {
    let used = (round.cpu_user_ns + round.cpu_system_ns) as f64 / round.claim.done.max(1) as f64;
    if round.claim.done > 0 && used < LEAST_CPU_NS {
        return Some(format!(
            "the work was done elsewhere: the driver's processes used {} µs of CPU time for each request",
            figure(used / 1e3)
        ));
    }
    (round.peak_rss_kib == 0)
        .then(|| "nothing is known of the memory of the driver's processes".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_shows_only_as_that_of_others_is_told_where_it_is_quiet_otherwise() {
        let quiet = [0.02, 0.05, 0.03];
        let says = done_elsewhere(Some(0.6), &quiet).unwrap();
        assert!(says.contains("60") && says.contains("else 3"), "{says}");
        assert_eq!(
            done_elsewhere(Some(0.3), &quiet),
            None,
            "little more than others"
        );
        assert_eq!(
            done_elsewhere(Some(0.9), &[0.4, 0.5, 0.6]),
            None,
            "a machine under load"
        );
        assert_eq!(done_elsewhere(None, &quiet), None);
        assert_eq!(
            done_elsewhere(Some(0.9), &[]),
            None,
            "nobody to compare with"
        );
    }
}
