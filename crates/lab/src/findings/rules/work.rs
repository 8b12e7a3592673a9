//! Rules of a driver's processes: facts that the lab saw itself, and no measured time against a fitted number.

use crate::findings::words::figure;
use crate::run::{Fact, Round, Seen};

/// The first fact about the driver's processes and requests that is an offence.
pub(super) fn offended(round: &Round) -> Option<String> {
    round.facts.iter().find_map(|fact| match fact {
        Fact::Said(says) => Some(says.clone()),
        Fact::Seen(seen) => offence(seen),
    })
}

/// A fact in words, if it is an offence.
pub fn offence(seen: &Seen) -> Option<String> {
    Some(match seen {
        Seen::OtherCores { cores, core } => format!(
            "a thread of the driver may run on the cores {cores}, though all share core {core}"
        ),
        Seen::MoreThanOneCore { cpu_ns, within_ns } => format!(
            "the driver's processes used {} ms of CPU time within {} ms, though all share one core",
            figure(*cpu_ns as f64 / 1e6),
            figure(*within_ns as f64 / 1e6)
        ),
        Seen::Early { ns } => {
            let ms = *ns as f64 / 1e6;
            format!("its first request arrived {ms:.2} ms before `go`")
        }
        Seen::Untrusted {
            responded,
            count,
            of_another_host,
        } => {
            let whose = match of_another_host {
                true => ": its certificate is for another host",
                false => "",
            };
            format!(
                "certificates are not verified: {responded} of {count} requests went to a server that it must not trust{whose}"
            )
        }
        Seen::Ended { happened } => format!("its driver {happened}"),
        Seen::Broke { happened } => {
            format!("its driver broke, and was left out of the rest: it {happened}")
        }
        Seen::Flooded { .. } | Seen::Other => return None,
    })
}
