//! `hecaton audit --listen`: no driver; a person uses any client, and the verdicts come from the log alone.

use crate::case::{Call, Case, Outcome, Verdict};
use crate::facts::facts;
use crate::run::{filled, options};
use crate::server::{Log, Server};

/// Calls that need a driver: no single command of curl can make them, or a server with several cases cannot tell to
/// which case they belong.
const NEED_A_DRIVER: [&str; 11] = [
    "tls",
    "no-verify",
    "h2",
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
    if let Some(missing) = case
        .require
        .iter()
        .find(|condition| !condition.is_claimed() && !condition.holds(&facts))
    {
        return Some((
            Verdict::NotApplicable,
            format!("The case does not apply: it requires `{missing}`."),
        ));
    }
    if !log.fault_applied(&case.id) && !case.calls.iter().any(|call| call.fault) {
        return Some((
            Verdict::SetupFailed,
            "The server's fault was not applied.".into(),
        ));
    }
    let claimed = |outcome: &Outcome| outcome.when.iter().any(|condition| condition.is_claimed());
    for outcome in &case.outcomes {
        let seen = outcome
            .when
            .iter()
            .filter(|condition| !condition.is_claimed());
        if seen.clone().any(|condition| !condition.holds(&facts)) {
            continue;
        }
        if claimed(outcome) {
            let what =
                "What the log shows is not enough: compare the outcome that your client reported";
            let says = format!(
                "{what}. It would be `{}` if {}.",
                outcome.verdict,
                conditions(outcome)
            );
            return Some((Verdict::Inconclusive, says));
        }
        return Some((outcome.verdict, filled(&outcome.says, &facts)));
    }
    Some((
        Verdict::Inconclusive,
        "No outcome of the case holds.".into(),
    ))
}

fn conditions(outcome: &Outcome) -> String {
    let claimed = outcome
        .when
        .iter()
        .filter(|condition| condition.is_claimed());
    claimed
        .map(|condition| format!("`{condition}`"))
        .collect::<Vec<_>>()
        .join(" and ")
}
