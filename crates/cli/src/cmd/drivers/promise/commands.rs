//! The commands that promises send to a driver, and their test servers.

use anyhow::Result;
use hecaton_lab::run::{Go, Prepare, Verify};
use hecaton_test_server::{Options, RoundSpec, TestServer};

/// First id of the rounds made here.
pub(super) const FIRST: u64 = 5_000_000_000;

pub(super) fn server() -> Result<TestServer> {
    Ok(TestServer::start(Options::default())?)
}

pub(super) fn to(url: String, append_id: bool, verify: Verify) -> Prepare {
    Prepare {
        method: "GET".into(),
        url,
        append_id,
        concurrency: 2,
        keepalive: true,
        verify,
        timeout_ms: 5000,
        ..Prepare::default()
    }
}

/// A round of the first `count` ids, in which every request is timed.
pub(super) fn go(count: u64) -> Go {
    Go {
        first: FIRST,
        count,
        lat_every: 1,
        ..Go::default()
    }
}

/// The server's side of a round of the first `count` ids; 0 expects no request.
pub(super) fn page(count: u64) -> RoundSpec {
    RoundSpec {
        first: FIRST,
        count,
        body_bytes: 133,
        ..RoundSpec::default()
    }
}
