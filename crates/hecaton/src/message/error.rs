//! How a request fails: what kind, in which phase, after how long, and whether it left the machine.

use std::fmt;
use std::time::Duration;

use crate::message::attempt::{Attempt, Ending};
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::reason::Reason;
use crate::message::redirect::Redirect;
use crate::message::sent::Sent;
use crate::message::words::{MOST_OF_A_URL, shortened};

/// A request that did not end in a response.
///
/// The text never contains the URL's query or anything of headers and bodies.
#[derive(Clone, Debug)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug)]
struct Inner {
    failure: Failure,
    sent: bool,
    elapsed: Duration,
    url: String,
    redirects: Vec<Redirect>,
    attempts: Vec<Attempt>,
}

impl Error {
    /// The failure of a request that was last sent as `request`.
    pub(crate) fn new(
        failure: Failure,
        request: Sent,
        elapsed: Duration,
        attempts: Vec<Attempt>,
    ) -> Error {
        Error(Box::new(Inner {
            failure,
            sent: attempts.iter().any(|attempt| attempt.sent),
            elapsed,
            url: request.display_url(),
            redirects: request.redirected,
            attempts,
        }))
    }

    /// What went wrong.
    pub fn kind(&self) -> Kind {
        self.0.failure.kind
    }

    /// In which phase it went wrong; `Total` when the total deadline passed.
    pub fn phase(&self) -> Phase {
        self.0.failure.phase
    }

    /// A finer reason than kind and phase, if one is known.
    pub fn reason(&self) -> Option<Reason> {
        self.0.failure.reason
    }

    /// Whether any byte of the request left the machine. If not, sending it again is always safe.
    pub fn sent(&self) -> bool {
        self.0.sent
    }

    /// From the start of the request to this error.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed
    }

    /// The URL without credentials and query.
    pub fn url(&self) -> &str {
        &self.0.url
    }

    /// The operating system's number of the reason, where it gave one: `ECONNREFUSED` and the like.
    pub fn os_error(&self) -> Option<i32> {
        self.0.failure.code
    }

    /// Whether another try might end in another way. It cannot if a certificate is refused, or if what came is not HTTP.
    pub fn is_passing(&self) -> bool {
        self.0.failure.passing
    }

    /// Whether the program gave this failure in place of the network's: see [`Hooks::respond`](crate::Hooks::respond).
    pub fn is_given(&self) -> bool {
        self.0.failure.given
    }

    /// The redirects that were followed before, in order.
    pub fn redirects(&self) -> &[Redirect] {
        &self.0.redirects
    }

    /// The attempts, in order.
    pub fn attempts(&self) -> &[Attempt] {
        &self.0.attempts
    }

    /// The status of a response whose head came, but whose body did not come whole.
    pub fn status(&self) -> Option<u16> {
        let last = self.0.attempts.last()?;
        last.status
            .filter(|_| !matches!(last.ending, Ending::Status(_)))
    }

    /// Only the reason, without URL and times.
    pub fn detail(&self) -> &str {
        &self.0.failure.detail
    }
}

/// A time for people, in milliseconds, or below ten of them in microseconds. Rounded up, so that it is never less than
/// a limit that has passed.
fn rounded_up(elapsed: Duration) -> Duration {
    let nanos = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
    let step = match nanos < 10_000_000 {
        true => 1_000,
        false => 1_000_000,
    };
    Duration::from_nanos(nanos.div_ceil(step).saturating_mul(step))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = match self.sent() {
            true => "the request had been sent",
            false => "nothing had been sent",
        };
        let url = shortened(self.url(), MOST_OF_A_URL);
        let (detail, elapsed) = (self.detail(), rounded_up(self.elapsed()));
        write!(f, "{detail} ({url}, after {elapsed:?}; {left}")?;
        match self.status() {
            Some(status) => write!(f, ", and a response with status {status} had begun)"),
            None => f.write_str(")"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_a_message_is_short_and_never_less_than_it_was() {
        let table = [
            (0, "0ns"),
            (1, "1µs"),
            (312_400, "313µs"),
            (9_999_001, "10ms"),
            (15_500_000, "16ms"),
            (300_000_000, "300ms"),
            (1_400_000_000, "1.4s"),
            (1_500_200_000, "1.501s"),
            (60_000_000_000, "60s"),
        ];
        for (nanos, shown) in table {
            let elapsed = Duration::from_nanos(nanos);
            assert_eq!(format!("{:?}", rounded_up(elapsed)), shown);
            assert!(rounded_up(elapsed) >= elapsed);
        }
        assert!(rounded_up(Duration::MAX) > Duration::from_secs(1 << 33));
    }
}
