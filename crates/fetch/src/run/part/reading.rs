//! Reads a part's inputs as far as there is need of them, and queues them at their hosts.

use std::sync::Arc;
use std::time::{Duration, Instant};

use roaring::RoaringTreemap;

use super::robots::Visited;
use super::{FRAME, OpenPart, Pending};
use crate::error::{Error, Result};
use crate::plan::{InputFile, Planned, Way};
use crate::record::Outcome;
use crate::request::{Maker, Rendered};
use crate::robots::Robots;
use crate::run::hosts::Next;
use crate::run::line::{RecordWriter, Sent, Unsent};
use crate::run::own::Referrer;
use crate::run::reasons::{Seen, unsent};
use crate::segment::Pages;

/// Inputs that are read from a group at once.
const AT_ONCE: usize = 32;

/// The longest wait until the part looks again for a robots.txt that another part fetches.
const LOOK: Duration = Duration::from_millis(10);

/// The host that a URL led to.
struct Reached {
    host: u32,
    /// Whether it is the user's own.
    is_own: bool,
    /// The rules of its robots.txt; none if its inputs wait for them, or if no rules are obeyed.
    rules: Option<Arc<Robots>>,
}

/// Why a redirect is not followed here.
pub enum Unfollowed {
    /// Nobody may follow it.
    Refused(String),
    /// Another part keeps the limits of its host, so a round that follows all parts requests it.
    OtherPart(Way),
}

/// The tools for reading inputs.
pub struct Reading<'a> {
    /// All inputs.
    pub file: &'a mut InputFile,
    /// Makes requests of them.
    pub maker: &'a Maker,
    /// Writes those that need none.
    pub writer: &'a mut RecordWriter,
    /// The inputs that the plan found to be duplicates.
    pub repeats: &'a RoaringTreemap,
    /// Whether to send requests again if nobody knows whether they were sent.
    pub resend_unknown: bool,
}

impl OpenPart {
    /// The next step of this part. Reads inputs as needed.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn next(&mut self, now: Instant, reading: &mut Reading<'_>) -> Result<Next<Pending>> {
        if self.awaited.is_elsewhere() {
            self.apply_awaited(reading);
        }
        loop {
            match self.hosts.next(now) {
                // Records without a request are written before more is read.
                Next::Wait(_) if self.lines.len() >= FRAME => return Ok(Next::Wait(Some(now))),
                Next::Wait(until) => {
                    if !self.read(reading)? {
                        let look = self.awaited.is_elsewhere().then(|| now + LOOK);
                        return Ok(Next::Wait(until.into_iter().chain(look).min()));
                    }
                }
                Next::Start(host, pending) => {
                    self.groups.left(&pending);
                    return Ok(Next::Start(host, pending));
                }
                Next::Skip(host, pending) => {
                    self.groups.left(&pending);
                    return Ok(Next::Skip(host, pending));
                }
            }
        }
    }

    /// Queues one again, from then on.
    pub fn again(&mut self, host: u32, mut pending: Pending, at: Instant) {
        pending.tries += 1;
        self.groups.joined(&pending);
        self.hosts.again(host, pending, at);
    }

    /// Queues one again, from then on. Its try does not count.
    pub fn later(&mut self, host: u32, pending: Pending, at: Instant) {
        self.groups.joined(&pending);
        self.hosts.later(host, pending, at);
    }

    /// Queues one until its host, which is down, is back: its try does not count.
    pub fn put_back(&mut self, host: u32, pending: Pending) {
        self.groups.joined(&pending);
        self.hosts.put_back(host, pending);
    }

    /// How many groups of hosts are read side by side.
    pub fn groups(&self) -> usize {
        self.groups.count()
    }

    /// Sets how many bytes of waiting inputs each group may hold from now on.
    pub fn make_room(&mut self, room: usize) {
        self.groups.room = room;
    }

    pub(super) fn queue(&mut self, host: u32, pending: Pending) {
        self.groups.joined(&pending);
        self.hosts.push(host, pending);
    }

    /// Queues one before those of its host that were not sent yet.
    pub fn queue_first(&mut self, host: u32, pending: Pending) {
        self.groups.joined(&pending);
        self.hosts.push_front(host, pending);
    }

    /// Reads some inputs of each group that may be read on; false if there were none.
    fn read(&mut self, reading: &mut Reading<'_>) -> Result<bool> {
        let before = self.groups.read;
        for _ in 0..self.groups.open.len() {
            let Some(group) = self.groups.open.pop_front() else {
                break;
            };
            if self.read_group(group, reading)? {
                self.groups.open.push_back(group);
            }
        }
        let read = self.groups.read;
        if self.groups.are_over() && read != self.inputs {
            let (number, planned) = (self.number, self.inputs);
            return Err(Error::failed(format!(
                "the plan is damaged: part {number} has {read} inputs, and plan.json says {planned}"
            )));
        }
        Ok(read > before)
    }

    /// Reads some inputs of a group; false if it is at its end, or full.
    fn read_group(&mut self, group: u16, reading: &mut Reading<'_>) -> Result<bool> {
        for _ in 0..AT_ONCE {
            let Some(planned) = self.groups.next(group, reading.file)? else {
                return Ok(false);
            };
            self.take(planned, group, reading);
        }
        Ok(true)
    }

    fn take(&mut self, planned: Planned, group: u16, reading: &mut Reading<'_>) {
        if self.done.contains(planned.number) {
            return;
        }
        let rendered = reading.maker.render(&planned.held);
        let (pages, way) = self.beginning(&planned);
        if let Some(unsent) = self.needs_none(&planned, &rendered, reading) {
            let rendered = rendered.as_ref().ok();
            return self.unsent(reading.writer, &planned, rendered, unsent, &Sent::default());
        }
        let Ok(rendered) = rendered else { return };
        let url = way.as_ref().map_or(&*rendered.url, |way| &way.url);
        let from = way.as_ref().map(|_| self.listed(&rendered.url));
        let has_acted = reading.maker.has_acted(&rendered, way.as_ref());
        let reached = match self.host(url, from, group) {
            Ok(reached) => reached,
            Err(why) => {
                let (outcome, why) = (Outcome::Invalid, &*why);
                let unsent = Unsent { outcome, why };
                let sent = Sent {
                    has_acted,
                    ..Sent::default()
                };
                return self.unsent(reading.writer, &planned, None, unsent, &sent);
            }
        };
        let rules = reached.rules.as_deref();
        let forbidden = rules.and_then(|rules| self.forbids(rules, url));
        drop(rendered);
        let mut pending = match (pages, way) {
            (Some(pages), Some(way)) => Pending::at_page(pages, way, planned, group),
            (_, way) => Pending::resumed_at(way, planned, group),
        };
        pending.is_intended = has_acted;
        if let Some(unsent) = forbidden {
            return self.leave_out(&pending, unsent, reading.maker, reading.writer);
        }
        pending.is_own = reached.is_own;
        self.queue(reached.host, pending);
    }

    /// A URL of the list, which leads to others.
    fn listed<'a>(&mut self, url: &'a str) -> Referrer<'a> {
        let foreign = self.last.is_foreign(url);
        let is_own = self.limits.own_hosts.wrote(url, foreign);
        Referrer { url, is_own }
    }

    /// How an input ends for which no request is sent, whatever its host.
    fn needs_none<'a>(
        &self,
        planned: &Planned,
        rendered: &'a std::result::Result<Rendered<'_>, String>,
        reading: &Reading<'_>,
    ) -> Option<Unsent<'a>> {
        if let Err(reason) = rendered {
            let (outcome, why) = (Outcome::Invalid, reason.as_str());
            return Some(Unsent { outcome, why });
        }
        if reading.repeats.contains(planned.number) {
            return Some(unsent(Seen::Duplicate));
        }
        // Only requests that must not be repeated have intents.
        let is_unknown = !reading.resend_unknown && self.intents.contains(planned.number);
        is_unknown.then(|| unsent(Seen::Intent))
    }

    /// The pages that an input has had, and where they, or redirects of earlier rounds, led it.
    fn beginning(&mut self, planned: &Planned) -> (Option<Pages>, Option<Way>) {
        let earlier = planned.earlier.as_deref();
        let had = earlier.and_then(|earlier| earlier.pages.as_ref());
        let (mut pages, way) = self.unfinished.remove(&planned.number).unzip();
        if let Some(had) = had {
            pages.get_or_insert_default().add(had);
        }
        (pages, way.or_else(|| earlier?.way.clone()))
    }

    /// The host of a URL; `from` is the URL that led there, if one did. With `--robots`, the
    /// robots.txt of a host is fetched first.
    fn host(
        &mut self,
        url: &str,
        from: Option<Referrer<'_>>,
        group: u16,
    ) -> std::result::Result<Reached, String> {
        let (name, foreign) = self.last.of(url).map_err(|error| error.to_string())?;
        let own_hosts = &self.limits.own_hosts;
        let is_own = match from {
            None => own_hosts.wrote(url, foreign),
            Some(from) => own_hosts.leads(from, url, foreign),
        };
        let (host, is_new) = self.hosts.number(name, foreign);
        if is_new {
            if let Some(own) = self.limits.of(name) {
                self.hosts.limit(host, own);
            }
            let bandwidths = self.limits.common.bandwidths.as_ref();
            if let Some(bandwidth) = bandwidths.and_then(|all| all.of(name)) {
                self.hosts.limit_bandwidth(host, bandwidth);
            }
        }
        let visited = Visited {
            host,
            is_new,
            is_own,
            url,
            group,
        };
        let rules = self.rules(&visited);
        Ok(Reached {
            host,
            is_own,
            rules,
        })
    }

    /// Queues one for the URL that a redirect or a link to the next page led to, or records that a robots.txt forbids
    /// the URL. One with pages comes before the requests to that host that were not sent yet, and any other behind
    /// them.
    ///
    /// # Errors
    /// Why that host gets no request.
    pub fn follow(
        &mut self,
        mut pending: Pending,
        onward: Way,
        maker: &Maker,
        writer: &mut RecordWriter,
    ) -> std::result::Result<(), Box<(Pending, Unfollowed)>> {
        let url = &onward.url;
        let name = match self.last.of(url) {
            Ok((name, _)) => name,
            Err(error) => return Err(Box::new((pending, Unfollowed::Refused(error.to_string())))),
        };
        if !self.index.has(name) {
            return Err(Box::new((pending, Unfollowed::OtherPart(onward))));
        }
        let here = url_of(&pending, &maker.render(&pending.planned.held)).to_owned();
        let from = Some(Referrer {
            url: &here,
            is_own: pending.is_own,
        });
        let reached = match self.host(url, from, pending.group) {
            Ok(reached) => reached,
            Err(why) => return Err(Box::new((pending, Unfollowed::Refused(why)))),
        };
        let rules = reached.rules.as_deref();
        if let Some(unsent) = rules.and_then(|rules| self.forbids(rules, url)) {
            pending.onward = Some(Box::new(onward));
            self.leave_out(&pending, unsent, maker, writer);
            return Ok(());
        }
        pending.continue_at(onward, reached.is_own);
        match pending.pages {
            None => self.queue(reached.host, pending),
            // Few inputs are in the middle of their pages, because what is known of them takes memory.
            Some(_) => self.queue_first(reached.host, pending),
        }
        Ok(())
    }
}

/// The URL of the next request; empty if the input is none.
pub(super) fn url_of<'a>(
    pending: &'a Pending,
    rendered: &'a std::result::Result<Rendered<'_>, String>,
) -> &'a str {
    match (&pending.onward, rendered) {
        (Some(onward), _) => &onward.url,
        (None, Ok(rendered)) => &rendered.url,
        (None, Err(_)) => "",
    }
}
