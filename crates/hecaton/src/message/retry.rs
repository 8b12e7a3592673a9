//! The retry rules of a client or of one request: the settings, and what they decide. Without them nothing is retried.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime};

use http::Method;

use crate::message::failure::{Failure, Kind, Phase};
use crate::message::fields::Fields;

/// When a request is sent again. Every try is listed in the attempts, and none begins, nor is waited
/// for, past the total deadline.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// At most this many tries after the first, at all URLs of a redirected request together. Default 2. 0 is none.
    pub max: u32,
    /// Methods whose requests may be sent again. Default the idempotent ones of RFC 9110 §9.2.2: GET,
    /// HEAD, OPTIONS, TRACE, PUT, DELETE. A failure of which no byte was sent is retried whatever the
    /// method.
    pub methods: Vec<Method>,
    /// Failures that are worth another try. Default `Resolve`, `Connect`, `Timeout`, `Protocol`, `Body`. Whatever is
    /// named here, the total deadline is never retried. A failure that every try would repeat is not retried either.
    /// Before the response, these are a full queue, a refused certificate or key, a proxy's demand for credentials, and
    /// a request's body that cannot be read. In the response, these are a malformed or too large head, and a body that
    /// is larger than `max_body` or cannot be decoded.
    pub on: Vec<Kind>,
    /// Statuses that are worth another try. Default none.
    pub statuses: Vec<u16>,
    /// The wait before the first retry. Default 100 ms. A longer `Retry-After` of the response (RFC 9110 §10.2.3)
    /// replaces it.
    pub interval: Duration,
    /// The factor of each further wait. Default 2.
    pub backoff: f64,
    /// The random share of the wait, 0 to 1: each wait is cut by up to this share. Clients then do not come back all at
    /// once. Default 0.5.
    pub jitter: f64,
}

impl Default for Retry {
    fn default() -> Retry {
        use Method as M;
        Retry {
            max: 2,
            methods: vec![M::GET, M::HEAD, M::OPTIONS, M::TRACE, M::PUT, M::DELETE],
            on: vec![
                Kind::Resolve,
                Kind::Connect,
                Kind::Timeout,
                Kind::Protocol,
                Kind::Body,
            ],
            statuses: Vec::new(),
            interval: Duration::from_millis(100),
            backoff: 2.0,
            jitter: 0.5,
        }
    }
}

impl Retry {
    /// How long to wait after try number `tries` failed in this way; none to give up.
    pub(crate) fn after_failure(
        &self,
        method: &Method,
        tries: u32,
        sent: bool,
        failure: &Failure,
    ) -> Option<Duration> {
        let again = tries <= self.max
            && failure.phase != Phase::Total
            && failure.passing
            && self.on.contains(&failure.kind)
            && (!sent || self.methods.contains(method));
        again.then(|| self.wait(tries))
    }

    /// How long to wait after try number `tries` got a response with this status; none to give up.
    pub(crate) fn after_status(
        &self,
        method: &Method,
        tries: u32,
        status: u16,
        fields: &[u8],
    ) -> Option<Duration> {
        let again =
            tries <= self.max && self.statuses.contains(&status) && self.methods.contains(method);
        again.then(|| self.wait(tries).max(requested_wait(fields)))
    }

    /// How long to wait after try number `tries` if the retry predicate accepts a retry; none if no try is left.
    /// `fields` are those of the response, if there is one.
    pub(crate) fn wait_for_predicate(&self, tries: u32, fields: Option<&[u8]>) -> Option<Duration> {
        (tries <= self.max).then(|| {
            self.wait(tries)
                .max(requested_wait(fields.unwrap_or_default()))
        })
    }

    fn wait(&self, tries: u32) -> Duration {
        let factor = self.backoff.max(0.0).powi(tries.saturating_sub(1) as i32);
        let chance = 1.0 - self.jitter.clamp(0.0, 1.0) * draw(std::process::id());
        let seconds = self.interval.as_secs_f64() * factor * chance;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }
}

/// A random number from 0 to 1. Each process seeds its generator anew, because a child of `fork` has its parent's.
/// Unseeded, all children would draw the same number and retry at the same time.
fn draw(process: u32) -> f64 {
    thread_local!(static SEEDED: Cell<Option<u32>> = const { Cell::new(None) });
    if SEEDED.replace(Some(process)) != Some(process) {
        let seed = (process, SystemTime::now(), fastrand::u64(..));
        fastrand::seed(RandomState::new().hash_one(seed));
    }
    fastrand::f64()
}

/// The wait that a server's `Retry-After` demands; zero without one.
fn requested_wait(fields: &[u8]) -> Duration {
    let wait = Fields(fields).get("retry-after");
    let wait = wait.and_then(|value| retry_after(value, SystemTime::now()));
    wait.unwrap_or_default()
}

/// The wait that a `Retry-After` demands: a number of seconds, or the time until a date (RFC 9110 §10.2.3).
pub fn retry_after(value: &[u8], now: SystemTime) -> Option<Duration> {
    let text = std::str::from_utf8(value).ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(kind: Kind, phase: Phase) -> Failure {
        Failure::new(kind, phase, "")
    }

    #[test]
    fn only_repeatable_requests_are_retried() {
        let retry = Retry::default();
        let broken = failure(Kind::Protocol, Phase::FirstByte);
        assert!(
            retry
                .after_failure(&Method::GET, 1, true, &broken)
                .is_some()
        );
        assert!(
            retry
                .after_failure(&Method::GET, 2, true, &broken)
                .is_some()
        );
        assert!(
            retry
                .after_failure(&Method::GET, 3, true, &broken)
                .is_none()
        );
        assert!(
            retry
                .after_failure(&Method::POST, 1, true, &broken)
                .is_none()
        );
        assert!(
            retry
                .after_failure(
                    &Method::POST,
                    1,
                    false,
                    &failure(Kind::Connect, Phase::Connect)
                )
                .is_some()
        );
        assert!(
            retry
                .after_failure(&Method::GET, 1, true, &failure(Kind::Timeout, Phase::Total))
                .is_none()
        );
        let named = Retry {
            methods: vec![Method::POST],
            on: vec![Kind::Body],
            ..retry
        };
        assert!(
            named
                .after_failure(&Method::POST, 1, true, &failure(Kind::Body, Phase::Read))
                .is_some()
        );
        assert!(
            named
                .after_failure(&Method::POST, 1, true, &broken)
                .is_none()
        );
        let hopeless = failure(Kind::Body, Phase::Read).for_good();
        assert!(
            named
                .after_failure(&Method::POST, 1, false, &hopeless)
                .is_none()
        );
    }

    #[test]
    fn statuses_are_retried_when_named_and_retry_after_is_observed() {
        let retry = Retry {
            statuses: vec![503],
            jitter: 0.0,
            ..Retry::default()
        };
        let wait =
            |status, fields: &str| retry.after_status(&Method::GET, 1, status, fields.as_bytes());
        assert_eq!(wait(503, ""), Some(Duration::from_millis(100)));
        assert_eq!(
            wait(503, "retry-after: 7\r\n"),
            Some(Duration::from_secs(7))
        );
        assert_eq!(
            wait(503, "retry-after: soon\r\n"),
            Some(Duration::from_millis(100))
        );
        assert_eq!(wait(500, "retry-after: 7\r\n"), None);
    }

    #[test]
    fn waits_grow_and_have_jitter() {
        let retry = Retry {
            max: 9,
            ..Retry::default()
        };
        for _ in 0..100 {
            let wait = retry.wait(3).as_millis();
            assert!((200..=400).contains(&wait), "{wait}");
        }
        let exact = Retry {
            jitter: 0.0,
            ..retry
        };
        assert_eq!(exact.wait(4), Duration::from_millis(800));
        assert_eq!(
            Retry {
                backoff: 1e300,
                ..exact
            }
            .wait(9),
            Duration::MAX
        );
    }

    #[test]
    fn children_draw_other_random_numbers_than_their_siblings() {
        // A child begins with its parent's state.
        let child = |process| {
            draw(1);
            fastrand::seed(7);
            draw(process)
        };
        assert_ne!(child(2), child(3));
        assert_ne!(child(2), child(1));
        assert_eq!(child(1), child(1), "and it is seeded once");
    }

    #[test]
    fn dates_and_seconds() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let wait = |text: &str| retry_after(text.as_bytes(), now);
        assert_eq!(
            wait("Sun, 06 Nov 1994 08:49:40 GMT"),
            Some(Duration::from_secs(3))
        );
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:00 GMT"), Some(Duration::ZERO));
        assert_eq!(wait("0"), Some(Duration::ZERO));
        assert_eq!(wait("-1"), None);
        assert_eq!(wait(""), None);
        assert_eq!(
            wait("99999999999999999999999"),
            Some(Duration::from_secs(u64::MAX))
        );
    }
}
