//! When the loader's requests are due, if they are sent at a rate, and an alarm that wakes it then: polling rounds to
//! milliseconds.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use crate::run::Go;

/// The token of the alarm; connections are numbered from 0.
const ALARM: Token = Token(usize::MAX);

/// The instants at which the requests of a `go` are due.
#[derive(Debug)]
pub struct Pace {
    start: Instant,
    rate: f64,
    /// Microseconds after the start; none at equal distances.
    offsets: Option<Vec<u64>>,
}

impl Pace {
    /// None for the closed loop.
    ///
    /// # Errors
    /// When the file of instants cannot be read.
    pub fn of(go: &Go) -> io::Result<Option<Pace>> {
        let Some((rate, start)) = go.rate.zip(go.start) else {
            return Ok(None);
        };
        let start = UNIX_EPOCH + Duration::from_micros(start);
        let left = start.duration_since(SystemTime::now()).unwrap_or_default();
        let start = Instant::now() + left;
        let offsets = match &go.due {
            None => None,
            Some(path) => {
                let text = std::fs::read_to_string(path)?;
                let offsets: Result<_, _> = text.lines().map(str::parse).collect();
                Some(offsets.map_err(io::Error::other)?)
            }
        };
        Ok(Some(Pace {
            start,
            rate,
            offsets,
        }))
    }

    /// When the request at this position is due.
    pub fn due(&self, position: u64) -> Instant {
        let listed = self
            .offsets
            .as_ref()
            .and_then(|all| all.get(position as usize));
        let after = match listed {
            Some(offset) => Duration::from_micros(*offset),
            None => Duration::from_secs_f64(position as f64 / self.rate),
        };
        self.start + after
    }
}

/// Wakes a poll at an instant.
#[derive(Debug)]
pub struct Alarm(TimerFd);

impl Alarm {
    /// A timer that wakes the poll behind `registry`.
    ///
    /// # Errors
    /// When the system gives none.
    pub fn new(registry: &Registry) -> io::Result<Alarm> {
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        let fd = timer.as_fd().as_raw_fd();
        registry.register(&mut SourceFd(&fd), ALARM, Interest::READABLE)?;
        Ok(Alarm(timer))
    }

    /// Goes off at this instant.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn set(&self, at: Instant) -> io::Result<()> {
        // Nothing left would switch it off.
        let left = at
            .saturating_duration_since(Instant::now())
            .max(Duration::from_nanos(1));
        let once = Expiration::OneShot(TimeSpec::from_duration(left));
        Ok(self.0.set(once, TimerSetTimeFlags::empty())?)
    }

    /// Whether an event is the alarm's.
    pub fn is(token: Token) -> bool {
        token == ALARM
    }
}
