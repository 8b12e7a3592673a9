//! Connects clients to an untrusted server in random trials. A client that verified certificates only while it is
//! checked would otherwise be faster than an honest one.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, Result};
use hecaton_test_server::{Options, TestServer, Tls};

use super::{Driver, DriverError, Go, Prepare, Problem, Seen};

/// One trial in this number connects to an untrusted server.
const EVERY: u32 = 3;

/// When whose turn is next.
#[derive(Default)]
pub struct Strangers {
    /// For each client: its trials so far, and in which of the next few it gets an untrusted server.
    trials: HashMap<String, (u32, u32)>,
}

impl Strangers {
    /// Whether this trial of a client ends with one.
    pub fn is_due(&mut self, client: &str) -> bool {
        let (trials, due) = self.trials.entry(client.to_string()).or_default();
        if *trials % EVERY == 0 {
            *due = rand::random_range(0..EVERY);
        }
        *trials += 1;
        (*trials - 1) % EVERY == *due
    }
}

/// Lets the driver send a few requests to such a server; how many went there, if any.
///
/// # Errors
/// When the server cannot be started, or the driver does neither send nor refuse.
pub fn try_driver(driver: &mut Driver, prepare: &Prepare, first: u64) -> Result<Option<Seen>> {
    let stranger = TestServer::start(Options {
        tls: Some(Tls::default()),
        ..Options::default()
    });
    let stranger = stranger.context("a server for the check of certificates cannot start")?;
    // As in a probe: nothing in the lines to the driver distinguishes the two.
    let count = 2 * prepare.concurrency as u64;
    let prepare = Prepare {
        url: format!("{}/r/{:016x}/", stranger.base_url(), rand::random::<u64>()),
        ..prepare.clone()
    };
    let go = Go {
        first,
        count,
        lat_every: 1,
        ..Go::default()
    };
    let sent = driver
        .prepare(&prepare)
        .and_then(|()| driver.go(go, Duration::from_secs(1)));
    let refused = |error: &DriverError| matches!(error.problem, Problem::Refused(..));
    let done = match sent {
        Ok((claim, _)) => claim.done,
        Err(error) if error.downcast_ref().is_some_and(refused) => 0,
        Err(error) => return Err(error),
    };
    let responded = done.max(stranger.stop().items);
    Ok((responded > 0).then_some(Seen::Untrusted { responded, count }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_meets_one_in_each_few_trials() {
        let mut strangers = Strangers::default();
        for _ in 0..20 {
            for client in ["a", "b"] {
                let due = (0..EVERY).filter(|_| strangers.is_due(client)).count();
                assert_eq!(due, 1);
            }
        }
    }
}
