//! Promises about https: a driver does the same work over it, and refuses servers that it must not trust.

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
    // The process until now was told to trust the server's authority, so a new one is needed.
    fails_whole(check, &mut check.start()?.driver, &prepare)
        .context("on a server whose certificate it must not trust")
}
