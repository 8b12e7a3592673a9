//! Rules of connections: how many there are, and what is in flight on them.

use hecaton_test_server::{Interval, Times};

use super::{find_interval, least};
use crate::findings::words::{count, figure, plural};
use crate::run::Round;

/// The smallest share of the requested concurrency that the test server must have seen.
///
/// One request in ten may be on its way while the others are held; fewer in flight is a smaller pool.
const LEAST_CONCURRENCY: f64 = 0.9;

/// The smallest share of the requested concurrency that must have its connections in use during a round.
///
/// Where the test server responds at once, threads that share a core take uneven turns: of 200 threads of Ruby only 109
/// had one in a round of six requests each (`docs/results/2026-11-21-bench`). Less than a quarter is one thing after
/// another.
const LEAST_SPREAD: f64 = 0.25;

/// The share that the best check of a row must have seen in flight, unless it is no surprise that none did.
///
/// If a client sends in waves, a random check sees every share of a wave with equal probability. All of `n` checks
/// see less than a share `s` with probability `sⁿ`.
const LEAST_CHECKED: f64 = 0.5;
const SURPRISE: f64 = 0.01;

/// A check's second request is late when it comes so many times the mean time between two requests after the first. At
/// moments drawn by chance that happens in one case of so many at most (Markov's inequality).
const LATE: [u32; 3] = [2, 4, 8];

/// So seldom as many are late by chance that it is held against a row.
const SURPRISE_OF_LATE: f64 = 0.005;

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
    (interval.peak_in_flight < least(requested, LEAST_CONCURRENCY)).then(|| {
        format!(
            "only {} of {} requests were in flight at once, with every response held until all were there",
            count(interval.peak_in_flight),
            count(requested as u64)
        )
    })
}

/// HTTP/1.1 carries one request at a time, so all that is in flight has connections of its own.
pub(super) fn too_few_in_the_probe(round: &Round) -> Option<String> {
    let load = &round.cell.load;
    let interval = round
        .probe
        .as_ref()
        .filter(|_| !load.shares_connections())?;
    let requested = load.concurrency;
    (interval.connections_used < least(requested, LEAST_CONCURRENCY)).then(|| {
        format!(
            "{} carried {} requests at once in the probe before the round, at least {} expected",
            plural(interval.connections_used, "connection"),
            count(interval.peak_in_flight),
            least(requested, LEAST_CONCURRENCY)
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

/// HTTP/1.1 carries one request at a time, so who has many in flight uses many connections.
pub(super) fn too_few(round: &Round) -> Option<String> {
    // A batch as large as its concurrency is over before every connection had its turn; its probe has shown them.
    let load = &round.cell.load;
    // At a rate, as many are in flight as there are.
    let judged = load.mode.is_none() && load.rate.is_none() && !load.shares_connections();
    let interval = round.seen.as_ref().filter(|_| judged)?;
    let requested = round
        .cell
        .load
        .concurrency
        .min(usize::try_from(round.count).unwrap_or(usize::MAX));
    (interval.connections_used < least(requested, LEAST_SPREAD)).then(|| {
        format!(
            "only {} used for {} requests at once",
            if interval.connections_used == 1 {
                "1 connection was".into()
            } else {
                format!("{} connections were", count(interval.connections_used))
            },
            count(requested as u64)
        )
    })
}

/// At moments that it cannot know, a client has in flight what it had in the probe. A client that sends in waves has
/// fewer in flight, and gets a warning.
pub(super) fn another_in_the_probe(rounds: &[&Round]) -> Option<String> {
    let requested = rounds.first()?.cell.load.concurrency;
    let intervals = rounds.iter().filter_map(|round| round.seen.as_ref());
    let checks: Vec<u32> = intervals
        .flat_map(|interval| interval.checks.iter().copied())
        .collect();
    let most = u64::from(checks.iter().copied().max()?);
    let by_chance = (most as f64 / requested as f64).powf(checks.len() as f64);
    (by_chance < SURPRISE && most < least(requested, LEAST_CHECKED)).then(|| {
        format!(
            "at most {} of {} requests were in flight at {} moments drawn by chance, when every response was held until all were \
             there; the probe before had seen more",
            count(most),
            count(requested as u64),
            count(checks.len() as u64)
        )
    })
}

/// The positions of each class of waits: the least and the most requests that are held before.
fn places(class: usize) -> (usize, usize) {
    match class {
        ..EACH => (class + 2, class + 2),
        _ => {
            let first = (EACH + 2) << (class - EACH);
            (first, 2 * first - 1)
        }
    }
}

/// So many waits of a check have a class of their own.
const EACH: usize = 14;

/// A client may hold back some requests until it sees that a response is held. It is then late at that position of
/// every check. The more requests are held, the fewer are free, and the longer is an honest wait for the next one.
pub(super) fn waits_for_a_check_later(rounds: &[&Round]) -> Option<String> {
    let requested = rounds.first()?.cell.load.concurrency;
    let classes = of_checks(rounds)?;
    let (usual, classes) = classes;
    let surprise = SURPRISE_OF_LATE / classes.len().max(1) as f64;
    classes.iter().enumerate().find_map(|(class, waits)| {
        let (first, last) = places(class);
        let last = last.min(requested - 1);
        let together = last.saturating_sub(first) + 1;
        let free = requested.saturating_sub(last).max(1);
        LATE.into_iter().find_map(|times| {
            let after_us =
                f64::from(times) * usual * together as f64 * requested as f64 / free as f64;
            let late = waits.at_least(after_us.ceil() as u32);
            (at_least(late, waits.len(), 1.0 / f64::from(times)) < surprise).then(|| {
                format!(
                    "other requests came when {} were held, and not before: at {} of {} moments drawn by chance the next came {} ms or \
                     more later, and in the mean one came every {} ms",
                    plural(first as u64, "response"),
                    count(late),
                    count(waits.len()),
                    figure(after_us / 1e3),
                    figure(usual / 1e3)
                )
            })
        })
    })
}

/// The mean time between two requests in microseconds, and the waits at the checks of all rounds by their classes.
fn of_checks(rounds: &[&Round]) -> Option<(f64, Vec<Times>)> {
    let judged = |round: &&&Round| round.cell.load.mode.is_none();
    let (mut waits, mut wall_us, mut requests) = (Vec::new(), 0.0, 0);
    for round in rounds.iter().filter(judged) {
        let interval = round.seen.as_ref()?;
        let more = interval.check_waits.len().max(waits.len());
        waits.resize_with(more, Times::new);
        for (all, own) in waits.iter_mut().zip(&interval.check_waits) {
            all.merge(own);
        }
        wall_us += round.wall_ns as f64 / 1e3;
        requests += interval.requests;
    }
    Some((wall_us / requests.max(1) as f64, waits))
}

/// A client that has as many in flight as it should does not wait for its next response before it sends another
/// request. A client that sends the other requests only after it sees that a response is held, sends the second one
/// late at every check.
pub(super) fn waits_for_a_check(rounds: &[&Round]) -> Option<String> {
    let judged = |round: &&&Round| round.cell.load.mode.is_none();
    let (mut gaps, mut wall_us, mut requests) = (Times::new(), 0.0, 0);
    for round in rounds.iter().filter(judged) {
        let interval = round.seen.as_ref()?;
        gaps.merge(&interval.check_gaps);
        wall_us += round.wall_ns as f64 / 1e3;
        requests += interval.requests;
    }
    let usual = wall_us / requests.max(1) as f64;
    LATE.into_iter().find_map(|times| {
        let after_us = f64::from(times) * usual;
        let late = gaps.at_least(after_us.ceil() as u32);
        (at_least(late, gaps.len(), 1.0 / f64::from(times)) < SURPRISE_OF_LATE).then(|| {
            format!(
                "other requests came when a response was held, and not before: at {} of {} moments drawn by chance the second came \
                 {} ms or more after the first, and in the mean one came every {} ms",
                count(late),
                count(gaps.len()),
                figure(after_us / 1e3),
                figure(usual / 1e3)
            )
        })
    })
}

/// How likely at least `some` of `all` are, when each is by `chance`: the upper end of the binomial distribution.
fn at_least(some: u64, all: u64, chance: f64) -> f64 {
    // Logarithms: of many, that all are is too seldom for a number.
    let mut likely = all as f64 * chance.ln();
    let mut sum = 0.0;
    for k in (some..=all).rev() {
        sum += likely.exp();
        likely += (k as f64 / (all - k + 1) as f64 * (1.0 - chance) / chance).ln();
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{at_least, places};

    /// As the test server counts them (`class` in its `gate.rs`).
    #[test]
    fn the_positions_of_the_classes_follow_one_another() {
        let all: Vec<_> = [0, 1, 13, 14, 15, 16].map(places).into();
        assert_eq!(
            all,
            [(2, 2), (3, 3), (15, 15), (16, 31), (32, 63), (64, 127)]
        );
    }

    #[test]
    fn the_upper_end_of_a_binomial_distribution() {
        let near = |value: f64, expected: f64| (value - expected).abs() < 1e-9;
        assert!(near(at_least(0, 5, 0.25), 1.0));
        assert!(near(at_least(5, 5, 0.25), 0.25f64.powi(5)));
        assert!(near(at_least(2, 3, 0.5), 0.5));
        assert!(at_least(1000, 2000, 0.5) > 0.5 && at_least(1200, 2000, 0.5) < 1e-9);
    }
}
