//! How many connections there are to each origin: where a server takes no more at once, new ones wait without a word, and
//! an error that says so is worth more than one that does not.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::message::attempt::Attempt;
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::origin::Origin;

/// From how many connections to one origin on their number is mentioned. Servers with a handful of threads or processes
/// are the smallest that are common.
const MANY: usize = 16;

/// The connections of one client.
#[derive(Default)]
pub(crate) struct ConnectionCounts(Mutex<HashMap<Arc<Origin>, Arc<OriginCount>>>);

/// The connections to one origin.
#[derive(Default)]
struct OriginCount {
    now: AtomicUsize,
    /// Most of them at once since there was none.
    peak: AtomicUsize,
}

/// Counts a connection for as long as it is kept.
pub(crate) struct Counted(Arc<OriginCount>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ConnectionCounts {
    /// For a connection that was opened to `origin`.
    pub fn join(&self, origin: &Arc<Origin>) -> Counted {
        let mut connection_counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !connection_counts.contains_key(origin) {
            connection_counts.retain(|_, count| count.now.load(Ordering::Relaxed) > 0);
        }
        let count = connection_counts.entry(origin.clone()).or_default();
        let now = count.now.fetch_add(1, Ordering::Relaxed) + 1;
        match now {
            1 => count.peak.store(1, Ordering::Relaxed),
            _ => drop(count.peak.fetch_max(now, Ordering::Relaxed)),
        }
        Counted(count.clone())
    }

    /// Adds to a time-out of a new connection that never said a word how many others there were.
    pub fn explain(
        &self,
        mut failure: Failure,
        origin: &Arc<Origin>,
        attempt: Option<&Attempt>,
    ) -> Failure {
        let silent = |attempt: &Attempt| {
            let waits = matches!(attempt.phase, Phase::Tls | Phase::Send | Phase::FirstByte);
            waits && !attempt.reused
        };
        if failure.kind != Kind::Timeout || !attempt.is_some_and(silent) {
            return failure;
        }
        let connection_counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let peak = connection_counts
            .get(origin)
            .map_or(0, |count| count.peak.load(Ordering::Relaxed));
        if peak >= MANY {
            failure.detail += &format!(
                "; this new connection never said a word while the client had up to {peak} to the same server, which may \
                 serve fewer at once: see per_origin"
            );
        }
        failure
    }
}
