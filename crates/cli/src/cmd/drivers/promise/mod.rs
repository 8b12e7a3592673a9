//! The promises that a driver must keep, one function each.

mod call;
mod check;
mod commands;
mod each_request;
mod failure;
mod idle;
mod pace;
mod recorder;
mod secure;
mod work;

use anyhow::{Result, ensure};
use hecaton_lab::plan::Load;
use hecaton_lab::run::Verify;

pub use check::Check;

use call::{makes_a_call, refuses_unknown_words};
use each_request::gives_ids;
use failure::{
    counts_refusals, counts_statuses, keeps_its_time_limit, refuses_to_verify,
    refuses_unknown_commands,
};
use idle::{ends, is_idle};
use pace::keeps_a_rate;
use secure::{supports_http2, supports_http3, supports_tls};
use work::{MOST, claims_what_was_seen, keeps_in_flight, times_some, verifies};

/// A promise in words, and the function that tries it.
pub type Promise = (&'static str, fn(&Check<'_>) -> Result<()>);

const REFUSES_WORDS: Promise = (
    "refuses a call that needs an unknown word, if its `hello` has `calls`",
    refuses_unknown_words,
);

const MAKES_A_CALL: Promise = (
    "makes a call and reports its status, length and SHA-256, if its `hello` has `calls`",
    makes_a_call,
);

/// Every promise, in the order in which they are tried.
pub const PROMISES: [Promise; 23] = [
    ("says hello", |check| check.with_process(|_| Ok(()))),
    (
        "refuses an unknown command with `unsupported`",
        refuses_unknown_commands,
    ),
    (
        "claims nothing that its manifest lists under `cannot`",
        lacks_what_its_manifest_says,
    ),
    (
        "1 in flight: every request once, every body read, every claim true",
        |check| keeps_in_flight(check, 1, Load::PLAIN),
    ),
    ("2 in flight: the same", |check| {
        keeps_in_flight(check, 2, Load::PLAIN)
    }),
    ("7 in flight: the same", |check| {
        keeps_in_flight(check, MOST, Load::PLAIN)
    }),
    (
        "2 in flight over https, if it says that it can: the same, and it refuses an unknown certificate",
        supports_tls,
    ),
    (
        "7 in flight over HTTP/2, if it says that it can: the same, and it refuses an unknown certificate",
        supports_http2,
    ),
    (
        "7 in flight over HTTP/3, if it says that it can: the same, and it refuses an unknown certificate",
        supports_http3,
    ),
    (
        "at a rate, if it says that it can: each request is sent when it is due, and its latency counts from then",
        keeps_a_rate,
    ),
    ("times every k-th request when `go` says so", times_some),
    ("verifies JSON, if it says that it can", |check| {
        verifies(check, Verify::Json)
    }),
    ("decodes gzip, if it says that it can", |check| {
        verifies(check, Verify::Gzip)
    }),
    (
        "gives each request its id, if it says that it knows `id_field`",
        gives_ids,
    ),
    ("is idle between commands", is_idle),
    ("counts responses of status 500 as errors", counts_statuses),
    ("counts refused connections as errors", counts_refusals),
    (
        "ends requests that take longer than `timeout_ms`, as errors",
        keeps_its_time_limit,
    ),
    REFUSES_WORDS,
    MAKES_A_CALL,
    ("ends with status 0 after `bye`", |check| {
        ends(check.take()?.driver.bye()?)
    }),
    ("ends with status 0 when its input ends", |check| {
        ends(check.start()?.driver.close_input()?)
    }),
    ("ends on SIGTERM", |check| {
        check.start()?.driver.terminate().map(drop)
    }),
];

/// The manifest decides before anything is started, so it must not say less than the driver.
fn lacks_what_its_manifest_says(check: &Check<'_>) -> Result<()> {
    check.with_process(|process| {
        let said = check.manifest.cannot.iter();
        let wrong: Vec<String> = said
            .filter(|skill| process.hello.can(**skill))
            .map(ToString::to_string)
            .collect();
        ensure!(
            wrong.is_empty(),
            "`cannot` of the manifest names {}, which `hello` says the driver can do; correct one of them",
            wrong.join(", ")
        );
        Ok(())
    })
}

/// The promises of a load generator, which verifies nothing.
pub const REFERENCE_PROMISES: [Promise; 9] = [
    PROMISES[0],
    PROMISES[1],
    (
        "refuses to verify what it does not look at",
        refuses_to_verify,
    ),
    (
        "claims no more requests than the server saw",
        claims_what_was_seen,
    ),
    ("counts responses of status 500 as errors", counts_statuses),
    ("counts refused connections as errors", counts_refusals),
    PROMISES[PROMISES.len() - 3],
    PROMISES[PROMISES.len() - 2],
    PROMISES[PROMISES.len() - 1],
];

/// The promises of a driver that serves audits alone.
pub const AUDIT_PROMISES: [Promise; 7] = [
    PROMISES[0],
    PROMISES[1],
    REFUSES_WORDS,
    MAKES_A_CALL,
    PROMISES[PROMISES.len() - 3],
    PROMISES[PROMISES.len() - 2],
    PROMISES[PROMISES.len() - 1],
];

/// The promises that a driver must keep. It has kept the first: it has said hello.
pub fn promises(check: &Check<'_>) -> Result<&'static [Promise]> {
    let is_for_audits = check.with_process(|process| Ok(process.hello.is_for_audits()))?;
    Ok(match is_for_audits {
        true => &AUDIT_PROMISES,
        false if check.is_reference() => &REFERENCE_PROMISES,
        false => &PROMISES,
    })
}
