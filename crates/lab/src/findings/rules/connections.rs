//! Rules of connections: how many there are, and what is in flight on them.

use hecaton_test_server::Interval;

use super::rounds::find_interval;
use crate::findings::words::{count, plural};
use crate::run::Round;

/// The smallest share of the requested concurrency that the test server must have seen.
///
/// One request in ten may be on its way while the others are held; fewer in flight is a smaller pool.
const LEAST_CONCURRENCY: f64 = 0.9;

/// One request in so many may open a connection without a word where connections are reused: pools retire those that
/// are old.
const RETIRED: u64 = 20;

/// Most connections of an interval that were open at once.
pub(super) fn open_at_once(interval: &Interval) -> u64 {
    match interval.peak_connections {
        0 => interval.connections_used, // documents of before know only that
        peak => peak,
    }
}

/// The probe holds every response until all expected requests are there, so its peak is exact.
pub(super) fn too_few_in_flight(round: &Round) -> Option<String> {
    let interval = round.probe.as_ref()?;
    let requested = round.cell.load.concurrency;
    let least = (requested as f64 * LEAST_CONCURRENCY).ceil() as u64;
    (interval.peak_in_flight < least).then(|| {
        format!(
            "only {} of {} requests were in flight at once, with every response held until all were there",
            count(interval.peak_in_flight),
            count(requested as u64)
        )
    })
}

/// Each version of HTTP costs a client something else, and over HTTP/1.0 it need read neither chunks nor interim
/// responses.
pub(super) fn over_another_version(round: &Round) -> Option<String> {
    let required = round.cell.load.version();
    find_interval(round, |interval, part| {
        let known = [
            ("HTTP/1.0", interval.over_http1_0),
            ("HTTP/2", interval.over_http2),
            ("HTTP/3", interval.over_http3),
        ];
        let sum: u64 = known.iter().map(|(_, count)| count).sum();
        let rest = ("HTTP/1.1", interval.requests.saturating_sub(sum));
        let mut came = known.into_iter().chain([rest]);
        let (version, others) = came.find(|(name, others)| *name != required && *others > 0)?;
        Some(format!(
            "{} of {} arrived over {version}{part}, though {required} was required",
            count(others),
            plural(interval.requests, "request")
        ))
    })
}

/// A client that does not wait for the previous response saves the time that other clients spend on waiting.
pub(super) fn pipelined(round: &Round) -> Option<String> {
    find_interval(round, |interval, part| {
        (interval.pipelined > 0).then(|| {
            format!(
                "requests were pipelined{part}: {} of {} arrived behind another on their connection, before its response",
                count(interval.pipelined),
                count(interval.requests)
            )
        })
    })
}

pub(super) fn too_many_in_flight(round: &Round) -> Option<String> {
    let requested = round.cell.load.concurrency as u64;
    find_interval(round, |interval, part| {
        (interval.peak_in_flight > requested).then(|| {
            format!(
                "{} requests were in flight at once{part}, {} allowed",
                count(interval.peak_in_flight),
                count(requested)
            )
        })
    })
}

/// Connections opened in the measured rounds, and the requests of these rounds; none without a log.
pub fn opened(rounds: &[&Round]) -> Option<(u64, u64)> {
    let mut all = (0, 0);
    for round in rounds {
        let interval = round.seen.as_ref()?;
        all.0 += interval.connections_opened;
        all.1 += interval.requests;
    }
    Some(all)
}

/// The probe has just opened every connection that a round needs. A client may open its pool once more in each round,
/// and may retire a few connections. Whatever it opens beyond costs its own time, so it is no lie: but such a row does
/// not show what keep-alive connections are worth. All rounds count together, because a few too many in a short one
/// are chance.
pub fn reopened(rounds: &[&Round]) -> Option<String> {
    let load = &rounds
        .first()
        .filter(|round| round.cell.load.keepalive)?
        .cell
        .load;
    let (opened, requests) = opened(rounds)?;
    let pools = load.concurrency as u64 * rounds.len() as u64;
    let handshakes = if load.tls {
        ", each with a TLS handshake"
    } else {
        ""
    };
    (opened > pools + requests / RETIRED).then(|| {
        format!(
            "connections are not kept alive: {} were opened for {}{handshakes}; that is in its time and CPU time",
            count(opened),
            plural(requests, "request")
        )
    })
}

/// A client that must open a new connection for each request may not skip any.
pub(super) fn reused(round: &Round) -> Option<String> {
    find_interval(round, |interval, part| {
        (!round.cell.load.keepalive && interval.reused > 0).then(|| {
            format!(
                "connections are kept alive: {} of {} came on one that had carried another{part}, though each should \
                 have had its own",
                count(interval.reused),
                plural(interval.requests, "request")
            )
        })
    })
}

/// Connections that carried nothing although all requested were in flight, where each request has one of its own: none
/// is opened for a later request.
pub(super) fn ahead(round: &Round) -> Option<String> {
    let load = Some(&round.cell.load).filter(|load| !load.keepalive)?;
    let requested = load.concurrency as u64;
    let most = requested + requested / 2 + 1;
    let intervals = round.probe.iter().chain(&round.seen);
    let peak = intervals.map(|seen| seen.peak_ahead).max()?;
    (peak > most).then(|| {
        format!(
            "{peak} connections were open at once that carried nothing yet or were owed a response, at most {most} expected for \
             concurrency {requested}"
        )
    })
}

/// They are the driver's where it has a user of its own; else others of the same user may have opened them.
pub(super) fn many_ahead(round: &Round) -> Option<String> {
    round.isolation?.own_user.then(|| ahead(round)).flatten()
}

/// A client that must open a new connection for each request opens it when the request is due, not before.
pub(super) fn opened_ahead(round: &Round) -> Option<String> {
    // Documents of before count what connected, whoever it was.
    let judged = !round.cell.load.keepalive && round.lat_every > 0;
    let interval = round.seen.as_ref().filter(|_| judged)?;
    (interval.connections_opened < interval.distinct).then(|| {
        format!(
            "connections were opened ahead of the round: {} needed one each, and only {} were opened meanwhile",
            plural(interval.distinct, "request"),
            count(interval.connections_opened)
        )
    })
}
