//! The exit statuses of the command.

/// Something could not be done.
pub const FAILURE: u8 = 1;

/// The command line is wrong.
pub const USAGE: u8 = 2;

/// The result is worse than the command line allows.
pub const TOO_LITTLE: u8 = 3;

/// A bulk download is done, and not all of its inputs have a good response.
#[cfg(feature = "fetch")]
pub const INCOMPLETE: u8 = 4;

/// A bulk download stopped by itself, as `--stop-after` says.
#[cfg(feature = "fetch")]
pub const PAUSED: u8 = 5;

/// Ended by Ctrl-C or SIGTERM, as shells count it.
pub const INTERRUPTED: u8 = 130;
