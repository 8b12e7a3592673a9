//! Rules of requests: each was sent once, arrived, was answered whole, and its body was read.

use super::find_page;
use crate::findings::words::{count, plural};
use crate::run::Round;

pub(super) fn only_a_reference(round: &Round) -> Option<String> {
    round.reference.then(|| {
        "a load generator, shown for reference: it looks at no body, sends no ids and is answered without \
         the delay, so nothing of it can be verified"
            .to_string()
    })
}

pub(super) fn unaccounted(round: &Round) -> Option<String> {
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

pub(super) fn failed(round: &Round) -> Option<String> {
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

pub(super) fn never_arrived(round: &Round) -> Option<String> {
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

pub(super) fn duplicated(round: &Round) -> Option<String> {
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

pub(super) fn foreign(round: &Round) -> Option<String> {
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

pub(super) fn tokens_wrong(round: &Round) -> Option<String> {
    let page = round.seen.as_ref()?;
    (round.claim.sum != page.expected_sum).then(|| {
        format!(
            "the sum of the tokens at the end of the bodies is wrong: {} expected, {} claimed; \
             bodies were not read to their end, or not verified",
            page.expected_sum, round.claim.sum
        )
    })
}

pub(super) fn bytes_wrong(round: &Round) -> Option<String> {
    let page = round.seen.as_ref()?;
    (round.claim.bytes != page.body_bytes_out).then(|| {
        format!(
            "the driver claims {} of bodies, the origin wrote {}",
            plural(round.claim.bytes, "byte"),
            count(page.body_bytes_out)
        )
    })
}

pub(super) fn aborted(round: &Round) -> Option<String> {
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

pub(super) fn probe_incomplete(round: &Round) -> Option<String> {
    let page = round.proof.as_ref()?;
    (page.distinct < page.count).then(|| {
        format!(
            "{} of {} requests of the probe before the round never arrived",
            count(page.count - page.distinct),
            count(page.count)
        )
    })
}
