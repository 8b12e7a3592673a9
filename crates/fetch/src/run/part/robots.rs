//! robots.txt: fetched before anything else of a host, and obeyed.
//!
//! The rules take a bounded amount of memory, and hold for a day. If the rules of a host had to go or are older, its
//! robots.txt is fetched again before more of its inputs are queued.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use super::{OpenPart, Pending};
use crate::plan::{Content, Planned};
use crate::record::Outcome;
use crate::request::{Maker, Onward};
use crate::robots::{Robots, Verdict};
use crate::run::line::RecordWriter;

/// How long rules hold (RFC 9309 §2.4).
const HOLD: Duration = Duration::from_secs(24 * 60 * 60);

/// The rules of sites, by the numbers of their hosts.
#[derive(Default)]
pub struct Sites {
    /// The rules, and when they came.
    known: HashMap<u32, (Robots, Instant)>,
    /// Hosts in the order in which they came; some are gone, or came again.
    order: VecDeque<u32>,
    bytes: usize,
}

impl Sites {
    fn forget(&mut self, host: u32) {
        if let Some((robots, _)) = self.known.remove(&host) {
            self.bytes -= robots.weight();
        }
    }

    /// Keeps the rules of a host, and forgets the oldest rules of others when memory is short.
    fn keep(&mut self, host: u32, robots: Robots, (room, now): (usize, Instant)) {
        self.forget(host);
        self.order.retain(|other| *other != host);
        self.bytes += robots.weight();
        while self.bytes > room {
            let Some(other) = self.order.pop_front() else {
                break;
            };
            self.forget(other);
        }
        self.order.push_back(host);
        self.known.insert(host, (robots, now));
    }

    /// Whether the rules of a host are known and still hold.
    fn has(&self, host: u32, now: Instant) -> bool {
        let known = self.known.get(&host);
        known.is_some_and(|(_, came)| now.saturating_duration_since(*came) < HOLD)
    }
}

/// How an input ends that the robots.txt of its host keeps from being sent, and why; none if it may be sent. A file
/// that could not be had may be there the next time, so `again` sends such an input.
fn unsent(verdict: Verdict) -> Option<(Outcome, &'static str)> {
    match verdict {
        Verdict::Allowed => None,
        Verdict::Forbidden => Some((Outcome::Skipped, "robots")),
        Verdict::TooSlow => Some((Outcome::Skipped, "crawl delay")),
        Verdict::Unreachable => {
            Some((Outcome::Unreached, "its host's robots.txt could not be had"))
        }
    }
}

impl OpenPart {
    /// Requests a host's robots.txt before anything else.
    pub(super) fn request_robots(&mut self, host: u32, url: &str, (cursor, is_own): (u16, bool)) {
        self.robots.forget(host);
        let Some(url) = url::Url::parse(url)
            .ok()
            .and_then(|url| url.join("/robots.txt").ok())
        else {
            return;
        };
        let held = Content::Url(String::from(url).into());
        let planned = Planned {
            number: u64::MAX,
            line: 0,
            held,
            earlier: None,
        };
        self.hosts.close_gate(host);
        self.queue_first(
            host,
            Pending {
                is_robots: true,
                is_own,
                ..Pending::new(planned, cursor)
            },
        );
    }

    /// How a URL ends that a host's robots.txt, if it is known, keeps from being sent, and why.
    pub(super) fn forbids(&self, host: u32, url: &str) -> Option<(Outcome, &'static str)> {
        let (robots, _) = self.robots.known.get(&host)?;
        unsent(robots.verdict(url, self.limits.max_crawl_delay))
    }

    /// Requests the URL that a host's robots.txt was redirected to, still before anything else of the host.
    pub fn follow_robots(&mut self, host: u32, from: &Pending, onward: Onward) {
        let here = match &from.planned.held {
            Content::Url(url) => (&**url, from.is_own),
            _ => ("", false),
        };
        let foreign = self.last.is_foreign(&onward.url);
        let is_own = self.limits.own_hosts.leads(here, (&onward.url, foreign));
        let planned = Planned {
            number: u64::MAX,
            line: 0,
            held: Content::Url(onward.url.as_str().into()),
            earlier: None,
        };
        let pending = Pending {
            is_robots: true,
            is_own,
            onward: Some(Box::new(onward)),
            ..Pending::new(planned, from.cursor)
        };
        self.queue_first(host, pending);
    }

    /// Applies the robots.txt of a host to the inputs that wait for it.
    pub fn heed(
        &mut self,
        host: u32,
        robots: Robots,
        of: u32,
        maker: &Maker,
        writer: &mut RecordWriter,
    ) {
        let delay = robots.delay().unwrap_or_default().saturating_mul(of);
        for pending in self.hosts.open_gate(host, delay) {
            self.left_queue(&pending);
            let rendered = maker.render(&pending.planned.held);
            let url = match (&pending.onward, &rendered) {
                (Some(onward), _) => &onward.url,
                (None, Ok(rendered)) => &*rendered.url,
                (None, Err(_)) => "",
            };
            match unsent(robots.verdict(url, self.limits.max_crawl_delay)) {
                Some(unsent) => {
                    let about = (&pending.planned, rendered.as_ref().ok());
                    self.unsent(writer, about, unsent, &pending.sent());
                }
                None => {
                    drop(rendered);
                    self.queue(host, pending);
                }
            }
        }
        let now = Instant::now();
        self.robots.keep(host, robots, (self.robots_room, now));
    }

    /// Whether a host's robots.txt must be fetched before more of its inputs are queued.
    pub(super) fn lacks_robots(&self, host: u32) -> bool {
        !self.hosts.is_gated(host) && !self.robots.has(host, Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_hold_for_a_day() {
        let (mut sites, came) = (Sites::default(), Instant::now());
        sites.keep(3, Robots::allow_all(), (1 << 20, came));
        let day = Duration::from_secs(24 * 60 * 60);
        assert!(sites.has(3, came) && sites.has(3, came + day - Duration::from_secs(1)));
        assert!(!sites.has(3, came + day) && !sites.has(4, came));
    }
}
