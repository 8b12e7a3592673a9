//! How many requests at once a host takes, as far as that shows: it refuses or resets a connection that is one too many.
//!
//! The number is halved while more than one request in twelve ends so beside others, and grows again while hardly any
//! does. A host that is down is none of this: it has no answer to a request alone, and its breaker opens.

use std::time::Instant;

use super::terms::Span;

/// The share of each new end in the recent ones.
const WEIGHT: f64 = 1.0 / 16.0;

/// More refused connections than this share of the recent ends are no accident.
const MANY: f64 = 1.0 / 12.0;

/// With fewer than this share, the host may take more at once.
const FEW: f64 = 1.0 / 32.0;

/// Answers after which the number grows.
const STEP: u32 = 16;

/// The requests of all parts of a process that a host has at once.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    in_flight: usize,
    /// Most at once; none if the host takes as many as it gets.
    most: Option<usize>,
    /// How many there were when the number was first lowered.
    peak: usize,
    /// The share of refused connections among recent ends.
    refused: f64,
    /// Answers since the number grew.
    answers: u32,
    lowered: Option<Instant>,
}

impl Crowd {
    /// Whether the host takes another.
    pub fn has_room(&self) -> bool {
        self.most.is_none_or(|most| self.in_flight < most)
    }

    /// How many there are.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub fn enter(&mut self) {
        self.in_flight += 1;
    }

    pub fn leave(&mut self, count: usize) {
        self.in_flight = self.in_flight.saturating_sub(count);
    }

    /// The connection of a request was refused or reset. The request has left.
    pub fn refuse(&mut self, span: Span) {
        let others = self.in_flight;
        if others == 0 {
            return;
        }
        self.refused += (1.0 - self.refused) * WEIGHT;
        // A request that began before the number was lowered says nothing about the lower number.
        let is_new = self.lowered.is_none_or(|at| span.begun >= at);
        if self.refused <= MANY || !is_new {
            return;
        }
        let most = self.most.unwrap_or_else(|| {
            self.peak = others + 1;
            self.peak
        });
        self.most = Some(most.min(others + 1).div_ceil(2));
        (self.answers, self.lowered) = (0, Some(span.ended));
    }

    /// The host had no answer to many requests in a row: if the number was lowered, it is one from now on.
    pub fn begin_again(&mut self) {
        self.most = self.most.map(|_| 1);
    }

    /// A request had an answer.
    pub fn answer(&mut self) {
        self.refused -= self.refused * WEIGHT;
        let Some(most) = self.most.filter(|_| self.refused < FEW) else {
            return;
        };
        self.answers += 1;
        if self.answers >= STEP {
            self.answers = 0;
            self.most = Some(most + 1 + most / 8).filter(|most| *most < self.peak);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Sends to a host that takes `takes` requests at once and refuses others, at most `most` at once. Returns how many
    /// it refused in each hundred answers.
    fn refusals(takes: usize, most: usize, hundreds: usize) -> Vec<u32> {
        let mut crowd = Crowd::default();
        let mut now = Instant::now();
        let mut refusals = Vec::new();
        for _ in 0..hundreds {
            let (mut good, mut refused) = (0, 0);
            while good < 100 {
                let begun = now;
                now += Duration::from_millis(10);
                while crowd.has_room() && crowd.in_flight() < most {
                    crowd.enter();
                }
                let span = Span { begun, ended: now };
                let (all, taken) = (crowd.in_flight(), crowd.in_flight().min(takes));
                for _ in taken..all {
                    crowd.leave(1);
                    crowd.refuse(span);
                    refused += 1;
                }
                for _ in 0..taken {
                    crowd.leave(1);
                    crowd.answer();
                    good += 1;
                }
            }
            refusals.push(refused);
        }
        refusals
    }

    #[test]
    fn a_host_gets_as_many_at_once_as_it_takes() {
        for (takes, most) in [(1, 8), (2, 3), (2, 8), (5, 8), (2, 200), (50, 200)] {
            let found = refusals(takes, most, 20);
            let later = found[10..].iter().sum::<u32>();
            // One for five answers at most.
            assert!(found[0] > 0 && later <= 200, "{takes} of {most}: {found:?}");
        }
        assert_eq!(refusals(8, 8, 2), [0, 0]);
    }

    #[test]
    fn a_host_that_refuses_no_more_gets_as_many_as_before() {
        let now = Instant::now();
        let span = Span {
            begun: now,
            ended: now,
        };
        let mut crowd = Crowd::default();
        (0..200).for_each(|_| crowd.enter());
        for _ in 0..100 {
            crowd.leave(1);
            crowd.refuse(span);
        }
        assert!(!crowd.has_room());
        let answers = (0..10_000).take_while(|_| {
            crowd.answer();
            crowd.most.is_some()
        });
        let answers = answers.count();
        assert!((100..1000).contains(&answers), "{answers}");
        // One in a hundred is an accident.
        for n in 0..1000 {
            match n % 100 {
                0 => crowd.refuse(span),
                _ => crowd.answer(),
            }
            assert!(crowd.most.is_none());
        }
    }

    #[test]
    fn a_request_alone_is_never_one_too_many() {
        let now = Instant::now();
        let mut crowd = Crowd::default();
        for _ in 0..100 {
            crowd.enter();
            crowd.leave(1);
            crowd.refuse(Span {
                begun: now,
                ended: now,
            });
        }
        assert!(crowd.most.is_none() && crowd.has_room());
    }
}
