//! robots.txt: asked for before anything else of a host, and held to.
//!
//! What hosts ask is kept in so much room and no more. A host whose rules had to go is asked for them again before anything
//! more of it is queued.

use std::collections::{HashMap, VecDeque};

use super::{OpenPart, Pending};
use crate::plan::{Held, Planned};
use crate::record::Outcome;
use crate::request::Maker;
use crate::robots::Robots;
use crate::run::line::Lines;

/// What sites ask, by the numbers of their hosts.
#[derive(Default)]
pub struct Sites {
    known: HashMap<u32, Robots>,
    /// Hosts in the order in which they were heard; some are gone, or were heard again.
    order: VecDeque<u32>,
    bytes: usize,
}

impl Sites {
    fn forget(&mut self, host: u32) {
        if let Some(robots) = self.known.remove(&host) {
            self.bytes -= robots.weight();
        }
    }

    /// Keeps what a host asks, and forgets what others asked longest ago when there is no room for all.
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

/// The path of a URL, with its query.
fn path(url: &str) -> &str {
    let rest = url.find("://").map_or(url, |at| &url[at + 3..]);
    let rest = rest.split('#').next().unwrap_or(rest);
    rest.find(['/', '?']).map_or("/", |at| &rest[at..])
}

impl OpenPart {
    /// Asks a host for its robots.txt before anything else.
    pub(super) fn ask_robots(&mut self, host: u32, url: &str, cursor: u16) {
        self.robots.forget(host);
        let Some(url) = url::Url::parse(url)
            .ok()
            .and_then(|url| url.join("/robots.txt").ok())
        else {
            return;
        };
        let held = Held::Url(String::from(url).into());
        let planned = Planned {
            number: u64::MAX,
            line: 0,
            held,
        };
        self.hosts.close_gate(host);
        self.queue(
            host,
            Pending {
                is_robots: true,
                ..Pending::new(planned, cursor)
            },
        );
    }

    /// Whether a host's robots.txt is known, and forbids this.
    pub(super) fn forbids(&self, host: u32, url: &str) -> bool {
        let robots = self.robots.known.get(&host);
        robots.is_some_and(|robots| !robots.allows(path(url)))
    }

    /// What a host's robots.txt says, to be held to.
    pub fn heed(&mut self, host: u32, robots: Robots, of: u32, maker: &Maker, writer: &mut Lines) {
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
                    self.unsent(writer, about, Outcome::Skipped, "robots");
                }
                true => {
                    drop(rendered);
                    self.queue(host, pending);
                }
            }
        }
        self.robots.keep(host, robots, self.robots_room);
    }

    /// Whether a host is to be asked for its robots.txt before anything more of it is queued.
    pub(super) fn lacks_robots(&self, host: u32) -> bool {
        !self.robots.known.contains_key(&host) && !self.hosts.is_gated(host)
    }
}
