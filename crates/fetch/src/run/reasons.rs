//! The reasons for which a valid input is not sent, in words: what is said, against what was seen. `docs/fetch.md`
//! explains them.

use super::hosts::HostSign;
use super::line::Unsent;
use crate::record::Outcome;
use crate::robots::Verdict;

/// Something that was seen, and that keeps an input from being sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seen {
    /// The same request is another input's.
    Duplicate,
    /// The note that it is about to be sent, and no record. It must not be sent twice.
    Intent,
    /// A rule of its host's robots.txt.
    Forbidden,
    /// The same file, with a longer delay than is allowed.
    TooSlow,
    /// No such file, and no word that there is none.
    NoRobots,
    /// Its host was given up after a request that ended so.
    GivenUp(HostSign),
}

impl Seen {
    /// The reason that a robots.txt gives against an input; none if it may be sent.
    pub fn of_robots(verdict: Verdict) -> Option<Seen> {
        match verdict {
            Verdict::Allowed => None,
            Verdict::Forbidden => Some(Seen::Forbidden),
            Verdict::TooSlow => Some(Seen::TooSlow),
            Verdict::Unreachable => Some(Seen::NoRobots),
        }
    }
}

/// How an input ends that this keeps from being sent, and why. `again` sends unreached ones.
pub fn unsent(seen: Seen) -> Unsent<'static> {
    let (outcome, why) = match seen {
        Seen::Duplicate => (Outcome::Skipped, "duplicate"),
        Seen::Intent => (
            Outcome::Unknown,
            "it was about to be sent when the worker ended",
        ),
        Seen::Forbidden => (Outcome::Skipped, "robots"),
        Seen::TooSlow => (Outcome::Skipped, "crawl delay"),
        Seen::NoRobots => (Outcome::Unreached, "its host's robots.txt could not be had"),
        Seen::GivenUp(HostSign::Overrun(_)) => (Outcome::Unreached, "its host was overrun (429)"),
        Seen::GivenUp(HostSign::Unavailable(_)) => {
            (Outcome::Unreached, "its host was unavailable (503)")
        }
        Seen::GivenUp(_) => (Outcome::Unreached, "its host was down"),
    };
    Unsent { outcome, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_says_what_was_seen() {
        let robots = |verdict| Seen::of_robots(verdict).unwrap();
        let (skipped, unreached) = (Outcome::Skipped, Outcome::Unreached);
        let no_robots = "its host's robots.txt could not be had";
        for (seen, outcome, why) in [
            (Seen::Duplicate, skipped, "duplicate"),
            (
                Seen::Intent,
                Outcome::Unknown,
                "it was about to be sent when the worker ended",
            ),
            (robots(Verdict::Forbidden), skipped, "robots"),
            (robots(Verdict::TooSlow), skipped, "crawl delay"),
            (robots(Verdict::Unreachable), unreached, no_robots),
            (
                Seen::GivenUp(HostSign::Overrun(None)),
                unreached,
                "its host was overrun (429)",
            ),
            (
                Seen::GivenUp(HostSign::Unavailable(None)),
                unreached,
                "its host was unavailable (503)",
            ),
            (
                Seen::GivenUp(HostSign::Badly),
                unreached,
                "its host was down",
            ),
            (
                Seen::GivenUp(HostSign::Refused),
                unreached,
                "its host was down",
            ),
        ] {
            assert_eq!(unsent(seen), Unsent { outcome, why });
        }
        assert_eq!(Seen::of_robots(Verdict::Allowed), None);
    }
}
