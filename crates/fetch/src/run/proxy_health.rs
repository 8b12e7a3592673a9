//! Which proxies work. A proxy that cannot be connected to, or that does not respond, rests, and requests take the
//! others meanwhile.
//!
//! The failure of a proxy says nothing about the host, so it does not count against the host while another proxy can be
//! taken. If no other can, it counts, because the host cannot be reached then.

use std::time::{Duration, Instant};

/// The first rest of a proxy. It doubles with each failure in a row.
const FIRST_REST: Duration = Duration::from_secs(1);

/// The longest rest.
const LONGEST_REST: Duration = Duration::from_secs(60);

/// The facts about a proxy.
#[derive(Clone, Copy, Debug, Default)]
struct Health {
    /// Failures in a row.
    failures: u32,
    /// When the proxy may be tried again.
    until: Option<Instant>,
    /// Whether a request is trying the proxy again.
    is_probed: bool,
    /// When the proxy responded last.
    responded: Option<Instant>,
}

impl Health {
    fn rests(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| until > now)
    }

    fn rest(&mut self, now: Instant) {
        let doublings = self.failures.saturating_sub(1).min(16);
        self.until = Some(now + FIRST_REST.saturating_mul(1 << doublings).min(LONGEST_REST));
    }
}

/// The proxies of a thread, in the order of the list of all.
#[derive(Debug)]
pub struct ProxyHealth(Vec<Health>);

impl ProxyHealth {
    /// This many proxies, of which nothing is known yet.
    pub fn new(proxies: usize) -> ProxyHealth {
        ProxyHealth(vec![Health::default(); proxies])
    }

    /// The proxy of the next request: the first from this turn on that does not rest, or else the one whose rest ends
    /// first. A proxy whose rest is over is tried by one request.
    pub fn choose(&mut self, proxies: &[usize], turn: usize, now: Instant) -> usize {
        let start = turn % proxies.len().max(1);
        let (before, from) = proxies.split_at(start.min(proxies.len()));
        let in_turn = || from.iter().chain(before).copied();
        let well = in_turn().find(|proxy| !self.0[*proxy].rests(now));
        let chosen = well.or_else(|| in_turn().min_by_key(|proxy| self.0[*proxy].until));
        let chosen = chosen.unwrap_or(0);
        let health = &mut self.0[chosen];
        if health.failures > 0 && !health.rests(now) {
            health.is_probed = true;
            health.rest(now);
        }
        chosen
    }

    /// Notes that a request could not connect to this proxy, or got no response from it. Returns whether it is
    /// the first failure in a row.
    pub fn failed(&mut self, proxy: usize, now: Instant) -> bool {
        let health = &mut self.0[proxy];
        let is_news = health.failures == 0;
        // Requests that were in flight when the proxy began to rest say nothing new.
        if is_news || std::mem::take(&mut health.is_probed) {
            health.failures = health.failures.saturating_add(1);
            health.rest(now);
        }
        is_news
    }

    /// Notes that this proxy responded.
    pub fn worked(&mut self, proxy: usize, now: Instant) {
        self.0[proxy] = Health {
            responded: Some(now),
            ..Health::default()
        };
    }

    /// Whether a request without a response is the failure of its proxy, and not of its host. The request began at
    /// `begun`, and `tried` proxies in a row, of `all`, gave it no response. The host is to blame if the proxy has
    /// responded to another request since `begun`, or if all proxies were tried.
    pub fn is_silent(&self, proxy: usize, begun: Instant, tried: usize, all: usize) -> bool {
        let responded = self.0[proxy].responded;
        responded.is_none_or(|at| at <= begun) && tried < all
    }

    /// Whether one of these proxies can be taken now.
    pub fn has_any(&self, proxies: &[usize], now: Instant) -> bool {
        proxies.iter().any(|proxy| !self.0[*proxy].rests(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_that_failed_rests_and_one_request_tries_it_again() {
        let (mut health, now) = (ProxyHealth::new(2), Instant::now());
        let both = [0, 1];
        assert_eq!(
            [0, 1, 2].map(|turn| health.choose(&both, turn, now)),
            [0, 1, 0]
        );
        assert!(health.failed(0, now));
        // Another request was in flight.
        assert!(!health.failed(0, now));
        assert!(health.has_any(&both, now));
        assert_eq!(
            [0, 1, 2].map(|turn| health.choose(&both, turn, now)),
            [1; 3]
        );
        let later = now + FIRST_REST;
        assert_eq!(
            [0, 2, 4].map(|turn| health.choose(&both, turn, later)),
            [0, 1, 1]
        );
        // The next rest is longer.
        assert!(!health.failed(0, later));
        assert_eq!(health.choose(&both, 0, later + FIRST_REST), 1);
        assert_eq!(health.choose(&both, 0, later + 2 * FIRST_REST), 0);
        health.worked(0, later);
        assert_eq!(
            [0, 2, 4].map(|turn| health.choose(&both, turn, later)),
            [0; 3]
        );
    }

    #[test]
    fn silence_is_the_hosts_if_the_proxy_responds_to_others_or_all_are_silent() {
        let (mut health, now) = (ProxyHealth::new(2), Instant::now());
        assert!(health.is_silent(0, now, 1, 2));
        assert!(!health.is_silent(0, now, 2, 2));
        assert!(!health.is_silent(0, now, 1, 1));
        health.worked(0, now + FIRST_REST);
        assert!(!health.is_silent(0, now, 1, 2));
        assert!(health.is_silent(0, now + FIRST_REST, 1, 2));
        assert!(health.is_silent(1, now, 1, 2));
    }

    #[test]
    fn of_proxies_that_all_failed_the_one_that_rested_longest_is_tried() {
        let (mut health, now) = (ProxyHealth::new(3), Instant::now());
        health.failed(2, now);
        health.failed(1, now + FIRST_REST / 2);
        assert!(!health.has_any(&[1, 2], now + FIRST_REST / 2));
        assert_eq!(health.choose(&[1, 2], 0, now + FIRST_REST / 2), 2);
        assert!(health.has_any(&[0, 1], now));
        let much_later = now + 1000 * LONGEST_REST;
        (0..100).for_each(|_| {
            health.choose(&[1], 0, much_later);
            health.failed(1, much_later);
        });
        assert!(health.has_any(&[1], much_later + LONGEST_REST));
    }
}
