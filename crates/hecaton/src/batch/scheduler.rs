//! Decides which request starts next when origins have limits: each origin has its own queue, and none delays another.
//!
//! Nothing here waits, sends or looks at the clock. The cost of a step does not depend on how many requests are queued.
//! Only origins that pause are stored in order, so their cost grows with the logarithm of their number. An origin is
//! forgotten when none of its requests is queued or in flight and its pause is over.
//!
//! A rate spaces starts evenly instead of filling a bucket. Servers that count the requests of a second accept that
//! best, and no burst follows a pause. Only the lateness of timers is made up for (`LATENESS`, 5 ms).

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;
use std::time::{Duration, Instant};

/// A start that is late by less than this does not delay later starts, because the reactor's timers count milliseconds
/// and its turns take time. More lateness is not made up for, because a burst would then follow a pause.
const LATENESS: Duration = Duration::from_millis(5);

/// Queued values, by key.
pub(crate) struct Scheduler<K, V> {
    per_origin: usize,
    interval: Duration,
    origins: HashMap<K, OriginQueue<V>>,
    /// Origins that may start a value, in the order of their turns. Each is here once.
    ready: VecDeque<K>,
    /// Origins with a value that goes before all others. The origin that came last is taken first.
    express: Vec<K>,
    /// Origins that pause, by the end of their pause; the number separates equal times.
    resting: BTreeMap<(Instant, u64), K>,
    rests: u64,
    queued: usize,
}

struct OriginQueue<V> {
    waiting: VecDeque<V>,
    in_flight: usize,
    /// Earliest time of the next start; none before the first start.
    next: Option<Instant>,
    is_resting: bool,
    is_ready: bool,
}

impl<V> OriginQueue<V> {
    fn new() -> OriginQueue<V> {
        OriginQueue {
            waiting: VecDeque::new(),
            in_flight: 0,
            next: None,
            is_resting: false,
            is_ready: false,
        }
    }

    fn may_start(&self, per_origin: usize) -> bool {
        !self.is_resting && !self.waiting.is_empty() && self.in_flight < per_origin
    }

    fn is_idle(&self) -> bool {
        !self.is_resting && self.waiting.is_empty() && self.in_flight == 0
    }
}

impl<K: Clone + Eq + Hash, V> Scheduler<K, V> {
    /// A scheduler without origins. Each will have at most `per_origin` values in flight, and `interval` between two
    /// starts.
    pub fn new(per_origin: usize, interval: Duration) -> Scheduler<K, V> {
        Scheduler {
            per_origin,
            interval,
            origins: HashMap::new(),
            ready: VecDeque::new(),
            express: Vec::new(),
            resting: BTreeMap::new(),
            rests: 0,
            queued: 0,
        }
    }

    /// How many values are queued.
    pub fn len(&self) -> usize {
        self.queued
    }

    /// Queues a value after all others of its origin.
    pub fn push_back(&mut self, key: K, value: V) {
        self.queue(&key).waiting.push_back(value);
        self.review(&key);
    }

    /// Queues a value before all others of its origin. The value also starts before those of other origins, unless the
    /// limits of its own origin forbid that now.
    pub fn push_front(&mut self, key: K, value: V) {
        self.queue(&key).waiting.push_front(value);
        self.review(&key);
        self.express.push(key);
    }

    /// The next value to start, if any may start. It counts as in flight until `ended` is called.
    pub fn next(&mut self, now: Instant) -> Option<(K, V)> {
        self.wake(now);
        loop {
            let (key, in_turn) = match self.express.pop() {
                Some(key) => (key, false),
                None => (self.ready.pop_front()?, true),
            };
            let Some(queue) = self.origins.get_mut(&key) else {
                continue; // The value started in the origin's turn, and the origin has no other.
            };
            if in_turn {
                queue.is_ready = false;
            }
            let value = match queue.may_start(self.per_origin) {
                true => super::take_first(&mut queue.waiting),
                false => None,
            };
            if value.is_some() {
                queue.in_flight += 1;
                self.queued -= 1;
                self.rest(&key, now);
            }
            self.review(&key);
            if let Some(value) = value {
                return Some((key, value));
            }
        }
    }

    /// A value of this origin is no longer in flight.
    pub fn ended(&mut self, key: &K) {
        if let Some(queue) = self.origins.get_mut(key) {
            queue.in_flight -= 1;
        }
        self.review(key);
    }

    /// When to call `next` again, if only pauses keep values from starting.
    pub fn next_start(&self) -> Option<Instant> {
        let ((at, _), _) = self.resting.first_key_value()?;
        (self.queued > 0).then_some(*at)
    }

    /// Takes all queued values and forgets those in flight, but still remembers which origins pause.
    pub fn drain(&mut self) -> Vec<V> {
        let mut drained = Vec::with_capacity(self.queued);
        for queue in self.origins.values_mut() {
            drained.extend(queue.waiting.drain(..));
            queue.in_flight = 0;
            queue.is_ready = false;
        }
        self.origins.retain(|_, queue| queue.is_resting);
        self.ready.clear();
        self.express.clear();
        self.queued = 0;
        drained
    }

    fn queue(&mut self, key: &K) -> &mut OriginQueue<V> {
        self.queued += 1;
        // Not `entry`, which would need a key of its own each time.
        if !self.origins.contains_key(key) {
            self.origins.insert(key.clone(), OriginQueue::new());
        }
        self.origins.get_mut(key).expect("it was just put there")
    }

    /// After each change of a queue: gives the origin its turn when it may start a request, or forgets it.
    fn review(&mut self, key: &K) {
        let Some(queue) = self.origins.get_mut(key) else {
            return;
        };
        if queue.is_ready {
            return;
        }
        if queue.may_start(self.per_origin) {
            queue.is_ready = true;
            self.ready.push_back(key.clone());
        } else if queue.is_idle() {
            self.origins.remove(key);
        }
    }

    /// After a start: keeps the origin from starting another request until its interval has passed.
    fn rest(&mut self, key: &K, now: Instant) {
        let Some(queue) = self
            .origins
            .get_mut(key)
            .filter(|_| !self.interval.is_zero())
        else {
            return;
        };
        let on_time = now.checked_sub(LATENESS).unwrap_or(now);
        let next = queue.next.map_or(now, |next| next.max(on_time)) + self.interval;
        queue.next = Some(next);
        if next > now {
            queue.is_resting = true;
            self.resting.insert((next, self.rests), key.clone());
            self.rests += 1;
        }
    }

    fn wake(&mut self, now: Instant) {
        while let Some(first) = self.resting.first_entry() {
            if first.key().0 > now {
                return;
            }
            let key = first.remove();
            if let Some(queue) = self.origins.get_mut(&key) {
                queue.is_resting = false;
            }
            self.review(&key);
        }
    }
}

#[cfg(test)]
mod tests;
