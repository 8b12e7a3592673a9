//! Rules of latencies, which are claims: what the test server knows of its own responses bounds latencies from below,
//! and the speed from above.

use hecaton_test_server::Times;

use super::requests::turned_away;
use super::rounds::{claimed, seen, together};
use crate::findings::words::{count, figure, plural};
use crate::run::Round;

/// Little's law: requests in flight on average = requests/s × mean latency. More than the concurrency is impossible; 10
/// % are left for the rounding.
const MOST_IN_FLIGHT: f64 = 1.1;

/// Fewest latencies that are checked by their mean or median.
const FEWEST_LATENCIES: u64 = 10;

/// Share of all requests that may stand against the test server's times without a word: clocks are read a moment apart.
pub(super) const ASIDE: f64 = 0.01;

pub(super) fn not_all_timed(round: &Round) -> Option<String> {
    let every = Some(round.lat_every).filter(|every| *every > 0)?;
    let timed = round.claim.latencies_us.len();
    // Where each is timed, those that were turned away have no latency; where only some are, nobody knows which.
    let turned = turned_away(round);
    let requested = match every {
        1 => round.count.saturating_sub(turned),
        _ => round.count.div_ceil(every),
    };
    (round.claim.errors == turned && (turned == 0 || every == 1) && timed != requested).then(|| {
        format!(
            "{} were to be timed, but the driver claims {}",
            plural(requested, "request"),
            plural(timed, "latency").replace("latencys", "latencies")
        )
    })
}

/// Requests in flight on average, by the claimed latencies.
pub(super) fn claimed_in_flight(rounds: &[&Round]) -> Option<f64> {
    let (mut in_flight_us, mut wall_us, mut timed) = (0.0, 0.0, 0);
    for round in rounds {
        let claimed = &round.claim.latencies_us;
        in_flight_us += claimed.mean()? * round.claim.done as f64;
        wall_us += round.wall_ns as f64 / 1e3;
        timed += claimed.len();
    }
    (timed >= FEWEST_LATENCIES && wall_us > 0.0).then(|| in_flight_us / wall_us)
}

pub(super) fn more_than_requested(rounds: &[&Round]) -> Option<String> {
    let load = &rounds.first()?.cell.load;
    // At a rate, latencies count from when requests are due, and any number may wait.
    let in_flight = claimed_in_flight(rounds).filter(|_| load.rate.is_none())?;
    let requested = load.concurrency;
    let most = MOST_IN_FLIGHT * requested as f64;
    (in_flight > most).then(|| {
        format!(
            "the claimed latencies contradict the speed: by Little's law {} requests were in flight on average, at most {} \
             expected for concurrency {}",
            figure(in_flight),
            figure(most),
            count(requested as u64)
        )
    })
}

/// Latencies below this are short enough for their buckets to show the step of a clock, in microseconds.
const SHOWS_STEPS: u32 = 16_000;

/// The step of the clock that took these latencies, in microseconds, if they show one of a millisecond or more; else 0.
pub fn clock_step(latencies: &Times) -> u32 {
    let short = || latencies.iter().take_while(|(us, _)| *us < SHOWS_STEPS);
    let fits = |step: &u32| {
        let is_step = |(us, _): (u32, u64)| us.next_multiple_of(*step) - us <= us / 128;
        short().all(is_step)
    };
    let enough = short().map(|(_, count)| count).sum::<u64>() >= FEWEST_LATENCIES;
    let steps = [10_000, 1_000].into_iter().filter(|_| enough);
    steps.filter(fits).max().unwrap_or(0)
}

/// The loader does as little as possible for a request, so hardly a client does half of its requests sooner than the loader
/// its fastest. Both are times that differ from machine to machine, so this is a warning.
pub fn sooner_than_the_loader(median_ms: Option<f64>, fastest_ms: f64) -> Option<String> {
    let median = median_ms.filter(|median| *median < fastest_ms)?;
    Some(format!(
        "its median latency is {} ms, and the fastest request of the baseline loader took {} ms: it claims too little",
        figure(median),
        figure(fastest_ms)
    ))
}

/// A response that the test server held for a while was under way for at least as long, so as many claimed latencies
/// are as long.
pub(super) fn shorter_than_held(rounds: &[&Round]) -> Option<String> {
    let claimed = all_claimed(rounds)?;
    let held = together(seen(rounds).map(|interval| &interval.held));
    let refuted = refuted(rounds, &claimed, &held, clock_step(&claimed))?;
    Some(format!(
        "the claimed latencies contradict the server's times: it held {} for {} ms or longer, and only {} of the claimed \
         latencies are as long",
        plural(refuted.responses, "response"),
        figure(refuted.ms),
        count(refuted.latencies)
    ))
}

/// Claims that the server's own times refute.
struct Refuted {
    /// How long so many responses took at least.
    ms: f64,
    responses: u64,
    /// How many claimed latencies are as long.
    latencies: u64,
}

/// Where fewer latencies than the server's own times are so long. Responses that it turned away have a time and no latency, and
/// clocks of two programs are read a moment apart.
fn refuted(rounds: &[&Round], claimed: &Times, own: &Times, spared_us: u32) -> Option<Refuted> {
    let turned: u64 = rounds.iter().map(|round| turned_away(round)).sum();
    let spare = (ASIDE * own.len() as f64).ceil() as u64 + 1 + turned;
    own.iter().find_map(|(us, _)| {
        let latencies = claimed.at_least((us - us / 50).saturating_sub(spared_us));
        let responses = own.at_least(us);
        (latencies + spare < responses).then(|| Refuted {
            ms: f64::from(us) / 1e3,
            responses,
            latencies,
        })
    })
}

/// At a rate a latency counts from when its request was due, and no response is read before the test server let it go.
/// So as many claimed latencies are as long as the server's own times from due to let go.
pub(super) fn shorter_than_due(rounds: &[&Round]) -> Option<String> {
    let claimed = all_claimed(rounds)?;
    let least = together(seen(rounds).map(|interval| &interval.least));
    let refuted = refuted(rounds, &claimed, &least, 1000.max(clock_step(&claimed)))?;
    Some(format!(
        "the claimed latencies contradict the server's times: {} went out {} ms or more after the request was due, and only {} of \
         the claimed latencies are as long",
        plural(refuted.responses, "response"),
        figure(refuted.ms),
        count(refuted.latencies)
    ))
}

/// The claimed latencies of all requests; none where only some were timed.
pub(super) fn all_claimed(rounds: &[&Round]) -> Option<Times> {
    let is_whole = |round: &&Round| round.lat_every == 1 && round.seen.is_some();
    rounds.iter().all(is_whole).then(|| claimed(rounds))
}

/// From each request to the next on its connection.
pub(super) fn cycles(rounds: &[&Round]) -> Times {
    together(seen(rounds).map(|interval| &interval.cycles))
}
