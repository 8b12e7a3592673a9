//! Why a row is rejected: each rule compares one claim with what the ledger saw, and names both numbers.
//!
//! A rejected row stays visible with its reason and is never ranked. The order of [`RULES`] is the order
//! of causes: a request that never arrived also spoils the sum of tokens, so it is told first.

use std::time::Duration;

use hecaton_origin::{Delay, Page};

use super::words::{count, figure, plural};
use crate::run::Round;

/// The smallest share of the asked concurrency that the origin must have seen.
///
/// One request in ten may be on its way while the others are held; fewer in flight is a smaller pool.
const LEAST_CONCURRENCY: f64 = 0.9;

/// The smallest share of the asked concurrency that must have its connections in use during a round.
///
/// Where the origin answers at once, threads that share a core take uneven turns: of 200 threads of Ruby only 109 had one
/// in a round of six requests each (`docs/results/2026-11-21-bench`). Less than a quarter is one thing after another.
const LEAST_SPREAD: f64 = 0.25;

/// Little's law: requests in flight on average = requests/s × mean latency, as a share of the asked
/// concurrency. The upper limit leaves 10 % for sampled latencies; the lower one also leaves room for
/// what a driver does between two requests outside its timer, which weighs most at concurrency 1.
const LITTLE: std::ops::RangeInclusive<f64> = 0.75..=1.1;

/// Fewest latencies that Little's law and the median are checked with.
const FEWEST_LATENCIES: usize = 10;

type Rule = fn(&Round) -> Option<String>;

/// Rules that look at one round, in the order of causes.
const RULES: [Rule; 16] = [
    only_a_reference,
    unaccounted,
    failed,
    never_arrived,
    duplicated,
    foreign,
    tokens_wrong,
    bytes_wrong,
    aborted,
    too_few_in_flight,
    too_many_in_flight,
    reconnected,
    kept,
    too_many_connections,
    too_few_connections,
    proof_incomplete,
];

/// The reason why the rounds of one cell must not be ranked, in words; none when nothing disagrees.
///
/// `delay` is what the origin was told to wait before each answer ([`Delay::None`] for a foreign server).
/// Rounds without a ledger page are only checked against themselves. Connections are judged as those of
/// HTTP/1.1: kept, or one for each request, as the cell says.
pub fn rejection(rounds: &[&Round], delay: &Delay) -> Option<String> {
    RULES
        .iter()
        .find_map(|rule| {
            let reasons: Vec<String> = rounds.iter().filter_map(|round| rule(round)).collect();
            let first = reasons.first()?;
            Some(format!(
                "{first} (in {} of {})",
                reasons.len(),
                plural(rounds.len() as u64, "round")
            ))
        })
        .or_else(|| little_broken(rounds))
        .or_else(|| faster_than_the_origin(rounds, delay))
}

fn only_a_reference(round: &Round) -> Option<String> {
    round.reference.then(|| {
        "a load generator, shown for reference: it looks at no body, sends no ids and is answered without \
         the delay, so nothing of it can be verified"
            .to_string()
    })
}

fn unaccounted(round: &Round) -> Option<String> {
    let Round {
        count: asked,
        claim,
        ..
    } = round;
    (claim.done + claim.errors != *asked).then(|| {
        format!(
            "{} were asked, but the driver accounts for {}: {} done and {} failed",
            plural(*asked, "request"),
            count(claim.done + claim.errors),
            count(claim.done),
            count(claim.errors)
        )
    })
}

fn failed(round: &Round) -> Option<String> {
    let claim = &round.claim;
    let kinds: Vec<String> = claim
        .errors_by
        .iter()
        .map(|(kind, n)| format!("{kind}: {}", count(*n)))
        .collect();
    let kinds = if kinds.is_empty() {
        String::new()
    } else {
        format!(" ({})", kinds.join(", "))
    };
    (claim.errors > 0).then(|| {
        format!(
            "{} of {} requests failed{kinds}",
            count(claim.errors),
            count(round.count)
        )
    })
}

fn never_arrived(round: &Round) -> Option<String> {
    let page = round.seen.as_ref()?;
    (page.distinct < round.count).then(|| {
        format!(
            "{} of {} requests never arrived: the driver claims {} done, the origin saw {}",
            count(round.count - page.distinct),
            count(round.count),
            count(round.claim.done),
            count(page.distinct)
        )
    })
}

fn duplicated(round: &Round) -> Option<String> {
    find_page(round, |page, part| {
        (page.duplicates > 0).then(|| {
            format!(
                "{} more than once{part}: the origin saw {} for {}",
                if page.duplicates == 1 {
                    "1 request was sent".into()
                } else {
                    format!("{} requests were sent", count(page.duplicates))
                },
                plural(page.requests, "request"),
                plural(page.count, "id")
            )
        })
    })
}

fn foreign(round: &Round) -> Option<String> {
    find_page(round, |page, part| {
        (page.foreign > 0).then(|| {
            format!(
                "{} that nobody asked for{part}: the origin saw them outside the {}",
                plural(page.foreign, "request"),
                plural(page.count, "id")
            )
        })
    })
}

fn tokens_wrong(round: &Round) -> Option<String> {
    let page = round.seen.as_ref()?;
    (round.claim.sum != page.expected_sum).then(|| {
        format!(
            "the sum of the tokens at the end of the bodies is wrong: {} expected, {} claimed; \
             bodies were not read to their end, or not verified",
            page.expected_sum, round.claim.sum
        )
    })
}

fn bytes_wrong(round: &Round) -> Option<String> {
    let page = round.seen.as_ref()?;
    (round.claim.bytes != page.body_bytes_out).then(|| {
        format!(
            "the driver claims {} of bodies, the origin wrote {}",
            plural(round.claim.bytes, "byte"),
            count(page.body_bytes_out)
        )
    })
}

fn aborted(round: &Round) -> Option<String> {
    find_page(round, |page, part| {
        (page.aborted > 0).then(|| {
            format!(
                "the client went away from {} of {} before they were written whole{part}",
                plural(page.aborted, "answer"),
                count(page.requests)
            )
        })
    })
}

/// The proof holds every answer until all asked requests are there, so its peak is exact.
fn too_few_in_flight(round: &Round) -> Option<String> {
    let page = round.proof.as_ref()?;
    let asked = round.cell.concurrency;
    (page.peak_in_flight < least(asked, LEAST_CONCURRENCY)).then(|| {
        format!(
            "only {} of {} requests were in flight at once, with every answer held until all were there",
            count(page.peak_in_flight),
            count(asked as u64)
        )
    })
}

fn too_many_in_flight(round: &Round) -> Option<String> {
    let asked = round.cell.concurrency as u64;
    find_page(round, |page, part| {
        (page.peak_in_flight > asked).then(|| {
            format!(
                "{} requests were in flight at once{part}, {} asked",
                count(page.peak_in_flight),
                count(asked)
            )
        })
    })
}

/// The proof has just opened every connection that the round needs. A pool that was shut down and built
/// again opens as many once more; opening more than that is not keep-alive.
fn reconnected(round: &Round) -> Option<String> {
    let page = round.seen.as_ref().filter(|_| round.cell.keepalive)?;
    let allowed = round.cell.concurrency as u64;
    (page.connections_opened > allowed).then(|| {
        format!(
            "connections are not kept alive: {} were opened for {}, at most {} expected",
            count(page.connections_opened),
            plural(page.requests, "request"),
            count(allowed)
        )
    })
}

/// Who is asked for a new connection each must not spare itself any.
fn kept(round: &Round) -> Option<String> {
    find_page(round, |page, part| {
        (!round.cell.keepalive && page.reused > 0).then(|| {
            format!(
                "connections are kept alive: {} of {} came on one that had carried another{part}, though each should \
                 have had its own",
                count(page.reused),
                plural(page.requests, "request")
            )
        })
    })
}

fn too_many_connections(round: &Round) -> Option<String> {
    if !round.cell.keepalive {
        return None;
    }
    let asked = round.cell.concurrency as u64;
    find_page(round, |page, part| {
        (page.connections_used > asked).then(|| {
            format!(
                "{} connections were used{part}, at most {} expected",
                count(page.connections_used),
                count(asked)
            )
        })
    })
}

/// HTTP/1.1 carries one request at a time, so who has many in flight uses many connections.
fn too_few_connections(round: &Round) -> Option<String> {
    // A batch as large as its concurrency is over before every connection had its turn; its proof has shown them.
    let page = round
        .seen
        .as_ref()
        .filter(|_| round.cell.own.mode.is_none())?;
    let asked = round
        .cell
        .concurrency
        .min(usize::try_from(round.count).unwrap_or(usize::MAX));
    (page.connections_used < least(asked, LEAST_SPREAD)).then(|| {
        format!(
            "only {} used for {} requests at once",
            if page.connections_used == 1 {
                "1 connection was".into()
            } else {
                format!("{} connections were", count(page.connections_used))
            },
            count(asked as u64)
        )
    })
}

fn proof_incomplete(round: &Round) -> Option<String> {
    let page = round.proof.as_ref()?;
    (page.distinct < page.count).then(|| {
        format!(
            "{} of {} requests of the proof before the round never arrived",
            count(page.count - page.distinct),
            count(page.count)
        )
    })
}

/// In the last moments of a round no id is left to send, so less than the asked concurrency is in flight
/// for as long as the slowest request takes; the lower limit leaves that time out.
fn little_broken(rounds: &[&Round]) -> Option<String> {
    let (mut in_flight_us, mut wall_us, mut full_us, mut latencies) = (0.0, 0.0, 0.0, 0);
    for round in rounds {
        let claimed = &round.claim.latencies_us;
        let sum: f64 = claimed.iter().map(|us| f64::from(*us)).sum();
        let slowest = f64::from(claimed.iter().copied().max()?);
        let wall = round.wall_ns as f64 / 1e3;
        in_flight_us += sum / claimed.len() as f64 * round.claim.done as f64;
        wall_us += wall;
        full_us += (wall - slowest).max(0.0);
        latencies += claimed.len();
    }
    let asked = rounds.first()?.cell.concurrency as f64;
    let in_flight = in_flight_us / wall_us;
    let (least, most) = (
        LITTLE.start() * asked * full_us / wall_us,
        LITTLE.end() * asked,
    );
    (latencies >= FEWEST_LATENCIES && !(least..=most).contains(&in_flight)).then(|| {
        format!(
            "the claimed latencies contradict the speed: by Little's law {} requests were in flight on average, \
             {} to {} expected for concurrency {}",
            figure(in_flight),
            figure(least),
            figure(most),
            count(asked as u64)
        )
    })
}

fn faster_than_the_origin(rounds: &[&Round], delay: &Delay) -> Option<String> {
    let mut latencies: Vec<u32> = rounds
        .iter()
        .flat_map(|r| &r.claim.latencies_us)
        .copied()
        .collect();
    latencies.sort_unstable();
    let median = Duration::from_micros(u64::from(*latencies.get(latencies.len() / 2)?));
    let floor = least_median(delay, latencies.len())?;
    (median < floor).then(|| {
        format!(
            "the claimed median latency is {} ms, but the origin waited {delay} before each answer (median at least {} ms)",
            figure(median.as_secs_f64() * 1e3),
            figure(floor.as_secs_f64() * 1e3)
        )
    })
}

/// A median of `samples` delays that is not undercut by chance: the share of the samples below the quantile
/// `q` is binomial with a deviation of at most 0.5/√n, and `q` lies four of those below one half.
fn least_median(delay: &Delay, samples: usize) -> Option<Duration> {
    let q = 0.5 - 2.0 / (samples as f64).sqrt();
    if q <= 0.0 || samples < FEWEST_LATENCIES {
        return None;
    }
    match delay {
        Delay::None => None,
        Delay::Fixed(time) => Some(*time),
        Delay::Uniform { from, to } => Some(*from + (*to - *from).mul_f64(q)),
        Delay::Exponential { mean } => Some(mean.mul_f64(-(1.0 - q).ln())),
        Delay::LogNormal { p50, p99 } => Some(log_normal(*p50, *p99, q)),
    }
}

/// The quantile `q` of a log-normal delay, for `q` not far below one half: there the normal quantile is
/// close to its tangent (q − ½)·√(2π).
fn log_normal(p50: Duration, p99: Duration, q: f64) -> Duration {
    const NORMAL_P99: f64 = 2.326_348;
    let sigma = (p99.as_secs_f64() / p50.as_secs_f64()).ln() / NORMAL_P99;
    let normal = (q - 0.5) * std::f64::consts::TAU.sqrt();
    p50.mul_f64((sigma * normal).exp())
}

fn least(asked: usize, share: f64) -> u64 {
    (asked as f64 * share).ceil() as u64
}

/// The first of the measured part and the proof that a rule objects to; the rule gets words for which.
fn find_page(round: &Round, rule: impl Fn(&Page, &str) -> Option<String>) -> Option<String> {
    let measured = round.seen.as_ref().and_then(|page| rule(page, ""));
    measured.or_else(|| {
        round
            .proof
            .as_ref()
            .and_then(|page| rule(page, " in the proof before the round"))
    })
}
