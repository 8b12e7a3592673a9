//! The error of a command line that requires the impossible: the command ends with status 2.

use std::fmt;

/// A mistake in the command line, as one sentence that says what to do.
///
/// Everything else that goes wrong is a failure (status 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}
