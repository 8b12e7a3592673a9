//! Warnings: what a reader should know about a row that is ranked all the same.

use super::connections::{ahead, open_at_once};
use hecaton_test_server::Times;

use super::latencies::{ASIDE, all_claimed, claimed_in_flight, clock_step, cycles};
use super::rounds::{claimed, seen, together};
use crate::findings::words::{count, figure, plural};
use crate::run::{Fact, Round, Seen};

/// A row with less than this share of the requested concurrency says how many requests were in flight. The share is
/// below 1 because of what a driver does between two requests, which weighs most at concurrency 1.
const FULL: f64 = 0.75;

/// A median latency below this share of the time from one request to the next on a connection is mentioned.
const FULL_OF_A_CYCLE: f64 = 0.5;

/// Requests in flight on average, as the claimed latencies and the speed say (Little's law), at most the requested
/// number; none without latencies.
pub fn in_flight(rounds: &[&Round]) -> Option<f64> {
    let requested = rounds.first()?.cell.load.concurrency as f64;
    claimed_in_flight(rounds).map(|in_flight| in_flight.min(requested))
}

/// Such a row proves nothing: its driver can read what is expected of it.
pub(super) fn trusted(rounds: &[&Round]) -> Option<String> {
    let trusted = rounds.iter().any(|round| round.trusted);
    trusted.then(|| {
        "unverified: its driver ran as the lab's own user (--trust), and could read what the lab knows".to_string()
    })
}

/// A latency below the step of its clock is unknown.
pub(super) fn coarse_clock(rounds: &[&Round]) -> Option<String> {
    let step = clock_step(&claimed(rounds));
    (step > 0).then(|| {
        format!(
            "the clock of its driver has steps of {} ms or more, so shorter latencies are unknown",
            step / 1000
        )
    })
}

/// In the last moments of a round no id is left to send, so fewer requests are in flight than requested.
pub(super) fn few_in_flight(rounds: &[&Round]) -> Option<String> {
    let first = rounds.first().filter(|round| {
        let load = &round.cell.load;
        load.mode.is_none() && load.rate.is_none()
    })?;
    let requested = first.cell.load.concurrency;
    let wall: u64 = rounds.iter().map(|round| round.wall_ns).sum();
    let tails = seen(rounds).map(|interval| interval.tail_ns).sum();
    let full = wall.saturating_sub(tails) as f64 / wall.max(1) as f64;
    let in_flight = in_flight(rounds)?;
    (in_flight < FULL * full * requested as f64).then(|| {
        format!(
            "{} of {} requests were in flight on average",
            figure(in_flight),
            count(requested as u64)
        )
    })
}

/// A request is late if the test server reads it more than this many microseconds after it was due.
const LATE_US: f64 = 2000.0;

/// A client that sends a request later than it is due hides a wait from its figures (coordinated omission).
/// The kits of drivers count latencies from the due time, so their figures contain the wait.
pub(super) fn sends_late(rounds: &[&Round]) -> Option<String> {
    let behind = behind(rounds);
    let p99 = behind.quantile(0.99).filter(|p99| *p99 > LATE_US)?;
    let p50 = behind.quantile(0.5)?;
    Some(format!(
        "requests reached the server later than they were due: by {} ms in the median and {} ms at p99, which is part of its latencies",
        figure(p50 / 1e3),
        figure(p99 / 1e3)
    ))
}

/// How long after they were due requests reached the server, by its log.
pub(in crate::findings) fn behind(rounds: &[&Round]) -> Times {
    let logged = rounds.iter().filter_map(|round| round.logged.as_ref());
    let logged = logged.map(|entries| &entries.behind);
    together(seen(rounds).map(|interval| &interval.behind).chain(logged))
}

/// The first round, if connections are reused for one request at a time, and requests are sent neither in a mode of
/// their own nor at a rate. Only then do the gaps on a connection show when a client sends.
fn first_keep_alive<'a>(rounds: &[&'a Round]) -> Option<&'a Round> {
    let first = rounds.first().copied();
    first.filter(|round| {
        let load = &round.cell.load;
        let one_by_one = load.keepalive && !load.shares_connections();
        one_by_one && load.mode.is_none() && load.rate.is_none()
    })
}

/// A client that keeps its requests in flight waits for a response nearly as long as it takes from one request to the
/// next on a connection. If there are more connections than requests, they take turns.
pub(super) fn much_between(rounds: &[&Round]) -> Option<String> {
    let first = first_keep_alive(rounds)?;
    let used = seen(rounds).map(open_at_once).max()?;
    let turns = (used as f64 / first.cell.load.concurrency as f64).max(1.0);
    let claimed = all_claimed(rounds).filter(|claimed| clock_step(claimed) == 0)?;
    let latency = claimed.quantile(0.5)?;
    let cycle = cycles(rounds).quantile(0.5)? / turns;
    (latency < FULL_OF_A_CYCLE * cycle).then(|| {
        format!(
            "its median latency is {} ms, and {} ms from one request to the next: it pauses between them, or claims too little",
            figure(latency / 1e3),
            figure(cycle / 1e3)
        )
    })
}

/// A connection carries one request at a time. So the time of a request on the wire lies in the two gaps between it and
/// its neighbours there, and at least half of that time in one gap. At most twice as many requests can therefore take a
/// time on the wire as there are gaps of half that time. Other long latencies arise in the client, which is no lie: a
/// thread waits for its turn to run while others use its connection.
pub(super) fn much_outside(rounds: &[&Round]) -> Option<String> {
    first_keep_alive(rounds)?;
    let (claimed, cycles) = (all_claimed(rounds)?, cycles(rounds));
    // The first and the last request of a connection have a gap on one side only.
    let ends = rounds.iter().map(|round| 2 * round.cell.load.concurrency);
    let spare = ends.sum::<usize>() as u64 + (ASIDE * claimed.len() as f64).ceil() as u64;
    let at_least = |(us, _)| (us, claimed.at_least(us), cycles.at_least(us / 2));
    let mut all = claimed.iter().map(at_least);
    let (us, those, gaps) = all.find(|(_, those, gaps)| *those > 2 * gaps + spare)?;
    (!cycles.is_empty()).then(|| {
        format!(
            "{} of its latencies are {} ms or longer, but only {} requests arrived half as long after the one before them on their \
             connection: requests wait in the client, or it claims too much",
            count(those),
            figure(f64::from(us) / 1e3),
            count(gaps)
        )
    })
}

pub(super) fn many_connections(rounds: &[&Round]) -> Option<String> {
    let first = rounds.first().filter(|round| round.cell.load.keepalive)?;
    let requested = first.cell.load.concurrency as u64;
    let most = seen(rounds).map(open_at_once).max()?;
    (most > requested).then(|| {
        format!(
            "up to {} connections for {} at once",
            count(most),
            plural(requested, "request")
        )
    })
}

/// A resumed handshake costs less than a whole one, so rows with and without them do not do the same work.
pub(super) fn resumed(rounds: &[&Round]) -> Option<String> {
    let all = seen(rounds).map(|interval| interval.tls_handshakes).sum();
    let resumed: u64 = seen(rounds).map(|interval| interval.tls_resumed).sum();
    (resumed > 0).then(|| {
        format!(
            "{} of {} resumed a session, which costs less than a whole one",
            count(resumed),
            plural(all, "TLS handshake")
        )
    })
}

/// Error output is the driver's own work, and only so much of it is kept.
pub(super) fn flooded(rounds: &[&Round]) -> Option<String> {
    let facts = rounds.iter().flat_map(|round| &round.facts);
    let sizes = facts.filter_map(|fact| match fact {
        Fact::Seen(Seen::Flooded {
            written_mib,
            kept_mib,
        }) => Some((written_mib, kept_mib)),
        _ => None,
    });
    let (written, kept) = sizes.max()?;
    Some(format!(
        "its driver wrote {written} MiB of error output; {kept} MiB are kept"
    ))
}

/// A client that takes an interim response for the final one is out of step with the server from then on.
pub(super) fn no_interim(rounds: &[&Round]) -> Option<String> {
    let none = rounds.iter().any(|round| round.no_interim);
    none.then(|| {
        "it does not read interim responses (103), as RFC 9110 §15.2 requires of every client, so it was sent none".to_string()
    })
}

/// Connections that a client closes after the round are closed on nobody's account. One in twenty may still be on its way,
/// as one for each request in flight.
pub(super) fn left_open(rounds: &[&Round]) -> Option<String> {
    let many = |round: &&&Round| {
        let open = round.left_open.unwrap_or_default();
        open > round.cell.load.concurrency as u64 + round.count / 20
    };
    let worst = rounds.iter().filter(many);
    let worst = worst.max_by_key(|round| round.left_open)?;
    Some(format!(
        "{} of {} connections were still open when the round ended: closing them is in none of its figures",
        count(worst.left_open.unwrap_or_default()),
        count(worst.count)
    ))
}

/// Connections that somebody opened in the name of a driver that has no user of its own.
fn opened_by_others(round: &Round) -> Option<String> {
    let shared = round.isolation.is_some_and(|isolation| !isolation.own_user);
    shared.then(|| ahead(round)).flatten()
}

/// Others use the machine too: it is not known who disturbed the rounds, and the row is not to blame.
pub(super) fn disturbed(rounds: &[&Round]) -> Option<String> {
    let strays = "the server received requests that did not belong to its round";
    let why = |round: &&Round| {
        let strayed = || round.seen.as_ref().is_some_and(|seen| seen.stray > 0);
        let known = round.disturbed.first().cloned();
        let known = known.or_else(|| opened_by_others(round));
        known.or_else(|| strayed().then(|| strays.to_owned()))
    };
    let why: Vec<String> = rounds.iter().filter_map(why).collect();
    // Stray requests say less than any other reason.
    let first = why.iter().find(|why| *why != strays).or(why.first())?;
    Some(format!(
        "{} of {} disturbed by others: {first}",
        count(why.len()),
        plural(rounds.len() as u64, "round")
    ))
}
