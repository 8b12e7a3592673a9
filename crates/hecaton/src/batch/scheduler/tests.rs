//! Which request starts next and which origin pauses: case by case, and against a plain model.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const NO_LIMIT: usize = usize::MAX;

fn ids(origins: &mut Scheduler<char, u32>, now: Instant) -> Vec<u32> {
    std::iter::from_fn(|| origins.next(now))
        .map(|(_, id)| id)
        .collect()
}

#[test]
fn a_busy_origin_does_not_hold_up_another() {
    let mut origins = Scheduler::new(2, Duration::ZERO);
    (0..1000).for_each(|id| origins.push_back('a', id));
    origins.push_back('b', 1000);
    let now = Instant::now();
    assert_eq!(ids(&mut origins, now), [0, 1000, 1]);
    assert_eq!(ids(&mut origins, now), []);
    origins.ended(&'b');
    assert_eq!(ids(&mut origins, now), []);
    origins.ended(&'a');
    assert_eq!(ids(&mut origins, now), [2]);
}

#[test]
fn origins_take_turns() {
    let mut origins = Scheduler::new(NO_LIMIT, Duration::ZERO);
    (0..4).for_each(|id| origins.push_back('a', id));
    (10..12).for_each(|id| origins.push_back('b', id));
    assert_eq!(ids(&mut origins, Instant::now()), [0, 10, 1, 11, 2, 3]);
}

#[test]
fn the_front_of_the_queue_starts_first_and_the_newest_there_first() {
    let mut origins = Scheduler::new(NO_LIMIT, Duration::ZERO);
    origins.push_back('a', 1);
    origins.push_back('b', 2);
    origins.push_front('b', 3);
    origins.push_front('c', 4);
    origins.push_back('a', 5);
    assert_eq!(ids(&mut origins, Instant::now()), [4, 3, 1, 2, 5]);
}

#[test]
fn starts_are_evenly_spaced_and_a_pause_ends_in_no_burst() {
    let interval = Duration::from_millis(100);
    let mut origins = Scheduler::new(NO_LIMIT, interval);
    (0..10).for_each(|id| origins.push_back('a', id));
    let begun = Instant::now();
    assert_eq!(ids(&mut origins, begun), [0]);
    assert_eq!(origins.next_start(), Some(begun + interval));
    assert_eq!(ids(&mut origins, begun + interval / 2), []);
    // A little late: the next one keeps its time.
    let late = Duration::from_millis(3);
    assert_eq!(ids(&mut origins, begun + interval + late), [1]);
    assert_eq!(origins.next_start(), Some(begun + interval * 2));
    assert_eq!(ids(&mut origins, begun + interval * 7), [2]);
    let next = begun + interval * 8 - LATENESS;
    assert_eq!(origins.next_start(), Some(next));
}

#[test]
fn idle_origins_are_forgotten_after_their_pause() {
    let interval = Duration::from_millis(100);
    let mut origins = Scheduler::new(NO_LIMIT, interval);
    let begun = Instant::now();
    origins.push_back('a', 1);
    assert_eq!(ids(&mut origins, begun), [1]);
    origins.ended(&'a');
    origins.push_back('a', 2);
    assert_eq!(ids(&mut origins, begun), [], "the pause was forgotten");
    assert_eq!(origins.drain(), [2]);
    origins.push_back('a', 3);
    assert_eq!(ids(&mut origins, begun), [], "the pause was forgotten");
    assert_eq!(ids(&mut origins, begun + interval), [3]);
    origins.ended(&'a');
    assert_eq!(origins.origins.len(), 1);
    assert_eq!(ids(&mut origins, begun + interval * 2), []);
    assert_eq!((origins.origins.len(), origins.resting.len()), (0, 0));
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

/// A plain model of the scheduler: a list for each origin, and every start.
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

    /// Whether this much time has passed since the last start.
    fn rested(&self, key: u8, now: Instant, rest: Duration) -> bool {
        let last = self.starts.get(&key).and_then(|starts| starts.last());
        last.is_none_or(|last| now >= *last + rest)
    }

    /// Whether a start would keep to the rate over any stretch of time, apart from the lateness that is made up for.
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
    /// Whatever is queued, started, ended and dropped: requests keep their order within an origin, each starts once, no
    /// limit is exceeded, none waits without need, and nothing is left in the end.
    #[test]
    fn limits_hold_and_nobody_is_forgotten(steps in vec(step(), 1..300), most in 1usize..4, rest in prop_oneof![Just(0u64), 1u64..50]) {
        let rest = Duration::from_millis(rest);
        let (mut origins, mut model) = (Scheduler::new(most, rest), Model::default());
        let mut now = Instant::now();
        for (id, step) in (0u32..).zip(steps) {
            match step {
                Step::Back(key) => {
                    origins.push_back(key, id);
                    model.waiting.entry(key).or_default().push_back(id);
                }
                Step::Front(key) => {
                    origins.push_front(key, id);
                    model.waiting.entry(key).or_default().push_front(id);
                }
                Step::Start => model.started(origins.next(now), now, most, rest)?,
                Step::End(which) if !model.in_flight.is_empty() => {
                    let key = model.in_flight.remove(which % model.in_flight.len());
                    origins.ended(&key);
                }
                Step::End(_) => {}
                Step::Pass(time) => now += Duration::from_millis(time),
                Step::Drain => {
                    let mut drained = origins.drain();
                    let mut expected: Vec<u32> = model.waiting.drain().flat_map(|(_, ids)| ids).collect();
                    drained.sort_unstable();
                    expected.sort_unstable();
                    prop_assert_eq!(drained, expected);
                    model.in_flight.clear();
                }
            }
            prop_assert_eq!(origins.len(), model.waiting.values().map(VecDeque::len).sum::<usize>());
        }
        // Time and responses end everything.
        while origins.len() > 0 || !model.in_flight.is_empty() {
            now = origins.next_start().map_or(now, |at| at.max(now));
            while let Some((key, id)) = origins.next(now) {
                model.started(Some((key, id)), now, most, rest)?;
            }
            model.in_flight.drain(..).for_each(|key| origins.ended(&key));
        }
        prop_assert!(model.waiting.values().all(VecDeque::is_empty));
        origins.next(now + rest + LATENESS);
        prop_assert_eq!((origins.origins.len(), origins.resting.len(), origins.ready.len()), (0, 0, 0));
    }
}
