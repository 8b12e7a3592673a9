//! What follows an attempt: how it counts for its host, and what becomes of its request. Pure decisions, in one table,
//! which `tests` has in full.
//!
//! - An answer to the URL says that its host is up, whatever its status: also a 404 or a 500.
//! - Without an answer, the host may be down: no connection, no response, or a body that was cut. 502, 503, 504 and
//!   520 to 527, which CDNs send, count as no answer.
//! - A connection that is refused or reset beside others may be one too many. While the host has an answer to others,
//!   that is no failure of the input.
//! - 429 and 503 say that the host is overrun: that is no failure of the input, unless others of the host had an answer
//!   since it was told so.
//!
//! A request that must not be repeated is recorded in any case.

use std::time::{Duration, SystemTime};

use hecaton::{Kind, Outcome, Phase, Reason};

use super::hosts::Ended;

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
pub enum End {
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
    /// This is how it ended.
    Record,
    /// Again after a while, if its input and its host have tries left.
    Again,
    /// As `Again`, once.
    Once,
    /// As `Again`, without counting as a try while its host is busy with others, with fewer requests at once.
    Apart,
    /// Again when its host allows, without counting as a try, until `wait_out` has passed.
    Later,
    /// Again at once, without counting as a try.
    Now,
    /// As `Now`, once; then as `Apart`. Its connection may have been closed for lack of use.
    Reconnect,
    /// As `Now`, with fewer requests in flight.
    Fewer,
    /// As `Now`, through another proxy.
    OtherProxy,
    /// Again behind the others of its host, which is down, without counting as a try.
    Wait,
}

/// What follows an attempt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fate {
    /// How it counts for its host.
    pub host: Ended,
    /// What becomes of its request.
    pub then: Then,
}

/// What is left for another try of a request.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    /// Whether its host rests after failures, and will be tried again.
    pub is_down: bool,
    /// Whether its input and its host have a try left.
    pub has_tries: bool,
    /// Whether it waits for an overrun host for less than `wait_out`.
    pub has_time: bool,
    /// Whether its host, since it said to this request that it is overrun, had a good answer to another.
    pub has_host: bool,
    /// Whether its host has others in flight, had a good answer once, and did not refuse it too often.
    pub is_crowded: bool,
    /// Whether it was sent again once on another connection.
    pub has_reconnected: bool,
    /// Whether it was sent again once because its body differs.
    pub has_differed: bool,
}

impl End {
    /// That of an outcome.
    pub fn of(outcome: &Outcome, now: impl FnOnce() -> SystemTime) -> End {
        match outcome {
            Ok(response) => End::of_status(response.status(), response.header("retry-after"), now),
            Err(error) => End::of_error(error),
        }
    }

    /// That of a response with this status and this `Retry-After`. The clock is read only for the latter.
    pub fn of_status(
        status: u16,
        retry_after: Option<&[u8]>,
        now: impl FnOnce() -> SystemTime,
    ) -> End {
        End::Status(status, retry_after.and_then(|value| pause(value, now())))
    }

    /// That of an error.
    pub fn of_error(error: &hecaton::Error) -> End {
        if error.reason() == Some(Reason::BuffersFull) {
            return End::Crowded;
        }
        End::Failed(Failure {
            kind: error.kind(),
            phase: error.phase(),
            is_passing: error.is_passing(),
            is_reused: error.attempts().last().is_some_and(|last| last.reused),
        })
    }
}

/// What follows an attempt that ended so. `statuses` are those that are tried again.
pub fn fate(end: End, purpose: Purpose, may_repeat: bool, statuses: &[u16]) -> Fate {
    let (host, then) = match end {
        End::Status(status, pause) => (of_status(status, pause), after(status, purpose, statuses)),
        End::Failed(failure) => of_failure(failure),
        End::Crowded => (Ended::Well, Then::Fewer),
        End::TooLarge => (Ended::Well, Then::Record),
        End::Differs => (Ended::Well, Then::Once),
        End::NotModified => (Ended::Well, Then::Again),
        End::TooSlow => (Ended::Badly, Then::Again),
        // Only what may be repeated is continued, and a proxy lost it before its host had it.
        End::Continued => return Fate::new(Ended::Well, Then::Now),
        End::LostByProxy => return Fate::new(Ended::Unknown, Then::OtherProxy),
    };
    Fate::new(host, if may_repeat { then } else { Then::Record })
}

/// Whether a status is an answer to a request, and not a sign of a host that is down or overrun.
pub fn is_answer(status: u16) -> bool {
    !matches!(status, 429 | 502..=504 | 520..=527)
}

fn of_status(status: u16, pause: Option<Duration>) -> Ended {
    match status {
        _ if is_answer(status) => Ended::Well,
        429 => Ended::Overrun(pause),
        503 => Ended::Unavailable(pause),
        _ => Ended::Badly,
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

fn of_failure(failure: Failure) -> (Ended, Then) {
    let Failure {
        kind,
        phase,
        is_passing,
        is_reused,
    } = failure;
    let is_stale = is_reused && matches!(phase, Phase::Send | Phase::FirstByte);
    match kind {
        // It never got a connection, for reasons of this side.
        _ if phase == Phase::Queue => (Ended::Unknown, Then::Record),
        Kind::Cancelled => (Ended::Unknown, Then::Record),
        Kind::Redirect => (Ended::Well, Then::Record),
        // The whole body came, and cannot be used.
        Kind::Body if !is_passing => (Ended::Well, Then::Record),
        Kind::Protocol if is_passing && is_stale => (Ended::Unknown, Then::Reconnect),
        Kind::Connect | Kind::Protocol if is_passing => (Ended::Refused, Then::Apart),
        // A firewall may drop what asks for a connection too many.
        Kind::Timeout if is_passing && phase == Phase::Connect => (Ended::Refused, Then::Apart),
        Kind::Timeout | Kind::Resolve | Kind::Body if is_passing => (Ended::Badly, Then::Again),
        _ => (Ended::Badly, Then::Record),
    }
}

impl Fate {
    fn new(host: Ended, then: Then) -> Fate {
        Fate { host, then }
    }

    /// The pause that the host requests.
    pub fn pause(&self) -> Option<Duration> {
        match self.host {
            Ended::Overrun(pause) | Ended::Unavailable(pause) => pause,
            _ => None,
        }
    }
}

impl Then {
    /// What becomes of the request with what is left for it.
    pub fn within(self, left: Left) -> Then {
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
    pub fn of_many(self, left: Left) -> Then {
        match self {
            Then::Record if left.has_time => Then::Later,
            Then::Wait if !left.has_time => Then::Record,
            then => then,
        }
    }
}

/// Before the next try: longer each time, and not the same for all.
pub fn wait(attempts: u32) -> Duration {
    let whole = Duration::from_millis(200).saturating_mul(1 << attempts.min(8));
    let share = f64::from(uuid::Uuid::new_v4().as_bytes()[0]) / 255.0;
    whole.mul_f64(0.5 + share / 2.0)
}

/// Seconds, or a date from now on (RFC 9110 §10.2.3).
fn pause(value: &[u8], now: SystemTime) -> Option<Duration> {
    let value = std::str::from_utf8(value).ok()?.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that is too large for a second count is as long as any.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests;
