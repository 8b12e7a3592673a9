//! The leases of a worker: the parts it holds, until when it may send, and when it must leave. Nothing here talks to
//! NATS or reads the clock.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::clock::Moment;
use crate::run::Standing;

/// The times that follow from how long a lease is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// How long a lease is.
    pub lease: Duration,
}

impl Times {
    /// How often leases are renewed.
    pub fn renewal(self) -> Duration {
        self.lease / 3
    }

    /// How long after the last confirmed renewal the worker stops sending.
    pub fn silence(self) -> Duration {
        self.lease * 2 / 3
    }

    /// How long to wait for a reply of NATS.
    pub fn patience(self) -> Duration {
        self.lease / 6
    }

    /// How long to wait before something that failed is tried again.
    pub fn again(self) -> Duration {
        self.lease / 30
    }
}

/// A part that is held. `token` is what its lease is renewed with.
struct Lease<T> {
    token: T,
    confirmed: Moment,
}

/// The parts that a worker holds.
pub struct Leases<T> {
    times: Times,
    held: BTreeMap<u32, Lease<T>>,
    /// Parts among them that nobody works on yet.
    ready: VecDeque<u32>,
}

impl<T: Clone> Leases<T> {
    /// No part is held yet.
    pub fn new(times: Times) -> Leases<T> {
        Leases {
            times,
            held: BTreeMap::new(),
            ready: VecDeque::new(),
        }
    }

    /// Sets the length of leases, once the queue is found.
    pub fn set_times(&mut self, times: Times) {
        self.times = times;
    }

    /// The length of leases.
    pub fn times(&self) -> Times {
        self.times
    }

    /// Notes a part that was handed to this worker. If the worker holds it already, a renewal came late, and no other
    /// worker got the part.
    pub fn arrived(&mut self, part: u32, token: T, now: Moment) {
        if !self.held.contains_key(&part) {
            self.ready.push_back(part);
        }
        self.held.insert(
            part,
            Lease {
                token,
                confirmed: now,
            },
        );
    }

    /// The next part to work on.
    pub fn take(&mut self, now: Moment) -> Option<u32> {
        while let Some(part) = self.ready.pop_front() {
            if self.standing(part, now) == Standing::Held {
                return Some(part);
            }
            // The lease expired while the part waited here.
            self.held.remove(&part);
        }
        None
    }

    /// Whether the worker may send requests of a part, must be silent, or has lost the part.
    pub fn standing(&self, part: u32, now: Moment) -> Standing {
        let Some(lease) = self.held.get(&part) else {
            return Standing::Lost;
        };
        let silent = now.since(lease.confirmed);
        if silent >= self.times.lease {
            Standing::Lost
        } else if silent >= self.times.silence() {
            Standing::Silent
        } else {
            Standing::Held
        }
    }

    /// The leases to renew.
    pub fn to_renew(&self, now: Moment) -> Vec<(u32, T)> {
        let ours = self
            .held
            .iter()
            .filter(|(part, _)| self.standing(**part, now) != Standing::Lost);
        ours.map(|(part, lease)| (*part, lease.token.clone()))
            .collect()
    }

    /// A renewal that was requested at this time is confirmed. A confirmation after the lease has expired is ignored,
    /// because another worker may hold the part.
    pub fn renewed(&mut self, part: u32, requested: Moment, now: Moment) {
        if self.standing(part, now) == Standing::Lost {
            return;
        }
        if let Some(lease) = self.held.get_mut(&part) {
            lease.confirmed = lease.confirmed.max(requested);
        }
    }

    /// The worker has left a part. Returns where to reply to its message, if it was held.
    pub fn left(&mut self, part: u32) -> Option<T> {
        self.held.remove(&part).map(|lease| lease.token)
    }

    /// How many parts are held.
    pub fn count(&self) -> usize {
        self.held.len()
    }

    /// Leaves all parts. Returns them, with where to reply to their messages.
    pub fn leave_all(&mut self) -> Vec<(u32, T)> {
        self.ready.clear();
        let held = std::mem::take(&mut self.held);
        held.into_iter()
            .map(|(part, lease)| (part, lease.token))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(30);

    fn leases() -> (Leases<&'static str>, Moment) {
        (Leases::new(Times { lease: LEASE }), Moment::now())
    }

    #[test]
    fn a_part_without_a_confirmed_renewal_falls_silent_and_then_is_lost() {
        let (mut leases, begun) = leases();
        let at = |seconds| begun + Duration::from_secs(seconds);
        leases.arrived(7, "a", begun);
        assert_eq!(leases.take(begun), Some(7));
        let standings = [0, 19, 20, 29, 30].map(|second| leases.standing(7, at(second)));
        use Standing::{Held, Lost, Silent};
        assert_eq!(standings, [Held, Held, Silent, Silent, Lost]);
        assert_eq!(leases.to_renew(at(29)), [(7, "a")]);
        assert_eq!(leases.to_renew(at(30)), []);
    }

    #[test]
    fn a_renewal_counts_from_its_request_and_only_within_the_lease() {
        let (mut leases, begun) = leases();
        let at = |seconds| begun + Duration::from_secs(seconds);
        leases.arrived(7, "a", begun);
        leases.renewed(7, at(10), at(14));
        assert_eq!(leases.standing(7, at(29)), Standing::Held);
        assert_eq!(leases.standing(7, at(30)), Standing::Silent);
        leases.renewed(7, at(25), at(28));
        assert_eq!(leases.standing(7, at(44)), Standing::Held);
        leases.renewed(7, at(55), at(56));
        assert_eq!(leases.standing(7, at(56)), Standing::Lost);
    }

    #[test]
    fn what_is_handed_out_again_to_its_holder_is_not_begun_again() {
        let (mut leases, begun) = leases();
        let at = |seconds| begun + Duration::from_secs(seconds);
        leases.arrived(7, "a", begun);
        assert_eq!(leases.take(begun), Some(7));
        leases.arrived(7, "b", at(25));
        assert_eq!(leases.take(at(25)), None);
        assert_eq!(leases.standing(7, at(44)), Standing::Held);
        assert_eq!(leases.left(7), Some("b"));
        leases.arrived(7, "c", at(50));
        assert_eq!(leases.take(at(50)), Some(7));
    }

    #[test]
    fn what_waited_for_too_long_is_not_begun() {
        let (mut leases, begun) = leases();
        leases.arrived(7, "a", begun);
        assert_eq!(leases.take(begun + LEASE), None);
        assert_eq!(leases.count(), 0);
    }
}
