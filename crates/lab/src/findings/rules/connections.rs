//! Rules of connections: how many there are, and what is in flight on them.

use hecaton_test_server::Interval;

use super::find_interval;
use crate::findings::words::{count, plural};
use crate::run::Round;

/// The smallest share of the requested concurrency that the test server must have seen.
///
/// One request in ten may be on its way while the others are held; fewer in flight is a smaller pool.
const LEAST_CONCURRENCY: f64 = 0.9;

/// How many times the requested connections may be open at once. A client may release a connection a moment after it
/// has handed the response over, and so need another one meanwhile: such a row is ranked with a warning.
const MOST_CONNECTIONS: u64 = 2;

/// One request in so many may open a connection where connections are reused: pools retire those that are old.
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

/// Over HTTP/2 requests cost a client something else than over HTTP/1.1, and over HTTP/1.0 it need read neither chunks nor
/// interim responses.
pub(super) fn over_another_version(round: &Round) -> Option<String> {
    let shares = round.cell.load.shares_connections();
    let required = if shares { "HTTP/2" } else { "HTTP/1.1" };
    find_interval(round, |interval, part| {
        let (old, two) = (interval.over_http1_0, interval.over_http2);
        let other = match shares {
            true => ("HTTP/1.1", interval.requests.saturating_sub(two + old)),
            false => ("HTTP/2", two),
        };
        let came = [("HTTP/1.0", old), other];
        let (version, others) = came.into_iter().find(|(_, others)| *others > 0)?;
        Some(format!(
            "{} of {} came over {version}{part}, though {required} was required",
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
                "requests were pipelined{part}: {} of {} came behind another on their connection, before its response",
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

/// The probe has just opened every connection that a round needs. A client may rebuild its pool once, and may retire
/// a few connections. More new connections than that are not keep-alive. All rounds count together: of a hundred
/// requests in a short one, a few too many are chance.
pub(super) fn reconnected(rounds: &[&Round]) -> Option<String> {
    let (mut opened, mut requests, mut allowed) = (0, 0, 0);
    for round in rounds.iter().filter(|round| round.cell.load.keepalive) {
        let interval = round.seen.as_ref()?;
        opened += interval.connections_opened;
        requests += interval.requests;
        allowed += round.cell.load.concurrency as u64 + interval.requests / RETIRED;
    }
    (opened > allowed).then(|| {
        format!(
            "connections are not kept alive: {} were opened for {}, at most {} expected",
            count(opened),
            plural(requests, "request"),
            count(allowed)
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

/// Connections that carried nothing although all requested were in flight. A pool may open one for a request that then
/// finds another free; where each request has its own, none is opened for a later one.
pub(super) fn ahead(round: &Round) -> Option<String> {
    let load = &round.cell.load;
    let requested = load.concurrency as u64;
    let most = match load.keepalive {
        true => 2 * requested + 8,
        false => requested + requested / 2 + 1,
    };
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

pub(super) fn too_many(round: &Round) -> Option<String> {
    if !round.cell.load.keepalive {
        return None;
    }
    let most = MOST_CONNECTIONS * round.cell.load.concurrency as u64;
    find_interval(round, |interval, part| {
        (open_at_once(interval) > most).then(|| {
            format!(
                "{} connections were used{part}, at most {} expected",
                count(open_at_once(interval)),
                count(most)
            )
        })
    })
}
