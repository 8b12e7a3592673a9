//! The error of a command line that requires the impossible: the command ends with status 2.

/// A mistake in the command line, as one sentence that says what to do.
///
/// Everything else that goes wrong is a failure (status 1).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);
