//! One trial of a cell: prepare, prove the concurrency, measure.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use hecaton_test_server::{Delay, Interim, Interval, Pace, RoundSpec};

use super::extras::Files;
use super::held::Held;
use super::noise::Moment;
use super::pace::{LEAD, Paced};
use super::servers::Servers;
use super::service::{Late, Service};
use super::stranger::{self, Strangers};
use super::warm_up::{Later, WarmUp};
use super::{Cell, Driver, Fact, Go, Isolation, Prepare, Proof, Round, Seen, Verify, effect};
use crate::plan::{Load, ROUNDS_OF_A_PROOF, ServiceTime, Trial};
use crate::spec::{Amount, Expected, Job, Rate, Sweep, Target};

/// How long one request may take, delays aside, before a driver counts it as failed.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// The same at the test server, which holds a response until others have come.
const HELD_TIMEOUT: Duration = Duration::from_secs(60);

/// Every request is timed: a sample of every k-th would miss what happens in step with them.
const LAT_EVERY: u64 = 1;

/// Most responses of a proof that are cut in two on each connection. They take a millisecond each.
const MOST_CUTS: u64 = 100;

/// Most requests of one round, whatever the rate.
const MOST_REQUESTS: u64 = 20_000_000;

/// A driver with this number of connections that carry nothing is ended, because none may be left for others.
const MOST_HELD_OPEN: u64 = 2000;

/// Most round trips of one request: those on a new connection with an old version of TLS.
const MOST_ROUND_TRIPS: u32 = 4;

/// Most requests of one try of a service, if several requests take turns.
const MOST_TRIED: u64 = 100;

/// Tries of a service before a client is given up.
const TRIES: u32 = 3;

/// So many requests on each connection tell how long one's own service takes, if each is for the same.
const TIMED_WAVES: u64 = 3;

/// Fewest requests of a round on each connection.
const WAVES: u64 = 3;

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
        }
    }

    /// Adds what is needed for the requests to one's own service, and what is known of it.
    ///
    /// # Errors
    /// When a file cannot be read or written.
    pub(super) fn at_service(self) -> Result<Runner<'a>> {
        Ok(Runner {
            files: Files::of(&self.sweep.target)?,
            service: Service::of(&self.sweep.target)?,
            ..self
        })
    }

    /// Makes one trial.
    ///
    /// # Errors
    /// When the driver does not do its part.
    pub fn trial(&mut self, driver: &mut Driver, trial: &Trial) -> Result<Round> {
        let cell = &trial.cell;
        self.word = rand::random();
        if cell.load.rate.is_some() {
            return self.paced_trial(driver, trial);
        }
        let (probe, count, expected) = match self.sweep.target {
            Target::TestServer => {
                let probe = self.probe(driver, trial)?;
                let count = match (self.fixed(cell), self.counts.get(cell)) {
                    (Some(count), _) => count,
                    (None, Some(&count)) => count,
                    (None, None) => self.calibrate(driver, cell)?,
                };
                (probe, count, self.expected(cell, count))
            }
            Target::Foreign { requests: 0, .. } if cell.load.requests.is_none() => {
                self.open_connections(driver, cell)?;
                let count = match self.counts.get(cell) {
                    Some(&count) => count,
                    None => self.calibrate(driver, cell)?,
                };
                (None, count, REQUEST_TIMEOUT + self.sweep.round_time)
            }
            Target::Foreign { requests, .. } => {
                let requests = cell.load.requests.unwrap_or(requests);
                let wave = self.open_connections(driver, cell)?;
                let waves = requests.div_ceil(cell.load.concurrency as u64);
                (
                    None,
                    requests,
                    wave.saturating_mul(u32::try_from(waves).unwrap_or(u32::MAX)),
                )
            }
        };
        let length = Length {
            count,
            expected,
            paced: None,
        };
        let mut round = self.measure_and_prove(driver, trial, length, probe)?;
        let says = self.try_stranger(driver, cell, count)?;
        round.facts.extend(says.map(Fact::Seen));
        self.counts.insert(
            cell.clone(),
            self.count_for(cell, count, Duration::from_nanos(round.wall_ns)),
        );
        Ok(round)
    }

    /// Makes a trial at a rate.
    fn paced_trial(&mut self, driver: &mut Driver, trial: &Trial) -> Result<Round> {
        let cell = &trial.cell;
        let probe = match self.sweep.target {
            Target::TestServer => self.probe(driver, trial)?,
            Target::Foreign { .. } => {
                self.open_connections(driver, cell)?;
                None
            }
        };
        let (rate, per_second) = self.rate_of(driver, cell)?;
        let filling = (per_second * self.sweep.round_time.as_secs_f64()).ceil() as u64;
        let requested = match self.sweep.target {
            Target::Foreign { requests, .. } if requests > 0 => Some(requests),
            _ => None,
        };
        let count = cell
            .load
            .requests
            .or(requested)
            .unwrap_or(filling)
            .clamp(1, MOST_REQUESTS);
        let paced = Paced::new(rate, per_second, count)?;
        let expected = LEAD + paced.lasting() + self.wait(cell) + REQUEST_TIMEOUT;
        let length = Length {
            count,
            expected,
            paced: Some(&paced),
        };
        let mut round = self.measure_and_prove(driver, trial, length, probe)?;
        let says = self.try_stranger(driver, cell, count)?;
        round.facts.extend(says.map(Fact::Seen));
        Ok(round)
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
                stranger::try_driver(driver, &preparation, draw_ids(count), kind)
            }
            None => Ok(None),
        }
    }

    /// The rate of a cell, and how many requests per second it is for this client. A percentage is a share of the
    /// client's own speed in the closed loop, which is measured once.
    fn rate_of(&mut self, driver: &mut Driver, cell: &Cell) -> Result<(Rate, f64)> {
        let rate = cell.load.rate.expect("the cell has a rate");
        let percent = match rate.amount {
            Amount::PerSecond(number) => return Ok((rate, f64::from(number))),
            Amount::Percent(percent) => f64::from(percent),
        };
        let closed = Cell::new(
            &cell.client,
            Load {
                rate: None,
                ..cell.load
            },
        );
        let own = match self.rates.get(&closed) {
            Some(own) => *own,
            None => {
                let count = self.calibrate(driver, cell)?;
                let wall = self.rehearse(driver, cell, count)?;
                *self
                    .rates
                    .entry(closed)
                    .or_insert(count as f64 / wall.as_secs_f64().max(1e-9))
            }
        };
        Ok((rate, (own * percent / 100.0).max(1.0)))
    }

    /// Prepares, and probes the concurrency. Batches are many and short, so only the first trial of a cell in each
    /// invocation has a probe. Before the others, one wave opens the connections.
    fn probe(&mut self, driver: &mut Driver, trial: &Trial) -> Result<Option<Interval>> {
        let cell = &trial.cell;
        if self.sweep.is_reference(&cell.client) {
            driver.prepare(&self.preparation(cell))?;
            return Ok(None);
        }
        let first = self.proven.insert((cell.clone(), trial.invocation));
        if first || cell.load.mode.is_none() {
            return self.prove(driver, cell).map(Some);
        }
        driver.prepare(&self.preparation(cell))?;
        self.rehearse(driver, cell, cell.load.concurrency as u64)?;
        Ok(None)
    }

    /// Requests of a round, if they do not follow from its time.
    fn fixed(&self, cell: &Cell) -> Option<u64> {
        let requested = cell.load.requests?;
        Some(requested.max(cell.load.concurrency as u64))
    }

    /// Lines of the access log that came after their round had been judged, and since the last call.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub(super) fn late_lines(&mut self, is_end: bool) -> Result<Vec<Late>> {
        self.service.late(is_end)
    }

    /// Gives up the round of a driver that broke.
    pub fn abandon(&self) {
        self.servers.abandon();
    }

    /// Times the first `prepare` and the first request of a new process: they include all that a client does only once.
    ///
    /// # Errors
    /// When the driver does not do its part.
    pub fn first_request(&mut self, driver: &mut Driver) -> Result<Duration> {
        let cell = self.some_cell(driver, 1);
        self.sent.remove(driver.client());
        self.word = rand::random();
        let begun = Instant::now();
        driver.prepare(&self.preparation(&cell))?;
        let prepared = begun.elapsed();
        let taken = prepared + self.rehearse(driver, &cell, 1)?;
        self.try_interim(driver, &cell)?;
        Ok(taken)
    }

    /// Sends a client an interim response, once. Every client must be able to read one (RFC 9110 §15.2), and some cannot: those are sent
    /// none while they are measured, and their rows say so.
    fn try_interim(&mut self, driver: &mut Driver, cell: &Cell) -> Result<()> {
        if self.interim.contains_key(driver.client()) || self.word_for(cell).is_none() {
            return Ok(());
        }
        self.word = rand::random();
        driver.prepare(&self.preparation(cell))?;
        let first = draw_ids(1);
        let round = RoundSpec {
            interim: Interim::Always,
            ..self.measured_round(cell, first, 1, 0)
        };
        self.servers.open(cell, round);
        let go = Go {
            first,
            count: 1,
            lat_every: LAT_EVERY,
            ..Go::default()
        };
        let (claim, _) = driver.go(go, self.expected(cell, 1))?;
        let seen = self.servers.close(cell).unwrap_or_default();
        let reads = claim.done == 1 && claim.sum == seen.expected_sum;
        self.interim.insert(driver.client().to_string(), reads);
        Ok(())
    }

    /// Whether a client was sent an interim response and could not read it.
    fn reads_no_interim(&self, cell: &Cell) -> bool {
        self.interim.get(cell.first_name()) == Some(&false)
    }

    /// Keeps a new driver busy until its requests get no cheaper, so that its first round is like its later ones.
    ///
    /// # Errors
    /// When the driver does not do its part.
    pub fn warm_up(&mut self, driver: &mut Driver) -> Result<()> {
        if self.sweep.warm_up.is_zero() || !self.sweep.target.is_test_server() {
            return Ok(());
        }
        let levels = self.sweep.concurrency();
        let middle = levels[levels.len() / 2];
        let cell = self.some_cell(driver, middle);
        self.word = rand::random();
        driver.prepare(&self.preparation(&cell))?;
        let (mut warm_up, mut count) = (WarmUp::new(self.sweep.warm_up), fewest(&cell));
        while !warm_up.is_over() {
            let before = driver.account();
            let wall = self.rehearse(driver, &cell, count)?;
            let (user, system) = driver.account().since(&before);
            warm_up.note(wall, (user + system).as_secs_f64() / count as f64);
            count = grow(count, wall, warm_up.try_length());
        }
        Ok(())
    }

    /// Keeps a process busy for a while after its last round, by tries in one of its cells. Returns the median of the
    /// second half of the tries, by CPU time. A client that gets faster in one step after its last round looks as even
    /// in its rounds as a warm one.
    ///
    /// # Errors
    /// When the driver does not do its part.
    pub fn look_later(&mut self, driver: &mut Driver) -> Result<Option<(Cell, Later)>> {
        // The tries are a closed loop, in which a request does not cost what it costs at a rate.
        let own = |cell: &&Cell| {
            cell.client == driver.client() && cell.control.is_none() && cell.load.rate.is_none()
        };
        // The cell with the most requests in a round shows the most.
        let cell = self.counts.iter().filter(|(cell, _)| own(cell));
        let cell = cell.max_by_key(|(cell, count)| (**count, (*cell).clone()));
        let Some((cell, count)) = cell.map(|(cell, count)| (cell.clone(), *count)) else {
            return Ok(None);
        };
        let seen = self.sweep.target.is_test_server() && self.word_for(&cell).is_some();
        if self.sweep.warm_up.is_zero() || !seen {
            return Ok(None);
        }
        self.word = rand::random();
        driver.prepare(&self.preparation(&cell))?;
        let (mut spent, mut tries) = (Duration::ZERO, Vec::new());
        let enough = 2 * self.sent_by(driver);
        let (least, most) = (Later::LENGTH, Later::LONGEST);
        while spent < least * self.sweep.warm_up
            || self.sent_by(driver) < enough && spent < most * self.sweep.warm_up
        {
            let before = driver.account();
            let wall = self.rehearse(driver, &cell, count)?;
            let (user, system) = driver.account().since(&before);
            tries.push(Later {
                count,
                wall_ns: nanoseconds(wall),
                cpu_ns: nanoseconds(user + system),
            });
            spent += wall;
        }
        let mut last = tries.split_off(tries.len() / 2);
        last.sort_unstable_by_key(|one| one.cpu_ns);
        Ok(last.get(last.len() / 2).map(|later| (cell, *later)))
    }

    fn sent_by(&self, driver: &Driver) -> u64 {
        self.sent.get(driver.client()).copied().unwrap_or_default()
    }

    /// The cell of a warm-up: the client's first, with this concurrency or the highest that it has.
    fn some_cell(&self, driver: &Driver, concurrency: usize) -> Cell {
        let client = driver.client();
        let own = self.sweep.cells_of(client).next();
        let mut cell = own.cloned().unwrap_or_else(|| Cell::plain(client));
        cell.load.concurrency = concurrency.min(self.sweep.highest_concurrency_of(client));
        cell
    }

    /// Prepares, and shows by held responses how many requests the client really keeps in flight.
    fn prove(&mut self, driver: &mut Driver, cell: &Cell) -> Result<Interval> {
        let count = 2 * cell.load.concurrency as u64;
        let first = draw_ids(count);
        // The round is open before the driver prepares, so that a request which is sent too early is seen.
        let round = RoundSpec {
            first,
            count,
            body_bytes: cell.load.body_bytes,
            gzip: self.is_in_gzip(cell),
            delay: Delay::None,
            draw: 0,
            round_trip: Duration::ZERO,
            gate: Some(cell.load.concurrency),
            word: self.word_for(cell),
            cuts: 0,
            varied: 0,
            interim: Interim::Never,
            new_connections: !cell.load.keepalive,
            json: self.is_of_documents(cell),
            pace: None,
        };
        self.servers.open(cell, round);
        driver.prepare(&self.preparation(cell))?;
        let go = Go {
            first,
            count,
            lat_every: LAT_EVERY,
            ..Go::default()
        };
        let mut open = || self.servers.open_gate(cell);
        driver.go_held(go, Duration::from_secs(1), Held::by(&mut open))?;
        let seen = self.servers.close(cell).unwrap_or_default();
        self.servers.check()?;
        Ok(seen)
    }

    /// Tries one's own service with one request, or, where several take turns, with one of each. If all fail, tries up
    /// to two times more, and returns the kind of the last failure if these fail too. A status from 400 to 499 would
    /// come again, so it ends the tries.
    ///
    /// # Errors
    /// When the driver does not do its part.
    pub fn try_service(&mut self, driver: &mut Driver) -> Result<Option<String>> {
        let cell = self.some_cell(driver, 1);
        driver.prepare(&self.preparation(&cell))?;
        // Where several requests take turns, a single failure is no reason to end.
        let count = self.tried_in_turn();
        let mut failure = None;
        for _ in 0..TRIES {
            let go = drawn(count);
            self.service.begin()?;
            let (claim, _) = driver.go(go.clone(), count as u32 * REQUEST_TIMEOUT)?;
            if claim.done > 0 {
                let logged = self.service.entries(&go, &claim, None)?;
                self.service.check(logged.as_ref())?;
                return Ok(None);
            }
            let kind = claim.errors_by.into_keys().next();
            let kind = kind.unwrap_or_else(|| "without a word".into());
            let is_final = kind.starts_with("status 4");
            failure = Some(kind);
            if is_final {
                break;
            }
        }
        Ok(failure)
    }

    /// Requests to one's own service of which each is different, as far as they are tried.
    fn tried_in_turn(&self) -> u64 {
        match &self.sweep.target {
            Target::Foreign { extras, .. } => extras.in_turn().min(MOST_TRIED),
            Target::TestServer => 1,
        }
    }

    /// Times one's own service by the first client that it responds to. One request is in flight, and then as many as the
    /// client ever has. None later, and none at the test server.
    ///
    /// # Errors
    /// When the driver does not do its part.
    pub fn time_service(&mut self, driver: &mut Driver) -> Result<Option<ServiceTime>> {
        let Target::Foreign { .. } = &self.sweep.target else {
            return Ok(None);
        };
        if std::mem::replace(&mut self.is_timed, true) {
            return Ok(None);
        }
        let most = self.sweep.highest_concurrency_of(driver.client());
        let mut each = |concurrency: usize| {
            let cell = self.some_cell(driver, concurrency);
            let wave = self.open_connections(driver, &cell)?;
            let in_flight = cell.load.concurrency as u64;
            let waves = TIMED_WAVES.max(self.tried_in_turn().div_ceil(in_flight));
            let count = waves * in_flight;
            let (_, wall) = driver.go(drawn(count), wave.saturating_mul(waves as u32))?;
            anyhow::Ok(wall.div_f64(count as f64))
        };
        let alone = each(1)?;
        let together = if most == 1 { alone } else { each(most)? };
        Ok(Some(ServiceTime { alone, together }))
    }

    /// On a foreign server: prepares and sends one wave, which opens the connections. Returns its length.
    fn open_connections(&mut self, driver: &mut Driver, cell: &Cell) -> Result<Duration> {
        driver.prepare(&self.preparation(cell))?;
        let go = drawn(cell.load.concurrency as u64);
        Ok(driver.go(go, REQUEST_TIMEOUT)?.1)
    }

    /// Finds how many requests fill a round.
    fn calibrate(&mut self, driver: &mut Driver, cell: &Cell) -> Result<u64> {
        let target = self.sweep.round_time / 4;
        let mut count = fewest(cell);
        for _ in 0..8 {
            let wall = self.rehearse(driver, cell, count)?;
            if wall >= target {
                return Ok(self.count_for(cell, count, wall));
            }
            count = grow(count, wall, target);
        }
        Ok(count)
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

    /// Measures a round. Perhaps a proof comes before or after it: a driver cannot tell which of the two is measured.
    fn measure_and_prove(
        &mut self,
        driver: &mut Driver,
        trial: &Trial,
        length: Length<'_>,
        probe: Option<Interval>,
    ) -> Result<Round> {
        let is_due = self.is_proof_due(&trial.cell, probe.as_ref());
        let is_first = rand::random();
        let mut proof = None;
        if is_due && is_first {
            proof = Some(self.try_all(driver, trial, length)?);
        }
        let mut round = self.measure(driver, trial, length, probe)?;
        if is_due && !is_first {
            proof = Some(self.try_all(driver, trial, length)?);
        }
        round.proof = proof.map(Box::new);
        Ok(round)
    }

    /// Whether a round has a proof: the first of a cell, and of the others those that chance says. A client that had too few in
    /// flight in the probe is rejected for that, and would wait at every response.
    fn is_proof_due(&mut self, cell: &Cell, probe: Option<&Interval>) -> bool {
        let whole = |probe: &Interval| probe.peak_in_flight >= cell.load.concurrency as u64;
        let is_first = self.tried.insert(cell.clone());
        probe.is_some_and(whole) && (is_first || rand::random_bool(1.0 / ROUNDS_OF_A_PROOF))
    }

    /// A proof: a round like a measured one, in which the server tries every response.
    fn try_all(&mut self, driver: &mut Driver, trial: &Trial, length: Length<'_>) -> Result<Proof> {
        let (cell, count) = (&trial.cell, length.count);
        let go = drawn(count);
        let round = self.measured_round(cell, go.first, count, trial.block);
        let (go, pace) = length.begin(go);
        let connections = cell.load.concurrency as u64;
        let reads_interim = self.interim.get(cell.first_name()) == Some(&true);
        let round = RoundSpec {
            // At a rate, nothing says how many are in flight.
            gate: pace.is_none().then_some(cell.load.concurrency),
            // A cut response is not held, so as many others are left as are to be in flight at once.
            cuts: (count / 2)
                .min(MOST_CUTS * connections)
                .min(count.saturating_sub(connections)),
            varied: count,
            interim: match reads_interim {
                true => Interim::Varied,
                false => Interim::Never,
            },
            pace,
            ..round
        };
        self.servers.open(cell, round);
        let mut open = || self.servers.open_gate(cell);
        let expected = length.expected + Duration::from_secs(1);
        let (claim, wall) = driver.go_held(go, expected, Held::by(&mut open))?;
        let seen = self.servers.close(cell).unwrap_or_default();
        self.servers.check()?;
        Ok(Proof {
            wall_ns: nanoseconds(wall),
            claim,
            seen,
        })
    }

    fn measure(
        &mut self,
        driver: &mut Driver,
        trial: &Trial,
        length: Length<'_>,
        probe: Option<Interval>,
    ) -> Result<Round> {
        let Length {
            count,
            expected,
            paced,
        } = length;
        *self.sent.entry(driver.client().to_string()).or_default() += count;
        let go = drawn(count);
        let round = self.measured_round(&trial.cell, go.first, count, trial.block);
        let (go, pace) = length.begin(go);
        self.servers.open(&trial.cell, RoundSpec { pace, ..round });
        driver.begin_round();
        driver.stirred(); // drops what happened before the round
        let of_service = self.service.begin()?;
        let open = (!trial.cell.load.keepalive).then(|| driver.descriptors());
        let (read, before, moment) = (Instant::now(), driver.account(), Moment::now());
        let (claim, wall) = driver.go(go.clone(), expected)?;
        let (after, within) = (driver.account(), read.elapsed());
        let of_service = self.service.used_since(of_service);
        let ours = after.total_since(&before) + of_service.unwrap_or_default();
        let noise = moment.and_then(|moment| moment.noise_since(ours));
        let noise = noise.filter(|_| self.sweep.target.is_known_from_others());
        // At a rate there is nothing to do until the first request is due. The round lasts until one more would be due.
        let wall = match paced {
            Some(paced) => wall.saturating_sub(LEAD).max(paced.lasting()),
            None => wall,
        };
        let logged = self.service.entries(&go, &claim, paced)?;
        self.service.judge(&trial.cell, trial.block, &go);
        driver.check_descriptors()?;
        let left_open = open.map(|open| driver.descriptors().saturating_sub(open) as u64);
        let (user, system) = after.since(&before);
        let peak_rss_kib = driver.peak_memory_kib();
        let seen = self.servers.close(&trial.cell);
        self.servers.check()?;
        let stirred = driver
            .stirred()
            .then(|| "another program stopped or resumed it".to_string());
        let disturbed: Vec<String> = stirred.into_iter().collect();
        let most = MOST_HELD_OPEN.max(10 * trial.cell.load.concurrency as u64);
        if let Some(seen) = seen.as_ref().filter(|seen| seen.peak_ahead > most) {
            return Err(driver.holds_too_many(seen.peak_ahead));
        }
        let seen_of_it = [
            driver.fact(),
            more_than_one_core(driver, user + system, within),
            began_early(seen.as_ref(), driver.sent_at()),
        ];
        let facts = seen_of_it.into_iter().flatten().map(Fact::Seen);
        Ok(Round {
            cell: trial.cell.clone(),
            invocation: trial.invocation,
            block: trial.block,
            order: trial.order,
            count,
            wall_ns: nanoseconds(wall),
            cpu_user_ns: nanoseconds(user),
            cpu_system_ns: nanoseconds(system),
            beside: None,
            left_open,
            peak_rss_kib,
            claim,
            seen,
            probe,
            proof: None,
            reference: self.sweep.is_reference(&trial.cell.client),
            trusted: driver.is_trusted(),
            no_interim: self.reads_no_interim(&trial.cell),
            later: None,
            logged,
            server_cpu_ns: of_service.map(nanoseconds),
            noise,
            lat_every: LAT_EVERY,
            per_second: paced.map(Paced::per_second),
            facts: facts.collect(),
            isolation: Some(Isolation {
                own_user: driver.user().is_some(),
                one_core: driver.is_pinned(),
            }),
            disturbed,
        })
    }

    /// A path on the server of a cell, and whom its client must trust.
    fn address(&self, cell: &Cell, path: &str) -> (String, Option<PathBuf>) {
        let (base, ca) = self
            .servers
            .address(cell)
            .expect("every cell of ours has a server");
        (base + path, ca)
    }

    fn preparation(&self, cell: &Cell) -> Prepare {
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
            requests: self.files.requests.clone(),
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
    fn measured_round(&self, cell: &Cell, first: u64, count: u64, block: u32) -> RoundSpec {
        RoundSpec {
            first,
            count,
            body_bytes: cell.load.body_bytes,
            gzip: self.is_in_gzip(cell),
            delay: cell.load.delay,
            draw: block,
            round_trip: cell.load.round_trip(),
            gate: None,
            word: self.word_for(cell),
            cuts: 0,
            varied: 0,
            interim: Interim::Never,
            new_connections: !cell.load.keepalive,
            json: self.is_of_documents(cell),
            pace: None,
        }
    }

    /// Whether requests are for documents in JSON.
    fn is_of_documents(&self, cell: &Cell) -> bool {
        cell.load.job == Job::Json
    }

    /// Whether bodies come in gzip. The baseline loader decodes nothing.
    fn is_in_gzip(&self, cell: &Cell) -> bool {
        cell.load.job == Job::Gzip
    }

    /// The word that requests must have in their path; none for a load generator, which sends all to one path.
    fn word_for(&self, cell: &Cell) -> Option<u64> {
        (!self.sweep.is_reference(&cell.client)).then_some(self.word)
    }

    /// How long a round on the test server should take: as long as requested, and the delays of all its waves.
    fn expected(&self, cell: &Cell, count: u64) -> Duration {
        let waves = count.div_ceil(cell.load.concurrency as u64).max(WAVES);
        let waiting = self.wait(cell).as_secs_f64() * waves as f64;
        self.sweep.round_time + Duration::from_secs_f64(waiting)
    }

    /// The longest wait for a response on the server's side, without the tail of a distribution.
    fn wait(&self, cell: &Cell) -> Duration {
        let delay = cell.load.delay;
        delay.mean() + MOST_ROUND_TRIPS * cell.load.round_trip()
    }

    /// Requests that fill a round at the rate of `done` in `wall`.
    fn count_for(&self, cell: &Cell, done: u64, wall: Duration) -> u64 {
        let rate = done as f64 / wall.as_secs_f64().max(1e-9);
        let count = (rate * self.sweep.round_time.as_secs_f64()) as u64;
        // Whole waves: when responses take time, a last wave that is half empty lasts as long as a full one.
        count
            .clamp(fewest(cell), MOST_REQUESTS)
            .next_multiple_of(cell.load.concurrency as u64)
    }
}

/// The first of `count` ids in a row, drawn anew for each `go`, so that nobody knows them before. All have ten digits,
/// so that all requests are equally long.
fn draw_ids(count: u64) -> u64 {
    rand::random_range(1_000_000_000..10_000_000_000 - count)
}

/// So many requests with ids of their own, each timed.
fn drawn(count: u64) -> Go {
    Go {
        first: draw_ids(count),
        count,
        lat_every: LAT_EVERY,
        ..Go::default()
    }
}

/// How long a round is: a measured one, and its proof.
#[derive(Clone, Copy)]
struct Length<'a> {
    count: u64,
    /// How long it may take.
    expected: Duration,
    /// At a rate, when each request is due.
    paced: Option<&'a Paced>,
}

impl Length<'_> {
    /// Lets it begin: what the driver and the test server receive.
    fn begin(&self, go: Go) -> (Go, Option<Pace>) {
        match self.paced {
            Some(paced) => {
                let (go, pace) = paced.begin(go);
                (go, Some(pace))
            }
            None => (go, None),
        }
    }
}

/// A driver that had one core and used more. The kernel counts what runs at each tick of its clock, which is 10 ms at most, so
/// either reading may be off by one.
fn more_than_one_core(driver: &Driver, used: Duration, within: Duration) -> Option<Seen> {
    const TICK: Duration = Duration::from_millis(10);
    (driver.is_pinned() && used > within + 2 * TICK).then(|| Seen::MoreThanOneCore {
        cpu_ns: nanoseconds(used),
        within_ns: nanoseconds(within),
    })
}

/// By how much the first request of a round arrived before `go`.
fn began_early(seen: Option<&Interval>, requested: Instant) -> Option<Seen> {
    let first = seen.and_then(|seen| seen.first_read)?;
    let early = requested.checked_duration_since(first)?;
    (!early.is_zero()).then_some(Seen::Early {
        ns: nanoseconds(early),
    })
}

/// Fewest requests of a round.
fn fewest(cell: &Cell) -> u64 {
    WAVES * cell.load.concurrency as u64
}

/// More requests, so that they last nearer to `target`, but at most 16 times as many.
fn grow(count: u64, wall: Duration, target: Duration) -> u64 {
    let factor = target.as_secs_f64() / wall.as_secs_f64().max(1e-6);
    (count as f64 * (1.2 * factor).clamp(1.0, 16.0)).ceil() as u64
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_bounded_and_never_shrinks() {
        let ms = Duration::from_millis;
        assert_eq!(grow(10, ms(1), ms(1000)), 160);
        assert_eq!(grow(10, ms(100), ms(200)), 24);
        assert_eq!(grow(10, ms(500), ms(200)), 10);
    }
}
