//! Why an attempt brought no response, as far as the next step depends on it.

use crate::message::failure::{Failure, Kind, Phase};
use crate::message::reason::Reason;

/// Why there is no response.
pub(crate) enum Broken {
    /// The connection was closed before a byte of the request was written. That is so over HTTP/1.1: over HTTP/2 and
    /// HTTP/3 it is `Unprocessed`, except for an HTTP/3 request that got no stream.
    Unsent,
    /// The connection was closed or reset before a byte of the response came, or before it was usable, and the server
    /// named no error. It may have processed the request or not. A server that reloads ends some connections that it
    /// has not read.
    Ended(Failure),
    /// The peer guarantees that it did nothing for the request, whether or not it was sent: it ended the connection
    /// before it. The flag says whether the connection got anything done.
    Unprocessed(Failure, bool),
    /// The peer guarantees that it did nothing for the request: it refused only this stream.
    Refused(Failure),
    Failed(Failure),
}

impl Broken {
    /// Why there is no connection.
    pub fn opening(failure: Failure) -> Broken {
        match failure.ended {
            true => Broken::Ended(failure),
            false => Broken::Failed(failure),
        }
    }

    pub fn into_failure(self) -> Failure {
        match self {
            Broken::Failed(failure)
            | Broken::Ended(failure)
            | Broken::Refused(failure)
            | Broken::Unprocessed(failure, _) => failure,
            Broken::Unsent => {
                let detail = "the connection was closed before the request could be written";
                Failure::new(Kind::Protocol, Phase::Send, detail)
                    .for_reason(Reason::ConnectionClosed)
            }
        }
    }
}
