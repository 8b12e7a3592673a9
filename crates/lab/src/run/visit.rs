//! One visit of a cell: prepare, prove the concurrency, measure.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use hecaton_origin::{Delay, Origin, Page, RoundSpec};

use super::noise::Moment;
use super::{Cell, Driver, Go, Prepare, Round, Verify};
use crate::plan::Visit;
use crate::spec::{Job, RAW, Sweep, Target};

/// How long one request may take, delays aside, before a driver counts it as failed.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Timed requests of one round, at most.
const SAMPLES: u64 = 2000;

/// Most requests of one round, whatever the rate.
const MOST_REQUESTS: u64 = 20_000_000;

/// Fewest requests of a round: every connection carries at least so many.
const WAVES: u64 = 3;

/// The server under the drivers, and what is known of every cell so far.
pub struct Bench<'a> {
    sweep: &'a Sweep,
    origin: Option<Origin>,
    /// The certificate authority that clients must trust, as a file.
    ca: Option<PathBuf>,
    /// Requests of one round, once they are known.
    counts: HashMap<Cell, u64>,
    next_id: u64,
}

impl<'a> Bench<'a> {
    /// A bench on the origin, or on a foreign server when there is none. `ca` is the file of the authority that has
    /// signed the origin's certificate, when it speaks TLS.
    pub fn new(sweep: &'a Sweep, origin: Option<Origin>, ca: Option<PathBuf>) -> Bench<'a> {
        // Ids have ten digits from the first to the last, so that every request is as long as the others.
        let next_id = 1_000_000_000 + sweep.seed % 1_000_000_000;
        Bench {
            sweep,
            origin,
            ca,
            counts: HashMap::new(),
            next_id,
        }
    }

    /// Makes one visit.
    ///
    /// # Errors
    /// When the driver does not do its part.
    pub fn visit(&mut self, driver: &mut Driver, visit: &Visit) -> Result<Round> {
        let cell = &visit.cell;
        let (proof, count, expected) = match self.sweep.target {
            Target::Origin => {
                let proof = if self.sweep.is_reference(&cell.client) {
                    driver.prepare(&self.preparation(cell))?;
                    None
                } else {
                    Some(self.prove(driver, cell)?)
                };
                let count = match (self.fixed(cell), self.counts.get(cell)) {
                    (Some(count), _) => count,
                    (None, Some(&count)) => count,
                    (None, None) => self.calibrate(driver, cell)?,
                };
                (proof, count, self.expected())
            }
            Target::Foreign { requests, .. } => {
                let wave = self.open_connections(driver, cell)?;
                let waves = requests.div_ceil(cell.concurrency as u64);
                (
                    None,
                    requests,
                    wave.saturating_mul(u32::try_from(waves).unwrap_or(u32::MAX)),
                )
            }
        };
        let round = self.measure(driver, visit, count, expected, proof)?;
        self.counts.insert(
            cell.clone(),
            self.count_for(cell, count, Duration::from_nanos(round.wall_ns)),
        );
        Ok(round)
    }

    /// Requests of a round when they do not follow from its time.
    fn fixed(&self, cell: &Cell) -> Option<u64> {
        let asked = self.sweep.requests.filter(|_| cell.client != RAW)?;
        Some(asked.max(cell.concurrency as u64))
    }

    /// Gives a round up whose driver broke.
    pub fn abandon(&self) {
        self.close();
    }

    /// The very first request of a new process: its time holds whatever a client does only once.
    ///
    /// # Errors
    /// When the driver does not do its part.
    pub fn first_request(&mut self, driver: &mut Driver) -> Result<Duration> {
        let cell = self.some_cell(driver, 1);
        driver.prepare(&self.preparation(&cell))?;
        self.rehearse(driver, &cell, 1)
    }

    /// Keeps a new driver busy for a while, so that its first round is like its later ones.
    ///
    /// # Errors
    /// When the driver does not do its part.
    pub fn warm_up(&mut self, driver: &mut Driver) -> Result<()> {
        if self.sweep.warm_up.is_zero() || !self.sweep.target.is_origin() {
            return Ok(());
        }
        let middle = self.sweep.concurrency[self.sweep.concurrency.len() / 2];
        let cell = self.some_cell(driver, middle);
        driver.prepare(&self.preparation(&cell))?;
        let (mut spent, mut count) = (Duration::ZERO, fewest(&cell));
        while spent < self.sweep.warm_up {
            let wall = self.rehearse(driver, &cell, count)?;
            spent += wall;
            count = grow(count, wall, self.sweep.warm_up / 2);
        }
        Ok(())
    }

    /// The cell of a warm-up: the first of its kind, with this concurrency.
    fn some_cell(&self, driver: &Driver, concurrency: usize) -> Cell {
        Cell {
            client: driver.client().to_string(),
            body_bytes: self.sweep.body_bytes[0],
            concurrency,
            keepalive: self.sweep.ways_to_connect(driver.client())[0],
        }
    }

    /// Prepares, and shows by held answers how many requests the client really keeps in flight.
    fn prove(&mut self, driver: &mut Driver, cell: &Cell) -> Result<Page> {
        let count = 2 * cell.concurrency as u64;
        let first = self.take_ids(count);
        // The page is open before the driver prepares: a request sent meanwhile is foreign to it.
        self.open(RoundSpec {
            first,
            count,
            body_bytes: cell.body_bytes,
            delay: Delay::None,
            gate: Some(cell.concurrency),
        });
        driver.prepare(&self.preparation(cell))?;
        driver.go(
            Go {
                first,
                count,
                lat_every: lat_every(count),
            },
            Duration::from_secs(1),
        )?;
        Ok(self.close().unwrap_or_default())
    }

    /// On a foreign server: prepares and sends one wave, which opens the connections. Returns its length.
    fn open_connections(&mut self, driver: &mut Driver, cell: &Cell) -> Result<Duration> {
        driver.prepare(&self.preparation(cell))?;
        let count = cell.concurrency as u64;
        let go = Go {
            first: self.take_ids(count),
            count,
            lat_every: count,
        };
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

    /// A round like a measured one that nobody keeps. Returns how long it took.
    fn rehearse(&mut self, driver: &mut Driver, cell: &Cell, count: u64) -> Result<Duration> {
        let first = self.take_ids(count);
        self.open(self.measured_round(cell, first, count));
        let (_, wall) = driver.go(
            Go {
                first,
                count,
                lat_every: lat_every(count),
            },
            self.expected(),
        )?;
        self.close();
        Ok(wall)
    }

    fn measure(
        &mut self,
        driver: &mut Driver,
        visit: &Visit,
        count: u64,
        expected: Duration,
        proof: Option<Page>,
    ) -> Result<Round> {
        let first = self.take_ids(count);
        self.open(self.measured_round(&visit.cell, first, count));
        driver.reset_peak_memory();
        let (before, moment) = (driver.account(), Moment::now());
        let (claim, wall) = driver.go(
            Go {
                first,
                count,
                lat_every: lat_every(count),
            },
            expected,
        )?;
        let after = driver.account();
        let (user, system) = after.since(&before);
        let noise = moment.and_then(|moment| moment.noise_since((&before, &after)));
        let peak_rss_kib = driver.peak_memory_kib();
        Ok(Round {
            cell: visit.cell.clone(),
            launch: visit.launch,
            block: visit.block,
            order: visit.order,
            count,
            wall_ns: nanoseconds(wall),
            cpu_user_ns: nanoseconds(user),
            cpu_system_ns: nanoseconds(system),
            peak_rss_kib,
            claim,
            seen: self.close(),
            proof,
            reference: self.sweep.is_reference(&visit.cell.client),
            noise,
        })
    }

    fn preparation(&self, cell: &Cell) -> Prepare {
        let (method, url, verify) = match (&self.sweep.target, &self.origin) {
            (Target::Foreign { method, url, .. }, _) => (method.clone(), url.clone(), Verify::None),
            (Target::Origin, Some(origin)) if self.sweep.is_reference(&cell.client) => (
                "GET".to_string(),
                format!("{}/bytes/{}", origin.base_url(), cell.body_bytes),
                Verify::None,
            ),
            (Target::Origin, Some(origin)) => (
                "GET".to_string(),
                format!("{}/r/", origin.base_url()),
                match self.sweep.job {
                    Job::Json if cell.client != RAW => Verify::Json,
                    _ => Verify::Tail,
                },
            ),
            (Target::Origin, None) => unreachable!("a sweep of the origin has one"),
        };
        Prepare {
            method,
            url,
            append_id: verify != Verify::None,
            concurrency: cell.concurrency,
            keepalive: cell.keepalive,
            verify,
            // A delay is no failure, however long; a distribution's tail is longer than its mean.
            ca: self.ca.clone(),
            timeout_ms: (REQUEST_TIMEOUT + 10 * self.sweep.delay.mean()).as_millis() as u64,
        }
    }

    fn measured_round(&self, cell: &Cell, first: u64, count: u64) -> RoundSpec {
        RoundSpec {
            first,
            count,
            body_bytes: cell.body_bytes,
            delay: self.sweep.delay,
            gate: None,
        }
    }

    fn open(&self, round: RoundSpec) {
        if let Some(origin) = &self.origin {
            origin.open_round(round);
        }
    }

    fn close(&self) -> Option<Page> {
        self.origin.as_ref().map(Origin::close_round)
    }

    fn take_ids(&mut self, count: u64) -> u64 {
        self.next_id += count;
        self.next_id - count
    }

    /// How long a round on the origin should take: what was asked, or a few waves of delayed answers.
    fn expected(&self) -> Duration {
        self.sweep.round_time + self.sweep.delay.mean() * WAVES as u32
    }

    /// Requests that fill a round at the rate of `done` in `wall`.
    fn count_for(&self, cell: &Cell, done: u64, wall: Duration) -> u64 {
        let rate = done as f64 / wall.as_secs_f64().max(1e-9);
        let count = (rate * self.sweep.round_time.as_secs_f64()) as u64;
        // Whole waves: when answers take time, a last wave that is half empty lasts as long as a full one.
        count
            .clamp(fewest(cell), MOST_REQUESTS)
            .next_multiple_of(cell.concurrency as u64)
    }
}

/// Fewest requests of a round.
fn fewest(cell: &Cell) -> u64 {
    WAVES * cell.concurrency as u64
}

/// Every how-manieth request is timed.
fn lat_every(count: u64) -> u64 {
    count.div_ceil(SAMPLES).max(1)
}

/// More requests, so that they last nearer to `target`, but not much more at a time.
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
    fn never_more_samples_than_allowed() {
        for count in [1u64, 1999, 2000, 2001, 26_000, 1_000_000] {
            assert!(count.div_ceil(lat_every(count)) <= SAMPLES, "{count}");
        }
        assert_eq!((lat_every(2000), lat_every(2001)), (1, 2));
    }

    #[test]
    fn growth_is_bounded_and_never_shrinks() {
        let ms = Duration::from_millis;
        assert_eq!(grow(10, ms(1), ms(1000)), 160);
        assert_eq!(grow(10, ms(100), ms(200)), 24);
        assert_eq!(grow(10, ms(500), ms(200)), 10);
    }
}
