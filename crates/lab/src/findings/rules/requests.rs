//! Rules of requests: each was sent once, arrived, got a whole response, and its body was read.

use super::rounds::find_interval;
use crate::findings::words::{count, figure, plural};
use crate::run::Round;

/// Kinds of failures that are listed, the most frequent first.
const KINDS: usize = 5;

pub(super) fn only_a_reference(round: &Round) -> Option<String> {
    round.reference.then(|| {
        "a load generator, shown for reference: it looks at no body, sends no ids and gets responses without \
         the delay, so nothing of it can be verified"
            .to_string()
    })
}

pub(super) fn unaccounted(round: &Round) -> Option<String> {
    let Round {
        count: requested,
        claim,
        ..
    } = round;
    let accounted = u128::from(claim.done) + u128::from(claim.errors);
    (accounted != u128::from(*requested)).then(|| {
        format!(
            "{} were requested, but the driver accounts for {}: {} done and {} failed",
            plural(*requested, "request"),
            count(accounted as i128),
            count(claim.done),
            count(claim.errors)
        )
    })
}

/// A failure may have no kind, but there must not be more kinds than failures.
pub(super) fn kinds_wrong(round: &Round) -> Option<String> {
    let claim = &round.claim;
    let kinds: u128 = claim.errors_by.values().map(|n| u128::from(*n)).sum();
    (kinds > u128::from(claim.errors)).then(|| {
        format!(
            "the driver claims {} failed, but gives the kinds of {}",
            plural(claim.errors, "request"),
            count(kinds as i128)
        )
    })
}

/// Failures of the user's own service are measured, not punished, unless no request succeeded.
fn is_of_a_service(round: &Round) -> bool {
    round.seen.is_none() && !round.reference && round.claim.done > 0
}

/// Failures of one's own service, which are a warning.
pub(super) fn failed_by_a_service(rounds: &[&Round]) -> Option<String> {
    let own = rounds.iter().filter(|round| is_of_a_service(round));
    let worst = own.max_by_key(|round| round.claim.errors)?;
    let (mut errors, mut requested) = (0, 0);
    for round in rounds {
        errors += u128::from(round.claim.errors);
        requested += u128::from(round.count);
    }
    let says = failures(worst)?;
    Some(format!(
        "{} of {} requests failed; in the worst round {says}",
        count(errors as i128),
        count(requested as i128)
    ))
}

pub(super) fn failed(round: &Round) -> Option<String> {
    (!is_of_a_service(round)).then(|| failures(round)).flatten()
}

/// How many requests failed, and why.
fn failures(round: &Round) -> Option<String> {
    let claim = &round.claim;
    let mut kinds: Vec<_> = claim.errors_by.iter().collect();
    kinds.sort_by_key(|(_, n)| std::cmp::Reverse(**n));
    let more = kinds.len().saturating_sub(KINDS);
    let shown = kinds.iter().take(KINDS);
    let mut kinds: Vec<String> = shown
        .map(|(kind, n)| format!("{kind}: {}", count(**n)))
        .collect();
    if more > 0 {
        kinds.push(format!("and {} more", plural(more as u64, "kind")));
    }
    let kinds = if kinds.is_empty() {
        String::new()
    } else {
        format!(" ({})", kinds.join(", "))
    };
    (claim.errors > turned_away(round)).then(|| {
        format!(
            "{} of {} requests failed{kinds}{}",
            count(claim.errors),
            count(round.count),
            claim.first_failure()
        )
    })
}

/// Requests that the test server turned away on purpose.
pub(super) fn turned_away(round: &Round) -> u64 {
    round.seen.as_ref().map_or(0, |seen| seen.turned_away)
}

/// A client that does not look at the status takes a 503 for a response like any other.
pub(super) fn unnoticed(round: &Round) -> Option<String> {
    let (turned, errors) = (turned_away(round), round.claim.errors);
    (errors < turned).then(|| {
        format!(
            "the test server responded to {} with status 503, but the driver counts {} as failed",
            plural(turned, "request"),
            count(errors)
        )
    })
}

pub(super) fn never_arrived(round: &Round) -> Option<String> {
    let interval = round.seen.as_ref()?;
    (interval.distinct < round.count).then(|| {
        format!(
            "{} of {} requests never arrived: the driver claims {} done, the test server saw {}",
            count(round.count - interval.distinct),
            count(round.count),
            count(round.claim.done),
            count(interval.distinct)
        )
    })
}

pub(super) fn duplicated(round: &Round) -> Option<String> {
    find_interval(round, |interval, part| {
        (interval.duplicates > 0).then(|| {
            format!(
                "{} more than once{part}: the test server saw {} for {}",
                if interval.duplicates == 1 {
                    "1 request was sent".into()
                } else {
                    format!("{} requests were sent", count(interval.duplicates))
                },
                plural(interval.requests, "request"),
                plural(interval.count, "id")
            )
        })
    })
}

pub(super) fn foreign(round: &Round) -> Option<String> {
    find_interval(round, |interval, part| {
        (interval.foreign > 0).then(|| {
            format!(
                "{} not planned{part}: outside the {} of the round",
                plural(interval.foreign, "request"),
                plural(interval.count, "id")
            )
        })
    })
}

/// A request at a rate is sent when it is due, and not before.
pub(super) fn too_early(round: &Round) -> Option<String> {
    let interval = round.seen.as_ref().filter(|interval| interval.early > 0)?;
    Some(format!(
        "{} of {} arrived before they were due, though they were to be sent at a rate of {} a second",
        count(interval.early),
        plural(interval.requests, "request"),
        figure(round.per_second.unwrap_or_default())
    ))
}

pub(super) fn requested_otherwise(round: &Round) -> Option<String> {
    find_interval(round, |interval, part| {
        (interval.otherwise > 0).then(|| {
            format!(
                "{} of {} were for something else{part}: by another method than GET, or without the `Accept: application/json` of \
                 the JSON job",
                count(interval.otherwise),
                plural(interval.requests, "request")
            )
        })
    })
}

/// The sum of the check values of all bodies (the checksum) that the driver reports must be that of the server's log.
pub(super) fn checksum_wrong(round: &Round) -> Option<String> {
    let interval = round.seen.as_ref()?;
    (round.claim.sum != interval.expected_sum).then(|| {
        format!(
            "the checksum is wrong: {} expected, {} claimed; \
             bodies were not read to their end, not parsed, or not verified",
            interval.expected_sum, round.claim.sum
        )
    })
}

pub(super) fn bytes_wrong(round: &Round) -> Option<String> {
    let interval = round.seen.as_ref()?;
    (round.claim.bytes != interval.body_bytes_out).then(|| {
        format!(
            "the driver claims {} of bodies, the test server wrote {}",
            plural(round.claim.bytes, "byte"),
            count(interval.body_bytes_out)
        )
    })
}

pub(super) fn aborted(round: &Round) -> Option<String> {
    find_interval(round, |interval, part| {
        (interval.aborted > 0).then(|| {
            format!(
                "the client went away from {} of {} before they were written whole{part}",
                plural(interval.aborted, "response"),
                count(interval.requests)
            )
        })
    })
}

pub(super) fn probe_incomplete(round: &Round) -> Option<String> {
    let interval = round.probe.as_ref()?;
    (interval.distinct < interval.count).then(|| {
        format!(
            "{} of {} requests of the probe before the round never arrived",
            count(interval.count - interval.distinct),
            count(interval.count)
        )
    })
}
