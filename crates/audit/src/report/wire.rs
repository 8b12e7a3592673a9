//! The wire of one run: what was requested, claimed, sent and received, in order.

use std::fmt::Write;

use crate::run::Run;
use crate::server::{Event, call_at, shown};

/// Most bytes of one entry that are shown.
const MOST: usize = 400;

/// The types of frames of HTTP/2, by their numbers.
const FRAMES: [&str; 10] = [
    "DATA",
    "HEADERS",
    "PRIORITY",
    "RST_STREAM",
    "SETTINGS",
    "PUSH_PROMISE",
    "PING",
    "GOAWAY",
    "WINDOW_UPDATE",
    "CONTINUATION",
];

/// The run, line by line.
pub fn wire(run: &Run) -> String {
    let mut out = String::new();
    for (call, reported) in run.calls.iter().zip(&run.reported) {
        let _ = writeln!(
            out,
            "requested  {} {}, limit {} ms",
            call.method,
            call.url.escape_debug(),
            call.timeout_ms
        );
        let _ = writeln!(out, "claimed    {reported}");
    }
    out.push_str("happened\n");
    for entry in &run.log.entries {
        let (ms, connection) = (entry.us / 1000, entry.connection);
        let line = event(&entry.event);
        if !line.is_empty() {
            let _ = writeln!(out, "{ms:>6} ms  #{connection}  {line}");
        }
    }
    out
}

/// One entry of the log in words.
fn event(event: &Event) -> String {
    match event {
        Event::Opened { at } => format!("opened ({at})"),
        Event::Request {
            call,
            stop,
            attempt,
            nth,
            ..
        } if !call.is_empty() => {
            let call = call_at(call, stop);
            format!("is attempt {attempt} of `{call}`, request {nth} of this connection")
        }
        Event::Request { target, .. } => {
            format!("is a request for {target}, which belongs to no call")
        }
        Event::Received { bytes } => format!("< {}", shown(bytes, MOST)),
        Event::Sent { bytes } => format!("> {}", shown(bytes, MOST)),
        Event::Fault { call, .. } => format!("the fault was applied to `{call}`"),
        Event::Budget { what } => {
            format!("the budget of {what} was used up; the server ended the run")
        }
        other => match other.ending() {
            Some(ending) => format!("the {ending}"),
            None => of_protocol(other).unwrap_or_default(),
        },
    }
}

/// An event of TLS or HTTP/2 in words; none of other events.
fn of_protocol(event: &Event) -> Option<String> {
    Some(match event {
        Event::Hello { sni, versions } => {
            format!("is a ClientHello for `{sni}` with TLS {versions}")
        }
        Event::Secured {
            alpn,
            resumed,
            early,
        } => {
            let what = if *resumed {
                ", of an earlier session"
            } else {
                ""
            };
            format!("the handshake of TLS is done, for `{alpn}`{what}; early data: {early} bytes")
        }
        Event::Alert { code } => format!("the client sent the alert {code} of TLS"),
        Event::Frame {
            kind,
            flags,
            stream,
            length,
            ..
        } => {
            let name = FRAMES.get(usize::from(*kind)).unwrap_or(&"unknown");
            format!("is a frame {name} with flags {flags:02x} on stream {stream}, {length} bytes")
        }
        _ => return None,
    })
}
