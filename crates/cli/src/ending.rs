//! How the command ends: a sentence about the failure, and an exit status by its kind.

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use anyhow::{Error, Result, bail};
use hecaton_lab::run::{DriverError, Interrupted};
use hecaton_lab::spec::Usage;

#[cfg(feature = "fetch")]
use crate::cmd::fetch;
use crate::exit::{FAILURE, INTERRUPTED, TOO_LITTLE, USAGE};

/// Clients that are slower than they may be, named; ends with status 3.
#[derive(Debug, thiserror::Error)]
#[error("slower than allowed: {0}")]
pub struct Worse(pub String);

/// Rows or runs beyond the limits of `--fail-if`, named; ends with status 3.
#[derive(Debug, thiserror::Error)]
#[error("beyond a limit of --fail-if: {0}")]
pub struct Beyond(String);

/// Verdicts of the audit that are not the expected ones, or are worse than before; ends with status 3.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unexpected(pub String);

impl Beyond {
    /// Fails if anything is beyond a limit.
    pub fn if_any(failures: impl Iterator<Item = String>) -> Result<()> {
        match failures.collect::<Vec<_>>().join("; ") {
            none if none.is_empty() => Ok(()),
            failures => bail!(Beyond(failures)),
        }
    }
}

/// Prints the error, if there is one, and returns the status.
pub fn of(result: Result<()>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    if nobody_reads(&error) {
        return ExitCode::SUCCESS;
    }
    // An error of the system alone comes from printing: all others say which file they are about.
    match error.is::<io::Error>() && error.chain().count() == 1 {
        true => crate::say!(
            "hecaton: cannot write to standard output: {}",
            plain(&error.to_string())
        ),
        false => crate::say!("hecaton: {}", plain(&format!("{error:#}"))),
    }
    if let Some(DriverError { argument, .. }) = error.downcast_ref() {
        crate::say!("`hecaton drivers check {argument}` looks closer");
    }
    ExitCode::from(status(&error))
}

/// In the system's words, without the number that Rust adds: "Address already in use (os error 98)". The engine has
/// such a function for its own errors; a command without `fetch` is built without the engine.
fn plain(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|digit: char| digit.is_ascii_digit());
        match rest.strip_prefix(')') {
            Some(rest) if rest.len() + 1 < part.len() => plain += rest,
            _ => plain = plain + " (os error " + part,
        }
    }
    plain
}

fn status(error: &Error) -> u8 {
    #[cfg(feature = "fetch")]
    if let Some(status) = fetch::status(error) {
        return status;
    }
    if error.is::<Usage>() {
        USAGE
    } else if error.is::<Worse>() || error.is::<Beyond>() || error.is::<Unexpected>() {
        TOO_LITTLE
    } else if error.is::<Interrupted>() {
        INTERRUPTED
    } else {
        FAILURE
    }
}

/// Whether the output was closed by its reader, as in `hecaton … | head`: nothing is wrong then.
fn nobody_reads(error: &Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn the_systems_words_come_without_a_number() {
        let error = io::Error::from_raw_os_error(98).to_string();
        assert!(error.contains("98"), "{error}");
        assert_eq!(
            plain(&format!("a: {error}, b")),
            "a: Address already in use, b"
        );
        for text in ["", "a (os error )", "a (os error x)", "a (os error 1"] {
            assert_eq!(plain(text), text);
        }
    }

    #[test]
    fn the_kind_shows_through_what_was_added_to_it() {
        assert_eq!(
            status(&anyhow!(Usage("no".into())).context("nothing was kept")),
            USAGE
        );
        assert_eq!(
            status(&anyhow!(Interrupted).context("3 rounds are kept")),
            INTERRUPTED
        );
        assert_eq!(status(&anyhow!(Worse("typhoeus".into()))), TOO_LITTLE);
        assert_eq!(status(&anyhow!("broken")), FAILURE);
        assert!(nobody_reads(&io::Error::from(ErrorKind::BrokenPipe).into()));
    }
}
