//! `hecaton fetch` in a command that was built without it: says how to get it.

use anyhow::{Error, Result, bail};

/// Fetches every URL of a list, and records each exactly once
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Arguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _any: Vec<String>,
}

/// # Errors
/// Always.
pub fn run(_: &Arguments) -> Result<()> {
    bail!(
        "this command was built without fetch, so that it builds sooner; `bin/setup jobs` builds it in, as `bin/hecaton fetch` does by itself"
    )
}

/// No error is one of `fetch`.
pub fn status(_: &Error) -> Option<u8> {
    None
}
