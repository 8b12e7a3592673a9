//! The lines between the harness and a driver; `docs/driver-protocol.md` is their description.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use hecaton_test_server::Times;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::Claim;
use crate::spec::Skill;

/// Version of the protocol that this harness implements.
pub const PROTO: u32 = 2;

/// A driver's description of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// The protocol that the driver chose.
    pub proto: u32,
    /// The client's name, as in its manifest.
    pub name: String,
    /// Version of the client.
    pub version: String,
    /// The runtime, with version.
    #[serde(default)]
    pub runtime: String,
    /// The library that does the work.
    #[serde(default)]
    pub engine: String,
    /// Versions of HTTP.
    #[serde(default)]
    pub http: Vec<String>,
    /// Whether https is supported.
    #[serde(default)]
    pub tls: bool,
    /// How the client holds requests in flight: `threads`, `callbacks`, `batch`, …
    #[serde(default)]
    pub models: Vec<String>,
    /// Which of reusing connections (`true`) and not reusing them (`false`) are supported.
    #[serde(default)]
    pub keepalive: Vec<bool>,
    /// Whether the client repeats requests by itself: `off`, `fixed:N` or `unknown`.
    #[serde(default)]
    pub retries: String,
    /// Most requests that it can keep in flight.
    #[serde(default)]
    pub max_concurrency: usize,
    /// Cores that it can use.
    #[serde(default)]
    pub cores: usize,
    /// Ways in which it can verify bodies.
    #[serde(default)]
    pub verify: Vec<Verify>,
    /// Methods that it can send.
    #[serde(default)]
    pub methods: Vec<String>,
    /// Optional parts of its requests: `fields` and `body`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sends: Vec<String>,
    /// Optional keys of `prepare`: `expect`, `urls`, `id_field`.
    #[serde(default)]
    pub knows: Vec<String>,
    /// How else than in the closed loop it can send requests: `rate`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paces: Vec<String>,
    /// Which calls the client can make in an audit: the words that `needs` of `call` may have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
}

impl Hello {
    /// Whether the driver says that it can do this.
    pub fn can(&self, skill: Skill) -> bool {
        let word = skill.to_string();
        let mut said = self.sends.iter().chain(&self.knows).chain(&self.paces);
        said.any(|known| *known == word)
    }

    /// Whether the driver makes calls for an audit, and can send nothing for a measurement.
    pub fn is_for_audits(&self) -> bool {
        self.models.is_empty() && !self.calls.is_empty()
    }

    /// Whether its client can do this version of HTTP.
    pub fn can_http(&self, version: &str) -> bool {
        self.http.iter().any(|known| known == version)
    }
}

/// How a driver verifies the body of a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verify {
    /// The last eight bytes are the check value, in hexadecimal digits.
    Tail,
    /// The body is parsed as JSON; the check value is the text under the key `token`.
    Json,
    /// The body is requested in gzip, and decoded; its last eight bytes are the check value.
    Gzip,
    /// The body is read to its end and no check value is looked for.
    #[default]
    None,
}

impl fmt::Display for Verify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The settings of the next requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prepare {
    /// Method of every request.
    pub method: String,
    /// Where requests go.
    pub url: String,
    /// Whether the id of each request is appended to the URL.
    pub append_id: bool,
    /// Requests in flight.
    pub concurrency: usize,
    /// Whether connections are used again.
    pub keepalive: bool,
    /// How bodies are verified.
    pub verify: Verify,
    /// How long one request may take before it counts as failed, in milliseconds.
    pub timeout_ms: u64,
    /// A PEM file with the certificates to trust instead of the system's; none for those of the system.
    pub ca: Option<PathBuf>,
    /// A file with header fields of every request, a line each; none where they have none. Only for drivers that say
    /// they send them.
    pub fields: Option<PathBuf>,
    /// A file with the body of every request; none where they have none. Only for drivers that say they send it.
    pub body: Option<PathBuf>,
    /// A header field that each request has, with its id behind `hecaton-`; none where requests have none. Only for
    /// drivers that say they know it.
    pub id_field: Option<String>,
    /// A file with the URLs that take turns, a line each; none where all requests have one. Only for drivers that say
    /// they know it.
    pub urls: Option<PathBuf>,
    /// Ranges of statuses that count as success, as in `200-299,404-404`; none for 200 to 299. Only for drivers that
    /// say they know it.
    pub expect: Option<String>,
    /// The keys that the factors of a load add. Only for drivers that say they know it.
    #[serde(flatten)]
    pub more: BTreeMap<String, serde_json::Value>,
}

/// Which requests to send, and when.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Go {
    /// The first id; the ids are `first..first + count`.
    pub first: u64,
    /// How many requests.
    pub count: u64,
    /// Every how-manieth request is timed, at least 1.
    pub lat_every: u64,
    /// Requests per second: request `k` is due `k / rate` seconds after `start`. None for the closed loop.
    pub rate: Option<f64>,
    /// When the first request is due, in microseconds since 1970.
    pub start: Option<u64>,
    /// A file that says when each request is due instead: microseconds after `start`, a line each.
    pub due: Option<PathBuf>,
}

/// A line to the driver. Keys keep the order in which they are written here.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "cmd", rename_all = "lowercase")]
pub enum Command {
    /// Who are you?
    Hello {
        /// The version of the protocol.
        proto: u32,
    },
    /// Get ready; send nothing yet.
    Prepare(Prepare),
    /// Send.
    Go(Go),
    /// Make one call, and report its outcome.
    Call(serde_json::Value),
    /// End.
    Bye,
    /// A word that no driver knows, to see what it replies.
    Unknown,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Command::Hello { .. } => "hello",
            Command::Prepare(_) => "prepare",
            Command::Go(_) => "go",
            Command::Call(_) => "call",
            Command::Bye => "bye",
            Command::Unknown => "unknown_command",
        })
    }
}

/// A command with the number that its response repeats.
#[derive(Debug, Serialize)]
struct Numbered<'a> {
    id: u64,
    #[serde(flatten)]
    command: &'a Command,
}

/// The command as one line, with its end; without the keys that have no value.
pub fn line(id: u64, command: &Command) -> Vec<u8> {
    let command = serde_json::to_value(Numbered { id, command });
    let mut command = command.expect("commands are plain data");
    if let Some(keys) = command.as_object_mut() {
        keys.retain(|_, value| !value.is_null());
    }
    format!("{command}\n").into_bytes()
}

/// The part of a response that all have in common.
#[derive(Debug, Deserialize)]
pub struct Envelope {
    /// Number of the command.
    pub id: u64,
    /// Whether it was done.
    pub ok: bool,
    /// Why not: `unsupported`, `bad_request` or `failed`.
    #[serde(default)]
    pub error: String,
    /// The reason in the driver's words.
    #[serde(default)]
    pub what: String,
}

/// A driver's response to `go`.
#[derive(Debug, Deserialize)]
pub struct GoReply {
    done: u64,
    errors: u64,
    #[serde(default)]
    errors_by: BTreeMap<String, u64>,
    #[serde(default)]
    first_error: Option<String>,
    bytes: u64,
    sum: u32,
    #[serde(deserialize_with = "latencies")]
    lat_us: Times,
}

/// Names the key of a latency that cannot be read.
fn latencies<'de, D: Deserializer<'de>>(from: D) -> Result<Times, D::Error> {
    Times::deserialize(from).map_err(|error| D::Error::custom(format!("lat_us: {error}")))
}

/// Most kinds of failures that are counted apart; all others are one.
const KINDS: usize = 50;

/// The most frequent kinds, and the sum of the others.
fn few(kinds: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut all: Vec<(String, u64)> = kinds.into_iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let others = all.split_off(all.len().min(KINDS));
    let mut remaining: BTreeMap<String, u64> = all.into_iter().collect();
    for (_, count) in others {
        let sum = remaining.entry("of other kinds".into()).or_default();
        *sum = sum.saturating_add(count);
    }
    remaining
}

impl From<GoReply> for Claim {
    fn from(reply: GoReply) -> Claim {
        let says_more = |text: &String| !text.is_empty() && !reply.errors_by.contains_key(text);
        Claim {
            done: reply.done,
            errors: reply.errors,
            first_error: reply.first_error.filter(says_more),
            errors_by: few(reply.errors_by),
            bytes: reply.bytes,
            sum: reply.sum,
            latencies_us: reply.lat_us,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(id: u64, command: Command) -> String {
        String::from_utf8(line(id, &command)).unwrap()
    }

    #[test]
    fn of_thousands_of_kinds_the_most_frequent_remain() {
        let kinds = (0..5000u64).map(|n| (format!("kind {n}"), 1 + n % 7));
        let kinds: BTreeMap<String, u64> = kinds.collect();
        let sum = |kinds: &BTreeMap<String, u64>| kinds.values().sum::<u64>();
        let remaining = few(kinds.clone());
        assert_eq!((remaining.len(), sum(&remaining)), (KINDS + 1, sum(&kinds)));
        assert!(
            remaining
                .iter()
                .all(|(kind, n)| *n == 7 || kind == "of other kinds")
        );
    }

    #[test]
    fn lines_are_flat_and_in_the_documented_order() {
        assert_eq!(
            text(1, Command::Hello { proto: PROTO }),
            "{\"id\":1,\"cmd\":\"hello\",\"proto\":2}\n"
        );
        let prepare = Prepare {
            method: "GET".into(),
            url: "http://127.0.0.1:4001/r/".into(),
            append_id: true,
            concurrency: 40,
            keepalive: true,
            verify: Verify::Tail,
            timeout_ms: 10_000,
            ..Prepare::default()
        };
        assert_eq!(
            text(2, Command::Prepare(prepare)),
            "{\"id\":2,\"cmd\":\"prepare\",\"method\":\"GET\",\"url\":\"http://127.0.0.1:4001/r/\",\"append_id\":true,\
             \"concurrency\":40,\"keepalive\":true,\"verify\":\"tail\",\"timeout_ms\":10000}\n"
        );
        let go = Go {
            first: 8_812_345,
            count: 2000,
            lat_every: 4,
            ..Go::default()
        };
        assert_eq!(
            text(3, Command::Go(go)),
            "{\"id\":3,\"cmd\":\"go\",\"first\":8812345,\"count\":2000,\"lat_every\":4}\n"
        );
        let paced = Go {
            first: 1,
            count: 2,
            lat_every: 1,
            rate: Some(62.5),
            start: Some(1_763_900_000_000_000),
            due: None,
        };
        assert_eq!(
            text(3, Command::Go(paced)),
            "{\"id\":3,\"cmd\":\"go\",\"first\":1,\"count\":2,\"lat_every\":1,\"rate\":62.5,\"start\":1763900000000000}\n"
        );
        assert_eq!(text(4, Command::Bye), "{\"id\":4,\"cmd\":\"bye\"}\n");
    }
}
