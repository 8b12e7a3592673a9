//! Rules of the work itself: it was done by the driver, on its core, in its time.

use crate::findings::words::figure;
use crate::run::Round;

/// CPU time that a request takes at least, in nanoseconds: it can not be sent and its answer can not be read for less than two
/// questions to the kernel.
const LEAST_CPU_NS: f64 = 500.0;

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
