//! Who may start next when origins have limits: a lane for each origin, none in the way of another.
//!
//! Nothing here waits, sends or looks at the clock. Each step costs the same however many are queued
//! (the lanes that rest are kept in order, so theirs grows with the logarithm of their number), and what
//! is known of an origin is forgotten when nothing of it is queued, in flight or owed a rest.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;
use std::time::{Duration, Instant};

/// A start that comes late by less than this does not put off those after it: the reactor's timers
/// count milliseconds, and its turns take some. More is not made up, lest a pause ends in a burst.
const LATENESS: Duration = Duration::from_millis(5);

/// What is queued, by where it goes.
pub(crate) struct Lanes<K, V> {
    per_origin: usize,
    interval: Duration,
    lanes: HashMap<K, Lane<V>>,
    /// Lanes that may start one, each here once, in turns.
    ready: VecDeque<K>,
    /// Lanes that got something to go before all others, the last one first.
    express: Vec<K>,
    /// Lanes that must let time pass, by when it has passed; the number tells equal times apart.
    resting: BTreeMap<(Instant, u64), K>,
    rests: u64,
    queued: usize,
}

struct Lane<V> {
    waiting: VecDeque<V>,
    in_flight: usize,
    /// Earliest time of the next start, once there was one.
    next: Option<Instant>,
    is_resting: bool,
    is_ready: bool,
}

impl<V> Lane<V> {
    fn new() -> Lane<V> {
        Lane {
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

impl<K: Clone + Eq + Hash, V> Lanes<K, V> {
    /// No lanes yet. Each will have `per_origin` in flight at most, and `interval` between two starts.
    pub fn new(per_origin: usize, interval: Duration) -> Lanes<K, V> {
        Lanes {
            per_origin,
            interval,
            lanes: HashMap::new(),
            ready: VecDeque::new(),
            express: Vec::new(),
            resting: BTreeMap::new(),
            rests: 0,
            queued: 0,
        }
    }

    /// How many are queued.
    pub fn len(&self) -> usize {
        self.queued
    }

    /// Queues behind all others of the lane.
    pub fn push_back(&mut self, key: K, value: V) {
        self.lane(&key).waiting.push_back(value);
        self.review(&key);
    }

    /// Queues before all others, of this lane and, unless its limits forbid it now, of any.
    pub fn push_front(&mut self, key: K, value: V) {
        self.lane(&key).waiting.push_front(value);
        self.review(&key);
        self.express.push(key);
    }

    /// The next to start, if any may. It counts as in flight until `ended` is told of it.
    pub fn next(&mut self, now: Instant) -> Option<(K, V)> {
        self.wake(now);
        loop {
            let (key, in_turn) = match self.express.pop() {
                Some(key) => (key, false),
                None => (self.ready.pop_front()?, true),
            };
            let Some(lane) = self.lanes.get_mut(&key) else {
                continue; // Its express has gone in its turn, and so has all else.
            };
            if in_turn {
                lane.is_ready = false;
            }
            let value = match lane.may_start(self.per_origin) {
                true => lane.waiting.pop_front(),
                false => None,
            };
            if value.is_some() {
                lane.in_flight += 1;
                self.queued -= 1;
                self.rest(&key, now);
            }
            self.review(&key);
            if let Some(value) = value {
                return Some((key, value));
            }
        }
    }

    /// One of this lane is no longer in flight.
    pub fn ended(&mut self, key: &K) {
        if let Some(lane) = self.lanes.get_mut(key) {
            lane.in_flight -= 1;
        }
        self.review(key);
    }

    /// When to ask again, if time alone keeps some from starting.
    pub fn next_start(&self) -> Option<Instant> {
        let ((at, _), _) = self.resting.first_key_value()?;
        (self.queued > 0).then_some(*at)
    }

    /// Takes all that is queued, and forgets what is in flight, but not who must rest.
    pub fn drain(&mut self) -> Vec<V> {
        let mut drained = Vec::with_capacity(self.queued);
        for lane in self.lanes.values_mut() {
            drained.extend(lane.waiting.drain(..));
            lane.in_flight = 0;
            lane.is_ready = false;
        }
        self.lanes.retain(|_, lane| lane.is_resting);
        self.ready.clear();
        self.express.clear();
        self.queued = 0;
        drained
    }

    fn lane(&mut self, key: &K) -> &mut Lane<V> {
        self.queued += 1;
        // Not `entry`, which would need a key of its own each time.
        if !self.lanes.contains_key(key) {
            self.lanes.insert(key.clone(), Lane::new());
        }
        self.lanes.get_mut(key).expect("it was just put there")
    }

    /// After each change of a lane: gives it its turn when it may start another, or forgets it.
    fn review(&mut self, key: &K) {
        let Some(lane) = self.lanes.get_mut(key) else {
            return;
        };
        if lane.is_ready {
            return;
        }
        if lane.may_start(self.per_origin) {
            lane.is_ready = true;
            self.ready.push_back(key.clone());
        } else if lane.is_idle() {
            self.lanes.remove(key);
        }
    }

    /// After a start: keeps the lane from another until its time has come.
    fn rest(&mut self, key: &K, now: Instant) {
        let Some(lane) = self.lanes.get_mut(key).filter(|_| !self.interval.is_zero()) else {
            return;
        };
        let on_time = now.checked_sub(LATENESS).unwrap_or(now);
        let next = lane.next.map_or(now, |next| next.max(on_time)) + self.interval;
        lane.next = Some(next);
        if next > now {
            lane.is_resting = true;
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
            if let Some(lane) = self.lanes.get_mut(&key) {
                lane.is_resting = false;
            }
            self.review(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const NO_LIMIT: usize = usize::MAX;

    fn ids(lanes: &mut Lanes<char, u32>, now: Instant) -> Vec<u32> {
        std::iter::from_fn(|| lanes.next(now))
            .map(|(_, id)| id)
            .collect()
    }

    #[test]
    fn a_busy_origin_does_not_hold_up_another() {
        let mut lanes = Lanes::new(2, Duration::ZERO);
        (0..1000).for_each(|id| lanes.push_back('a', id));
        lanes.push_back('b', 1000);
        let now = Instant::now();
        assert_eq!(ids(&mut lanes, now), [0, 1000, 1]);
        assert_eq!(ids(&mut lanes, now), []);
        lanes.ended(&'b');
        assert_eq!(ids(&mut lanes, now), []);
        lanes.ended(&'a');
        assert_eq!(ids(&mut lanes, now), [2]);
    }

    #[test]
    fn origins_take_turns() {
        let mut lanes = Lanes::new(NO_LIMIT, Duration::ZERO);
        (0..4).for_each(|id| lanes.push_back('a', id));
        (10..12).for_each(|id| lanes.push_back('b', id));
        assert_eq!(ids(&mut lanes, Instant::now()), [0, 10, 1, 11, 2, 3]);
    }

    #[test]
    fn the_front_goes_before_all_others_and_the_last_one_first() {
        let mut lanes = Lanes::new(NO_LIMIT, Duration::ZERO);
        lanes.push_back('a', 1);
        lanes.push_back('b', 2);
        lanes.push_front('b', 3);
        lanes.push_front('c', 4);
        lanes.push_back('a', 5);
        assert_eq!(ids(&mut lanes, Instant::now()), [4, 3, 1, 2, 5]);
    }

    #[test]
    fn starts_are_evenly_spaced_and_a_pause_ends_in_no_burst() {
        let interval = Duration::from_millis(100);
        let mut lanes = Lanes::new(NO_LIMIT, interval);
        (0..10).for_each(|id| lanes.push_back('a', id));
        let begun = Instant::now();
        assert_eq!(ids(&mut lanes, begun), [0]);
        assert_eq!(lanes.next_start(), Some(begun + interval));
        assert_eq!(ids(&mut lanes, begun + interval / 2), []);
        // A little late: the next one keeps its time.
        let late = Duration::from_millis(3);
        assert_eq!(ids(&mut lanes, begun + interval + late), [1]);
        assert_eq!(lanes.next_start(), Some(begun + interval * 2));
        assert_eq!(ids(&mut lanes, begun + interval * 7), [2]);
        let next = begun + interval * 8 - LATENESS;
        assert_eq!(lanes.next_start(), Some(next));
    }

    #[test]
    fn idle_origins_are_forgotten_but_not_before_their_rest_is_over() {
        let interval = Duration::from_millis(100);
        let mut lanes = Lanes::new(NO_LIMIT, interval);
        let begun = Instant::now();
        lanes.push_back('a', 1);
        assert_eq!(ids(&mut lanes, begun), [1]);
        lanes.ended(&'a');
        lanes.push_back('a', 2);
        assert_eq!(ids(&mut lanes, begun), [], "the rest was forgotten");
        assert_eq!(lanes.drain(), [2]);
        lanes.push_back('a', 3);
        assert_eq!(ids(&mut lanes, begun), [], "the rest was forgotten");
        assert_eq!(ids(&mut lanes, begun + interval), [3]);
        lanes.ended(&'a');
        assert_eq!(lanes.lanes.len(), 1);
        assert_eq!(ids(&mut lanes, begun + interval * 2), []);
        assert_eq!((lanes.lanes.len(), lanes.resting.len()), (0, 0));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Back(u8),
        Front(u8),
        Start,
        End(usize),
        Pass(u64),
        Drain,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => (0u8..4).prop_map(Step::Back),
            3 => (0u8..4).prop_map(Step::Front),
            8 => Just(Step::Start),
            6 => any::<usize>().prop_map(Step::End),
            3 => (0u64..60).prop_map(Step::Pass),
            1 => Just(Step::Drain),
        ]
    }

    /// What must be true, kept in the plainest way: a list for each origin, and every start.
    #[derive(Default)]
    struct Model {
        waiting: HashMap<u8, VecDeque<u32>>,
        in_flight: Vec<u8>,
        starts: HashMap<u8, Vec<Instant>>,
    }

    impl Model {
        fn running(&self, key: u8) -> usize {
            self.in_flight.iter().filter(|other| **other == key).count()
        }

        /// Whether so much time has passed since the last start.
        fn rested(&self, key: u8, now: Instant, rest: Duration) -> bool {
            let last = self.starts.get(&key).and_then(|starts| starts.last());
            last.is_none_or(|last| now >= *last + rest)
        }

        /// Whether a start would keep to the rate over any stretch of time, but for the lateness made up.
        fn in_rate(&self, key: u8, now: Instant, rest: Duration) -> bool {
            let starts = self
                .starts
                .get(&key)
                .into_iter()
                .flat_map(|starts| starts.iter().rev());
            (1u32..)
                .zip(starts)
                .all(|(count, start)| now + LATENESS >= *start + rest * count)
        }

        /// Checks one start, or that there could be none.
        fn started(
            &mut self,
            got: Option<(u8, u32)>,
            now: Instant,
            most: usize,
            rest: Duration,
        ) -> Result<(), TestCaseError> {
            let Some((key, id)) = got else {
                for (key, waiting) in &self.waiting {
                    let could = self.running(*key) < most && self.rested(*key, now, rest);
                    prop_assert!(waiting.is_empty() || !could, "origin {} was held up", key);
                }
                return Ok(());
            };
            prop_assert_eq!(
                self.waiting.get_mut(&key).and_then(VecDeque::pop_front),
                Some(id)
            );
            prop_assert!(self.running(key) < most, "over the limit");
            prop_assert!(self.in_rate(key, now, rest), "too early");
            self.in_flight.push(key);
            self.starts.entry(key).or_default().push(now);
            Ok(())
        }
    }

    proptest! {
        /// Whatever is queued, started, ended and dropped: in order within an origin, each once, never
        /// over a limit, never held up without need, and nothing is left in the end.
        #[test]
        fn limits_hold_and_nobody_is_forgotten(steps in vec(step(), 1..300), most in 1usize..4, rest in prop_oneof![Just(0u64), 1u64..50]) {
            let rest = Duration::from_millis(rest);
            let (mut lanes, mut model) = (Lanes::new(most, rest), Model::default());
            let mut now = Instant::now();
            for (id, step) in (0u32..).zip(steps) {
                match step {
                    Step::Back(key) => {
                        lanes.push_back(key, id);
                        model.waiting.entry(key).or_default().push_back(id);
                    }
                    Step::Front(key) => {
                        lanes.push_front(key, id);
                        model.waiting.entry(key).or_default().push_front(id);
                    }
                    Step::Start => model.started(lanes.next(now), now, most, rest)?,
                    Step::End(which) if !model.in_flight.is_empty() => {
                        let key = model.in_flight.remove(which % model.in_flight.len());
                        lanes.ended(&key);
                    }
                    Step::End(_) => {}
                    Step::Pass(time) => now += Duration::from_millis(time),
                    Step::Drain => {
                        let mut drained = lanes.drain();
                        let mut expected: Vec<u32> = model.waiting.drain().flat_map(|(_, ids)| ids).collect();
                        drained.sort_unstable();
                        expected.sort_unstable();
                        prop_assert_eq!(drained, expected);
                        model.in_flight.clear();
                    }
                }
                prop_assert_eq!(lanes.len(), model.waiting.values().map(VecDeque::len).sum::<usize>());
            }
            // Time and answers bring everything to its end.
            while lanes.len() > 0 || !model.in_flight.is_empty() {
                now = lanes.next_start().map_or(now, |at| at.max(now));
                while let Some((key, id)) = lanes.next(now) {
                    model.started(Some((key, id)), now, most, rest)?;
                }
                model.in_flight.drain(..).for_each(|key| lanes.ended(&key));
            }
            prop_assert!(model.waiting.values().all(VecDeque::is_empty));
            lanes.next(now + rest + LATENESS);
            prop_assert_eq!((lanes.lanes.len(), lanes.resting.len(), lanes.ready.len()), (0, 0, 0));
        }
    }
}
