//! Reasons to trust or to doubt a run's figures, in words.

use super::noise::NOISY_RUN;
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
    let mut facts: Vec<Fact> = incomplete(run)
        .map(|words| Fact::new(Tone::Warning, words))
        .into_iter()
        .collect();
    facts.push(verified(trust));
    if trust.rejected > 0 {
        let rows = plural(trust.rejected as u64, "row");
        facts.push(Fact::new(Tone::Warning, format!("{rows} rejected")));
    }
    let unknown = || {
        Fact::new(
            Tone::Plain,
            "the baseline loader was not measured beside the clients",
        )
    };
    facts.push(trust.headroom.map_or_else(unknown, words_of_headroom));
    facts.extend(trust.server.iter().flat_map(server));
    let plan = &run.plan;
    match trust.noisy {
        Some(share) => facts.push(noise(share)),
        None if plan.target.is_known_from_others() => {}
        None => facts.push(Fact::new(Tone::Plain, UNKNOWN_NOISE)),
    }
    facts.push(Fact::new(
        Tone::Plain,
        format!("{} of every row", plural(plan.rounds.into(), "round")),
    ));
    let processes = if plan.invocations == 1 {
        "1 process".into()
    } else {
        format!("{} processes", plan.invocations)
    };
    facts.push(Fact::new(
        Tone::Plain,
        format!("{processes} of every client"),
    ));
    facts.push(Fact::new(Tone::Plain, format!("seed {}", plan.seed)));
    facts.extend(unprotected(&run.starts));
    facts
}

/// Which protections of drivers from each other some process did not have; none where nobody started one.
fn unprotected(starts: &[Start]) -> Option<Fact> {
    let missing = [
        (
            starts.iter().any(|start| start.user.is_none()),
            "users of their own",
        ),
        (!starts.iter().all(|start| start.held), "control groups"),
    ];
    let missing = missing.into_iter().filter(|(is_missing, _)| *is_missing);
    let missing: Vec<&str> = missing.map(|(_, what)| what).collect();
    let words = format!("drivers ran without {}", missing.join(" and "));
    (!missing.is_empty()).then(|| Fact::new(Tone::Plain, words))
}

fn verified(trust: &Trust) -> Fact {
    if trust.unwitnessed {
        let words = match trust.logged {
            true => {
                "UNVERIFIED: the access log confirms numbers of requests, and nothing confirms bodies and latencies"
            }
            false => "UNVERIFIED: the server has no log, these are the clients' own claims",
        };
        return Fact::new(Tone::Warning, words);
    }
    let rows = plural(trust.rows as u64, "row");
    Fact::new(
        Tone::Good,
        format!("{} of {rows} verified by the server's log", trust.verified),
    )
}

fn words_of_headroom(headroom: Headroom) -> Fact {
    let words = match headroom {
        Headroom::Waiting => "waiting is the limit, not the server".into(),
        Headroom::Times(ratio) => format!(
            "the baseline loader is {} as fast as the fastest client",
            times(ratio)
        ),
    };
    Fact::new(Tone::Plain, words)
}

/// The load of the test server.
fn server(server: &Server) -> [Fact; 2] {
    let busy = format!("server busy {} of a core", percent(server.busy));
    let late = format!(
        "the server sent 99\u{a0}% of its responses at most {} ms late",
        figure(server.late_ms)
    );
    let judged = |bad: bool, words: String, why: &str| match bad {
        true => Fact::new(Tone::Warning, format!("{words}: {why}")),
        false => Fact::new(Tone::Plain, words),
    };
    [
        judged(server.is_busy(), busy, "it is the limit"),
        judged(
            server.is_late(),
            late,
            "part of the latencies is the server's",
        ),
    ]
}

/// A service on this machine is one of the other programs as long as nobody names its process.
const UNKNOWN_NOISE: &str = "whether other programs ran is unknown, because the service runs on this machine too; --server-pid tells them apart";

fn noise(share: f64) -> Fact {
    let rounds = percent(share);
    match share {
        share if share > NOISY_RUN => {
            let words = format!(
                "NOISY: other programs ran in {rounds} of the rounds; end them and run it again"
            );
            Fact::new(Tone::Warning, words)
        }
        share if share > 0.0 => Fact::new(
            Tone::Plain,
            format!("other programs ran in {rounds} of the rounds"),
        ),
        _ => Fact::new(Tone::Good, "no noise from other programs"),
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
