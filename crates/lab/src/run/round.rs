//! One round: a driver's claim, what the harness measured, and the server's log.

use std::collections::BTreeMap;

use hecaton_test_server::{Interval, Times};
use serde::{Deserialize, Serialize};

use super::{Fact, Isolation, Later, LogEntries, Noise};
use crate::plan::Cell;

/// The driver's account of its work; it is a claim until the server's log agrees.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Claim {
    /// Requests that ended well.
    pub done: u64,
    /// Requests that failed.
    pub errors: u64,
    /// Failures by kind, in the driver's words.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors_by: BTreeMap<String, u64>,
    /// The first failure with its message, if that says more than its kind. Absent at a service of the user's own, because a message may quote the value of
    /// a header field, which is written nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_error: Option<String>,
    /// Bytes of bodies read.
    pub bytes: u64,
    /// The checksum: the sum of the check values of all bodies, modulo 2³².
    pub sum: u32,
    /// Latencies in microseconds: of all requests that were to be timed, in buckets.
    #[serde(default)]
    pub latencies_us: Times,
}

/// The most characters of a failure's message that are shown.
const MESSAGE: usize = 200;

impl Claim {
    /// A kind of its failures, in the driver's words.
    pub fn kind(&self) -> &str {
        let kind = self.errors_by.keys().next();
        kind.map_or("without a word", String::as_str)
    }

    /// The first failure with its message, as the end of a sentence; empty if the driver gives none.
    pub fn first_failure(&self) -> String {
        let first = self.first_error.as_ref();
        first.map_or_else(String::new, |text| {
            let end = text.char_indices().nth(MESSAGE);
            let (shown, dots) = end.map_or((text.as_str(), ""), |(end, _)| (&text[..end], "…"));
            format!("; the first: {shown}{dots}")
        })
    }
}

/// The work of a driver's processes between its last round and this one, and until it is stopped: they get ready and are
/// probed. The CPU time of a request contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BesideRound {
    /// Their CPU time, in nanoseconds.
    pub cpu_ns: u64,
    /// Requests that the lab let the driver send meanwhile.
    pub requests: u64,
}

/// An untimed round of the same shape beside a measured one. The server holds every response until as many requests are in
/// flight as should be, splits some in two, and sends others in another form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proof {
    /// From writing `go` to reading the reply, in nanoseconds.
    pub wall_ns: u64,
    /// The driver's account.
    pub claim: Claim,
    /// The test server's log.
    pub seen: Interval,
}

/// One `go`, whole. Times are nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Round {
    /// What was measured.
    #[serde(flatten)]
    pub cell: Cell,
    /// Which process of this client, from 0.
    #[serde(alias = "launch")]
    pub invocation: u32,
    /// The randomised block that the round belongs to, from 0; cells of one block are compared.
    pub block: u32,
    /// Position in the block, from 0.
    pub order: u32,
    /// Requests of the plan.
    pub count: u64,
    /// From writing `go` to reading the reply. At a rate, from when the first request was due, and at least until one
    /// more would be.
    pub wall_ns: u64,
    /// CPU time of the driver's process in user mode.
    pub cpu_user_ns: u64,
    /// CPU time of the driver's process in the kernel.
    pub cpu_system_ns: u64,
    /// The driver's work outside of its rounds since the last one; absent in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<BesideRound>,
    /// Descriptors that the driver opened in the round and still had at its end, where each request has a connection of
    /// its own; absent elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_open: Option<u64>,
    /// Highest resident memory during the round, in KiB.
    pub peak_rss_kib: u64,
    /// The driver's account.
    pub claim: Claim,
    /// The test server's log of the measured part; null if the target is another server.
    pub seen: Option<Interval>,
    /// The test server's log of the probe before it: `2 × concurrency` requests. Each is held until `concurrency` of
    /// them are in flight, or until none has come for a while.
    #[serde(alias = "proof")]
    pub probe: Option<Interval>,
    /// The proof beside it, of as many requests; absent where none was drawn.
    #[serde(
        default,
        rename = "proof_round",
        skip_serializing_if = "Option::is_none"
    )]
    pub proof: Option<Box<Proof>>,
    /// Whether it is a load generator's, of which nothing can be verified; absent means no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reference: bool,
    /// Whether the driver ran as the lab's own user because of `--trust`, so that it could look into the lab; absent
    /// means no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trusted: bool,
    /// Whether its client was sent no interim responses, because it could not read the one that it was tried with;
    /// absent means no.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_interim: bool,
    /// The work of the process in this cell after the round. Absent unless it is the last round of a client in one
    /// cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub later: Option<Later>,
    /// One request in this many was to be timed; 0 in older documents, which do not say it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lat_every: u64,
    /// Requests per second at which they were due; absent where each followed the end of another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_second: Option<f64>,
    /// The facts from the access log of one's own service; absent where none was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logged: Option<LogEntries>,
    /// CPU time of one's own service; absent where its process was not named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_ns: Option<u64>,
    /// Facts about the driver's processes and requests that may be offences.
    #[serde(default, skip_serializing_if = "Vec::is_empty", rename = "offences")]
    pub facts: Vec<Fact>,
    /// The things that the driver shared with no other; absent in older documents.
    #[serde(default, alias = "place", skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// Disturbances by others, in sentences; this client is not to blame. Its figures may have suffered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<String>,
    /// Other work of the machine during the measured part; none if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
}

impl Round {
    /// Its proof as a round of its own, for the rules, which hold there too.
    pub fn of_proof(&self) -> Option<Round> {
        let proof = self.proof.as_deref()?;
        let held = self.cell.load.concurrency > 1 && self.per_second.is_none();
        Some(Round {
            wall_ns: proof.wall_ns,
            claim: proof.claim.clone(),
            probe: held.then(|| proof.seen.clone()),
            seen: Some(proof.seen.clone()),
            proof: None,
            facts: Vec::new(),
            ..self.clone()
        })
    }
}

/// A new process of a client: how long it took to be there, and to respond for the first time. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Start {
    /// The client.
    pub client: String,
    /// Which process of this client, from 0.
    #[serde(alias = "launch")]
    pub invocation: u32,
    /// From starting the process to its response to `hello`.
    pub boot_ns: u64,
    /// Its first `prepare` and its very first request, whatever is done only once included.
    pub first_request_ns: u64,
    /// The user that it ran as; absent where that was the lab's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<u32>,
    /// Whether a control group held all of its processes; absent means that they were looked for in `/proc`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
}

/// Whether it is 0, and left out of documents.
pub(crate) fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
