//! The verbs `audit` and `fetch` of a command that was built without them: says how to get them.

use anyhow::{Result, bail};

/// Anything, as the verb itself would take it.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Arguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _any: Vec<String>,
}

/// # Errors
/// Always.
pub fn run(verb: &str) -> Result<()> {
    bail!(
        "this command was built without {verb}, so that it builds sooner; `bin/setup jobs` builds it in, as `bin/hecaton {verb}` does by itself"
    )
}
