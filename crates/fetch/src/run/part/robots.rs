//! robots.txt of a part's hosts: fetched before anything else of a host, by this part or another, and obeyed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::reading::url_of;
use super::{OpenPart, Pending, Reading};
use crate::plan::Content;
use crate::record::Way;
use crate::request::Maker;
use crate::robots::{PATH, Robots};
use crate::run::hosts::Gate;
use crate::run::line::{RecordWriter, Unsent};
use crate::run::own::Referrer;
use crate::run::reasons::{Seen, unsent};
use crate::run::robots_cache::{Cached, Claim};

/// The file of a host.
struct RobotsFile {
    host: u32,
    url: Box<str>,
    /// The group of the input that needs it first.
    group: u16,
    /// Whether the host is the user's own.
    is_own: bool,
}

/// An input's host that may have rules.
pub(super) struct Visited<'a> {
    pub host: u32,
    /// Whether nothing was known of it.
    pub is_new: bool,
    /// Whether it is the user's own.
    pub is_own: bool,
    /// The input's URL.
    pub url: &'a str,
    /// The input's group.
    pub group: u16,
}

impl Visited<'_> {
    /// The file of the host; none if there can be no URL of it.
    fn file(&self) -> Option<RobotsFile> {
        let url = url::Url::parse(self.url).ok()?.join(PATH).ok()?;
        Some(RobotsFile {
            host: self.host,
            url: String::from(url).into(),
            group: self.group,
            is_own: self.is_own,
        })
    }
}

/// The files that a part waits for.
#[derive(Default)]
pub(super) struct Awaited {
    /// The files that the part fetches, by the numbers of their hosts.
    claims: HashMap<u32, Claim>,
    /// The files that other parts fetch.
    elsewhere: Vec<RobotsFile>,
}

impl Awaited {
    /// Whether other parts fetch some.
    pub fn is_elsewhere(&self) -> bool {
        !self.elsewhere.is_empty()
    }
}

impl OpenPart {
    /// The rules of a host; none if its inputs wait for them, or if no rules are obeyed.
    pub(super) fn rules(&mut self, visited: &Visited<'_>) -> Option<Arc<Robots>> {
        let host = visited.host;
        if self.hosts.is_gated(host) {
            return None;
        }
        let cache = self.limits.common.robots_cache.as_ref()?;
        match cache.find(self.hosts.name(host), Instant::now()) {
            Cached::Rules(rules) => {
                if visited.is_new {
                    self.keep_delay(host, &rules);
                }
                return Some(rules);
            }
            Cached::Awaited => {
                self.awaited.elsewhere.push(visited.file()?);
                self.hosts.close_gate(host, Gate::Shut);
            }
            Cached::Nothing(claim) => self.request_robots(visited.file()?, claim),
        }
        None
    }

    /// How a URL ends that these rules keep from being sent, and why.
    pub(super) fn forbids(&self, rules: &Robots, url: &str) -> Option<Unsent<'static>> {
        let verdict = rules.verdict(url, self.limits.max_crawl_delay);
        Seen::of_robots(verdict).map(unsent)
    }

    fn keep_delay(&mut self, host: u32, rules: &Robots) {
        let delay = rules.delay().unwrap_or_default();
        self.hosts
            .delay(host, delay.saturating_mul(self.limits.usual.shards));
    }

    /// Requests a host's robots.txt before anything else.
    fn request_robots(&mut self, file: RobotsFile, claim: Claim) {
        self.awaited.claims.insert(file.host, claim);
        self.hosts.close_gate(file.host, Gate::Fetching);
        let pending = Pending {
            is_own: file.is_own,
            ..Pending::robots(file.url, file.group)
        };
        self.queue(file.host, pending);
    }

    /// Requests the URL that a host's robots.txt was redirected to, still before anything else of the host.
    pub fn follow_robots(&mut self, host: u32, from: &Pending, onward: Way) {
        let (url, is_own) = match &from.planned.held {
            Content::Url(url) => (&**url, from.is_own),
            _ => ("", false),
        };
        let (there, here) = (&onward.url, Referrer { url, is_own });
        let foreign = self.last.is_foreign(there);
        let is_own = self.limits.own_hosts.leads(here, there, foreign);
        let pending = Pending::robots(onward.url.as_str().into(), from.group);
        let pending = Pending {
            is_own,
            onward: Some(Box::new(onward)),
            ..pending
        };
        self.queue(host, pending);
    }

    /// The request for a host's robots.txt is skipped, because the host was given up.
    pub fn skip_robots(&mut self, host: u32) {
        self.awaited.claims.remove(&host);
    }

    /// Keeps the robots.txt of a host that has just come, and applies it to the inputs that wait for it.
    pub fn heed(&mut self, host: u32, robots: Robots, maker: &Maker, writer: &mut RecordWriter) {
        let Some(cache) = &self.limits.common.robots_cache else {
            return;
        };
        let rules = cache.keep(self.hosts.name(host), robots, Instant::now());
        self.awaited.claims.remove(&host);
        self.apply(host, &rules, maker, writer);
    }

    /// Applies what other parts fetched meanwhile. The file of a part that has gone is fetched here.
    pub(super) fn apply_awaited(&mut self, reading: &mut Reading<'_>) {
        let Some(cache) = self.limits.common.robots_cache.clone() else {
            return;
        };
        for file in std::mem::take(&mut self.awaited.elsewhere) {
            match cache.find(self.hosts.name(file.host), Instant::now()) {
                Cached::Rules(rules) => {
                    self.apply(file.host, &rules, reading.maker, reading.writer);
                }
                Cached::Awaited => self.awaited.elsewhere.push(file),
                Cached::Nothing(claim) => self.request_robots(file, claim),
            }
        }
    }

    fn apply(&mut self, host: u32, rules: &Robots, maker: &Maker, writer: &mut RecordWriter) {
        let waited = self.hosts.open_gate(host);
        self.keep_delay(host, rules);
        for pending in waited {
            self.groups.left(&pending);
            let rendered = maker.render(&pending.planned.held);
            let forbidden = self.forbids(rules, url_of(&pending, &rendered));
            drop(rendered);
            match forbidden {
                Some(unsent) => self.leave_out(&pending, unsent, maker, writer),
                None => self.queue(host, pending),
            }
        }
    }
}
