//! How many connections there are to each origin. A server that accepts no more leaves new ones waiting without a word,
//! and an error that says so helps.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::message::attempt::Attempt;
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::origin::Origin;
use crate::runtime::lock::lock;

/// From this number of connections to one origin on, an error mentions it. The smallest common servers have a handful
/// of threads or processes.
const MANY: usize = 16;

/// The connections of one client.
#[derive(Default)]
pub(crate) struct ConnectionCounts(Mutex<HashMap<Arc<Origin>, Arc<OriginCount>>>);

/// The connections to one origin.
#[derive(Default)]
struct OriginCount {
    now: AtomicUsize,
    /// The highest value of `now` since it was last 0.
    peak: AtomicUsize,
}

/// Counts a connection as long as it lives.
pub(crate) struct Counted(Arc<OriginCount>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ConnectionCounts {
    /// Counts a connection that was opened to `origin`, until the result is dropped.
    pub fn join(&self, origin: &Arc<Origin>) -> Counted {
        let mut connection_counts = lock(&self.0);
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

    /// Adds the number of other connections to the time-out of a new connection on which no byte ever came.
    pub fn explain_silence(
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
        let connection_counts = lock(&self.0);
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
