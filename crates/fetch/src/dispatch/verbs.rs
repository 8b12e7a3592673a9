//! Types that the verbs of workers share, with and without NATS.

use crate::error::{Error, Result};

/// The result of `enqueue`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Enqueued {
    /// Parts that are in the queue now and were not before.
    pub new: u64,
    /// Parts that were in it, or are worked on.
    pub known: u64,
    /// Parts that are done.
    pub done: u64,
}

/// The options of a worker.
pub struct WorkerOptions {
    /// The server.
    pub url: String,
    /// Most parts at once.
    pub most: usize,
}

/// Refuses a verb that this build cannot do.
///
/// # Errors
/// How to get it.
pub fn check(verb: &str) -> Result<()> {
    match cfg!(feature = "nats") {
        true => Ok(()),
        false => Err(Error::failed(format!(
            "this command was built without NATS, which `fetch {verb}` needs: `bin/setup fetch` builds it in (cargo's feature `nats`)"
        ))),
    }
}
