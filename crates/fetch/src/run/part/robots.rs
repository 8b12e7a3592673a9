//! robots.txt: asked for before anything else of a host, and held to.

use super::{OpenPart, Pending};
use crate::plan::{Held, Planned};
use crate::record::Outcome;
use crate::request::Maker;
use crate::robots::Robots;
use crate::run::line::Lines;

/// The path of a URL, with its query.
fn path(url: &str) -> &str {
    let rest = url.find("://").map_or(url, |at| &url[at + 3..]);
    let rest = rest.split('#').next().unwrap_or(rest);
    rest.find(['/', '?']).map_or("/", |at| &rest[at..])
}

impl OpenPart {
    /// Asks a host for its robots.txt before anything else.
    pub(super) fn ask_robots(&mut self, host: u32, url: &str, cursor: u16) {
        self.robots.remove(&host);
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
        let robots = self.robots.get(&host);
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
        self.robots.insert(host, robots);
    }
}
