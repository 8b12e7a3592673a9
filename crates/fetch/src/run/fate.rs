//! The fate of an attempt: how it counts for its host, and whether its request is sent again. [`fate`] decides it, and
//! then [`Then::within`] by the tries and the time that are left. `tests` has both as tables.
//!
//! - A whole answer to the URL says that its host is up: also a 404 or a 500.
//! - Without an answer, the host may be down: no connection, no response, or a body that was cut. 502, 503, 504 and
//!   520 to 527, which CDNs send, count as no answer.
//! - A connection that is refused or reset beside others may be one too many. While the host has an answer to others,
//!   that is no failure of the input.
//! - 429 and 503 say that the host is overrun: that is no failure of the input, unless others that began after that had
//!   an answer.
//!
//! A request that must not be repeated is not sent again, unless its host never had it.

use std::time::{Duration, SystemTime};

use hecaton::{Kind, Outcome, Phase, Reason};

use super::hosts::{HostSign, usual_pause};

/// What a request is for. A further page and the target of a redirect end as their inputs do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// An input, a further page of it, or where a redirect led it.
    Input,
    /// What decides about many inputs: a robots.txt, a sitemap or a list. Any 5xx is worth another try.
    Side,
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AttemptEnd {
    /// With a response, and its `Retry-After` if it had one.
    Status(u16, Option<Duration>),
    /// With a failure.
    Failed(Failure),
    /// Its body did not fit into memory beside those of other requests.
    Crowded,
    /// Its body is longer than the job allows.
    TooLarge,
    /// With a body that is not the one that its input names by a checksum.
    Differs,
    /// With a 304, and the request named no version.
    NotModified,
    /// With a body that came too slowly.
    TooSlow,
    /// With a part of a body that the next attempt continues, or with one that is of no use.
    Continued,
    /// In its proxy, while another proxy can be taken.
    LostByProxy,
}

/// How an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What went wrong.
    pub kind: Kind,
    /// In which phase.
    pub phase: Phase,
    /// Whether another try might end in another way, as far as the engine knows.
    pub is_passing: bool,
    /// Whether its connection had carried other requests before.
    pub is_reused: bool,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Not sent again: it has its record, or the redirect that it got is followed.
    Record,
    /// Again after a while, if its URL and its host have tries left.
    Again,
    /// As `Again`, once.
    Once,
    /// As `Again`, without counting as a try while its host is busy with others, with fewer requests at once.
    Apart,
    /// Again when its host allows, without counting as a try; as `Again` once its host has an answer to others.
    /// `Record` once `wait_out` has passed.
    Later,
    /// Again before those of its host that were not sent yet, without counting as a try.
    Now,
    /// As `Now`, once; then as `Apart`. Its connection may have been closed for lack of use.
    Reconnect,
    /// Again after a moment, without counting as a try, with fewer requests in flight.
    Fewer,
    /// As `Now`, through another proxy.
    OtherProxy,
    /// Again behind the others of its host, which is down, without counting as a try.
    Wait,
}

/// What follows an attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fate {
    /// How it counts for its host; none if it says nothing about the host.
    pub host: Option<HostSign>,
    /// What becomes of its request.
    pub then: Then,
}

/// What is left for another try of a request.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Whether its host rests after failures, and will be tried again.
    pub is_down: bool,
    /// Whether its URL and its host have a try left.
    pub has_tries: bool,
    /// Whether it may wait: its host was not given up, and it was put off first less than `wait_out` ago, if ever.
    pub has_time: bool,
    /// Whether its host had an answer to another that began after it said to this request that it is overrun.
    pub has_host: bool,
    /// Whether its host has others in flight, had an answer once, and did not refuse it too often.
    pub is_crowded: bool,
    /// Whether it was sent again once on another connection.
    pub has_reconnected: bool,
    /// Whether it was sent again once because its body differs.
    pub has_differed: bool,
}

impl AttemptEnd {
    /// The end of an attempt with this outcome.
    pub fn of(outcome: &Outcome, now: impl FnOnce() -> SystemTime) -> AttemptEnd {
        match outcome {
            Ok(response) => {
                AttemptEnd::of_status(response.status(), response.header("retry-after"), now)
            }
            Err(error) => AttemptEnd::of_error(error),
        }
    }

    /// The end of an attempt that got this status and this `Retry-After`. The clock is read only for the latter.
    pub fn of_status(
        status: u16,
        retry_after: Option<&[u8]>,
        now: impl FnOnce() -> SystemTime,
    ) -> AttemptEnd {
        AttemptEnd::Status(
            status,
            retry_after.and_then(|value| hecaton::retry_after(value, now())),
        )
    }

    /// The end of an attempt that failed.
    pub fn of_error(error: &hecaton::Error) -> AttemptEnd {
        if error.reason() == Some(Reason::BuffersFull) {
            return AttemptEnd::Crowded;
        }
        AttemptEnd::Failed(Failure {
            kind: error.kind(),
            phase: error.phase(),
            is_passing: error.is_passing(),
            is_reused: error.attempts().last().is_some_and(|last| last.reused),
        })
    }
}

/// What follows an attempt that ended so. `statuses` are those that are tried again.
pub fn fate(end: AttemptEnd, purpose: Purpose, may_repeat: bool, statuses: &[u16]) -> Fate {
    let (host, then) = match end {
        AttemptEnd::Status(status, pause) => (
            Some(of_status(status, pause)),
            after(status, purpose, statuses),
        ),
        AttemptEnd::Failed(failure) => of_failure(failure),
        AttemptEnd::Crowded => (Some(HostSign::Well), Then::Fewer),
        AttemptEnd::TooLarge => (Some(HostSign::Well), Then::Record),
        AttemptEnd::Differs => (Some(HostSign::Well), Then::Once),
        AttemptEnd::NotModified => (Some(HostSign::Well), Then::Again),
        AttemptEnd::TooSlow => (Some(HostSign::Badly), Then::Again),
        // Only what may be repeated is continued, and a proxy lost it before its host had it.
        AttemptEnd::Continued => return Fate::new(Some(HostSign::Well), Then::Now),
        AttemptEnd::LostByProxy => return Fate::new(None, Then::OtherProxy),
    };
    Fate::new(host, if may_repeat { then } else { Then::Record })
}

/// Whether a status is an answer to a request, and not a sign of a host that is down or overrun.
pub fn is_answer(status: u16) -> bool {
    !matches!(status, 429 | 502..=504 | 520..=527)
}

fn of_status(status: u16, pause: Option<Duration>) -> HostSign {
    match status {
        _ if is_answer(status) => HostSign::Well,
        429 => HostSign::Overrun(pause),
        503 => HostSign::Unavailable(pause),
        _ => HostSign::Badly,
    }
}

fn after(status: u16, purpose: Purpose, statuses: &[u16]) -> Then {
    let is_retried = match purpose {
        Purpose::Input => statuses.contains(&status),
        Purpose::Side => matches!(status, 429 | 500..=599),
    };
    match status {
        _ if !is_retried => Then::Record,
        429 | 503 => Then::Later,
        _ => Then::Again,
    }
}

fn of_failure(failure: Failure) -> (Option<HostSign>, Then) {
    let Failure {
        kind,
        phase,
        is_passing,
        is_reused,
    } = failure;
    let is_stale = is_reused && matches!(phase, Phase::Send | Phase::FirstByte);
    match kind {
        // It never got a connection, for reasons of this side.
        _ if phase == Phase::Queue => (None, Then::Record),
        Kind::Cancelled => (None, Then::Record),
        Kind::Redirect => (Some(HostSign::Well), Then::Record),
        // The whole body came, and cannot be used.
        Kind::Body if !is_passing => (Some(HostSign::Well), Then::Record),
        Kind::Protocol if is_passing && is_stale => (None, Then::Reconnect),
        Kind::Connect | Kind::Protocol if is_passing => (Some(HostSign::Refused), Then::Apart),
        // A firewall may drop what asks for a connection too many.
        Kind::Timeout if is_passing && phase == Phase::Connect => {
            (Some(HostSign::Refused), Then::Apart)
        }
        Kind::Timeout | Kind::Resolve | Kind::Body if is_passing => {
            (Some(HostSign::Badly), Then::Again)
        }
        _ => (Some(HostSign::Badly), Then::Record),
    }
}

impl Fate {
    fn new(host: Option<HostSign>, then: Then) -> Fate {
        Fate { host, then }
    }

    /// The pause of a host that is overrun: as long as it requests, or after so many others as long as is usual.
    pub fn pause(&self, before: u32) -> Option<Duration> {
        match self.host {
            Some(HostSign::Overrun(pause) | HostSign::Unavailable(pause)) => {
                Some(pause.unwrap_or_else(|| usual_pause(before)))
            }
            _ => None,
        }
    }
}

impl Then {
    /// What becomes of the request with what is left for it.
    pub fn within(self, left: Budget) -> Then {
        match self {
            Then::Reconnect if left.has_reconnected => Then::Apart.within(left),
            Then::Once if left.has_differed => Then::Record,
            Then::Again | Then::Once | Then::Apart | Then::Later if left.is_down => Then::Wait,
            Then::Apart if !left.is_crowded => Then::Again.within(left),
            Then::Again | Then::Once if !left.has_tries => Then::Record,
            Then::Later if !left.has_time => Then::Record,
            Then::Later if left.has_host => Then::Again.within(left),
            then => then,
        }
    }

    /// The same for a request that decides about many others: it is tried as long as they would wait for their host.
    pub fn of_many(self, left: Budget) -> Then {
        match self {
            Then::Record if left.has_time => Then::Later,
            Then::Wait if !left.has_time => Then::Record,
            then => then,
        }
    }
}

/// The wait before another try: longer for a higher number, and not the same for all.
pub fn wait(number: u32) -> Duration {
    let whole = Duration::from_millis(200).saturating_mul(1 << number.min(8));
    let share = f64::from(uuid::Uuid::new_v4().as_bytes()[0]) / 255.0;
    whole.mul_f64(0.5 + share / 2.0)
}

#[cfg(test)]
mod tests;
