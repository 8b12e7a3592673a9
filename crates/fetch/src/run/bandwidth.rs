//! `--max-bandwidth`: how many bytes of bodies the threads of a run may receive in a second, all together.
//!
//! What has come is paid for by time. Until it is, no request is sent and no further piece of a body is taken, so that
//! TCP slows the servers down. Requests go on to be polled meanwhile: none times out because of the pause.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The bandwidth of a run.
pub struct Bandwidth {
    /// Bytes a second.
    most: Option<u64>,
    /// When everything is paid for that has come.
    paid: Mutex<Instant>,
}

impl Bandwidth {
    /// At most so many bytes a second, from now on.
    pub fn new(most: Option<u64>, now: Instant) -> Bandwidth {
        Bandwidth {
            most,
            paid: Mutex::new(now),
        }
    }

    /// Counts bytes that have come.
    pub fn came(&self, bytes: usize, now: Instant) {
        let Some(most) = self.most.filter(|_| bytes > 0) else {
            return;
        };
        let mut paid = self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        let time = Duration::from_secs_f64(bytes as f64 / most as f64);
        *paid = (*paid).max(now) + time;
    }

    /// How long nothing more may be received, if it must wait.
    pub fn pause(&self, now: Instant) -> Option<Duration> {
        self.most?;
        let paid = *self.paid.lock().unwrap_or_else(PoisonError::into_inner);
        Some(paid.saturating_duration_since(now)).filter(|pause| !pause.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_come_is_paid_for_by_time() {
        let now = Instant::now();
        let at = |seconds| now + Duration::from_secs(seconds);
        let limited = Bandwidth::new(Some(100), now);
        assert_eq!(limited.pause(now), None);
        limited.came(250, now);
        limited.came(50, at(1));
        assert_eq!(limited.pause(at(1)), Some(Duration::from_secs(2)));
        assert_eq!(limited.pause(at(3)), None);
        // Time in which nothing came is lost.
        limited.came(100, at(60));
        assert_eq!(limited.pause(at(60)), Some(Duration::from_secs(1)));
        let free = Bandwidth::new(None, now);
        free.came(usize::MAX, now);
        assert_eq!(free.pause(now), None);
    }
}
