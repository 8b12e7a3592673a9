//! The server's log: what happened, in order.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;

/// Everything that was recorded.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Log {
    /// The entries, in order.
    pub entries: Vec<Entry>,
}

/// One entry of the log.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Microseconds since the server started.
    pub us: u64,
    /// The connection, counted from 1; 0 for none.
    pub connection: usize,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

/// What happened.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A connection was accepted.
    Opened {
        /// On which of the server's addresses.
        at: &'static str,
    },
    /// The head of a request arrived.
    Request {
        /// The case that its path names; empty for a stranger.
        case: String,
        /// The call that its path names.
        call: String,
        /// The stop that its path names.
        stop: String,
        /// Which attempt of this call at this stop it is, from 1.
        attempt: usize,
        /// Which request of its connection it is, from 1.
        nth: usize,
        /// The method.
        method: String,
        /// The target as it was sent.
        target: String,
        /// The whole head as it was sent.
        head: String,
    },
    /// The body of the last request on this connection.
    Body {
        /// The part of it that arrived.
        text: String,
        /// Whether all of it arrived.
        whole: bool,
    },
    /// Bytes arrived.
    Received {
        /// The bytes, with escapes.
        #[serde(serialize_with = "escaped")]
        bytes: Vec<u8>,
    },
    /// Bytes were sent. The time is when the first one was.
    Sent {
        /// The bytes, with escapes.
        #[serde(serialize_with = "escaped")]
        bytes: Vec<u8>,
    },
    /// A ClientHello of TLS arrived.
    Hello {
        /// The server's name in it.
        sni: String,
        /// The versions that the client supports.
        versions: String,
    },
    /// The handshake of TLS was done.
    Secured {
        /// The protocol that was chosen.
        alpn: String,
        /// Whether an earlier session was resumed.
        resumed: bool,
        /// Bytes that the client sent before the handshake was done.
        early: usize,
    },
    /// The client sent an alert of TLS.
    Alert {
        /// Its number.
        code: u8,
    },
    /// A frame of HTTP/2 or HTTP/3 came from the client.
    Frame {
        /// Its type.
        kind: u8,
        /// Its flags.
        flags: u8,
        /// Its stream.
        stream: u32,
        /// Bytes of its payload.
        length: usize,
        /// The setting ENABLE_PUSH in it, if it is a frame of settings that has it.
        push: Option<u32>,
    },
    /// A response was sent, or the stream of a request has ended.
    Done,
    /// The fault of a case was applied.
    Fault {
        /// The case.
        case: String,
        /// The call.
        call: String,
    },
    /// The client closed its half of the connection.
    ClientClosed,
    /// The client reset the connection, or it broke while the server wrote.
    ClientReset,
    /// The server closed the connection.
    ServerClosed,
    /// The server closed its half of the connection.
    ServerHalfClosed,
    /// The server reset the connection.
    ServerReset,
    /// The server's budget was used up, so the server ends.
    Budget {
        /// Which part of the budget: `connections`, `requests`, `bytes` or `seconds`.
        what: &'static str,
    },
}

impl Event {
    /// The end of a connection in words; none of other events.
    pub fn ending(&self) -> Option<&'static str> {
        match self {
            Event::ClientClosed => Some("client closed"),
            Event::ClientReset => Some("client reset"),
            Event::ServerClosed => Some("server closed"),
            Event::ServerHalfClosed => Some("server closed its half"),
            Event::ServerReset => Some("server reset"),
            _ => None,
        }
    }
}

fn escaped<S: serde::Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&shown(bytes, 4096))
}

/// Bytes as text, with escapes for what cannot be printed, and no more than `most` of them.
pub fn shown(bytes: &[u8], most: usize) -> String {
    let cut = bytes.len().min(most);
    let mut text = bytes[..cut].escape_ascii().to_string();
    if cut < bytes.len() {
        text.push_str(&format!("… ({} bytes)", bytes.len()));
    }
    text
}

impl Log {
    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether the fault of a case was applied.
    pub fn fault_applied(&self, id: &str) -> bool {
        let is_it = |entry: &Entry| matches!(&entry.event, Event::Fault { case, .. } if case == id);
        self.entries.iter().any(is_it)
    }

    /// How many requests of a call arrived, at all stops. A request whose path names no call counts too, because it may
    /// belong to this call.
    pub fn requests_of(&self, name: &str) -> usize {
        let is_it = |entry: &&Entry| matches!(&entry.event, Event::Request { call, .. } if call == name || call.is_empty());
        self.entries.iter().filter(is_it).count()
    }

    /// The least time from the first request of a call to the moment at which the server began to respond to one. No response can be
    /// there sooner. None if the server sent nothing.
    pub fn soonest_response(&self, name: &str) -> Option<Duration> {
        let is_request =
            |entry: &&Entry| matches!(&entry.event, Event::Request { call, .. } if call == name);
        let first = self.entries.iter().find(is_request)?.us;
        let mut connections = BTreeSet::new();
        let sent = self.entries.iter().filter(|entry| {
            if is_request(entry) {
                connections.insert(entry.connection);
            }
            matches!(entry.event, Event::Sent { .. }) && connections.contains(&entry.connection)
        });
        let soonest = sent.map(|entry| entry.us).min()?;
        Some(Duration::from_micros(soonest.saturating_sub(first)))
    }

    /// The address that a connection was opened to.
    pub fn opened_at(&self, connection: usize) -> Option<&'static str> {
        self.entries.iter().find_map(|entry| match entry.event {
            Event::Opened { at } if entry.connection == connection => Some(at),
            _ => None,
        })
    }

    /// How many connections nobody has closed.
    pub fn open(&self) -> usize {
        let closed = |entry: &&Entry| {
            matches!(
                entry.event,
                Event::ClientClosed | Event::ClientReset | Event::ServerClosed | Event::ServerReset
            )
        };
        let opened = |entry: &&Entry| matches!(entry.event, Event::Opened { .. });
        let count = self.entries.iter().filter(opened).count();
        count.saturating_sub(self.entries.iter().filter(closed).count())
    }

    /// The part of the budget that was used up; empty if none was.
    pub fn budget(&self) -> &'static str {
        let hit = self.entries.iter().find_map(|entry| match entry.event {
            Event::Budget { what } => Some(what),
            _ => None,
        });
        hit.unwrap_or_default()
    }
}

/// A call and the stop of it that a request names, as reports show them: `get`, or `get/elsewhere`.
pub fn call_at(call: &str, stop: &str) -> String {
    match stop {
        "" => call.to_owned(),
        stop => format!("{call}/{stop}"),
    }
}
