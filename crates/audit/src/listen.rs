//! `hecaton audit --listen`: no driver; a person uses any client, and the verdicts come from the log alone.

use crate::case::{Call, Case, Facts, Outcome, Verdict};
use crate::facts::facts;
use crate::judge::{filled, shows_nothing};
use crate::run::options;
use crate::server::{Log, Server};

/// Calls that need a driver: no single command of curl can make them, or a server with several cases cannot tell to
/// which case they belong.
const NEED_A_DRIVER: [&str; 12] = [
    "tls",
    "no-verify",
    "h2",
    "h3",
    "proxy",
    "proxy-environment",
    "hosts",
    "parallel",
    "pool-size",
    "idle-timeout",
    "fork",
    "close",
];

/// Whether a case can be tried without a driver.
pub fn is_for_hands(case: &Case) -> bool {
    let needs = case.all_needs();
    let special = |call: &Call| call.down || call.after_ms > 0 || call.is_long();
    !case.calls.iter().any(special)
        && !needs
            .iter()
            .any(|need| NEED_A_DRIVER.contains(&need.as_str()))
}

/// How to try a case by hand: a command of curl, which may be translated to any client.
pub fn by_hand(case: &Case, server: &Server) -> String {
    let calls = case.calls.iter().map(|call| {
        let options = options(case, call, false, server);
        let mut words = Vec::new();
        if options.method != "GET" {
            words.push(format!("-X {}", quoted(&options.method)));
        }
        words.extend(
            options
                .fields
                .iter()
                .map(|(name, value)| format!("-H {}", quoted(&format!("{name}: {value}")))),
        );
        words.extend(
            options
                .body
                .iter()
                .map(|body| format!("-d {}", quoted(body))),
        );
        words.extend(
            call.timeout_ms
                .map(|limit| format!("-m {}", limit.div_ceil(1000))),
        );
        if case.needs.iter().any(|need| need == "cookies") {
            words.push("-b ''".into());
        }
        if call.follow == Some(true) {
            words.push("-L".into());
        }
        words.push(quoted(&options.url));
        words.join(" ")
    });
    format!("curl -s {}", calls.collect::<Vec<_>>().join(" --next -s "))
}

fn quoted(text: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_./:".contains(char);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

/// The verdict by the log alone; none if no request of the case arrived.
pub fn from_the_log(case: &Case, log: &Log) -> Option<(Verdict, String)> {
    let facts = facts(case, log, &[]);
    let touched = log.entries.iter().any(|entry| match &entry.event {
        crate::server::Event::Request { case: of, .. } => *of == case.id,
        _ => false,
    });
    if !touched {
        return None;
    }
    let mut seen = case.require.iter().filter(|it| !it.is_claimed());
    let missing = seen.find(|condition| !condition.holds(&facts));
    let was_made = case.calls.iter().any(|call| call.fault);
    let no_outcome = || {
        (
            Verdict::Inconclusive,
            "No outcome of the case holds.".into(),
        )
    };
    shows_nothing(case, log, missing, was_made)
        .or_else(|| case.outcomes.iter().find_map(|it| by_log(it, &facts)))
        .or_else(|| Some(no_outcome()))
}

/// The verdict of an outcome that the log does not contradict. A condition that only a driver can claim leaves it open.
fn by_log(outcome: &Outcome, facts: &Facts) -> Option<(Verdict, String)> {
    let conditions = outcome.when.iter();
    let (claimed, seen): (Vec<_>, Vec<_>) = conditions.partition(|it| it.is_claimed());
    if !seen.iter().all(|condition| condition.holds(facts)) {
        return None;
    }
    if claimed.is_empty() {
        return Some((outcome.verdict, filled(&outcome.says, facts)));
    }
    let claimed: Vec<String> = claimed.iter().map(|it| format!("`{it}`")).collect();
    let says = format!(
        "What the log shows is not enough: compare the outcome that your client reported. It would be `{}` if {}.",
        outcome.verdict,
        claimed.join(" and ")
    );
    Some((Verdict::Inconclusive, says))
}
