//! Reasons to trust or to doubt a run's figures, in words.

use super::noise::{NOISY_RUN, Noisy};
use super::server::Server;
use super::trust::{Headroom, Trust};
use super::words::{figure, percent, plural, times};
use crate::ledger::Document;
use crate::run::Start;

/// One thing to know before the figures are believed.
#[derive(Clone, Debug)]
pub struct Fact {
    /// Whether it is a reason to trust them or to doubt them.
    pub tone: Tone,
    /// A few words.
    pub words: String,
}

/// A reason to trust the figures, or to doubt them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A reason to trust them.
    Good,
    /// It is to be known.
    Plain,
    /// Shown in every medium; the others are folded.
    Warning,
}

impl Fact {
    /// A fact in words.
    pub fn new(tone: Tone, words: impl Into<String>) -> Fact {
        let words = words.into();
        Fact { tone, words }
    }
}

/// Says so of a run that did not come to its end: how many of its rounds there are.
pub fn incomplete(run: &Document) -> Option<String> {
    run.unfinished.map(|planned| {
        let rounds = run.rounds.len();
        format!("INCOMPLETE {rounds}/{planned}: the run did not end, so nothing is recommended")
    })
}

/// Reasons to trust or to doubt the figures, each in its own words.
pub fn facts(run: &Document, trust: &Trust) -> Vec<Fact> {
    let warning = |words| Fact::new(Tone::Warning, words);
    let mut facts: Vec<Fact> = incomplete(run).map(warning).into_iter().collect();
    facts.push(verified(trust));
    if trust.rejected > 0 {
        let rows = plural(trust.rejected as u64, "row");
        facts.push(warning(format!("{rows} rejected")));
    }
    facts.push(headroom(trust.headroom));
    facts.extend(trust.server.iter().flat_map(server));
    match trust.noisy {
        Some(noisy) => facts.push(noise(noisy)),
        None if run.plan.target.is_known_from_others() => {}
        None => facts.push(Fact::new(Tone::Plain, UNKNOWN_NOISE)),
    }
    facts.extend(planned(run).map(|words| Fact::new(Tone::Plain, words)));
    facts.extend(unprotected(&run.starts));
    facts
}

/// How often and in what order everything was measured.
fn planned(run: &Document) -> [String; 3] {
    let plan = &run.plan;
    let processes = match plan.invocations {
        1 => "1 process".into(),
        several => format!("{several} processes"),
    };
    [
        format!("{} of every row", plural(plan.rounds.into(), "round")),
        format!("{processes} of every client"),
        format!("seed {}", plan.seed),
    ]
}

/// Which protections of drivers from each other some process did not have; none where nobody started one.
fn unprotected(starts: &[Start]) -> Option<Fact> {
    let without_user = starts.iter().any(|start| start.user.is_none());
    let without_group = starts.iter().any(|start| !start.held);
    let missing = match (without_user, without_group) {
        (false, false) => return None,
        (true, false) => "users of their own",
        (false, true) => "control groups",
        (true, true) => "users of their own and control groups",
    };
    let words = format!("drivers ran without {missing}");
    Some(Fact::new(Tone::Plain, words))
}

fn verified(trust: &Trust) -> Fact {
    if trust.unwitnessed {
        let words = match (trust.trusted, trust.logged) {
            (true, _) => {
                "UNVERIFIED: a driver ran as the lab's own user (--trust), and could look into the lab"
            }
            (_, true) => {
                "UNVERIFIED: the access log confirms numbers of requests, and nothing confirms bodies and latencies"
            }
            _ => "UNVERIFIED: the server has no log, these are the clients' own claims",
        };
        return Fact::new(Tone::Warning, words);
    }
    let rows = plural(trust.rows as u64, "row");
    Fact::new(
        Tone::Good,
        format!("{} of {rows} verified by the server's log", trust.verified),
    )
}

fn headroom(headroom: Option<Headroom>) -> Fact {
    let words = match headroom {
        None => "the baseline loader was not measured beside the clients".into(),
        Some(Headroom::Waiting) => "waiting is the limit, not the server".into(),
        Some(Headroom::Times(ratio)) => {
            let ratio = times(ratio);
            format!("the baseline loader is {ratio} as fast as the fastest client")
        }
    };
    Fact::new(Tone::Plain, words)
}

/// The load of the test server.
fn server(server: &Server) -> [Fact; 2] {
    let busy = format!("server busy {} of a core", percent(server.busy));
    let late = figure(server.late_ms);
    let late = format!("the server sent 99\u{a0}% of its responses at most {late} ms late");
    let judged = |bad: bool, words: String, why: &str| match bad {
        true => Fact::new(Tone::Warning, format!("{words}: {why}")),
        false => Fact::new(Tone::Plain, words),
    };
    let of_server = "part of the latencies is the server's";
    [
        judged(server.is_busy(), busy, "it is the limit"),
        judged(server.is_late(), late, of_server),
    ]
}

/// A service on this machine is one of the other programs as long as nobody names its process.
const UNKNOWN_NOISE: &str = "whether other programs ran is unknown, because the service runs on this machine too; --server-pid tells them apart";

fn noise(noisy: Noisy) -> Fact {
    let [either, programs, host] = [noisy.either, noisy.programs, noisy.host].map(percent);
    let (words, remedy) = match (noisy.programs > 0.0, noisy.host > 0.0) {
        (false, false) => return Fact::new(Tone::Good, "no noise from other programs"),
        (true, false) => (
            format!("other programs ran in {either} of the rounds"),
            "end them and run it again",
        ),
        (false, true) => (
            format!("the machine's host took time from {either} of the rounds"),
            "run it again when other guests are quiet",
        ),
        (true, true) => (
            format!(
                "{either} of the rounds were disturbed, {programs} by other programs and {host} by the machine's host"
            ),
            "end the programs and run it again when other guests are quiet",
        ),
    };
    match noisy.either > NOISY_RUN {
        true => Fact::new(Tone::Warning, format!("NOISY: {words}; {remedy}")),
        false => Fact::new(Tone::Plain, words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_protections_are_named() {
        let start = |user: Option<u32>, held| Start {
            client: "x".into(),
            invocation: 0,
            boot_ns: 1,
            first_request_ns: 1,
            user,
            held,
        };
        let says = |starts: &[Start]| unprotected(starts).map(|fact| fact.words);
        let cases = [
            (start(Some(1), true), None),
            (
                start(None, true),
                Some("drivers ran without users of their own"),
            ),
            (
                start(Some(1), false),
                Some("drivers ran without control groups"),
            ),
            (
                start(None, false),
                Some("drivers ran without users of their own and control groups"),
            ),
        ];
        for (other, words) in cases {
            assert_eq!(says(&[start(Some(1), true), other]).as_deref(), words);
        }
        assert_eq!(says(&[]), None);
    }
}
