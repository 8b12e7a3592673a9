//! Judges one run of a case: the verdict, from the facts, the client's claims and the server's log.

use std::time::Duration;

use hecaton_lab::findings::words::plural;

use crate::case::{Case, Condition, Facts, Verdict};
use crate::server::Log;
use crate::subject::Reported;

/// How much coarser the clock of a driver may be.
const TICK: Duration = Duration::from_millis(50);

/// The verdict of a run, and its sentence. `waited` is how long each call took.
pub(crate) fn judge(
    case: &Case,
    log: &Log,
    reported: &[Reported],
    waited: &[Duration],
    facts: &Facts,
) -> (Verdict, String) {
    if let Some(lie) = untrue_times(case, reported, waited, log) {
        return (Verdict::Mismatch, lie);
    }
    if let Some(verdict) = reported.iter().find_map(not_made) {
        return verdict;
    }
    let missing = case.require.iter().find(|it| !it.holds(facts));
    let was_made = case.calls.iter().zip(reported).any(|(call, _)| call.fault);
    if let Some((verdict, says)) = shows_nothing(case, log, missing, was_made) {
        return (verdict, says + &claim_of(verdict, reported));
    }
    for outcome in &case.outcomes {
        if outcome.when.iter().all(|condition| condition.holds(facts)) {
            if let Some(lie) = lie(case, reported, log).filter(|_| !outcome.verdict.is_finding()) {
                return (Verdict::Mismatch, lie);
            }
            return (outcome.verdict, filled(&outcome.says, facts));
        }
    }
    let claims = case.calls.iter().zip(reported);
    let claims = claims.map(|(call, reported)| format!("`{}`: {reported}", call.name));
    let claims = claims.collect::<Vec<_>>().join("; ");
    let says = format!("No outcome of the case holds. The client's claims: {claims}.");
    (Verdict::Inconclusive, says)
}

/// The verdict on a call that the client did not make.
fn not_made(reported: &Reported) -> Option<(Verdict, String)> {
    match reported {
        Reported::Unsupported { what } => {
            let says = format!("The client does not support `{what}`.");
            Some((Verdict::Unsupported, says))
        }
        Reported::Broken { why } => {
            let says = format!("Nothing is known of the client: {why}.");
            Some((Verdict::SetupFailed, says))
        }
        _ => None,
    }
}

/// The verdict of a run that shows nothing about the client: what the case requires is missing, or its fault was not
/// applied. A call that is the fault itself applies it when it `was_made`.
pub(crate) fn shows_nothing(
    case: &Case,
    log: &Log,
    missing: Option<&Condition>,
    was_made: bool,
) -> Option<(Verdict, String)> {
    if let Some(missing) = missing {
        let says = format!("The case does not apply: it requires `{missing}`.");
        return Some((Verdict::NotApplicable, says));
    }
    let is_applied = was_made || log.fault_applied(&case.id);
    let says = "The server's fault was not applied.";
    (!is_applied).then(|| (Verdict::SetupFailed, says.into()))
}

/// The error that the caller saw where the fault was not applied. It says why the client sent nothing.
fn claim_of(verdict: Verdict, reported: &[Reported]) -> String {
    let failed = |it: &&Reported| matches!(it, Reported::Error { .. } | Reported::Nothing { .. });
    match reported.iter().find(failed) {
        Some(error) if verdict == Verdict::SetupFailed => format!(" The call ended in {error}."),
        _ => String::new(),
    }
}

/// A false claim about time: a call that took longer than until its reply came, or a response that was there before the
/// server had begun to send one. A driver may take any time for the rest of its work.
fn untrue_times(
    case: &Case,
    reported: &[Reported],
    waited: &[Duration],
    log: &Log,
) -> Option<String> {
    let calls = case.calls.iter().zip(reported).zip(waited);
    let mut made = calls.filter(|((call, _), _)| call.by.as_deref() != Some("close"));
    made.find_map(|((call, reported), waited)| {
        let claimed = Duration::from_millis(reported.ms()?);
        let soonest = match reported {
            Reported::Response { .. } => log.soonest_response(&call.name),
            _ => None,
        };
        let (name, ms) = (&call.name, claimed.as_millis());
        match soonest {
            _ if claimed > *waited + TICK => Some(format!(
                "The driver claims that `{name}` took {ms} ms, and its reply came after {} ms.",
                waited.as_millis()
            )),
            Some(soonest) if claimed + TICK < soonest => Some(format!(
                "The driver claims a response to `{name}` after {ms} ms, and the server began to send one after {} ms.",
                soonest.as_millis()
            )),
            _ => None,
        }
    })
}

/// A false claim of the client: responses to requests that the server never received.
fn lie(case: &Case, reported: &[Reported], log: &Log) -> Option<String> {
    let found = case
        .calls
        .iter()
        .zip(reported)
        .find_map(|(call, reported)| {
            let claimed = match reported {
                // It closes the client, and sends nothing.
                _ if call.by.as_deref() == Some("close") => 0,
                Reported::Response { .. } => 1,
                Reported::Several { responses, .. } => *responses,
                _ => 0,
            };
            let seen = log.requests_of(&call.name);
            (claimed > seen).then_some((call, claimed, seen))
        });
    let (call, claimed, seen) = found?;
    Some(format!(
        "The driver claims {} to `{}`, and {} arrived.",
        plural(claimed as u64, "response"),
        call.name,
        plural(seen as u64, "request")
    ))
}

/// A sentence with its facts. A fact that does not exist, such as the status of an error, is nothing.
pub(crate) fn filled(says: &str, facts: &Facts) -> String {
    let (mut text, mut rest) = (String::new(), says);
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, behind)) = after.split_once('}') else {
            break;
        };
        text.push_str(before);
        text.push_str(&facts.get(name).map(ToString::to_string).unwrap_or_default());
        rest = behind;
    }
    text + rest
}
