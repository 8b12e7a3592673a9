//! The meaning of an outcome: whether it is good, whether to try again, and how it counts for its host. Pure
//! decisions.

use std::time::{Duration, SystemTime};

use hecaton::{Kind, Outcome, Phase, Response};

use super::hosts::Ended;
use crate::job::Pace;

/// The meaning of an outcome.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// How it counts for the host's limits.
    pub ended: Ended,
    /// Whether another try might end in another way.
    pub may_help: bool,
}

/// Classifies an outcome.
pub fn classify(outcome: &Outcome, pace: &Pace, now: SystemTime) -> Verdict {
    match outcome {
        Ok(response) => {
            let status = response.status();
            let ended = match status {
                429 | 503 => Ended::Pause(retry_after(response, now)),
                500.. => Ended::Badly,
                _ => Ended::Well,
            };
            let may_help = pace.retry_statuses.contains(&status);
            Verdict { ended, may_help }
        }
        Err(error) => {
            // A body that is too large or damaged says nothing of the host.
            let ended = match error.kind() {
                Kind::Body | Kind::Redirect => Ended::Well,
                _ => Ended::Badly,
            };
            let passing = matches!(
                error.kind(),
                Kind::Timeout | Kind::Resolve | Kind::Connect | Kind::Protocol
            );
            let may_help = passing && error.phase() != Phase::Queue;
            Verdict { ended, may_help }
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
fn retry_after(response: &Response, now: SystemTime) -> Option<Duration> {
    let value = std::str::from_utf8(response.header("retry-after")?)
        .ok()?
        .trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that is too large for a second count is as long as any.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}
