//! A new process, before its first round and after its last one.

use std::time::{Duration, Instant};

use anyhow::Result;
use hecaton_test_server::{Interim, RoundSpec};

use super::length::{fewest, grow};
use super::requests::drawn;
use super::{Cell, Driver, Later, Runner};
use crate::run::noise::nanoseconds;
use crate::run::warm_up::WarmUp;

impl Runner<'_> {
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
        let go = drawn(1);
        let round = RoundSpec {
            interim: Interim::Always,
            ..self.measured_round(cell, go.first, 1, 0)
        };
        self.servers.open(cell, round);
        let (claim, _) = driver.go(go, self.expected(cell, 1))?;
        let seen = self.servers.close(cell).unwrap_or_default();
        let reads = claim.done == 1 && claim.sum == seen.expected_sum;
        self.interim.insert(driver.client().to_string(), reads);
        Ok(())
    }

    /// Whether a client was sent an interim response and could not read it.
    pub(super) fn reads_no_interim(&self, cell: &Cell) -> bool {
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
    pub(super) fn some_cell(&self, driver: &Driver, concurrency: usize) -> Cell {
        let client = driver.client();
        let own = self.sweep.cells_of(client).next();
        let mut cell = own.cloned().unwrap_or_else(|| Cell::plain(client));
        cell.load.concurrency = concurrency.min(self.sweep.highest_concurrency_of(client));
        cell
    }
}
