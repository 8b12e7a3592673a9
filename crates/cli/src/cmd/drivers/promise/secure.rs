//! https: what a driver does over it, and whom it trusts.

use anyhow::{Context, Result};
use hecaton_lab::run::Verify;

use super::Check;
use super::commands::{secure_server, to};
use super::failure::fails_whole;
use super::work::keeps_in_flight;

/// TLS works as plaintext HTTP does, and an untrusted server is refused. A client that does not verify certificates
/// would also be faster.
pub(super) fn supports_tls(check: &Check<'_>) -> Result<()> {
    if !check.with_process(|process| Ok(process.hello.tls))? {
        return Ok(());
    }
    keeps_in_flight(check, 2, true)?;
    let server = secure_server()?;
    let prepare = to(format!("{}/r/", server.base_url()), true, Verify::Tail);
    // The process so far was given an authority to trust.
    fails_whole(check, &mut check.start()?.driver, &prepare)
        .context("on a server whose certificate it must not trust")
}
