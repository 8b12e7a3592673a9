//! Whether a request is re-sent without a retry rule.

use std::time::Duration;

use crate::message::broken::Broken;

/// How often at most a request is re-sent because connections got nothing done, and how often because streams were
/// refused.
const MOST_STUCK: u32 = 4;

/// The most re-sends of any kind, so that the list of attempts ends.
const MOST: u32 = 1000;

/// The wait before the second re-send after a refusal; it doubles each time. The first needs no wait: it uses another
/// connection, because one that refused a stream carries no further request.
const PATIENCE: Duration = Duration::from_millis(50);

/// How often the attempts at a URL ended without a response, and why.
#[derive(Default)]
pub(crate) struct Resends {
    /// The connection ended after a byte was sent, and before a byte of the response.
    ended: u32,
    /// The connection ended before a byte was sent, and was not a reused one that was closed already.
    unsent: u32,
    refused: u32,
    stuck: u32,
    all: u32,
}

/// Facts about the request and the connection of its attempt.
pub(crate) struct Facts {
    /// Whether the request has the same effect sent twice as sent once (RFC 9110 §9.2.2).
    pub idempotent: bool,
    /// Whether the connection had carried another request before.
    pub reused: bool,
    /// Whether a byte of the request was written to that connection.
    pub sent: bool,
    /// The setting `reconnect`.
    pub reconnect: bool,
}

/// A re-send: the wait before it, and whether over HTTP/1.1 it needs a new connection. It does after one that ended, as
/// other pooled ones may have ended too.
#[derive(Clone, Copy)]
pub(crate) struct Resend {
    pub wait: Duration,
    pub new_connection: bool,
}

impl Resends {
    /// A request without a response is re-sent a limited number of times if its peer certainly did nothing with it.
    /// With `reconnect` it is also re-sent once if its connection ended, without a TLS alert, before anything was sent.
    /// An idempotent request is then re-sent once, too, if its connection ended before the response began.
    pub fn next(&mut self, broken: &Broken, facts: &Facts) -> Option<Resend> {
        let (may, wait) = match broken {
            Broken::Unsent if facts.reused => (true, Duration::ZERO),
            Broken::Ended(_) if facts.sent => {
                self.ended += 1;
                let may = facts.idempotent && facts.reconnect;
                (may && self.ended == 1, Duration::ZERO)
            }
            // One more try succeeds if the server was reloading. A server that refuses connections is not tried for
            // ever.
            Broken::Unsent | Broken::Ended(_) => {
                self.unsent += 1;
                (facts.reconnect && self.unsent == 1, Duration::ZERO)
            }
            Broken::Unprocessed(_, progress) => {
                self.stuck += u32::from(!progress);
                (self.stuck <= MOST_STUCK, Duration::ZERO)
            }
            Broken::Refused(_) => {
                self.refused += 1;
                let most = if facts.idempotent { MOST_STUCK } else { 1 };
                (self.refused <= most, patience(self.refused))
            }
            Broken::Failed(_) => (false, Duration::ZERO),
        };
        self.all += 1;
        let new_connection = matches!(broken, Broken::Ended(_));
        (may && self.all <= MOST).then_some(Resend {
            wait,
            new_connection,
        })
    }
}

fn patience(refused: u32) -> Duration {
    match refused.checked_sub(2) {
        None => Duration::ZERO,
        Some(doublings) => PATIENCE * 2_u32.saturating_pow(doublings),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::failure::{Failure, Kind, Phase};

    const GET: Facts = Facts {
        idempotent: true,
        reused: true,
        sent: true,
        reconnect: true,
    };
    const POST: Facts = Facts {
        idempotent: false,
        ..GET
    };

    /// The waits before the re-sends, until the request fails.
    fn waits(facts: &Facts, broken: impl Fn(Failure) -> Broken) -> Vec<u128> {
        let mut resends = Resends::default();
        let next = || {
            let failure = Failure::new(Kind::Protocol, Phase::Send, "gone");
            let next = resends.next(&broken(failure), facts)?;
            Some(next.wait.as_millis())
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_connection_that_ended_is_left_once_and_by_idempotent_requests_alone() {
        assert_eq!(waits(&GET, Broken::Ended), [0]);
        assert!(waits(&POST, Broken::Ended).is_empty());
        let without_reconnect = Facts {
            reconnect: false,
            ..GET
        };
        assert!(waits(&without_reconnect, Broken::Ended).is_empty());
    }

    #[test]
    fn refusals_are_followed_a_few_times_with_patience_and_otherwise_once() {
        assert_eq!(waits(&GET, Broken::Refused), [0, 50, 100, 200]);
        assert_eq!(waits(&POST, Broken::Refused), [0]);
    }

    #[test]
    fn unprocessed_requests_are_resent_as_long_as_connections_process_some() {
        let resends = |progress| waits(&POST, |why| Broken::Unprocessed(why, progress)).len();
        assert_eq!((resends(false), resends(true)), (4, 1000));
    }

    #[test]
    fn unsent_requests_are_resent_from_a_reused_connection() {
        assert_eq!(waits(&POST, |_| Broken::Unsent).len(), 1000);
        assert!(waits(&GET, Broken::Failed).is_empty());
    }

    #[test]
    fn a_new_connection_that_ended_is_left_once_by_what_is_idempotent_or_was_not_sent() {
        let on_new = |sent, facts| Facts {
            reused: false,
            sent,
            ..facts
        };
        assert_eq!(waits(&on_new(true, GET), Broken::Ended), [0]);
        assert!(waits(&on_new(true, POST), Broken::Ended).is_empty());
        assert_eq!(waits(&on_new(false, POST), Broken::Ended), [0]);
        assert_eq!(waits(&on_new(false, POST), |_| Broken::Unsent), [0]);
        let without_reconnect = |sent| Facts {
            reconnect: false,
            ..on_new(sent, GET)
        };
        assert!(waits(&without_reconnect(true), Broken::Ended).is_empty());
        assert!(waits(&without_reconnect(false), Broken::Ended).is_empty());
    }

    #[test]
    fn requests_that_may_have_been_processed_are_resent_once_in_all() {
        let mut resends = Resends::default();
        let failure = || Failure::new(Kind::Protocol, Phase::Send, "gone");
        assert!(resends.next(&Broken::Ended(failure()), &GET).is_some());
        let on_new = Facts {
            reused: false,
            ..GET
        };
        assert!(resends.next(&Broken::Ended(failure()), &on_new).is_none());
    }
}
