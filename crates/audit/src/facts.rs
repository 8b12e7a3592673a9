//! The facts of a run: what the server's log shows, beside the outcome that the caller saw.

use std::collections::{BTreeMap, BTreeSet};

use crate::case::{Call, Case, Fact, Facts};
use crate::server::frames::{ACK, DATA, HEADERS, PING, RST_STREAM, SETTINGS};
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

/// The number that an event adds to a fact.
type Count = fn(&Event) -> usize;

/// The words that an event adds to a fact.
type Words = fn(&Event) -> Option<String>;

/// The facts that are numbers.
const COUNTS: [(&str, Count); 9] = [
    ("opened", |event| {
        usize::from(matches!(event, Event::Opened { .. }))
    }),
    ("hellos", |event| {
        usize::from(matches!(event, Event::Hello { .. }))
    }),
    ("handshakes", |event| {
        usize::from(matches!(event, Event::Secured { .. }))
    }),
    ("resumed", |event| {
        usize::from(matches!(event, Event::Secured { resumed: true, .. }))
    }),
    ("early", |event| match event {
        Event::Secured { early, .. } => *early,
        _ => 0,
    }),
    ("settings-acks", |event| {
        usize::from(is_frame(event, SETTINGS, Some(ACK)))
    }),
    ("ping-acks", |event| {
        usize::from(is_frame(event, PING, Some(ACK)))
    }),
    ("resets", |event| {
        usize::from(is_frame(event, RST_STREAM, None))
    }),
    ("data", |event| match event {
        Event::Frame {
            kind: DATA, length, ..
        } => *length,
        _ => 0,
    }),
];

/// The facts that are words.
const WORDS: [(&str, Words); 4] = [
    ("sni", |event| match event {
        Event::Hello { sni, .. } => Some(sni.clone()),
        _ => None,
    }),
    ("versions", |event| match event {
        Event::Hello { versions, .. } => Some(versions.clone()),
        _ => None,
    }),
    ("alerts", |event| match event {
        Event::Alert { code } => Some(code.to_string()),
        _ => None,
    }),
    ("push", |event| match event {
        Event::Frame { push, .. } => push.map(|push| push.to_string()),
        _ => None,
    }),
];

/// Whether an event is a frame of this type, with exactly these flags if any are given.
fn is_frame(event: &Event, needed: u8, exactly: Option<u8>) -> bool {
    match event {
        Event::Frame { kind, flags, .. } => {
            *kind == needed && exactly.is_none_or(|exactly| *flags == exactly)
        }
        _ => false,
    }
}

/// Facts of connections besides requests: handshakes, frames, and how much was open at once.
fn of_connections(facts: &mut Facts, log: &Log) {
    let events = || log.entries.iter().map(|entry| &entry.event);
    for (name, count) in COUNTS {
        facts.insert(name.to_owned(), number(events().map(count).sum()));
    }
    let (peak, streams) = most_open(log);
    facts.insert("peak".to_owned(), number(peak));
    facts.insert("streams".to_owned(), number(streams));
    for (name, words) in WORDS {
        let mut found: Vec<String> = events().filter_map(words).collect();
        found.retain(|word| !word.is_empty());
        found.dedup();
        facts.insert(name.to_owned(), text(found.join(" | ")));
    }
}

/// The most requests that were open at once: in all, and as streams of one connection.
fn most_open(log: &Log) -> (usize, usize) {
    let (mut open, mut peak) = (0_usize, 0);
    let (mut streams, mut most) = (BTreeMap::<usize, usize>::new(), 0);
    for entry in &log.entries {
        let of = streams.entry(entry.connection).or_default();
        match entry.event {
            Event::Request { .. } => open += 1,
            Event::Frame { kind: HEADERS, .. } => *of += 1,
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
                let mut seen = found.iter_mut().rev();
                let last = seen.find(|seen| seen.connection == entry.connection);
                if let Some(seen) = last.filter(|seen| is_last(log, entry, seen)) {
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

/// Whether no other request came on the connection between that one and an entry.
fn is_last(log: &Log, last: &Entry, seen: &Seen<'_>) -> bool {
    let requests = log
        .entries
        .iter()
        .filter(|entry| entry.connection == last.connection && entry.us <= last.us);
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
    let ms = reported.and_then(Reported::ms);
    let always = [("outcome", text(outcome(reported)))];
    let all = always
        .into_iter()
        .chain(ms.map(|ms| ("ms", count(ms))))
        .chain(reported.map(claims).into_iter().flatten());
    facts.extend(all.map(|(fact, value)| (format!("{name}.{fact}"), value)));
}

fn count(count: u64) -> Fact {
    Fact::Number(i64::try_from(count).unwrap_or(i64::MAX))
}

/// The client's claims of a call, each with its name.
fn claims(reported: &Reported) -> Vec<(&'static str, Fact)> {
    match reported {
        Reported::Response {
            status,
            bytes,
            sha256,
            ..
        } => vec![
            ("status", Fact::Number(i64::from(*status))),
            ("bytes", count(*bytes)),
            ("body", text(sha256)),
        ],
        Reported::Error {
            class, text: words, ..
        } => {
            vec![("error", text(class)), ("text", text(words))]
        }
        Reported::Several {
            responses,
            errors,
            class,
            text: words,
            ..
        } => vec![
            ("responses", number(*responses)),
            ("errors", number(*errors)),
            ("error", text(class)),
            ("text", text(words)),
        ],
        Reported::Unsupported { what: words }
        | Reported::Nothing { why: words }
        | Reported::Broken { why: words } => vec![("text", text(words))],
    }
}

/// The word for how a call ended.
fn outcome(reported: Option<&Reported>) -> &'static str {
    match reported {
        Some(Reported::Response { .. } | Reported::Several { errors: 0, .. }) => "response",
        Some(Reported::Error { .. } | Reported::Several { responses: 0, .. }) => "error",
        Some(Reported::Several { .. }) => "both",
        Some(Reported::Unsupported { .. }) => "unsupported",
        Some(Reported::Nothing { .. }) => "nothing",
        Some(Reported::Broken { .. }) => "broken",
        None => "unknown",
    }
}
