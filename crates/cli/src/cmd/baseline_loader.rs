//! `hecaton baseline-loader`: the lab's baseline loader as a driver.

use std::io::{stdin, stdout};

use anyhow::Result;

/// Answers commands on stdin until told to end.
pub fn run() -> Result<()> {
    Ok(hecaton_lab::run::baseline::serve(
        stdin().lock(),
        stdout().lock(),
    )?)
}
