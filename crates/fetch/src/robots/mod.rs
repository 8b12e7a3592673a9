//! What a site asks of robots (RFC 9309): which paths are theirs not to fetch, and how long to wait between two requests.
//!
//! `lines` reads the file, `pattern` compares a path with a rule of it.

use std::time::Duration;

mod lines;
mod pattern;

use lines::{Line, lines};
use pattern::{Pattern, normal};

/// Where a site says it.
pub const PATH: &str = "/robots.txt";

/// Most of the file that is read, in bytes (RFC 9309 §2.5 asks for no less than 500 KiB).
pub const MOST: usize = 512 << 10;

/// Most rules for us that are kept.
const MOST_RULES: usize = 20_000;

/// Longest wait that is believed.
const LONGEST_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What a site asks of one robot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Robots {
    rules: Vec<Rule>,
    all: Option<bool>,
    delay: Option<Duration>,
    sitemaps: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct Rule {
    pattern: Pattern,
    allows: bool,
}

impl Robots {
    /// Everything may be fetched: there is no such file (RFC 9309 §2.3.1.3).
    pub fn allow_all() -> Robots {
        Robots {
            all: Some(true),
            ..Robots::default()
        }
    }

    /// Nothing may be fetched: the file could not be had (RFC 9309 §2.3.1.4).
    pub fn allow_none() -> Robots {
        Robots {
            all: Some(false),
            ..Robots::default()
        }
    }

    /// What an answer to the request for the file means; without a status, there was no answer.
    pub fn of_answer(status: Option<u16>, body: &[u8], robot: &str) -> Robots {
        match status {
            Some(200..=299) => Robots::parse(body, robot),
            Some(300..=499) => Robots::allow_all(),
            _ => Robots::allow_none(),
        }
    }

    /// Reads the file for the robot of this name: the groups that name it, or else those for all.
    pub fn parse(file: &[u8], robot: &str) -> Robots {
        let file = &file[..file.len().min(MOST)];
        let mut own = Robots::default();
        let mut others = Robots::default();
        let (mut is_own, mut is_others, mut in_head, mut any_own) = (false, false, false, false);
        let mut sitemaps = Vec::new();
        for line in lines(file) {
            if let Line::Agent(name) = line {
                if !in_head {
                    (is_own, is_others) = (false, false);
                }
                in_head = true;
                is_own |= same_robot(name, robot);
                is_others |= name == "*";
                any_own |= is_own;
                continue;
            }
            if let Line::Sitemap(url) = line {
                sitemaps.push(url.to_owned());
                continue;
            }
            in_head = false;
            for (concerns, robots) in [(is_own, &mut own), (is_others, &mut others)] {
                if concerns {
                    robots.add(&line);
                }
            }
        }
        let mut robots = if any_own { own } else { others };
        robots.sitemaps = sitemaps;
        robots
    }

    fn add(&mut self, line: &Line<'_>) {
        match line {
            Line::Rule(allows, path) if !path.is_empty() && self.rules.len() < MOST_RULES => {
                self.rules.push(Rule {
                    pattern: Pattern::new(path),
                    allows: *allows,
                });
            }
            Line::Delay(seconds) => {
                let delay = Duration::try_from_secs_f64(*seconds).unwrap_or(LONGEST_DELAY);
                self.delay = Some(delay.min(LONGEST_DELAY));
            }
            _ => {}
        }
    }

    /// Whether the path, with its query, may be fetched: the longest rule decides, and of two of one length the one that allows.
    pub fn allows(&self, path: &str) -> bool {
        if path == PATH {
            return true;
        }
        if let Some(all) = self.all {
            return all;
        }
        let path = normal(if path.is_empty() { "/" } else { path });
        let matching = self.rules.iter().filter(|rule| rule.pattern.matches(&path));
        let longest = matching.max_by_key(|rule| (rule.pattern.length(), rule.allows));
        longest.is_none_or(|rule| rule.allows)
    }

    /// How long to wait between two requests.
    pub fn delay(&self) -> Option<Duration> {
        self.delay
    }

    /// The sitemaps that it names.
    pub fn sitemaps(&self) -> &[String] {
        &self.sitemaps
    }
}

/// Whether a group for `named` is one for this robot: the name without its version, whatever the case of letters.
fn same_robot(named: &str, robot: &str) -> bool {
    let product = |name: &str| -> String {
        let token = name
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        token.collect::<String>().to_ascii_lowercase()
    };
    let named = product(named);
    !named.is_empty() && named == product(robot)
}

#[cfg(test)]
mod tests;
