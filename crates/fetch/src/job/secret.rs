//! Secrets are named in jobs, and read when they are used.

use crate::error::{Error, Result};

/// What begins the name of a variable of the environment.
const PREFIX: &str = "env:";

/// The text, or what the variable holds that it names as `env:NAME`.
///
/// # Errors
/// When there is no such variable.
pub fn reveal(text: &str) -> Result<String> {
    let Some(name) = text.strip_prefix(PREFIX) else {
        return Ok(text.to_owned());
    };
    std::env::var(name).map_err(|_| {
        Error::usage(format!(
            "the variable {name} is not set, and the job names it as {text}: set it, and try again"
        ))
    })
}

/// Whether a value is not named but written out.
pub(super) fn is_bare(value: &str) -> bool {
    !value.starts_with(PREFIX)
}

/// Whether a header may hold a secret as it is, which would be written into the folder. No name says for sure that a header is not a
/// key, so the value of one that is not public must be named, or come from a column of the input.
pub(super) fn may_be_secret(name: &str, value: &str) -> bool {
    let has_column = value.replace("{{", "").contains('{');
    let proves_who_asks = ["authorization", "cookie", "proxy-authorization"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name));
    is_bare(value) && !hecaton::is_public(&[], name) && (proves_who_asks || !has_column)
}
