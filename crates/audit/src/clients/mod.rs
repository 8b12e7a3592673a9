//! The saint and the sinner: one small client, with a switch for each sin.

mod chunked;
mod connection;
mod content;
mod cookies;
mod exchange;
mod http2;
mod redirects;
mod response;
mod route;
mod secure;
mod several;

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::case::hash;
use crate::subject::{CallOptions, Reported, Subject};
use connection::Connection;
use cookies::Jar;
use route::Route;

/// Words that the saint and the sinner understand.
const CAN: [&str; 22] = [
    "method",
    "body",
    "fields",
    "timeout",
    "redirects",
    "cookies",
    "gzip",
    "userinfo",
    "raw-url",
    "raw-method",
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
    "expect",
];

/// The limit of a call that has none.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    class: Class,
    text: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The limit of the call is over.
    Late,
    /// The connection ended before a byte of the response.
    Ended,
    /// The connection was reset before a byte of the response.
    Reset,
    /// The connection broke within the head of the response.
    BrokenHead,
    /// The connection broke within the response's body.
    Broken,
    /// The response is no HTTP.
    Invalid,
    /// The call cannot be sent as it is.
    Refused,
    /// The connection of HTTP/2, or the stream, ended before the response.
    Gone,
    /// The server says that it did not process the request.
    Unprocessed,
}

fn failed<T>(class: Class, text: &'static str) -> Result<T, Failure> {
    Err(Failure { class, text })
}

/// A response.
#[derive(Clone, Debug, Default)]
pub(crate) struct Response {
    status: u16,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Response {
    fn field(&self, name: &str) -> Option<&str> {
        let found = self
            .fields
            .iter()
            .find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// The sin of a client, if it has one. Each case names the sin that proves it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sins(Option<String>);

impl Sins {
    fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn has(&self, name: &str) -> bool {
        self.0.as_deref() == Some(name)
    }
}

/// A client without faults, but for the sins that are switched on.
#[derive(Default)]
pub struct Client {
    sins: Sins,
    jar: Jar,
    /// Idle connections, the last used one at the end.
    idle: Vec<Connection>,
    route: Route,
    /// Whether a connection was refused, which a sin never forgets.
    refused: bool,
    /// Connections that a sin never closes.
    lost: Vec<Connection>,
    /// How many connections of the pool a sin never gives back.
    lost_slots: usize,
}

impl Client {
    /// The saint.
    pub fn saint() -> Client {
        Client::default()
    }

    /// The sinner, with one sin.
    pub fn sinner(sin: &str) -> Client {
        Client {
            sins: Sins(Some(sin.to_owned())),
            ..Client::default()
        }
    }
}

impl Client {
    fn close(&mut self) -> Reported {
        match self.sins.has("never-closes-idle") {
            true => self.lost.append(&mut self.idle),
            false => self.idle.clear(),
        }
        Reported::Several {
            responses: 0,
            errors: 0,
            class: String::new(),
            text: String::new(),
            ms: 0,
        }
    }
}

impl Subject for Client {
    fn name(&self) -> &str {
        if self.sins.is_empty() {
            "saint"
        } else {
            "sinner"
        }
    }

    fn make(&mut self, call: &CallOptions) -> Result<Reported> {
        if let Some(what) = call.needs.iter().find(|word| !CAN.contains(&word.as_str())) {
            return Ok(Reported::Unsupported { what: what.clone() });
        }
        if call.new_client {
            let sins = std::mem::take(&mut self.sins);
            *self = Client {
                sins,
                ..Client::default()
            };
        }
        let sessions = std::mem::take(&mut self.route.sessions);
        self.route = Route::of(call, &self.sins);
        self.route.sessions = sessions;
        let began = Instant::now();
        let limit = call.timeout_ms.map_or(PATIENCE, Duration::from_millis);
        match call.by.as_deref() {
            Some("close") => return Ok(self.close()),
            Some("fork") if !self.sins.has("child-uses-connections-of-parent") => {
                return self.make_in_child(call);
            }
            _ => {}
        }
        if let Some(count) = call.parallel {
            return Ok(several::send(self, call, count, began + limit));
        }
        let reported = redirects::follow(self, call, began + limit);
        Ok(self.reported(reported, began.elapsed()))
    }
}

impl Client {
    /// Makes a call in a child, which begins with a pool of its own.
    fn make_in_child(&mut self, call: &CallOptions) -> Result<Reported> {
        let idle = std::mem::take(&mut self.idle);
        let child = CallOptions {
            by: None,
            ..call.clone()
        };
        let reported = self.make(&child);
        self.idle = idle;
        reported
    }

    fn reported(&self, outcome: Result<Response, Failure>, took: Duration) -> Reported {
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        match outcome {
            Ok(response) => Reported::Response {
                status: response.status,
                bytes: response.body.len() as u64,
                sha256: hash(&response.body),
                ms,
            },
            Err(_) if self.sins.has("one-error-for-all") => Reported::Error {
                class: "Error".into(),
                text: "the call failed".into(),
                ms,
            },
            Err(failure) => Reported::Error {
                class: format!("{:?}", failure.class),
                text: failure.text.into(),
                ms,
            },
        }
    }
}
