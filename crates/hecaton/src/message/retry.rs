//! The settings of retries: data, of a client or of one request.

use std::time::Duration;

use http::Method;

use crate::message::failure::Kind;

/// When a request is sent again. Every try is listed in the attempts, and none begins, nor is waited
/// for, past the total deadline.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// At most this many tries after the first. Default 2. 0 is none.
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
