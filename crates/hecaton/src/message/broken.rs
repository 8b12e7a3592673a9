//! Why an attempt brought no response, as far as the next step depends on it.

use crate::message::failure::{Failure, Kind, Phase};

/// Why there is no response.
pub(crate) enum Broken {
    /// The connection was closed before a byte of the request was written.
    Unsent,
    /// A connection that had carried a request before ended before a byte of the response came.
    Stale(Failure),
    /// A new connection was reset by the peer before a byte of the response came, or before it was usable. Systems reset
    /// connections that no program has accepted or read. A server that reloads leaves some.
    Reset(Failure),
    /// The peer guarantees that it did nothing for the request, whether or not it was sent: it ended the connection before it.
    /// The flag says whether the connection got anything done.
    Unprocessed(Failure, bool),
    /// The peer guarantees that it did nothing for the request: it refused this stream alone.
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
