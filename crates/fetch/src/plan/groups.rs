//! The groups of hosts, and how many inputs each host has.

use std::collections::HashMap;
use std::hash::Hasher;

use foldhash::fast::FixedState;
use siphasher::sip::SipHasher13;

use super::spool::GROUPS;
use crate::host::site;

/// Most hosts whose inputs are counted: memory stays flat whatever the input.
const MOST_COUNTED: usize = 400_000;

/// Most inputs for a host of someone else that a job without a rate may have.
pub(super) const WITHOUT_RATE: u32 = 10;

/// Where an input goes.
pub struct Routed<'a> {
    /// The canonical host.
    pub host: &'a str,
    /// Whether the host is someone else's.
    pub foreign: bool,
    /// Whether the job says what rate this host gets.
    pub has_rate: bool,
    /// The digest of the request: equal requests have equal digests.
    pub request: u128,
}

/// The group of a host, by its canonical name. A site's hosts are in one group, so that a redirect from one of them to
/// another stays in its part.
pub fn group(host: &str) -> usize {
    digest(site(host).as_bytes()) as usize % GROUPS
}

/// How many inputs each host has, for at most `MOST_COUNTED` hosts.
#[derive(Default)]
pub(super) struct HostCounts {
    counts: HashMap<u64, u32, FixedState>,
    /// By group, the inputs of its largest host.
    pub heaviest: Vec<u64>,
    /// Whether there is a host of this machine or of a private network.
    pub any_own: bool,
    /// The first host of someone else with more than `WITHOUT_RATE` inputs.
    pub busy: Option<String>,
    last: (String, u64, usize),
}

impl HostCounts {
    /// Counts an input, and returns the group of its host.
    pub fn note(&mut self, routed: &Routed<'_>) -> usize {
        self.any_own |= !routed.foreign;
        if self.last.0 != routed.host || self.heaviest.is_empty() {
            self.last.0.clear();
            self.last.0.push_str(routed.host);
            self.last.1 = digest(routed.host.as_bytes());
            self.last.2 = group(routed.host);
            self.heaviest.resize(GROUPS, 0);
        }
        let host = self.last.1;
        let group = self.last.2;
        if self.counts.len() < MOST_COUNTED || self.counts.contains_key(&host) {
            let count = self.counts.entry(host).or_default();
            *count = count.saturating_add(1);
            self.heaviest[group] = self.heaviest[group].max(u64::from(*count));
            let needs_rate = routed.foreign && !routed.has_rate;
            if needs_rate && *count > WITHOUT_RATE && self.busy.is_none() {
                self.busy = Some(routed.host.to_owned());
            }
        }
        group
    }
}

/// A digest that is the same on every machine.
fn digest(bytes: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new();
    hasher.write(bytes);
    hasher.finish()
}
