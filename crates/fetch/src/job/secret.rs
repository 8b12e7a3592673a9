//! Secrets are named in jobs, and read when they are used.

use crate::error::{Error, Result};

/// The prefix of a name of an environment variable.
const PREFIX: &str = "env:";

/// The text itself, or the value of the variable if the text is `env:NAME`.
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

/// Whether a value is written out instead of named as `env:NAME`.
pub(super) fn is_bare(value: &str) -> bool {
    !value.starts_with(PREFIX)
}

/// Whether a header seems to hold a secret as it is, which would be written into the folder. This warns whoever wrote
/// the job; which header may cross origins does not depend on such words (`hecaton::is_public`).
pub(super) fn may_be_secret(name: &str, value: &str) -> bool {
    const SIGNS: [&str; 9] = [
        "auth",
        "cookie",
        "credential",
        "key",
        "password",
        "secret",
        "session",
        "signature",
        "token",
    ];
    let name = name.to_ascii_lowercase();
    let has_column = value.replace("{{", "").contains('{');
    let is_credential = ["authorization", "cookie", "proxy-authorization"].contains(&name.as_str());
    is_bare(value)
        && (is_credential || !has_column)
        && !hecaton::is_public(&[], &name)
        && SIGNS.iter().any(|sign| name.contains(sign))
}
