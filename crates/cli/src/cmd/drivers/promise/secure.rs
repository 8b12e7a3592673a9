//! https, and HTTP/2 and HTTP/3 over it: what a driver does, and whom it trusts.

use anyhow::{Context, Result};
use hecaton_lab::plan::Load;
use hecaton_lab::run::{Handout, Prepare, Verify};
use hecaton_test_server::{Certificate, Http2, Http3, Options, TestServer, Tls};

use super::check::{Check, DriverProcess};
use super::commands::to;
use super::failure::fails_whole;
use super::work::{MOST, keeps_in_flight};

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
    refuses_strangers(check, "1.1")
}

/// All requests over this version of HTTP to servers that must not be trusted fail.
fn refuses_strangers(check: &Check<'_>, version: &str) -> Result<()> {
    refuses(check, version, Certificate::Valid, false)
        .context("on a server whose certificate it must not trust")?;
    refuses(check, version, Certificate::WrongHost, true)
        .context("on a server whose certificate is for another host")
}

/// All requests to a server with this certificate fail, whether its authority is the one to trust or not.
fn refuses(
    check: &Check<'_>,
    version: &str,
    certificate: Certificate,
    right_authority: bool,
) -> Result<()> {
    let server = TestServer::start(Options {
        tls: Some(Tls {
            certificate,
            ..Tls::default()
        }),
        http2: (version == "2").then(Http2::default),
        http3: (version == "3").then(Http3::default),
        ..Options::default()
    })?;
    let pem = server.ca_pem().filter(|_| right_authority);
    let authorities = pem.map(Handout::write).transpose()?;
    let http = ("http".to_owned(), version.into());
    let prepare = Prepare {
        ca: authorities.as_ref().map(|file| file.path().to_owned()),
        more: (version != "1.1").then_some(http).into_iter().collect(),
        ..to(format!("{}/r/", server.base_url()), true, Verify::Tail)
    };
    // The process until now was told to trust another authority, so a new one is needed.
    fails_whole(check, &mut check.start()?.driver, &prepare)
}

/// HTTP/2 is negotiated by TLS; the server's log says over which version each request came.
pub(super) fn supports_http2(check: &Check<'_>) -> Result<()> {
    let http2 = Load {
        http2: true,
        ..Load::PLAIN
    };
    supports(check, "2", http2)
}

/// HTTP/3 as HTTP/2.
pub(super) fn supports_http3(check: &Check<'_>) -> Result<()> {
    let http3 = Load {
        http3: true,
        ..Load::PLAIN
    };
    supports(check, "3", http3)
}

fn supports(check: &Check<'_>, version: &str, load: Load) -> Result<()> {
    let knows = |process: &mut DriverProcess| Ok(process.hello.can_http(version));
    if !check.with_process(knows)? {
        return Ok(());
    }
    keeps_in_flight(check, MOST, Load { tls: true, ..load })?;
    refuses_strangers(check, version)
}
