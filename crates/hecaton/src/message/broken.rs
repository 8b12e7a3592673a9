//! Why an attempt brought no answer, as far as it matters for what comes next.

use crate::message::failure::{Failure, Kind, Phase};

/// Why there is no answer.
pub(crate) enum Broken {
    /// The connection was closed before a byte of the request was written.
    Unsent,
    /// A connection that had carried a request before ended before a byte of the response came.
    Stale(Failure),
    /// A new connection was reset by the peer before a byte of the response came, or before it was usable. Systems reset
    /// connections that no program has accepted, or of which none has read what came: a server that reloads leaves some.
    Reset(Failure),
    /// The peer guarantees that it did nothing of the request, whether or not it was sent: it ended the
    /// connection before it. Whether the connection got anything done is told as well.
    Unprocessed(Failure, bool),
    /// The same of a peer that refused this request's stream alone.
    Refused(Failure),
    Failed(Failure),
}

impl Broken {
    /// Why there is no connection.
    pub fn opening(failure: Failure) -> Broken {
        match failure.is_reset() {
            true => Broken::Reset(failure),
            false => Broken::Failed(failure),
        }
    }

    pub fn into_failure(self) -> Failure {
        match self {
            Broken::Failed(failure)
            | Broken::Stale(failure)
            | Broken::Reset(failure)
            | Broken::Refused(failure)
            | Broken::Unprocessed(failure, _) => failure,
            Broken::Unsent => {
                let detail = "the connection was closed before the request could be written";
                Failure::new(Kind::Protocol, Phase::Send, detail)
            }
        }
    }
}
