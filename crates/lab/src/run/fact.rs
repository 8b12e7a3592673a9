//! Facts about a driver's processes and requests in a round, as the lab saw them. Which of them are offences is for the
//! rules to say.

use serde::{Deserialize, Serialize};

/// One observation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Fact {
    /// With its figures.
    Seen(Seen),
    /// Older documents have a sentence instead, which is always an offence.
    Said(String),
}

/// One observation with its figures. Times are nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Seen {
    /// A thread that may run on other cores than the shared one.
    OtherCores {
        /// Those on which it may run.
        cores: String,
        /// The shared one.
        core: usize,
    },
    /// A thread with a raised priority.
    Priority {
        /// Its nice value, below 0.
        nice: i64,
    },
    /// A thread with a real-time policy.
    RealTime {
        /// Its number (sched(7)).
        policy: i64,
    },
    /// A thread that went to another core during the round, although it may use only one.
    Migrated {
        /// How often.
        times: u64,
        /// The shared core.
        core: usize,
    },
    /// More error output than is stored.
    Flooded {
        /// MiB that the driver had written.
        written_mib: u64,
        /// MiB of it that are stored.
        kept_mib: u64,
    },
    /// A process that ignores the ends of its children, where no control group counts their CPU time.
    IgnoresChildren,
    /// Processes outside of the driver's tree.
    Apart {
        /// How many.
        processes: usize,
        /// CPU time that they used in the round.
        cpu_ns: u64,
        /// Whether a control group counts it after they have ended, too.
        held: bool,
    },
    /// CPU time while the driver was stopped and others were measured.
    Awake {
        /// How much.
        cpu_ns: u64,
    },
    /// Processes that still lived a while after `bye`.
    Outlived {
        /// How many.
        processes: usize,
    },
    /// The first request came before `go`.
    Early {
        /// By how much.
        ns: u64,
    },
    /// Requests to a server that the client must not trust.
    Untrusted {
        /// How many requests that server got.
        #[serde(alias = "answered")]
        responded: u64,
        /// How many were requested.
        count: u64,
        /// Whether its certificate was for another host; otherwise it came from another authority.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        of_another_host: bool,
    },
    /// The driver did not end as it should.
    Ended {
        /// How, in words.
        happened: String,
    },
    /// The driver broke later in the run, and was left out of the rest.
    Broke {
        /// How, in words.
        happened: String,
    },
}

/// The things that a round's driver shared with no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Isolation {
    /// Whether it had a user of its own, so that no other driver could open connections in its name.
    pub own_user: bool,
    /// Whether it had one core.
    pub one_core: bool,
}

impl From<Seen> for Fact {
    fn from(seen: Seen) -> Fact {
        Fact::Seen(seen)
    }
}
