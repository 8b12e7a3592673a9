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
    /// More CPU time than one core has.
    MoreThanOneCore {
        /// How much.
        cpu_ns: u64,
        /// The time between the two readings.
        within_ns: u64,
    },
    /// More error output than is stored.
    Flooded {
        /// MiB that the driver had written.
        written_mib: u64,
        /// MiB of it that are stored.
        kept_mib: u64,
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
    /// What older documents have: it decides nothing.
    #[serde(other)]
    Other,
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
