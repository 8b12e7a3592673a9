//! Promises about `call`, the command of the audit.

use anyhow::{Context, Result, bail, ensure};
use hecaton_lab::run::{Call, CallReply, DriverError, Problem};

use super::check::Check;
use super::commands::server;
use super::failure::is_unsupported;

/// The alphabet, which the server has at /bytes/26, and its SHA-256.
const BYTES: u64 = 26;
const SHA256: &str = "71c480df93d6ae2f1efad1447c66c9525e316218cf51fc8d9ed832f2daf18b73";

/// A driver that accepted every word would pass cases that it never ran.
pub(super) fn refuses_unknown_words(check: &Check<'_>) -> Result<()> {
    let unknown = Call {
        needs: vec![format!("word-{}", std::process::id())],
        ..get("http://127.0.0.1:1/".into())
    };
    match call(check, &unknown)? {
        None => Ok(()),
        Some(reply) => is_unsupported(reply).context("`needs` had a word that nobody knows"),
    }
}

pub(super) fn makes_a_call(check: &Check<'_>) -> Result<()> {
    let server = server()?;
    let get = get(format!("{}/bytes/{BYTES}", server.base_url()));
    let Some(reply) = call(check, &get)? else {
        return Ok(());
    };
    let reply = reply?;
    if let Some(class) = reply.error {
        bail!("the call failed with {class}: {}", reply.text);
    }
    ensure!(
        (reply.status, reply.bytes) == (200, BYTES),
        "it reported status {} and {} bytes instead of 200 and {BYTES}",
        reply.status,
        reply.bytes
    );
    ensure!(
        reply.sha256 == SHA256,
        "`sha256` of its reply is `{}` instead of {SHA256}",
        reply.sha256
    );
    let seen = server.summary().requests;
    ensure!(seen == 1, "the server saw {seen} requests instead of 1");
    Ok(())
}

fn get(url: String) -> Call {
    Call {
        new_client: true,
        method: "GET".into(),
        url,
        timeout_ms: Call::LIMIT_MS,
        ..Call::default()
    }
}

/// The reply to a call; none from a driver that says that it makes none.
fn call(check: &Check<'_>, call: &Call) -> Result<Option<Result<CallReply>>> {
    check.with_process(|process| {
        let makes_calls = !process.hello.calls.is_empty();
        let reply = makes_calls.then(|| process.driver.call(call));
        // Whether a refusal is right, the promise says.
        match reply {
            Some(Err(error)) if !is_refusal(&error) => Err(error),
            reply => Ok(reply),
        }
    })
}

fn is_refusal(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<DriverError>();
    error.is_some_and(|error| matches!(error.problem, Problem::Refused(..)))
}
