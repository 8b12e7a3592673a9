//! robots.txt: fetched before anything else of a host, and obeyed.
//!
//! The rules take a bounded amount of memory. If the rules of a host had to go, its robots.txt is fetched again
//! before more of its inputs are queued.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use super::{OpenPart, Pending};
use crate::plan::{Content, Planned};
use crate::record::Outcome;
use crate::request::{Maker, Onward, Rendered};
use crate::robots::Robots;
use crate::run::line::RecordWriter;

/// The rules of sites, by the numbers of their hosts.
#[derive(Default)]
pub struct Sites {
    known: HashMap<u32, Robots>,
    /// Hosts in the order in which they came; some are gone, or came again.
    order: VecDeque<u32>,
    bytes: usize,
}

impl Sites {
    fn forget(&mut self, host: u32) {
        if let Some(robots) = self.known.remove(&host) {
            self.bytes -= robots.weight();
        }
    }

    /// Keeps the rules of a host, and forgets the oldest rules of others when memory is short.
    fn keep(&mut self, host: u32, robots: Robots, room: usize) {
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
        self.known.insert(host, robots);
    }
}

/// Why an input is not sent when the robots.txt of its host could not be had.
const UNREACHABLE: &str = "its host's robots.txt could not be had";

/// The path of a URL, with its query.
fn path(url: &str) -> &str {
    let rest = url.find("://").map_or(url, |at| &url[at + 3..]);
    let rest = rest.split('#').next().unwrap_or(rest);
    rest.find(['/', '?']).map_or("/", |at| &rest[at..])
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
        self.queue(
            host,
            Pending {
                is_robots: true,
                is_own,
                ..Pending::new(planned, cursor)
            },
        );
    }

    /// Whether a host's robots.txt is known, and forbids this.
    pub(super) fn forbids(&self, host: u32, url: &str) -> bool {
        let robots = self.robots.known.get(&host);
        robots.is_some_and(|robots| !robots.allows(path(url)))
    }

    /// Writes the record of an input that the robots.txt of its host keeps from being sent. A file that could not be
    /// had may be there the next time, so `again` sends such an input.
    pub(super) fn forbidden(
        &mut self,
        host: u32,
        writer: &mut RecordWriter,
        about: (&Planned, Option<&Rendered<'_>>),
    ) {
        let robots = self.robots.known.get(&host);
        match robots.is_some_and(Robots::is_unreachable) {
            true => self.unsent(writer, about, Outcome::Unreached, UNREACHABLE),
            false => self.unsent(writer, about, Outcome::Skipped, "robots"),
        }
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
        self.again(host, pending, Instant::now());
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
            match robots.allows(path(url)) {
                false => {
                    let about = (&pending.planned, rendered.as_ref().ok());
                    match robots.is_unreachable() {
                        true => self.unsent(writer, about, Outcome::Unreached, UNREACHABLE),
                        false => self.unsent(writer, about, Outcome::Skipped, "robots"),
                    }
                }
                true => {
                    drop(rendered);
                    self.queue(host, pending);
                }
            }
        }
        self.robots.keep(host, robots, self.robots_room);
    }

    /// Whether a host's robots.txt must be fetched before more of its inputs are queued.
    pub(super) fn lacks_robots(&self, host: u32) -> bool {
        !self.robots.known.contains_key(&host) && !self.hosts.is_gated(host)
    }
}
