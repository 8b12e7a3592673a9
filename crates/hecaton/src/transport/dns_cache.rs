//! The DNS cache: stores the results of lookups for a time. Its size is bounded, and the oldest results are removed
//! first. Off by default.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The cache holds at most this many names, which take some 2 MB.
const MOST: usize = 16_384;

/// The results of lookups.
#[derive(Debug)]
pub(super) struct DnsCache {
    time: Duration,
    found: HashMap<Arc<str>, (Instant, Arc<[IpAddr]>)>,
    /// In the order of their lookups; some were forgotten, or looked up again.
    order: VecDeque<(Instant, Arc<str>)>,
}

impl DnsCache {
    /// An empty cache; each result is valid for `time`.
    pub fn new(time: Duration) -> DnsCache {
        DnsCache {
            time,
            found: HashMap::new(),
            order: VecDeque::new(),
        }
    }

    /// The addresses of a host, if they are known and not old.
    pub fn get(&self, host: &str, now: Instant) -> Option<Arc<[IpAddr]>> {
        let (at, found) = self.found.get(host)?;
        (now.saturating_duration_since(*at) < self.time).then(|| found.clone())
    }

    /// Stores the result of a lookup, unless it is empty.
    pub fn keep(&mut self, host: &str, found: &Arc<[IpAddr]>, now: Instant) {
        if self.time.is_zero() || found.is_empty() {
            return;
        }
        while self.order.len() >= MOST {
            self.drop_oldest();
        }
        let host: Arc<str> = host.into();
        self.found.insert(host.clone(), (now, found.clone()));
        self.order.push_back((now, host));
    }

    /// The next request to this host looks it up again.
    pub fn forget(&mut self, host: &str) {
        self.found.remove(host);
    }

    fn drop_oldest(&mut self) {
        let Some((at, host)) = self.order.pop_front() else {
            return;
        };
        if self.found.get(&host).is_some_and(|(noted, _)| *noted == at) {
            self.found.remove(&host);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn the_cache_has_limits_of_number_and_age() {
        let found: Arc<[IpAddr]> = [IpAddr::V4(Ipv4Addr::LOCALHOST)].into();
        let begun = Instant::now();
        let at = |second: u64| begun + Duration::from_secs(second);
        let mut cache = DnsCache::new(Duration::from_secs(10));
        cache.keep("a", &found, at(0));
        cache.keep("nowhere", &[].into(), at(0));
        assert_eq!(cache.get("a", at(9)), Some(found.clone()));
        assert_eq!(
            (cache.get("a", at(10)), cache.get("nowhere", at(0))),
            (None, None)
        );
        cache.keep("a", &found, at(20));
        cache.forget("a");
        cache.keep("a", &found, at(21));
        for n in 0..MOST - 1 {
            cache.keep(&n.to_string(), &found, at(22));
        }
        assert!(cache.get("a", at(22)).is_some() && cache.get("0", at(22)).is_some());
        cache.keep("last", &found, at(22));
        assert!(cache.get("a", at(22)).is_none() && cache.get("0", at(22)).is_some());
        assert!(cache.found.len() <= MOST && cache.order.len() <= MOST);
    }
}
