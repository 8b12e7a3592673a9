//! Sitemaps: read while inputs are planned, by the rules and at the pace that hold for all requests of the job.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hecaton::{Client, Reactor, Request, Response, Streaming};
use url::Url;

use super::visit::{Head, Unvisited, Visit, Visitor};
use crate::error::{Error, Result};
use crate::host::Host;
use crate::input::sitemap::{Unread, walk};
use crate::input::{Entry, InputError};
use crate::job::Job;
use crate::request::Naming;
use crate::robots::{MOST, PATH, Robots, Verdict};
use crate::run::{self, Cached, Clients, Common, PartLimits, RobotsCache};

/// Hands over every page of these sitemaps and of those that they list. `cache` gets the rules that were read.
///
/// # Errors
/// When one of these cannot be read, or another one got no answer.
pub fn each(
    job: &Job,
    sitemaps: &[String],
    cache: &RobotsCache,
    take: &mut dyn FnMut(Entry) -> Result<()>,
) -> Result<()> {
    if sitemaps.is_empty() {
        return Ok(());
    }
    let reactor =
        Reactor::new().map_err(|error| Error::failed(format!("cannot start: {error}")))?;
    let failed = |error: InputError| {
        Error::failed(format!(
            "{error}; the same command reads all sitemaps again"
        ))
    };
    let reader = Reader {
        job,
        clients: run::clients(job)?,
        robots_clients: run::list_clients(job)?,
        naming: Naming::new(job)?,
        limits: PartLimits::new(job, None, Common::default())?,
        reactor: &reactor,
        cache,
        due: RefCell::default(),
        has_answered: Cell::new(false),
    };
    for first in sitemaps {
        Host::of(first).map_err(|why| Error::usage(format!("the sitemap {first:?}: {why}")))?;
        reader.has_answered.set(false);
        for entry in walk(first, |url| reader.read(url)).map_err(failed)? {
            take(entry.map_err(failed)?)?;
        }
    }
    reader.await_all();
    Ok(())
}

/// Reads sitemaps, wherever they and their redirects lead.
struct Reader<'a> {
    job: &'a Job,
    clients: Clients,
    /// Those that read robots.txt, of which any length may come.
    robots_clients: Clients,
    naming: Naming,
    limits: PartLimits,
    reactor: &'a Reactor,
    /// The rules of hosts, if they are obeyed.
    cache: &'a RobotsCache,
    /// When the next request to each host may begin.
    due: RefCell<HashMap<String, Instant>>,
    /// Whether a sitemap came.
    has_answered: Cell<bool>,
}

/// A robots.txt, as far as it counts.
struct RobotsFile(Streaming, Vec<u8>);

impl Head for RobotsFile {
    fn status(&self) -> u16 {
        self.0.status()
    }

    fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.headers()
    }
}

type Sent<T> = std::result::Result<T, hecaton::Error>;

impl Reader<'_> {
    /// The bytes of a sitemap.
    fn read(&self, url: &str) -> std::result::Result<Bytes, Unread> {
        let visit = Visit {
            url,
            is_own: self.clients.wrote(url),
        };
        let came = self.visitor(&self.clients).visit(
            visit,
            |visit| self.permit(visit),
            |url, client, request| self.send(url, client, request),
        );
        let came = came.map_err(|unvisited| match unvisited.may_pass {
            true => Unread::Unanswered(unvisited.why),
            false => Unread::Missing(unvisited.why),
        })?;
        self.has_answered.set(true);
        match came.status() {
            200 | 206 => Ok(came.into_body()),
            status => Err(Unread::Missing(format!("the response has status {status}"))),
        }
    }

    fn send(&self, url: &str, client: &Client, request: Request) -> Sent<Response> {
        self.await_turn(url);
        self.reactor.block_on(client.send(request))
    }

    /// Refuses a URL that the robots.txt of its host forbids.
    fn permit(&self, visit: Visit<'_>) -> std::result::Result<(), Unvisited> {
        if !self.job.pace.robots {
            return Ok(());
        }
        let rules = self.rules(visit)?;
        match rules.verdict(visit.url, self.job.pace.max_crawl_delay) {
            Verdict::Allowed => Ok(()),
            Verdict::Forbidden => Err(Unvisited::lasting("its host's robots.txt forbids it")),
            Verdict::TooSlow => Err(Unvisited::lasting(
                "its host's robots.txt demands more than --max-crawl-delay",
            )),
            Verdict::Unreachable => Err(Unvisited {
                may_pass: true,
                ..Unvisited::lasting("its host's robots.txt could not be had")
            }),
        }
    }

    /// The rules of a URL's host. Its robots.txt is read if they are unknown.
    fn rules(&self, visit: Visit<'_>) -> std::result::Result<Arc<Robots>, Unvisited> {
        let host = Host::of(visit.url).map_err(Unvisited::lasting)?;
        // Nobody else uses the rules while a job is planned.
        let _claim = match self.cache.find(host.as_str(), Instant::now()) {
            Cached::Rules(rules) => return Ok(rules),
            Cached::Nothing(claim) => Some(claim),
            Cached::Awaited => None,
        };
        let url = Url::parse(visit.url).and_then(|url| url.join(PATH));
        let url = url.map_err(Unvisited::lasting)?;
        let file = Visit {
            url: url.as_str(),
            is_own: visit.is_own,
        };
        let came = self.visitor(&self.robots_clients).visit(
            file,
            |_| Ok(()),
            |url, client, request| self.send_robots(url, client, request),
        );
        let (status, body) = match &came {
            Ok(file) => (Some(file.status()), &file.1[..]),
            Err(unvisited) => (unvisited.redirect, &[][..]),
        };
        let robots = Robots::of_response(status, body, self.naming.of(host.as_str()));
        Ok(self.cache.keep(host.as_str(), robots, Instant::now()))
    }

    /// Requests a robots.txt, and reads what counts of it: it may have no end.
    fn send_robots(&self, url: &str, client: &Client, request: Request) -> Sent<RobotsFile> {
        self.await_turn(url);
        let mut streaming = self.reactor.block_on(client.open(request))?;
        let mut file = Vec::new();
        while file.len() < MOST
            && let Some(piece) = self.reactor.block_on(streaming.chunk())?
        {
            file.extend_from_slice(&piece[..piece.len().min(MOST - file.len())]);
        }
        Ok(RobotsFile(streaming, file))
    }

    fn visitor<'a>(&'a self, clients: &'a Clients) -> Visitor<'a> {
        Visitor {
            clients,
            pace: &self.job.pace,
            naming: Some(&self.naming),
            // A site that is not there from the beginning may have another name.
            is_patient: self.has_answered.get(),
        }
    }

    /// Waits until another request to the host of a URL may begin.
    fn await_turn(&self, url: &str) {
        let Ok(host) = Host::of(url) else {
            return;
        };
        let now = Instant::now();
        let at = self.due.borrow().get(host.as_str()).copied();
        let at = at.map_or(now, |due| due.max(now));
        sleep(at - now);
        let mut due = self.due.borrow_mut();
        due.retain(|_, due| *due > at);
        due.insert(host.as_str().to_owned(), at + self.spacing(&host));
    }

    /// The least time between two requests to a host.
    fn spacing(&self, host: &Host<'_>) -> Duration {
        let spacing = self.limits.spacing(host);
        match self.cache.find(host.as_str(), Instant::now()) {
            Cached::Rules(rules) if self.job.pace.robots => {
                spacing.max(rules.delay().unwrap_or_default())
            }
            _ => spacing,
        }
    }

    /// Waits until a request to any of the hosts may begin. Pages are requested next, by somebody who does not know of
    /// these requests.
    fn await_all(&self) {
        if let Some(last) = self.due.borrow().values().max() {
            sleep(last.saturating_duration_since(Instant::now()));
        }
    }
}
