//! Rules of the access log of one's own service: it must have what a client claims.

use crate::findings::words::{count, plural};
use crate::run::Round;

/// A response without a request in the log is none.
pub(super) fn never_logged(round: &Round) -> Option<String> {
    let logged = round.logged.as_ref()?;
    (logged.distinct < round.claim.done).then(|| {
        format!(
            "{} of {} that the driver claims as done are not in the access log",
            count(round.claim.done - logged.distinct),
            plural(round.claim.done, "request")
        )
    })
}

/// A status that counts as a failure is one, whatever the client says.
pub(super) fn logged_as_failed(round: &Round) -> Option<String> {
    let successes = round.logged.as_ref()?.successes?;
    (successes < round.claim.done).then(|| {
        format!(
            "the driver claims {} as done, and the access log has {} with a status that counts as success",
            plural(round.claim.done, "request"),
            count(successes)
        )
    })
}

/// A warning: lines came when their round had been judged, so nobody knows whether its figures are whole.
pub(super) fn logged_late(rounds: &[&Round]) -> Option<String> {
    let logged = rounds.iter().filter_map(|round| round.logged.as_ref());
    let late: u64 = logged.map(|entries| entries.late).sum();
    (late > 0).then(|| {
        format!(
            "{} of the access log came when their round was over, and are in no count: the service writes its log late, or the client \
             sent requests again",
            plural(late, "line")
        )
    })
}

/// A request for something else may cost the client less, whatever id it has.
pub(super) fn logged_otherwise(round: &Round) -> Option<String> {
    let logged = round.logged.as_ref()?;
    let as_sent = logged.distinct.saturating_sub(logged.otherwise);
    (logged.otherwise > 0 && as_sent < round.claim.done).then(|| {
        format!(
            "{} of {} that the driver claims as done have another method or path in the access log",
            count(logged.otherwise),
            plural(round.claim.done, "request")
        )
    })
}

/// A warning: the service got requests more than once, so the client sends again by itself.
pub(super) fn logged_again(rounds: &[&Round]) -> Option<String> {
    let logged = || rounds.iter().filter_map(|round| round.logged.as_ref());
    let (lines, ids): (u64, u64) = (
        logged().map(|entries| entries.lines).sum(),
        logged().map(|entries| entries.distinct).sum(),
    );
    (lines > ids).then(|| {
        format!(
            "requests reached the service more than once: its access log has {} for {}",
            plural(lines, "line"),
            plural(ids, "request")
        )
    })
}
