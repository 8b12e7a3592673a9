//! https and HTTP/2 over it: what a driver does, and whom it trusts.

use anyhow::{Context, Result};
use hecaton_lab::plan::Load;
use hecaton_lab::run::Verify;

use super::commands::{secure_server, to};
use super::failure::fails_whole;
use super::work::{MOST, keeps_in_flight};
use super::{Check, DriverProcess};

/// TLS works as plaintext HTTP does, and an untrusted server is refused. A client that does not verify certificates
/// would also be faster.
pub(super) fn supports_tls(check: &Check<'_>) -> Result<()> {
    if !check.with_process(|process| Ok(process.hello.tls))? {
        return Ok(());
    }
    let tls = Load {
        tls: true,
        ..Load::PLAIN
    };
    keeps_in_flight(check, 2, tls)?;
    let server = secure_server()?;
    let prepare = to(format!("{}/r/", server.base_url()), true, Verify::Tail);
    // The process until now was told to trust the server's authority, so a new one is needed.
    fails_whole(check, &mut check.start()?.driver, &prepare)
        .context("on a server whose certificate it must not trust")
}

/// HTTP/2 is negotiated by TLS; the server's log says over which version each request came.
pub(super) fn supports_http2(check: &Check<'_>) -> Result<()> {
    let knows = |process: &mut DriverProcess| Ok(process.hello.can_http2());
    if !check.with_process(knows)? {
        return Ok(());
    }
    let http2 = Load {
        tls: true,
        http2: true,
        ..Load::PLAIN
    };
    keeps_in_flight(check, MOST, http2)
}
