//! How long a round is: how many requests, when each is due, and how long they may take.

use std::time::{Duration, Instant};

use anyhow::Result;
use hecaton_test_server::Pace;

use super::requests::REQUEST_TIMEOUT;
use super::{Cell, Driver, Go, Runner};
use crate::plan::Load;
use crate::run::pace::{LEAD, Paced};
use crate::spec::{Amount, Rate, Target};

/// Most requests of one round, whatever the rate.
const MOST_REQUESTS: u64 = 20_000_000;

/// Fewest requests of a round on each connection.
const WAVES: u64 = 3;

/// How long a round is: a measured one, and its proof.
pub(super) struct Length {
    pub(super) count: u64,
    /// How long it may take.
    pub(super) expected: Duration,
    /// At a rate, when each request is due.
    pub(super) paced: Option<Paced>,
}

impl Length {
    /// Lets it begin: what the driver and the test server receive.
    pub(super) fn begin(&self, go: Go) -> (Go, Option<Pace>) {
        match &self.paced {
            Some(paced) => {
                let (go, pace) = paced.begin(go);
                (go, Some(pace))
            }
            None => (go, None),
        }
    }
}

impl Runner<'_> {
    /// The length of a round of a cell. `wave` is how long one request on each connection took to one's own service.
    pub(super) fn length(
        &mut self,
        driver: &mut Driver,
        cell: &Cell,
        wave: Duration,
    ) -> Result<Length> {
        match cell.load.rate {
            Some(rate) => self.length_at(driver, cell, rate),
            None => self.length_of_loop(driver, cell, wave),
        }
    }

    /// In a closed loop.
    fn length_of_loop(
        &mut self,
        driver: &mut Driver,
        cell: &Cell,
        wave: Duration,
    ) -> Result<Length> {
        let in_flight = cell.load.concurrency as u64;
        let is_ours = self.sweep.target.is_test_server();
        let (count, expected) = match self.requested(cell) {
            Some(count) if is_ours => {
                let count = count.max(in_flight);
                (count, self.expected(cell, count))
            }
            Some(count) => {
                let waves = u32::try_from(count.div_ceil(in_flight)).unwrap_or(u32::MAX);
                (count, wave.saturating_mul(waves))
            }
            None => {
                let count = match self.counts.get(cell) {
                    Some(&count) => count,
                    None => self.calibrate(driver, cell)?,
                };
                let of_service = REQUEST_TIMEOUT + self.sweep.round_time;
                let expected = if is_ours {
                    self.expected(cell, count)
                } else {
                    of_service
                };
                (count, expected)
            }
        };
        Ok(Length {
            count,
            expected,
            paced: None,
        })
    }

    /// At a rate.
    fn length_at(&mut self, driver: &mut Driver, cell: &Cell, rate: Rate) -> Result<Length> {
        let per_second = self.per_second(driver, cell, rate)?;
        let filling = (per_second * self.sweep.round_time.as_secs_f64()).ceil() as u64;
        let count = self.requested(cell).unwrap_or(filling);
        let count = count.clamp(1, MOST_REQUESTS);
        let paced = Paced::new(rate, per_second, count)?;
        Ok(Length {
            count,
            expected: LEAD + paced.lasting() + self.wait(cell) + REQUEST_TIMEOUT,
            paced: Some(paced),
        })
    }

    /// Requests of a round, if they do not follow from its time.
    fn requested(&self, cell: &Cell) -> Option<u64> {
        let of_target = match self.sweep.target {
            Target::Foreign { requests, .. } if requests > 0 => Some(requests),
            _ => None,
        };
        cell.load.requests.or(of_target)
    }

    /// How many requests per second a rate is for this client. A percentage is a share of the client's own speed in the closed loop,
    /// which is measured once.
    fn per_second(&mut self, driver: &mut Driver, cell: &Cell, rate: Rate) -> Result<f64> {
        let percent = match rate.amount {
            Amount::PerSecond(number) => return Ok(f64::from(number)),
            Amount::Percent(percent) => f64::from(percent),
        };
        let load = Load {
            rate: None,
            ..cell.load
        };
        let closed = Cell::new(&cell.client, load);
        let own = match self.rates.get(&closed) {
            Some(own) => *own,
            None => {
                let count = self.calibrate(driver, cell)?;
                let wall = self.rehearse(driver, cell, count)?;
                let own = count as f64 / wall.as_secs_f64().max(1e-9);
                *self.rates.entry(closed).or_insert(own)
            }
        };
        Ok((own * percent / 100.0).max(1.0))
    }

    /// Finds how many requests fill a round.
    fn calibrate(&mut self, driver: &mut Driver, cell: &Cell) -> Result<u64> {
        let (begun, target) = (Instant::now(), self.sweep.round_time / 4);
        let mut count = fewest(cell);
        for _ in 0..8 {
            let wall = self.rehearse(driver, cell, count)?;
            if wall >= target {
                count = self.count_for(cell, count, wall);
                break;
            }
            count = grow(count, wall, target);
        }
        self.shown.calibrations.add(begun.elapsed());
        Ok(count)
    }

    /// How long a round on the test server should take: as long as requested, and the delays of all its waves.
    pub(super) fn expected(&self, cell: &Cell, count: u64) -> Duration {
        let waves = count.div_ceil(cell.load.concurrency as u64).max(WAVES);
        let waiting = self.wait(cell).as_secs_f64() * waves as f64;
        self.sweep.round_time + Duration::from_secs_f64(waiting)
    }

    /// Requests that fill a round at the rate of `done` in `wall`.
    pub(super) fn count_for(&self, cell: &Cell, done: u64, wall: Duration) -> u64 {
        let rate = done as f64 / wall.as_secs_f64().max(1e-9);
        let count = (rate * self.sweep.round_time.as_secs_f64()) as u64;
        // Whole waves: when responses take time, a last wave that is half empty lasts as long as a full one.
        count
            .clamp(fewest(cell), MOST_REQUESTS)
            .next_multiple_of(cell.load.concurrency as u64)
    }
}

/// Fewest requests of a round.
pub(super) fn fewest(cell: &Cell) -> u64 {
    WAVES * cell.load.concurrency as u64
}

/// More requests, so that they last nearer to `target`, but at most 16 times as many.
pub(super) fn grow(count: u64, wall: Duration, target: Duration) -> u64 {
    let factor = target.as_secs_f64() / wall.as_secs_f64().max(1e-6);
    (count as f64 * (1.2 * factor).clamp(1.0, 16.0)).ceil() as u64
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
