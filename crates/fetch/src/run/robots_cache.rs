//! The robots.txt rules of hosts, for all parts of a process: one part fetches the file of a host, once a day.
//!
//! The rules take a bounded amount of memory. If those of a host had to go, its file is fetched again.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;
use parking_lot::Mutex;

use crate::robots::Robots;

/// How long rules hold (RFC 9309 §2.4).
const HOLD: Duration = Duration::from_secs(24 * 60 * 60);

/// The most bytes that all rules take, about.
const MOST_BYTES: usize = 32 << 20;

/// About how many bytes a host takes beside its name and its rules.
const OF_A_HOST: usize = 160;

/// The answer to a part that needs the rules of a host.
pub enum Cached {
    /// The rules.
    Rules(Arc<Robots>),
    /// They are unknown. The part fetches them, and keeps the claim until it has them.
    Nothing(Claim),
    /// Another part fetches them.
    Awaited,
}

/// The right to fetch a file. Another part gets it when this one drops it without rules.
pub struct Claim(#[expect(dead_code, reason = "others see whether it is there")] Arc<()>);

/// The rules of all hosts.
#[derive(Debug)]
pub struct RobotsCache {
    memory: Mutex<Memory>,
    room: usize,
    /// The rules of hosts that allow everything. Most hosts are such.
    everything: Arc<Robots>,
}

#[derive(Debug, Default)]
struct Memory {
    hosts: HashMap<Arc<str>, Entry, FixedState>,
    /// The hosts with rules, in the order in which these came.
    order: BTreeMap<u64, Arc<str>>,
    /// How many rules ever came.
    came: u64,
    bytes: usize,
}

#[derive(Debug)]
enum Entry {
    Fetching(Weak<()>),
    Rules {
        robots: Arc<Robots>,
        came: Instant,
        order: u64,
    },
}

impl Default for RobotsCache {
    fn default() -> RobotsCache {
        RobotsCache::new(MOST_BYTES)
    }
}

impl RobotsCache {
    fn new(room: usize) -> RobotsCache {
        RobotsCache {
            memory: Mutex::default(),
            room,
            everything: Arc::new(Robots::allow_all()),
        }
    }

    /// The rules of a host, or who has to fetch them.
    pub fn find(&self, host: &str, now: Instant) -> Cached {
        let mut memory = self.memory.lock();
        match memory.hosts.get(host) {
            Some(Entry::Rules { robots, came, .. })
                if now.saturating_duration_since(*came) < HOLD =>
            {
                return Cached::Rules(robots.clone());
            }
            Some(Entry::Fetching(claim)) if claim.strong_count() > 0 => {
                return Cached::Awaited;
            }
            _ => {}
        }
        self.forget(&mut memory, host);
        let claim = Arc::new(());
        let fetching = Entry::Fetching(Arc::downgrade(&claim));
        memory.hosts.insert(host.into(), fetching);
        Cached::Nothing(Claim(claim))
    }

    /// Keeps the rules of a host, and forgets the oldest ones if memory is short.
    pub fn keep(&self, host: &str, robots: Robots, now: Instant) -> Arc<Robots> {
        let robots = match robots == *self.everything {
            true => self.everything.clone(),
            false => Arc::new(robots),
        };
        let mut memory = self.memory.lock();
        self.forget(&mut memory, host);
        memory.bytes += self.weight(host, &robots);
        while memory.bytes > self.room {
            let Some(oldest) = memory.order.values().next().cloned() else {
                break;
            };
            self.forget(&mut memory, &oldest);
        }
        memory.came += 1;
        let (order, name) = (memory.came, Arc::<str>::from(host));
        memory.order.insert(order, name.clone());
        let entry = Entry::Rules {
            robots: robots.clone(),
            came: now,
            order,
        };
        memory.hosts.insert(name, entry);
        robots
    }

    fn forget(&self, memory: &mut Memory, host: &str) {
        if let Some(Entry::Rules { robots, order, .. }) = memory.hosts.remove(host) {
            memory.order.remove(&order);
            memory.bytes -= self.weight(host, &robots);
        }
    }

    fn weight(&self, host: &str, robots: &Arc<Robots>) -> usize {
        let own = match Arc::ptr_eq(robots, &self.everything) {
            true => 0,
            false => robots.weight(),
        };
        OF_A_HOST + host.len() + own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(cache: &RobotsCache, host: &str, now: Instant) -> bool {
        matches!(cache.find(host, now), Cached::Rules(_))
    }

    #[test]
    fn rules_hold_for_a_day() {
        let (cache, came) = (RobotsCache::default(), Instant::now());
        cache.keep("a.example", Robots::allow_all(), came);
        assert!(rules(&cache, "a.example", came));
        assert!(rules(
            &cache,
            "a.example",
            came + HOLD - Duration::from_secs(1)
        ));
        assert!(!rules(&cache, "a.example", came + HOLD));
        assert!(!rules(&cache, "b.example", came));
    }

    #[test]
    fn one_part_fetches_a_file_and_another_if_the_first_has_gone() {
        let (cache, now) = (RobotsCache::default(), Instant::now());
        let Cached::Nothing(claim) = cache.find("a.example", now) else {
            panic!("nobody has fetched it")
        };
        assert!(matches!(cache.find("a.example", now), Cached::Awaited));
        drop(claim);
        let Cached::Nothing(claim) = cache.find("a.example", now) else {
            panic!("the part that had fetched it has gone")
        };
        cache.keep("a.example", Robots::allow_all(), now);
        drop(claim);
        assert!(rules(&cache, "a.example", now));
    }

    #[test]
    fn the_oldest_rules_go_first_and_all_that_is_kept_is_counted() {
        let now = Instant::now();
        let cache = RobotsCache::new(3 * (OF_A_HOST + 1));
        for host in ["a", "b", "a", "c", "d"] {
            cache.keep(host, Robots::allow_all(), now);
        }
        assert!(!rules(&cache, "b", now));
        assert!(["a", "c", "d"].iter().all(|host| rules(&cache, host, now)));
        let memory = cache.memory.lock();
        assert_eq!((memory.bytes, memory.order.len()), (cache.room, 3));
    }
}
