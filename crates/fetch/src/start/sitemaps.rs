//! Sitemaps: read while inputs are planned, by the rules and at the pace that hold for all requests of the job.

use std::cell::Cell;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bytes::Bytes;
use hecaton::{Client, Reactor, Request, Response};
use url::Url;

use super::visit::{Unvisited, Visitor};
use crate::error::{Error, Result};
use crate::host::Host;
use crate::input::sitemap::{Unread, walk};
use crate::input::{Entry, InputError};
use crate::job::Job;
use crate::request::Naming;
use crate::robots::{MOST, PATH, Robots, Verdict};
use crate::run::{self, Clients};

/// Hands over every page of these sitemaps and of those that they list.
///
/// # Errors
/// When one of these cannot be read, or another one got no answer.
pub fn each(
    job: &Job,
    sitemaps: &[String],
    take: &mut dyn FnMut(Entry) -> Result<()>,
) -> Result<()> {
    let reactor =
        Reactor::new().map_err(|error| Error::failed(format!("cannot start: {error}")))?;
    let failed = |error: InputError| {
        Error::failed(format!(
            "{error}; the same command reads all sitemaps again"
        ))
    };
    for first in sitemaps {
        let host =
            Host::of(first).map_err(|why| Error::usage(format!("the sitemap {first:?} {why}")))?;
        let mut site = Site {
            job,
            clients: run::clients(job)?,
            naming: Naming::new(job)?,
            reactor: &reactor,
            robots: None,
            spacing: run::spacing(job, &host)?,
            next: Cell::new(None),
            has_answered: Cell::new(false),
        };
        if job.pace.robots {
            site.obey(first, &host);
        }
        for entry in walk(first, |url| site.read(url)).map_err(failed)? {
            take(entry.map_err(failed)?)?;
        }
        // The first page is requested next, by somebody who does not know of these requests.
        site.await_turn();
    }
    Ok(())
}

/// The site of a sitemap.
struct Site<'a> {
    job: &'a Job,
    clients: Clients,
    naming: Naming,
    reactor: &'a Reactor,
    /// Its rules, if they are obeyed.
    robots: Option<Robots>,
    /// The least time between two requests.
    spacing: Duration,
    /// When the next request may begin.
    next: Cell<Option<Instant>>,
    /// Whether a sitemap came.
    has_answered: Cell<bool>,
}

impl Site<'_> {
    /// Reads the site's robots.txt.
    fn obey(&mut self, first: &str, host: &Host) {
        let url = Url::parse(first).and_then(|url| url.join(PATH));
        let came = url.map(|url| {
            self.visit(url.as_str(), |client, request| {
                self.reactor.block_on(client.send(request))
            })
        });
        let came = came.ok().and_then(std::result::Result::ok);
        let body = came.as_ref().map_or(&[][..], |came| came.body());
        let robots = Robots::of_response(
            came.as_ref().map(Response::status),
            &body[..body.len().min(MOST)],
            self.naming.of(host.name()),
        );
        self.spacing = self.spacing.max(robots.delay().unwrap_or_default());
        self.robots = Some(robots);
    }

    /// The bytes of a sitemap.
    fn read(&self, url: &str) -> std::result::Result<Bytes, Unread> {
        self.permit(url)?;
        let came = self.visit(url, |client, request| {
            self.await_turn();
            self.reactor.block_on(client.send(request))
        });
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

    /// Refuses what the site's robots.txt does.
    fn permit(&self, url: &str) -> std::result::Result<(), Unread> {
        let missing = |why: &str| Err(Unread::Missing(why.to_owned()));
        let Some(robots) = &self.robots else {
            return Ok(());
        };
        match robots.verdict(url, self.job.pace.max_crawl_delay) {
            Verdict::Allowed => Ok(()),
            Verdict::Forbidden => missing("its host's robots.txt forbids it"),
            Verdict::TooSlow => {
                missing("its host's robots.txt demands more than --max-crawl-delay")
            }
            Verdict::Unreachable => Err(Unread::Unanswered(
                "its host's robots.txt could not be had".to_owned(),
            )),
        }
    }

    fn visit(
        &self,
        url: &str,
        send: impl Fn(&Client, Request) -> std::result::Result<Response, hecaton::Error>,
    ) -> std::result::Result<Response, Unvisited> {
        let visitor = Visitor {
            clients: &self.clients,
            pace: &self.job.pace,
            naming: Some(&self.naming),
            // A site that is not there from the beginning may have another name.
            is_patient: self.has_answered.get(),
        };
        visitor.visit(url, send)
    }

    /// Waits until another request may begin.
    fn await_turn(&self) {
        let now = Instant::now();
        let at = self.next.get().map_or(now, |next| next.max(now));
        sleep(at - now);
        self.next.set(Some(at + self.spacing));
    }
}
