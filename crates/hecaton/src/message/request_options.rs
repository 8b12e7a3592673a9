//! What few requests ask for, kept apart so that all others stay small.

use crate::message::digest::Digest;
use crate::message::framing::Framing;
use crate::message::retry::Retry;

/// What few requests ask for.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestOptions {
    /// Most redirects instead of the client's.
    pub redirects: Option<u32>,
    /// Digest authentication, and how far it has come.
    pub digest: Option<Digest>,
    /// What the headers say of the body: how long it is, or that it comes in chunks.
    pub framing: Option<Framing>,
    /// Retries instead of the client's; some nothing for none at all.
    pub retry: Option<Option<Retry>>,
    /// The number by which the client's judge knows the request.
    pub predicate_number: Option<usize>,
    /// The number by which the program knows the request, if it wants to see each attempt.
    pub watched_as: Option<usize>,
}
