//! All sitemaps of a site, one after the other.

use std::collections::{HashSet, VecDeque};

use bytes::Bytes;
use url::{ParseError, Url};

use super::{Listed, read};
use crate::error::excerpt;
use crate::host::Host;
use crate::input::plain::only_url;
use crate::input::{Bad, EXCERPT, Entry, Held, InputError};

/// Most sitemaps of one site.
const MOST: usize = 50_000;

/// Most bytes of the URLs of sitemaps that wait.
const MOST_WAITING: usize = 64 << 20;

/// Most entries of one sitemap: twice what the protocol allows.
const MOST_LISTED: usize = 100_000;

/// Why a sitemap cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unread {
    /// There is none, as far as its server says, or it is not to be requested.
    Missing(String),
    /// There was no answer. It may come the next time.
    Unanswered(String),
}

/// The pages of a sitemap and of the sitemaps that it lists. Memory holds the entries of one sitemap at a time.
///
/// If the first sitemap cannot be read, or another one got no answer, that is an error. Any other becomes an
/// [`Bad`] entry.
pub struct Walk<F> {
    fetch: F,
    host: String,
    first: Option<String>,
    waiting: VecDeque<String>,
    /// The bytes of those.
    waiting_bytes: usize,
    /// The digests of all sitemaps: their URLs may be long.
    known: HashSet<[u8; 32]>,
    /// Whether further sitemaps are left out.
    is_full: bool,
    found: VecDeque<Entry>,
    number: u64,
    /// How many entries the current sitemap has listed.
    listed: usize,
}

/// Begins at the sitemap `first`. `fetch` returns the bytes of a sitemap by its URL, or why it has none.
pub fn walk<F>(first: &str, fetch: F) -> Result<Walk<F>, InputError>
where
    F: FnMut(&str) -> Result<Bytes, Unread>,
{
    let host =
        Host::of(first).map_err(|why| InputError(format!("the sitemap {first:?}: {why}")))?;
    Ok(Walk {
        fetch,
        host: host.name().to_owned(),
        first: Some(first.to_owned()),
        waiting: VecDeque::from([first.to_owned()]),
        waiting_bytes: first.len(),
        known: HashSet::from([digest(first)]),
        is_full: false,
        found: VecDeque::new(),
        number: 0,
        listed: 0,
    })
}

impl<F: FnMut(&str) -> Result<Bytes, Unread>> Iterator for Walk<F> {
    type Item = Result<Entry, InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.found.pop_front() {
                return Some(Ok(entry));
            }
            let url = self.waiting.pop_front()?;
            self.waiting_bytes -= url.len();
            self.listed = 0;
            let fetched = (self.fetch)(&url);
            let read = fetched
                .and_then(|bytes| read(&bytes, |listed| self.add(listed)).map_err(Unread::Missing));
            match (read, self.first.take()) {
                (Ok(()), _) => {}
                (Err(Unread::Missing(why)), None) => {
                    self.bad(url, format!("is a sitemap that cannot be read: {why}"))
                }
                (Err(Unread::Missing(why) | Unread::Unanswered(why)), _) => {
                    self.waiting.clear();
                    self.found.clear();
                    return Some(Err(InputError(format!("the sitemap {url}: {why}"))));
                }
            }
        }
    }
}

impl<F> Walk<F> {
    fn add(&mut self, listed: Listed) {
        let host = &self.host;
        self.listed += 1;
        match listed {
            _ if self.listed > MOST_LISTED + 1 => {}
            Listed::Page(rest) | Listed::Sitemap(rest) | Listed::Bad(rest, _)
                if self.listed > MOST_LISTED =>
            {
                self.bad(rest, format!("comes after {MOST_LISTED} other entries of its sitemap; it and all later entries are left out"));
            }
            Listed::Bad(text, fault) => self.bad(text, fault.to_owned()),
            Listed::Page(page) if is_on(&page, host) => self.page(&page),
            Listed::Page(page) => {
                let reason = not_on(&page, || {
                    format!("is not on {host}, whose sitemap lists it")
                });
                self.bad(page, reason);
            }
            Listed::Sitemap(next) if !is_on(&next, host) => {
                let reason = not_on(&next, || {
                    format!("is a sitemap that is not on {host}, which lists it")
                });
                self.bad(next, reason);
            }
            Listed::Sitemap(next) => self.sitemap(next),
        }
    }

    /// Notes a further sitemap. A site with too many sitemaps gets one invalid entry, which names the first that is left
    /// out: nobody reads thousands of entries.
    fn sitemap(&mut self, url: String) {
        let digest = digest(&url);
        if self.known.contains(&digest) {
            return;
        }
        if self.known.len() < MOST && self.waiting_bytes + url.len() <= MOST_WAITING {
            self.known.insert(digest);
            self.waiting_bytes += url.len();
            self.waiting.push_back(url);
        } else if !std::mem::replace(&mut self.is_full, true) {
            let reason = format!(
                "is one sitemap too many: {} of its site are known; it and others are left out",
                self.known.len()
            );
            self.bad(url, reason);
        }
    }

    fn page(&mut self, url: &str) {
        self.entry(Ok(only_url(url)));
    }

    fn bad(&mut self, text: String, reason: String) {
        let text = excerpt(&text, EXCERPT).to_owned();
        self.entry(Err(Bad { text, reason }));
    }

    /// A sitemap has no lines, so the line is the position of the entry among those of all sitemaps.
    fn entry(&mut self, held: Held) {
        self.found.push_back(Entry {
            number: self.number,
            line: self.number + 1,
            held,
        });
        self.number += 1;
    }
}

fn digest(url: &str) -> [u8; 32] {
    *blake3::hash(url.as_bytes()).as_bytes()
}

/// Why a location is not on the host of its sitemap: it is no whole URL, or the other reason.
fn not_on(url: &str, other: impl FnOnce() -> String) -> String {
    match (Url::parse(url), Host::of(url)) {
        (Err(ParseError::RelativeUrlWithoutBase), _) => {
            "is a relative URL or none: a sitemap lists URLs that begin with https:// or http://"
                .to_owned()
        }
        (_, Err(why)) => why.to_string(),
        (_, Ok(_)) => other(),
    }
}

fn is_on(url: &str, host: &str) -> bool {
    Host::of(url).is_ok_and(|its| its.name() == host)
}
