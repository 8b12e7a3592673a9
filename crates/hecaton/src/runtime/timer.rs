//! The limit of the current phase, beside the total deadline; no timer runs where there is none.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

use crate::config::Config;
use crate::message::failure::{Failure, Kind, Phase};

/// Fires when a phase takes longer than the settings allow.
pub(crate) struct PhaseTimer<'a> {
    config: &'a Config,
    phase: Option<Phase>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<'a> PhaseTimer<'a> {
    pub fn new(config: &'a Config) -> PhaseTimer<'a> {
        PhaseTimer {
            config,
            phase: None,
            sleep: None,
        }
    }

    /// Starts anew if the phase has changed.
    pub fn follow(&mut self, phase: Phase) {
        if self.phase != Some(phase) {
            self.restart(phase);
        }
    }

    /// Starts anew, with the limit of this phase.
    pub fn restart(&mut self, phase: Phase) {
        self.phase = Some(phase);
        self.sleep = limit(self.config, phase).map(|limit| Box::pin(sleep(limit)));
    }

    /// The failure once the limit has passed.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Failure> {
        let (Some(sleep), Some(phase)) = (&mut self.sleep, self.phase) else {
            return Poll::Pending;
        };
        // A limit of 0 ends the phase at once: tokio's timers count whole milliseconds, and a phase may end within one.
        if limit(self.config, phase) != Some(Duration::ZERO) {
            ready!(sleep.as_mut().poll(cx));
        }
        Poll::Ready(too_slow(self.config, phase))
    }
}

/// Runs one phase within its limit.
pub(crate) async fn within<T>(
    config: &Config,
    phase: Phase,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    within_rest(config, phase, Duration::ZERO, work).await
}

/// Runs one phase of which some time has passed already.
pub(crate) async fn within_rest<T>(
    config: &Config,
    phase: Phase,
    elapsed: Duration,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    match limit(config, phase) {
        None => work.await,
        Some(Duration::ZERO) => Err(too_slow(config, phase)),
        Some(limit) => match tokio::time::timeout(limit.saturating_sub(elapsed), work).await {
            Ok(result) => result,
            Err(_) => Err(too_slow(config, phase)),
        },
    }
}

/// The failure of a phase that has ended, if it took longer than its limit.
pub(crate) fn exceeded(config: &Config, phase: Phase, took: Duration) -> Result<(), Failure> {
    match limit(config, phase) {
        Some(limit) if took > limit => Err(too_slow(config, phase)),
        _ => Ok(()),
    }
}

fn limit(config: &Config, phase: Phase) -> Option<Duration> {
    match phase {
        Phase::Resolve => config.resolve_timeout,
        Phase::Connect => Some(config.connect_timeout),
        Phase::Tls => config.tls_timeout,
        Phase::Send => config.send_timeout,
        Phase::FirstByte => config.first_byte_timeout,
        Phase::Read => config.read_timeout,
        Phase::Queue => config.queue_timeout,
        Phase::Total => None,
    }
}

fn too_slow(config: &Config, phase: Phase) -> Failure {
    let limit = limit(config, phase).unwrap_or_default();
    let detail = match phase {
        Phase::Read => format!("nothing more of the body came within {limit:?}"),
        _ => format!("{} took longer than {limit:?}", phase.doing()),
    };
    Failure::new(Kind::Timeout, phase, detail)
}
