//! The facts of a run: what the server's log shows, beside the outcome that the caller saw.

use std::collections::{BTreeMap, BTreeSet};

use crate::case::{Call, Case, Fact, Facts};
use crate::server::{Entry, Event, Log};
use crate::subject::Reported;

/// An attempt in the log.
struct Seen<'a> {
    us: u64,
    connection: usize,
    nth: usize,
    method: &'a str,
    target: &'a str,
    head: &'a str,
    /// Its body, and whether all of it arrived.
    body: (&'a str, bool),
}

/// All facts of a run of a case; the calls that were not made have no claim.
pub fn facts(case: &Case, log: &Log, reported: &[Reported]) -> Facts {
    let mut facts = Facts::new();
    for (place, call) in case.calls.iter().enumerate() {
        seen_of(&mut facts, &call.name, &attempts(case, call, "", log));
        for stop in call.stops.keys().map(String::as_str).chain(["connect"]) {
            seen_of(
                &mut facts,
                &format!("{}.{stop}", call.name),
                &attempts(case, call, stop, log),
            );
        }
        let at = attempts(case, call, "", log);
        let at = at.iter().filter_map(|seen| log.opened_at(seen.connection));
        let at: Vec<&str> = at.collect();
        facts.insert(format!("{}.at", call.name), text(at.join(", ")));
        if let Some(ms) = since_the_last(case, call, log) {
            facts.insert(format!("{}.since", call.name), number(ms));
        }
        outcome_of(&mut facts, &call.name, reported.get(place));
    }
    of_run(&mut facts, case, log);
    facts
}

fn number(count: usize) -> Fact {
    Fact::Number(i64::try_from(count).unwrap_or(i64::MAX))
}

fn text(text: impl Into<String>) -> Fact {
    Fact::Text(text.into())
}

fn of_run(facts: &mut Facts, case: &Case, log: &Log) {
    let (mut connections, mut requests, mut strangers) = (BTreeSet::new(), 0, 0);
    for entry in &log.entries {
        if let Event::Request { case: of, call, .. } = &entry.event {
            if *of == case.id && !call.is_empty() {
                connections.insert(entry.connection);
                requests += 1;
            } else if of.is_empty() || *of == case.id {
                strangers += 1;
            }
        }
    }
    facts.insert("connections".into(), number(connections.len()));
    facts.insert("requests".into(), number(requests));
    // Requests whose path belongs to no call.
    facts.insert("strangers".into(), number(strangers));
    facts.insert("budget".into(), text(log.budget()));
    facts.insert("open".into(), number(log.open()));
    of_connections(facts, log);
}

/// Facts of connections besides requests: handshakes, frames, and how much was open at once.
fn of_connections(facts: &mut Facts, log: &Log) {
    let mut add = |name: &str, count: usize| facts.insert(name.to_owned(), number(count));
    let count =
        |is: fn(&Event) -> bool| log.entries.iter().filter(|entry| is(&entry.event)).count();
    add(
        "opened",
        count(|event| matches!(event, Event::Opened { .. })),
    );
    add(
        "hellos",
        count(|event| matches!(event, Event::Hello { .. })),
    );
    add(
        "handshakes",
        count(|event| matches!(event, Event::Secured { .. })),
    );
    add(
        "resumed",
        count(|event| matches!(event, Event::Secured { resumed: true, .. })),
    );
    let early = log.entries.iter().map(|entry| match entry.event {
        Event::Secured { early, .. } => early,
        _ => 0,
    });
    add("early", early.sum());
    add(
        "settings-acks",
        count(|event| {
            matches!(
                event,
                Event::Frame {
                    kind: 4,
                    flags: 1,
                    ..
                }
            )
        }),
    );
    add(
        "ping-acks",
        count(|event| {
            matches!(
                event,
                Event::Frame {
                    kind: 6,
                    flags: 1,
                    ..
                }
            )
        }),
    );
    add(
        "resets",
        count(|event| matches!(event, Event::Frame { kind: 3, .. })),
    );
    let data = log.entries.iter().filter_map(|entry| match entry.event {
        Event::Frame {
            kind: 0, length, ..
        } => Some(length),
        _ => None,
    });
    add("data", data.sum());
    let (peak, streams) = most_open(log);
    add("peak", peak);
    add("streams", streams);
    let mut words = |name: &str, of: &dyn Fn(&Event) -> Option<String>| {
        let found = log.entries.iter().filter_map(|entry| of(&entry.event));
        let mut found: Vec<String> = found.filter(|word| !word.is_empty()).collect();
        found.dedup();
        facts.insert(name.to_owned(), text(found.join(" | ")));
    };
    words("sni", &|event| match event {
        Event::Hello { sni, .. } => Some(sni.clone()),
        _ => None,
    });
    words("versions", &|event| match event {
        Event::Hello { versions, .. } => Some(versions.clone()),
        _ => None,
    });
    words("alerts", &|event| match event {
        Event::Alert { code } => Some(code.to_string()),
        _ => None,
    });
    words("push", &|event| match event {
        Event::Frame { push, .. } => push.map(|push| push.to_string()),
        _ => None,
    });
}

/// The most requests that were open at once: in all, and as streams of one connection.
fn most_open(log: &Log) -> (usize, usize) {
    let (mut open, mut peak) = (0_usize, 0);
    let (mut streams, mut most) = (BTreeMap::<usize, usize>::new(), 0);
    for entry in &log.entries {
        let of = streams.entry(entry.connection).or_default();
        match entry.event {
            Event::Request { .. } => open += 1,
            Event::Frame { kind: 1, .. } => *of += 1,
            Event::Done => {
                open = open.saturating_sub(1);
                *of = of.saturating_sub(1);
            }
            _ => {}
        }
        (peak, most) = (peak.max(open), most.max(*of));
    }
    (peak, most)
}

/// The attempts of a call at a stop; the stop `*` is every one that has no steps of its own.
fn attempts<'a>(case: &Case, call: &Call, needed: &str, log: &'a Log) -> Vec<Seen<'a>> {
    let mut found: Vec<Seen<'a>> = Vec::new();
    for entry in &log.entries {
        match &entry.event {
            Event::Request {
                case: of,
                call: name,
                stop,
                nth,
                method,
                target,
                head,
                ..
            } => {
                let here = stop == needed
                    || (needed == "*" && !stop.is_empty() && !call.stops.contains_key(stop));
                if *of == case.id && *name == call.name && here {
                    found.push(Seen {
                        us: entry.us,
                        connection: entry.connection,
                        nth: *nth,
                        method,
                        target,
                        head,
                        body: ("", false),
                    });
                }
            }
            Event::Body { text, whole } => {
                // The body of the last request on this connection, which may be another call's.
                let last = found
                    .iter_mut()
                    .rev()
                    .find(|seen| seen.connection == entry.connection);
                if let Some(seen) =
                    last.filter(|seen| is_last(log, entry.us, entry.connection, seen))
                {
                    seen.body = (text, *whole);
                }
            }
            _ => {}
        }
    }
    found
}

/// Milliseconds between the end of the last response before a call's first attempt, and that attempt.
fn since_the_last(case: &Case, call: &Call, log: &Log) -> Option<usize> {
    let first = attempts(case, call, "", log).first()?.us;
    let ended = |entry: &&Entry| matches!(entry.event, Event::Done) && entry.us <= first;
    let last = log.entries.iter().rev().find(ended)?.us;
    usize::try_from((first - last) / 1000).ok()
}

/// Whether no other request came on the connection between that one and a moment.
fn is_last(log: &Log, us: u64, connection: usize, seen: &Seen<'_>) -> bool {
    let requests = log
        .entries
        .iter()
        .filter(|entry| entry.connection == connection && entry.us <= us);
    let mut nth = requests.filter_map(|entry| match entry.event {
        Event::Request { nth, .. } => Some(nth),
        _ => None,
    });
    nth.next_back() == Some(seen.nth)
}

fn seen_of(facts: &mut Facts, name: &str, seen: &[Seen<'_>]) {
    let mut put = |fact: &str, value: Fact| facts.insert(format!("{name}.{fact}"), value);
    let (first, last) = (seen.first(), seen.last());
    let connections: BTreeSet<usize> = seen.iter().map(|seen| seen.connection).collect();
    put("attempts", number(seen.len()));
    put("connections", number(connections.len()));
    put(
        "connection",
        number(first.map_or(0, |seen| seen.connection)),
    );
    // The shortest time between two attempts, in milliseconds.
    let gaps = seen
        .windows(2)
        .map(|pair| pair[1].us.saturating_sub(pair[0].us) / 1000);
    if let Some(gap) = gaps.min() {
        put("gap", Fact::Number(i64::try_from(gap).unwrap_or(i64::MAX)));
    }
    put("reused", Fact::Yes(first.is_some_and(|seen| seen.nth > 1)));
    put("method", text(last.map_or("", |seen| seen.method)));
    let methods: Vec<&str> = seen.iter().map(|seen| seen.method).collect();
    put("methods", text(methods.join(" ")));
    put("target", text(last.map_or("", |seen| seen.target)));
    put(
        "line",
        text(last.map_or("", |seen| seen.head.lines().next().unwrap_or_default())),
    );
    put("sent", text(last.map_or("", |seen| seen.body.0)));
    let whole = seen.iter().filter(|seen| seen.body.1).count();
    put("whole", number(whole));
    for (field, value) in last.map(|seen| fields(seen.head)).unwrap_or_default() {
        put(&format!("field.{field}"), text(value));
    }
}

/// The header fields of a head, in lower case; those that are repeated are joined by ` | `.
fn fields(head: &str) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in head.lines().skip(1) {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        let (name, value) = (name.to_ascii_lowercase(), value.trim());
        match fields.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => *values += &format!(" | {value}"),
            None => fields.push((name, value.to_owned())),
        }
    }
    fields
}

fn outcome_of(facts: &mut Facts, name: &str, reported: Option<&Reported>) {
    let mut put = |fact: &str, value: Fact| facts.insert(format!("{name}.{fact}"), value);
    let took = |ms: u64| Fact::Number(i64::try_from(ms).unwrap_or(i64::MAX));
    match reported {
        Some(Reported::Response {
            status,
            bytes,
            sha256,
            ms,
        }) => {
            put("outcome", text("response"));
            put("status", Fact::Number(i64::from(*status)));
            put("bytes", took(*bytes));
            put("body", text(sha256));
            put("ms", took(*ms));
        }
        Some(Reported::Error {
            class,
            text: words,
            ms,
        }) => {
            put("outcome", text("error"));
            put("error", text(class));
            put("text", text(words));
            put("ms", took(*ms));
        }
        Some(Reported::Several {
            responses,
            errors,
            class,
            text: words,
            ms,
        }) => {
            let outcome = match (responses, errors) {
                (_, 0) => "response",
                (0, _) => "error",
                _ => "both",
            };
            put("outcome", text(outcome));
            put("responses", number(*responses));
            put("errors", number(*errors));
            put("error", text(class));
            put("text", text(words));
            put("ms", took(*ms));
        }
        Some(Reported::Unsupported { what }) => {
            put("outcome", text("unsupported"));
            put("text", text(what));
        }
        Some(Reported::Nothing { why }) => {
            put("outcome", text("nothing"));
            put("text", text(why));
        }
        None => {
            put("outcome", text("unknown"));
        }
    }
}
