//! A build without NATS: nothing hands out parts.

use std::time::Duration;

use super::verbs::{Enqueued, WorkerOptions, check};
use crate::error::Result;
use crate::run::{Running, Summary};
use crate::start::Started;

/// Publishes no part.
///
/// # Errors
/// How to get a build that does.
pub fn enqueue(_: &Started, _: &str, _: Duration) -> Result<Enqueued> {
    check("enqueue").map(|()| Enqueued::default())
}

/// Runs no part.
///
/// # Errors
/// How to get a build that does.
pub fn run_worker(_: &Started, _: &WorkerOptions, _: &mut Running<'_>) -> Result<Summary> {
    check("worker").map(|()| Summary::default())
}
