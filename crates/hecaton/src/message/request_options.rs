//! Options that few requests set, stored apart so that all others stay small.

use crate::message::announced_framing::Announced;
use crate::message::digest::Digest;
use crate::message::retry::Retry;

/// Options that few requests set.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestOptions {
    /// How many redirects are followed at most, instead of the client's `redirects`.
    pub redirects: Option<u32>,
    /// Digest authentication, and how far it has come.
    pub digest: Option<Digest>,
    /// The framing of the body by the headers.
    pub announced: Option<Announced>,
    /// Retries instead of the client's; `Some(None)` for none at all.
    pub retry: Option<Option<Retry>>,
    /// The number by which the client's retry predicate knows the request.
    pub predicate_number: Option<usize>,
    /// The number by which the program knows the request, if it observes each attempt.
    pub before_attempt_number: Option<usize>,
    /// The number by which the program knows the request, if it may respond in place of the network.
    pub intercepted_as: Option<usize>,
}
