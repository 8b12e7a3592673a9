//! A load: everything that a client must do in a cell, with each factor resolved.

use std::time::Duration;

use hecaton_test_server::Delay;
use serde::{Deserialize, Serialize};

use super::Rate;

/// The work of a client in one cell. A factor that is not set has the value of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Load {
    /// Bytes of the response's body; 0 when the server is not ours.
    pub body_bytes: usize,
    /// Whether connections are reused for later requests; if not, each request has one of its own. Absent means yes.
    #[serde(default = "keep_alive", skip_serializing_if = "Clone::clone")]
    pub keepalive: bool,
    /// Requests that the driver must hold in flight; at a rate, the most that may be.
    pub concurrency: usize,
    /// The test server's delay before each response. Older documents leave it out if it is the plan's,
    /// and the factors below with it.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(skip_serializing_if = "leave_out"))]
    // for documents of before
    pub delay: Delay,
    /// Whether the test server uses TLS; absent means no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tls: bool,
    /// Whether requests are sent over HTTP/2, which TLS negotiates; absent means HTTP/1.1.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub http2: bool,
    /// Whether requests are sent over HTTP/3; absent means no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub http3: bool,
    /// Whether each TLS handshake is whole, because the test server resumes no session; absent means no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_resumption: bool,
    /// Milliseconds of a round trip that the test server plays, in front of every response and for opening a
    /// connection; absent if none is played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_ms: Option<u64>,
    /// How a batch of a known size is sent; absent where requests are no batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Requests of a round, or of a batch; absent for as many as fill its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// How each response is processed; absent means that the check value at its end is read.
    #[serde(default, skip_serializing_if = "Job::is_plain")]
    pub job: Job,
    /// The rate at which requests are sent; absent where each follows the end of another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

/// How the requests of a batch follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Each when the one before it has ended.
    Sync,
    /// All at once.
    Async,
}

/// How a client processes each response.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Job {
    /// Reads the body, and the check value at its end.
    #[default]
    Plain,
    /// Parses a JSON document of 16 KB, and finds the check value in it by its key.
    Json,
    /// Decodes a body in gzip, and reads the check value at its end.
    Gzip,
}

impl Job {
    /// Whether it is the one of a sweep, which documents leave out.
    pub fn is_plain(&self) -> bool {
        *self == Job::Plain
    }

    /// In the words of the command line.
    pub fn name(self) -> &'static str {
        match self {
            Job::Plain => "plain",
            Job::Json => "json",
            Job::Gzip => "gzip",
        }
    }
}

impl Default for Load {
    fn default() -> Load {
        Load::PLAIN
    }
}

impl Load {
    /// One request after another for the smallest body, at once.
    pub const PLAIN: Load = Load {
        body_bytes: 0,
        keepalive: true,
        concurrency: 1,
        delay: Delay::None,
        tls: false,
        http2: false,
        http3: false,
        no_resumption: false,
        round_trip_ms: None,
        mode: None,
        requests: None,
        job: Job::Plain,
        rate: None,
    };

    /// As much as possible of this load for the baseline loader, which keeps connections, uses HTTP/1.1, and parses and
    /// decodes nothing. It reads plain bodies of the same size instead of documents and gzip. Its rounds always fill
    /// their time, except in a batch.
    #[must_use]
    pub fn of_loader(self) -> Load {
        Load {
            keepalive: true,
            http2: false,
            http3: false,
            requests: self.requests.filter(|_| self.mode.is_some()),
            job: Job::Plain,
            ..self
        }
    }

    /// The factors that a server other than the lab's has for itself.
    #[must_use]
    pub fn of_server(&self) -> Load {
        Load {
            keepalive: true,
            concurrency: 1,
            ..*self
        }
    }

    /// The load with its unusual factors alone: the others are as in [`Load::PLAIN`]. Two runs that required the
    /// same of their clients are compared by it.
    #[must_use]
    pub fn beyond(&self, usual: &Load) -> Load {
        let mut own = *self;
        if own.delay == usual.delay {
            own.delay = Load::PLAIN.delay;
        }
        if own.requests == usual.requests {
            own.requests = None;
        }
        if own.job == usual.job {
            own.job = Job::Plain;
        }
        own.tls &= !usual.tls;
        own
    }

    /// Whether several requests are in flight on a connection at once.
    pub fn shares_connections(&self) -> bool {
        self.http2 || self.http3
    }

    /// The version of HTTP that it requires.
    pub fn version(&self) -> &'static str {
        match (self.http3, self.http2) {
            (true, _) => "HTTP/3",
            (false, true) => "HTTP/2",
            (false, false) => "HTTP/1.1",
        }
    }

    /// Why no client can be measured under it, in a sentence with what to do.
    pub fn contradiction(&self) -> Option<&'static str> {
        let contradictions = [
            (
                self.no_resumption && !self.tls,
                "resumption=off is of TLS handshakes, and there are none; add tls=on",
            ),
            (
                self.http2 && !self.tls,
                "http=2 is negotiated by TLS, and there is none; add tls=on",
            ),
            (
                self.http3 && !self.tls,
                "http=3 is encrypted by TLS; add tls=on",
            ),
            (
                self.shares_connections() && !self.keepalive,
                "http=2 and http=3 share connections, and keepalive=off requires one for each request; leave one of them out",
            ),
        ];
        let found = contradictions.into_iter().find(|(are, _)| *are);
        found.map(|(_, why)| why)
    }

    /// The round trip that the test server plays; 0 when none.
    pub fn round_trip(&self) -> Duration {
        Duration::from_millis(self.round_trip_ms.unwrap_or(0))
    }

    /// The shortest wait for a response on the server's side.
    pub fn wait(&self) -> Delay {
        match (self.delay, self.round_trip()) {
            (delay, Duration::ZERO) => delay,
            (Delay::Fixed(delay), round_trip) => Delay::Fixed(delay + round_trip),
            (_, round_trip) => Delay::Fixed(round_trip),
        }
    }
}

/// For the schema alone: documents of before leave a delay out, and today's never do.
#[cfg(feature = "schema")]
fn leave_out(_: &Delay) -> bool {
    false
}

fn keep_alive() -> bool {
    true
}
