//! The rate of a host that follows what the host can do.
//!
//! The rate grows while requests have answers and the rate is what holds requests back. It doubles until the first sign
//! of trouble, and then grows by one request a second in each second. It is halved when the host says that it is
//! overrun (429, 503), or takes much longer than it did. As in TCP, what was sent before the last halving cannot halve
//! it again.
//!
//! A job that is planned with such a rate has each host in one part. A job that got it later may have shards: then each
//! shard has a rate of its own and sees its share of the responses. All of them grow by one request a second together,
//! and each is halved by what it sees itself, so that they converge as TCP connections on one line do. A host
//! without bursts refuses requests that two shards send at the same time. So the shards get far less than one part
//! would.

use std::time::{Duration, Instant};

use super::terms::{Sign, Span};

/// The first rate of a host, in requests a second.
const FIRST: f64 = 1.0;

/// The lowest rate: a request in ten seconds.
const LOWEST: f64 = 0.1;

/// The growth of the rate of a whole host in a second, after the first sign of trouble.
const STEP: f64 = 1.0;

/// The share of each new latency in the recent one.
const WEIGHT: f64 = 1.0 / 8.0;

/// How fast the usual latency follows one that stays higher, so that a host that is slower from now on is not slowed
/// for ever.
const DRIFT: f64 = 1.0 / 256.0;

/// A recent latency of so many times the usual one, and so much more, is a sign of trouble.
const RISEN: f64 = 2.0;

/// See [`RISEN`]: the noise of a fast host is none.
const SLACK: f64 = 0.1;

/// A rate that adapts.
#[derive(Clone, Debug)]
pub struct Adaptive {
    /// Requests a second of this shard.
    rate: f64,
    /// How many shards the host has.
    shards: f64,
    is_doubling: bool,
    /// Whether a latency that rises is a sign of trouble.
    heeds_latency: bool,
    halved: Option<Instant>,
    /// Seconds: the latency of recent responses, and the usual one.
    latency: Option<(f64, f64)>,
}

impl Adaptive {
    /// That of one of so many shards.
    pub fn new(shards: u32) -> Adaptive {
        let shards = f64::from(shards.max(1));
        Adaptive {
            rate: FIRST / shards,
            shards,
            is_doubling: true,
            heeds_latency: true,
            halved: None,
            latency: None,
        }
    }

    /// That of a host that had no such rate, and was overrun at this one.
    pub fn from(rate: f64) -> Adaptive {
        Adaptive {
            rate,
            is_doubling: false,
            heeds_latency: false,
            ..Adaptive::new(1)
        }
    }

    /// The time between two requests.
    pub fn interval(&self) -> Duration {
        Duration::from_secs_f64(1.0 / self.rate)
    }

    /// The rate of this shard, in requests a second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// A request ended, after `wait` as in [`Hosts::ended`](super::Hosts::ended). `is_held_back` says whether requests
    /// wait for the rate, and for nothing else; `most` is a rate that others keep the host from exceeding.
    pub fn ended(
        &mut self,
        sign: Sign,
        wait: Duration,
        is_held_back: bool,
        most: Option<f64>,
        span: Span,
    ) {
        let has_risen = self.heeds_latency && self.note(wait.as_secs_f64(), sign == Sign::Up);
        if sign == Sign::Overrun || has_risen {
            // A request that was sent before the last halving says nothing about the rate since.
            if self.halved.is_none_or(|at| span.begun >= at) {
                self.rate = (self.rate / 2.0).max(LOWEST / self.shards);
                self.is_doubling = false;
                self.halved = Some(span.ended);
                // Requests that are under way have the latency of the old rate.
                self.latency = self.latency.map(|(_, usual)| (usual, usual));
            }
        } else if sign == Sign::Up && is_held_back {
            let more = match self.is_doubling {
                true => self.rate.min(1.0),
                false => (STEP / self.shards / self.rate).min(self.rate),
            };
            self.rate = (self.rate + more).min(most.unwrap_or(f64::INFINITY));
        }
    }

    /// Notes a latency; whether the recent one is much more than usual.
    fn note(&mut self, took: f64, is_answer: bool) -> bool {
        let Some((recent, usual)) = &mut self.latency else {
            self.latency = is_answer.then_some((took, took));
            return false;
        };
        // Failures that come at once are no sign of a fast host.
        if is_answer || took > *recent {
            *recent += (took - *recent) * WEIGHT;
        }
        match *recent < *usual {
            true => *usual = *recent,
            false => *usual += (*recent - *usual) * DRIFT,
        }
        *recent > *usual * RISEN + SLACK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICK: Duration = Duration::from_millis(20);

    /// A request ended that took so long until its first byte, and no longer.
    fn ended(
        adaptive: &mut Adaptive,
        (sign, took): (Sign, Duration),
        (is_held_back, most): (bool, Option<f64>),
        now: Instant,
    ) {
        let begun = now.checked_sub(took).unwrap_or(now);
        let span = Span { begun, ended: now };
        adaptive.ended(sign, took, is_held_back, most, span);
    }

    /// Simulates a host that allows `capacity` requests a second, so many at once, and responds to others with 429.
    /// Returns the good and the other responses of the second half, and the rate of each shard at the end.
    fn simulated((capacity, burst): (f64, f64), shards: u32, seconds: u64) -> (u64, u64, Vec<f64>) {
        let begun = Instant::now();
        let mut rates: Vec<Adaptive> = (0..shards).map(|_| Adaptive::new(shards)).collect();
        let mut next: Vec<Instant> = (0..shards)
            .map(|shard| {
                begun
                    + rates[0]
                        .interval()
                        .mul_f64(f64::from(shard) / f64::from(shards))
            })
            .collect();
        let (mut tokens, mut filled) = (burst, begun);
        let (mut good, mut bad) = (0, 0);
        let end = begun + Duration::from_secs(seconds);
        let half = begun + Duration::from_secs(seconds / 2);
        while let Some(shard) = (0..next.len()).min_by_key(|shard| next[*shard]) {
            let now = next[shard];
            if now >= end {
                break;
            }
            tokens = (tokens + (now - filled).as_secs_f64() * capacity).min(burst);
            filled = now;
            let sign = match tokens >= 1.0 {
                true => Sign::Up,
                false => Sign::Overrun,
            };
            tokens -= if sign == Sign::Up { 1.0 } else { 0.0 };
            if now >= half {
                *(if sign == Sign::Up {
                    &mut good
                } else {
                    &mut bad
                }) += 1;
            }
            ended(&mut rates[shard], (sign, Duration::ZERO), (true, None), now);
            next[shard] = now + rates[shard].interval();
        }
        (good, bad, rates.iter().map(Adaptive::rate).collect())
    }

    #[test]
    fn a_rate_finds_what_a_host_can_take() {
        for capacity in [5.0_f64, 50.0, 400.0] {
            for shards in [1, 4] {
                let burst = (capacity / 2.0).max(2.0);
                let (good, bad, rates) = simulated((capacity, burst), shards, 400);
                let share = good as f64 / (capacity * 200.0);
                let what = format!("{capacity} a second, {shards} shards: {good} good, {bad} not");
                assert!((0.5..=1.02).contains(&share), "{what}: {rates:?}");
                assert!(bad * 5 < good, "{what}: {rates:?}");
            }
        }
    }

    #[test]
    fn one_part_finds_what_a_host_without_bursts_can_take() {
        for capacity in [5.0_f64, 50.0, 400.0] {
            let (good, bad, rates) = simulated((capacity, 1.0), 1, 400);
            let share = good as f64 / (capacity * 200.0);
            let what = format!("{capacity} a second: {good} good, {bad} not: {rates:?}");
            assert!((0.6..=1.02).contains(&share), "{what}");
            // Several shards would get a fraction of it.
            let (shared, ..) = simulated((capacity, 1.0), 4, 400);
            assert!(capacity < 50.0 || shared * 3 < good, "{shared} of {what}");
        }
    }

    #[test]
    fn a_rate_doubles_until_the_first_trouble_and_then_grows_by_steps() {
        let mut now = Instant::now();
        let mut adaptive = Adaptive::new(1);
        let grow = |adaptive: &mut Adaptive, now| {
            ended(adaptive, (Sign::Up, QUICK), (true, None), now);
            adaptive.rate()
        };
        assert_eq!(grow(&mut adaptive, now), 2.0);
        assert_eq!(grow(&mut adaptive, now), 3.0);
        assert_eq!(grow(&mut adaptive, now), 4.0);
        now += QUICK;
        ended(&mut adaptive, (Sign::Overrun, QUICK), (true, None), now);
        assert_eq!(adaptive.rate(), 2.0);
        // Requests that were under way at that time change nothing.
        ended(
            &mut adaptive,
            (Sign::Overrun, QUICK),
            (true, None),
            now + QUICK / 2,
        );
        assert_eq!(adaptive.rate(), 2.0);
        now += QUICK;
        assert_eq!(grow(&mut adaptive, now), 2.5);
        assert_eq!(grow(&mut adaptive, now), 2.9);
        for _ in 0..100 {
            now += Duration::from_secs(1);
            ended(&mut adaptive, (Sign::Overrun, QUICK), (true, None), now);
        }
        assert_eq!(adaptive.rate(), LOWEST);
    }

    #[test]
    fn a_rate_that_nothing_waits_for_stays_and_so_does_one_at_its_limit() {
        let now = Instant::now();
        let mut adaptive = Adaptive::new(1);
        ended(&mut adaptive, (Sign::Up, QUICK), (false, None), now);
        assert_eq!(adaptive.rate(), FIRST);
        for _ in 0..100 {
            ended(&mut adaptive, (Sign::Up, QUICK), (true, Some(10.0)), now);
        }
        assert_eq!(adaptive.rate(), 10.0);
    }

    #[test]
    fn a_latency_that_rises_halves_the_rate_and_one_that_stays_becomes_usual() {
        let mut now = Instant::now();
        let mut adaptive = Adaptive::new(1);
        for _ in 0..20 {
            now += QUICK;
            ended(&mut adaptive, (Sign::Up, QUICK), (true, None), now);
        }
        let before = adaptive.rate();
        let slow = Duration::from_secs(1);
        let mut halvings = 0;
        let mut last = before;
        for _ in 0..2000 {
            now += slow;
            ended(&mut adaptive, (Sign::Up, slow), (true, None), now);
            halvings += u32::from(adaptive.rate() < last);
            last = adaptive.rate();
        }
        assert!((1..300).contains(&halvings), "{halvings}");
        // The host stays slow, and its rate grows again.
        assert!(last > before, "{before} and then {last}");
    }

    #[test]
    fn failures_that_come_at_once_do_not_change_the_rate() {
        let now = Instant::now();
        let mut adaptive = Adaptive::new(1);
        ended(&mut adaptive, (Sign::Up, QUICK), (false, None), now);
        for _ in 0..100 {
            ended(
                &mut adaptive,
                (Sign::Failed, Duration::ZERO),
                (true, None),
                now,
            );
        }
        assert_eq!(adaptive.rate(), FIRST);
    }
}
