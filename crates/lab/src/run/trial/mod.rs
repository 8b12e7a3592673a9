//! One trial of a cell: prepare, prove the concurrency, measure.

mod length;
mod measure;
mod own;
mod process;
mod prove;
mod requests;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use anyhow::Result;
use hecaton_test_server::Interval;

use self::requests::drawn;
use super::extras::Files;
use super::servers::Servers;
use super::service::Service;
use super::stranger::{self, Strangers};
use super::{
    Cell, Driver, Fact, Go, Isolation, Later, Noise, Prepare, Proof, Round, Seen, Verify, effect,
};
use crate::plan::{Shown, Trial};
use crate::spec::{Sweep, Target};

/// The server under the drivers, and what is known of every cell so far.
pub struct Runner<'a> {
    sweep: &'a Sweep,
    servers: Servers,
    /// Requests of one round, once they are known.
    counts: HashMap<Cell, u64>,
    /// Batches whose concurrency has been shown, and in which invocation.
    proven: HashSet<(Cell, u32)>,
    /// Cells that have had a proof, or could have had one.
    tried: HashSet<Cell>,
    /// The word in the paths of the present trial.
    word: u64,
    /// How many requests each client's present process has sent.
    sent: HashMap<String, u64>,
    /// Requests per second of the cells that are measured at a rate, once they are known.
    rates: HashMap<Cell, f64>,
    /// Which clients read interim responses, as far as it has been tried.
    interim: HashMap<String, bool>,
    strangers: Strangers,
    /// The files with the header fields and bodies of requests to one's own service.
    files: Files,
    /// Other facts about one's own service.
    service: Service,
    /// Whether it is known how long one's own service takes.
    is_timed: bool,
    /// How long things took.
    pub(super) shown: Shown,
}

impl<'a> Runner<'a> {
    /// A runner with the lab's own servers, which are not used if the sweep's target is another server.
    pub fn new(sweep: &'a Sweep, servers: Servers) -> Runner<'a> {
        Runner {
            sweep,
            servers,
            counts: HashMap::new(),
            proven: HashSet::new(),
            tried: HashSet::new(),
            word: rand::random(),
            sent: HashMap::new(),
            rates: HashMap::new(),
            interim: HashMap::new(),
            strangers: Strangers::default(),
            files: Files::default(),
            service: Service::default(),
            is_timed: false,
            shown: Shown::default(),
        }
    }

    /// Makes one trial.
    ///
    /// # Errors
    /// When the driver does not do its part.
    pub fn trial(&mut self, driver: &mut Driver, trial: &Trial) -> Result<Round> {
        let (begun, before) = (Instant::now(), self.shown);
        let round = self.make(driver, trial)?;
        self.shown.add_trial(begun.elapsed(), before);
        Ok(round)
    }

    fn make(&mut self, driver: &mut Driver, trial: &Trial) -> Result<Round> {
        let cell = &trial.cell;
        self.word = rand::random();
        let ready = self.get_ready(driver, trial)?;
        let length = self.length(driver, cell, ready.wave)?;
        let mut round = self.measure_and_prove(driver, trial, &length, ready.probe)?;
        let says = self.try_stranger(driver, cell, length.count)?;
        round.facts.extend(says.map(Fact::Seen));
        if cell.load.rate.is_none() {
            let wall = Duration::from_nanos(round.wall_ns);
            let count = self.count_for(cell, length.count, wall);
            self.counts.insert(cell.clone(), count);
        }
        Ok(round)
    }

    /// Prepares the driver, and sees to it that its connections are open.
    fn get_ready(&mut self, driver: &mut Driver, trial: &Trial) -> Result<Ready> {
        match self.sweep.target {
            Target::TestServer => Ok(Ready {
                probe: self.probe(driver, trial)?,
                wave: Duration::ZERO,
            }),
            Target::Foreign { .. } => Ok(Ready {
                probe: None,
                wave: self.open_connections(driver, &trial.cell)?,
            }),
        }
    }

    /// Connects the client of a cell over TLS to a server that it must not trust, if it is its turn.
    fn try_stranger(
        &mut self,
        driver: &mut Driver,
        cell: &Cell,
        count: u64,
    ) -> Result<Option<Seen>> {
        if !self.servers.is_secure(cell) {
            return Ok(None);
        }
        let of_another_host = self.servers.of_another_host();
        match self.strangers.next(&cell.client, of_another_host) {
            Some(kind) => {
                let preparation = self.preparation(cell);
                stranger::try_driver(driver, &preparation, drawn(count).first, kind)
            }
            None => Ok(None),
        }
    }

    /// Gives up the round of a driver that broke.
    pub fn abandon(&self) {
        self.servers.abandon();
    }

    /// Makes a round like a measured one, keeps nothing of it, and returns how long it took.
    fn rehearse(&mut self, driver: &mut Driver, cell: &Cell, count: u64) -> Result<Duration> {
        *self.sent.entry(driver.client().to_string()).or_default() += count;
        let go = drawn(count);
        let round = self.measured_round(cell, go.first, count, 0);
        self.servers.open(cell, round);
        let (_, wall) = driver.go(go, self.expected(cell, count))?;
        self.servers.close(cell);
        self.servers.check()?;
        Ok(wall)
    }
}

/// What is known of a cell once its driver is ready.
struct Ready {
    /// The log of the probe; none at one's own service.
    probe: Option<Interval>,
    /// How long one request on each connection took at one's own service.
    wave: Duration,
}
