//! Looks at the machine and says what would disturb a measurement, and what mends it; changes nothing.
//!
//! Beside the flow: it needs no plan and leaves no document. Each check reads texts under `/proc` and `/sys`, so
//! tests can give it the texts of any machine.

mod network;
mod noise;
mod processor;
mod tools;

use serde::Serialize;

use crate::ledger::Root;

pub use noise::noise;
pub use tools::tools;

/// One finding about the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The subject of the check.
    pub about: &'static str,
    /// How it stands.
    pub standing: Standing,
    /// What was seen.
    pub seen: String,
    /// The command or the deed that mends it; none when nothing needs to be done.
    pub mend: Option<String>,
}

/// How a thing stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// As it should be.
    Good,
    /// Worth knowing; nothing to do.
    Note,
    /// It disturbs measurements, or keeps something from running.
    Mend,
}

impl Finding {
    fn good(about: &'static str, seen: impl Into<String>) -> Finding {
        Finding {
            about,
            standing: Standing::Good,
            seen: seen.into(),
            mend: None,
        }
    }

    fn note(about: &'static str, seen: impl Into<String>) -> Finding {
        Finding {
            standing: Standing::Note,
            ..Finding::good(about, seen)
        }
    }

    /// To mend where it is bad, and else good.
    fn judged(about: &'static str, bad: bool, seen: impl Into<String>, deed: &str) -> Finding {
        match bad {
            true => Finding::mend(about, seen, deed),
            false => Finding::good(about, seen),
        }
    }

    fn mend(about: &'static str, seen: impl Into<String>, deed: impl Into<String>) -> Finding {
        Finding {
            standing: Standing::Mend,
            mend: Some(deed.into()),
            ..Finding::good(about, seen)
        }
    }
}

/// Everything that can be read at once: processor, then limits and network.
pub fn machine(root: &Root) -> Vec<Finding> {
    let mut findings = processor::findings(root);
    findings.extend(network::findings(root));
    findings
}
