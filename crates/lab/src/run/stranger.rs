//! Connects clients to an untrusted server in random trials. A client that verified certificates only while it is
//! checked would otherwise be faster than an honest one.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, Result};
use hecaton_test_server::{Certificate, Http2, Http3, Identity, Options, TestServer, Tls};

use super::{Driver, DriverError, Go, Prepare, Problem, Seen};

/// One trial in this number connects to an untrusted server.
const EVERY: u32 = 3;

/// Why a server must not be trusted.
pub enum Stranger<'a> {
    /// Its certificate comes from an authority that nobody trusts.
    OfAnotherAuthority,
    /// Its certificate comes from the right authority, and is for another host.
    OfAnotherHost(&'a Identity),
}

impl Stranger<'_> {
    fn certificate(&self) -> Certificate {
        match self {
            Stranger::OfAnotherAuthority => Certificate::Valid,
            Stranger::OfAnotherHost(identity) => Certificate::Given {
                chain: identity.chain.clone(),
                key: identity.key.clone(),
            },
        }
    }
}

/// When whose turn is next.
#[derive(Default)]
pub struct Strangers {
    clients: HashMap<String, Turns>,
}

/// The turns of a client.
#[derive(Default)]
struct Turns {
    /// Its trials so far.
    trials: u32,
    /// In which of the next few it gets an untrusted server.
    due: u32,
    /// Whether that server's certificate is for another host.
    of_another_host: bool,
}

impl Strangers {
    /// The server that this trial of a client ends with, if it does. Both kinds take turns.
    pub fn next<'a>(
        &mut self,
        client: &str,
        of_another_host: Option<&'a Identity>,
    ) -> Option<Stranger<'a>> {
        let turns = self.clients.entry(client.to_string()).or_default();
        if turns.trials == 0 {
            turns.of_another_host = rand::random();
        }
        if turns.trials.is_multiple_of(EVERY) {
            turns.due = rand::random_range(0..EVERY);
            turns.of_another_host ^= true;
        }
        turns.trials += 1;
        let is_due = (turns.trials - 1) % EVERY == turns.due;
        is_due.then_some(match of_another_host {
            Some(identity) if turns.of_another_host => Stranger::OfAnotherHost(identity),
            _ => Stranger::OfAnotherAuthority,
        })
    }
}

/// Lets the driver send a few requests to such a server; how many went there, if any.
///
/// # Errors
/// When the server cannot be started, or the driver does neither send nor refuse.
pub fn try_driver(
    driver: &mut Driver,
    prepare: &Prepare,
    first: u64,
    kind: Stranger<'_>,
) -> Result<Option<Seen>> {
    let tls = Tls {
        certificate: kind.certificate(),
        ..Tls::default()
    };
    // A server that does not support the version is no test of whom the client trusts.
    let over = |version| prepare.more.get("http").is_some_and(|over| over == version);
    let stranger = TestServer::start(Options {
        tls: Some(tls),
        http2: over("2").then(Http2::default),
        http3: over("3").then(Http3::default),
        ..Options::default()
    });
    let stranger = stranger.context("a server for the check of certificates cannot start")?;
    // As in a probe: nothing in the lines to the driver distinguishes the two.
    let prepare = Prepare {
        url: format!("{}/r/{:016x}/", stranger.base_url(), rand::random::<u64>()),
        ..prepare.clone()
    };
    let go = Go {
        first,
        count: 2 * prepare.concurrency as u64,
        lat_every: 1,
        ..Go::default()
    };
    let count = go.count;
    let done = done(driver, &prepare, go)?;
    let responded = done.max(stranger.stop().items);
    Ok((responded > 0).then_some(Seen::Untrusted {
        responded,
        count,
        of_another_host: matches!(kind, Stranger::OfAnotherHost(_)),
    }))
}

/// How many of these requests a driver claims as done. It may refuse to send any.
fn done(driver: &mut Driver, prepare: &Prepare, go: Go) -> Result<u64> {
    let prepared = driver.prepare(prepare);
    let sent = prepared.and_then(|()| driver.go(go, Duration::from_secs(1)));
    let refused = |error: &DriverError| matches!(error.problem, Problem::Refused(..));
    match sent {
        Ok((claim, _)) => Ok(claim.done),
        Err(error) if error.downcast_ref().is_some_and(refused) => Ok(0),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use hecaton_test_server::{Flaw, make_certificates};

    use super::*;

    #[test]
    fn every_client_meets_both_kinds_in_turn() {
        let identity = make_certificates(&[], Flaw::WrongHost).unwrap();
        let mut strangers = Strangers::default();
        let mut met: HashMap<&str, Vec<bool>> = HashMap::new();
        for _ in 0..20 {
            for client in ["a", "b"] {
                let trials = 0..EVERY;
                let due = trials.filter_map(|_| strangers.next(client, Some(&identity)));
                let kinds = due.map(|kind| matches!(kind, Stranger::OfAnotherHost(_)));
                let kinds: Vec<bool> = kinds.collect();
                assert_eq!(kinds.len(), 1);
                met.entry(client).or_default().extend(kinds);
            }
        }
        for kinds in met.values() {
            assert!(kinds.windows(2).all(|two| two[0] != two[1]), "{kinds:?}");
        }
    }
}
