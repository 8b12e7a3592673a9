//! `hecaton baseline-loader`: the lab's baseline loader as a driver.

use std::io::{stdin, stdout};

use anyhow::Result;

/// Replies to commands on stdin until `bye`.
pub fn run() -> Result<()> {
    Ok(hecaton_lab::run::baseline::serve(
        stdin().lock(),
        stdout().lock(),
    )?)
}
