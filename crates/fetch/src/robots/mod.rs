//! robots.txt (RFC 9309): which paths a robot may fetch, and how long it waits between two requests.
//!
//! `lines` reads the file, `rules` stores its rules compactly, and `pattern` compares a path with a rule. `target` says
//! by which paths a URL is judged, and `name` which robot a User-Agent names.

use std::time::Duration;

mod lines;
mod name;
mod pattern;
mod rules;
mod target;

use lines::{Line, lines};
use name::is_same;
pub use name::{is_name, name_of};
use pattern::normal;
use rules::Rules;
use target::{meant, sent};

/// The path of the file.
pub const PATH: &str = "/robots.txt";

/// Most of the file that is read, in bytes (RFC 9309 §2.5 requires at least 500 KiB).
pub const MOST: usize = 512 << 10;

/// Longest wait. A file that demands more gets this.
const LONGEST_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What the rules of a site say of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may be fetched.
    Allowed,
    /// A rule forbids it.
    Forbidden,
    /// The rules are unknown.
    Unreachable,
    /// The site demands too long a wait between two requests.
    TooSlow,
}

/// The rules of a site for one robot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Robots {
    rules: Rules,
    all: Option<bool>,
    delay: Option<Duration>,
}

impl Robots {
    /// Everything may be fetched: there is no such file (RFC 9309 §2.3.1.3).
    pub fn allow_all() -> Robots {
        Robots {
            all: Some(true),
            ..Robots::default()
        }
    }

    /// Nothing may be fetched: the file could not be read from the site (RFC 9309 §2.3.1.4).
    pub fn allow_none() -> Robots {
        Robots {
            all: Some(false),
            ..Robots::default()
        }
    }

    /// The rules that follow from the response to the request for the file; no status means that there was no
    /// response. A host that is overrun has not said that there is no file.
    pub fn of_response(status: Option<u16>, body: &[u8], robot: &str) -> Robots {
        match status {
            Some(200..=299) => Robots::parse(body, robot),
            Some(429) | None => Robots::allow_none(),
            Some(300..=499) => Robots::allow_all(),
            Some(_) => Robots::allow_none(),
        }
    }

    /// Reads the file for the robot of this name: the groups that name it, or else those for all.
    pub fn parse(file: &[u8], robot: &str) -> Robots {
        let file = counting(file);
        let mut own = Robots::default();
        let mut others = Robots::default();
        let (mut is_own, mut is_others, mut in_head, mut any_own) = (false, false, false, false);
        for line in lines(file) {
            if let Line::Agent(name) = line {
                if !in_head {
                    (is_own, is_others) = (false, false);
                }
                in_head = true;
                is_own |= is_same(name, robot);
                is_others |= name == "*";
                any_own |= is_own;
                continue;
            }
            // Only a rule ends the names of a group (RFC 9309 §2.2.4).
            in_head &= !matches!(line, Line::Rule(..));
            for (concerns, robots) in [(is_own, &mut own), (is_others, &mut others)] {
                if concerns {
                    robots.add(&line);
                }
            }
        }
        let mut robots = if any_own { own } else { others };
        robots.rules.shrink();
        robots
    }

    fn add(&mut self, line: &Line<'_>) {
        match line {
            Line::Rule(allows, path) if !path.is_empty() => self.rules.add(path, *allows),
            Line::Delay(seconds) => {
                let delay = Duration::try_from_secs_f64(*seconds).unwrap_or(LONGEST_DELAY);
                self.delay = Some(delay.min(LONGEST_DELAY));
            }
            _ => {}
        }
    }

    /// Whether the file could not be read from the site, so that its rules are unknown.
    fn is_unreachable(&self) -> bool {
        self.all == Some(false)
    }

    /// What the rules say of a URL, if no wait may be longer than this.
    pub fn verdict(&self, url: &str, max_delay: Duration) -> Verdict {
        let allows = self.allows(sent(url)) && meant(url).iter().all(|path| self.allows(path));
        match (allows, self.delay) {
            (false, _) if self.is_unreachable() => Verdict::Unreachable,
            (false, _) => Verdict::Forbidden,
            (true, Some(delay)) if delay > max_delay => Verdict::TooSlow,
            (true, _) => Verdict::Allowed,
        }
    }

    /// Whether the path with its query may be fetched. The longest matching rule decides, and of equal ones the one
    /// that allows.
    fn allows(&self, path: &str) -> bool {
        if path == PATH {
            return true;
        }
        if let Some(all) = self.all {
            return all;
        }
        let path = normal(if path.is_empty() { "/" } else { path });
        self.rules.allow(&path)
    }

    /// How long to wait between two requests.
    pub fn delay(&self) -> Option<Duration> {
        self.delay
    }

    /// About how many bytes of memory the rules take.
    pub fn weight(&self) -> usize {
        size_of::<Robots>() + self.rules.weight()
    }
}

/// The part of the file that counts. A line that is cut short does not: half of `Disallow: /private` forbids
/// everything.
fn counting(file: &[u8]) -> &[u8] {
    if file.len() < MOST {
        return file;
    }
    let file = &file[..MOST];
    let end = file.iter().rposition(|byte| matches!(byte, b'\r' | b'\n'));
    &file[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests;
