//! The requests of a round, as the driver and the test server receive them.

use std::path::PathBuf;
use std::time::Duration;

use hecaton_test_server::RoundSpec;

use super::length::Length;
use super::{Cell, Go, Prepare, Runner, Verify, effect};
use crate::plan::Trial;
use crate::spec::{Expected, Job, Target};

/// How long one request may take, delays aside, before a driver counts it as failed.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The same at the test server, which holds a response until others have come.
const HELD_TIMEOUT: Duration = Duration::from_secs(60);

/// Every request is timed: a sample of every k-th would miss what happens in step with them.
pub(super) const LAT_EVERY: u64 = 1;

/// Most round trips of one request: those on a new connection with an old version of TLS.
const MOST_ROUND_TRIPS: u32 = 4;

impl Runner<'_> {
    /// A path on the server of a cell, and whom its client must trust.
    fn address(&self, cell: &Cell, path: &str) -> (String, Option<PathBuf>) {
        let (base, ca) = self
            .servers
            .address(cell)
            .expect("every cell of ours has a server");
        (base + path, ca)
    }

    pub(super) fn preparation(&self, cell: &Cell) -> Prepare {
        let (method, (url, ca), verify) = match &self.sweep.target {
            Target::Foreign { method, url, .. } => {
                let ca = self.files.ca.clone();
                (method.clone(), (url.clone(), ca), Verify::None)
            }
            Target::TestServer if self.sweep.is_reference(&cell.client) => (
                "GET".to_string(),
                self.address(cell, &format!("/bytes/{}", cell.load.body_bytes)),
                Verify::None,
            ),
            Target::TestServer => (
                "GET".to_string(),
                self.address(cell, &format!("/r/{:016x}/", self.word)),
                effect::verify(&cell.load),
            ),
        };
        let extras = match &self.sweep.target {
            Target::Foreign { extras, .. } => Some(extras),
            Target::TestServer => None,
        };
        Prepare {
            method,
            url,
            append_id: verify != Verify::None,
            concurrency: cell.load.concurrency,
            keepalive: cell.load.keepalive,
            verify,
            ca,
            fields: self.files.fields.clone(),
            body: self.files.body.clone(),
            id_field: extras.and_then(|extras| extras.id_field.clone()),
            urls: self.files.urls.clone(),
            expect: extras.and_then(|extras| extras.expect.as_ref().map(Expected::ranges)),
            // A delay is no failure, however long; a distribution's tail is longer than its mean.
            timeout_ms: (self.request_timeout() + 10 * self.wait(cell)).as_millis() as u64,
            more: effect::optional_keys(&cell.load),
        }
    }

    fn request_timeout(&self) -> Duration {
        match self.sweep.target {
            Target::TestServer => HELD_TIMEOUT,
            Target::Foreign { .. } => REQUEST_TIMEOUT,
        }
    }

    /// All clients of a block have the same delays, and each block has others. So the intervals of the results contain
    /// the luck of the delays too.
    pub(super) fn measured_round(
        &self,
        cell: &Cell,
        first: u64,
        count: u64,
        block: u32,
    ) -> RoundSpec {
        RoundSpec {
            first,
            count,
            body_bytes: cell.load.body_bytes,
            gzip: cell.load.job == Job::Gzip,
            delay: cell.load.delay,
            draw: block,
            round_trip: cell.load.round_trip(),
            word: self.word_for(cell),
            new_connections: !cell.load.keepalive,
            json: cell.load.job == Job::Json,
            ..RoundSpec::default()
        }
    }

    /// What the driver and the test server receive for a round of a trial, which begins at once.
    pub(super) fn begin(&self, trial: &Trial, length: &Length) -> (Go, RoundSpec) {
        let go = drawn(length.count);
        let round = self.measured_round(&trial.cell, go.first, length.count, trial.block);
        let (go, pace) = length.begin(go);
        (go, RoundSpec { pace, ..round })
    }

    /// The word that requests must have in their path; none for a load generator, which sends all to one path.
    pub(super) fn word_for(&self, cell: &Cell) -> Option<u64> {
        (!self.sweep.is_reference(&cell.client)).then_some(self.word)
    }

    /// The longest wait for a response on the server's side, without the tail of a distribution.
    pub(super) fn wait(&self, cell: &Cell) -> Duration {
        let delay = cell.load.delay;
        delay.mean() + MOST_ROUND_TRIPS * cell.load.round_trip()
    }
}

/// So many requests with ids in a row, each timed. The ids are drawn anew for each `go`, so that nobody knows them
/// before. All have ten digits, so that all requests are equally long.
pub(super) fn drawn(count: u64) -> Go {
    Go {
        first: rand::random_range(1_000_000_000..10_000_000_000 - count),
        count,
        lat_every: LAT_EVERY,
        ..Go::default()
    }
}
