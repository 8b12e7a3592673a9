//! An input whose request waits for its turn.

use std::time::Instant;

use crate::plan::{Content, Planned, Way};
use crate::run::hosts::Waiting;
use crate::run::line::Sent;
use crate::segment::Pages;

/// An input whose request waits for its turn.
pub struct Pending {
    /// The input.
    pub planned: Planned,
    /// Its group.
    pub group: u16,
    /// How often its current page was requested, in earlier rounds too. Re-sends by the engine do not count.
    pub attempts: u32,
    /// How many earlier tries of its current URL count: those after which it was sent [`again`](super::OpenPart::again).
    pub tries: u32,
    /// How often it was put off at its current URL.
    pub overrun: Option<Overrun>,
    /// How often its connection was refused beside others, without counting as a try.
    pub refused: u32,
    /// Whether it was sent again on another connection.
    pub has_reconnected: bool,
    /// Whether it was sent again because its body was not the one that its input names.
    pub has_differed: bool,
    /// How many tries in a row were lost by proxies.
    pub lost: u32,
    /// Whether the host of its request is the user's own.
    pub is_own: bool,
    /// Whether a request of it that must not be repeated was begun. Its intent is on the disk first.
    pub is_intended: bool,
    /// Whether it is a request for robots.txt, and for no input.
    pub is_robots: bool,
    /// The most of its body that was ever there.
    pub furthest: u64,
    /// The length of its body, as a response said first.
    pub total: Option<u64>,
    /// Where redirects or pages led it, if they did.
    pub onward: Option<Box<Way>>,
    /// The pages that it has had, if it is at a further one.
    pub pages: Option<Box<Pages>>,
}

/// How a request was put off: after a 429 or 503, and one for robots.txt also after failures.
#[derive(Clone, Copy, Debug)]
pub struct Overrun {
    /// When it was put off first.
    pub since: Instant,
    /// When its last 429 or 503 came, or the first failure.
    pub last: Instant,
    /// How often it was put off, without counting as a try.
    pub times: u32,
}

/// About how many bytes one takes beside its content.
const OWN_WEIGHT: usize = 128;

/// About how many bytes each page that it has had takes.
const OF_A_PAGE: usize = 16;

impl Waiting for Pending {
    fn opens_gate(&self) -> bool {
        self.is_robots
    }
}

impl Pending {
    /// Continues at the URL that a redirect or a page led to, where tries, pauses, refusals and the body begin anew.
    /// `is_own`: whether its host is the user's own.
    pub fn continue_at(&mut self, onward: Way, is_own: bool) {
        (self.tries, self.overrun, self.refused, self.has_reconnected) = (0, None, 0, false);
        (self.furthest, self.total) = (0, None);
        self.is_own = is_own;
        self.onward = Some(Box::new(onward));
    }

    /// The number of the next retry of its current URL, from 1. The wait before it grows with it.
    pub fn next_retry(&self) -> u32 {
        self.tries + 1
    }

    /// One that was not tried yet.
    pub fn new(planned: Planned, group: u16) -> Pending {
        Pending {
            planned,
            group,
            attempts: 0,
            tries: 0,
            overrun: None,
            refused: 0,
            has_reconnected: false,
            has_differed: false,
            lost: 0,
            is_own: false,
            is_intended: false,
            is_robots: false,
            furthest: 0,
            total: None,
            onward: None,
            pages: None,
        }
    }

    /// The request for a robots.txt at this URL.
    pub fn robots(url: Box<str>, group: u16) -> Pending {
        let planned = Planned {
            number: u64::MAX,
            line: 0,
            held: Content::Url(url),
            earlier: None,
        };
        Pending {
            is_robots: true,
            ..Pending::new(planned, group)
        }
    }

    /// One at its next page.
    pub fn at_page(pages: Pages, way: Way, planned: Planned, group: u16) -> Pending {
        Pending {
            pages: Some(Box::new(pages)),
            ..Pending::resumed_at(Some(way), planned, group)
        }
    }

    /// One at the URL that its pages, or redirects of earlier rounds, led to; at its own without a way.
    pub fn resumed_at(way: Option<Way>, planned: Planned, group: u16) -> Pending {
        Pending {
            attempts: way.as_ref().map_or(0, |way| way.attempts),
            onward: way.map(Box::new),
            ..Pending::new(planned, group)
        }
    }

    /// Whether a server acted on it, and redirected it to a GET of what came of that. From its beginning, it must not be
    /// sent again.
    pub fn has_acted(&self) -> bool {
        self.is_intended && self.onward.as_ref().is_some_and(|onward| onward.is_get)
    }

    /// What was sent of it so far.
    pub fn sent(&self) -> Sent<'_> {
        Sent {
            attempts: self.attempts,
            location: self.onward.as_ref().map(|onward| &*onward.url),
            redirect: self.onward.as_ref().and_then(|onward| onward.status),
            page: self.pages.as_ref().map(|pages| 1 + pages.number),
            has_acted: self.has_acted(),
        }
    }

    /// About how many bytes of memory it takes.
    pub fn weight(&self) -> usize {
        let pages = self.pages.as_ref().map_or(0, |pages| pages.seen.len());
        OWN_WEIGHT
            + OF_A_PAGE * pages
            + match &self.planned.held {
                Content::Url(url) => url.len(),
                Content::Columns(columns) => columns
                    .iter()
                    .map(|(name, value)| OWN_WEIGHT + name.len() + value.len())
                    .sum(),
                Content::Invalid(what) => what.0.len() + what.1.len(),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_url_of_a_chain_has_tries_and_waits_of_its_own() {
        let planned = Planned {
            number: 0,
            line: 1,
            held: Content::Url("http://a.example/".into()),
            earlier: None,
        };
        let mut pending = Pending::new(planned, 0);
        for hop in 1..=3 {
            assert_eq!(pending.next_retry(), 1, "at hop {hop}");
            // A try, and two more after failures that count.
            pending.attempts += 3;
            pending.tries += 2;
            assert_eq!(pending.next_retry(), 3, "at hop {hop}");
            pending.continue_at(Way::default(), false);
        }
        assert_eq!(pending.attempts, 9);
    }
}
