//! The saint and the sinner: one small client, with a switch for each sin.

mod chunked;
mod client;
mod connection;
mod content;
mod cookies;
mod exchange;
mod hop;
mod http2;
mod http3;
mod outcome;
mod redirects;
mod response;
mod route;
mod secure;
mod several;
mod sins;

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::case::hash;
use crate::subject::{CallOptions, Reported, Subject};
use outcome::Outcome;
use route::Route;

pub use client::Client;

/// Words that the saint and the sinner understand.
const CAN: [&str; 23] = [
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
    "h3",
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
        let limit = Duration::from_millis(call.timeout_ms);
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

    fn reported(&self, outcome: Outcome, took: Duration) -> Reported {
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
