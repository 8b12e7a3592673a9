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

/// Whether a header or the like holds a secret as it is, which would be written into the folder.
pub(super) fn is_bare(name: &str, value: &str) -> bool {
    const SIGNS: [&str; 5] = ["authorization", "cookie", "token", "secret", "api-key"];
    let name = name.to_ascii_lowercase();
    !value.starts_with(PREFIX) && SIGNS.iter().any(|sign| name.contains(sign))
}
