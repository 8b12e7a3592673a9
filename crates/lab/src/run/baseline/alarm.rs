//! An alarm that wakes a poll at an instant: polling itself rounds to milliseconds.

use mio::Token;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::Alarm;
#[cfg(target_os = "linux")]
pub use linux::Alarm;

/// The token of the alarm; connections are numbered from 0.
const ALARM: Token = Token(usize::MAX);

/// Whether an event is the alarm's.
pub fn is_alarm(token: Token) -> bool {
    token == ALARM
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io;
    use std::os::fd::{AsFd, AsRawFd};
    use std::time::{Duration, Instant};

    use mio::unix::SourceFd;
    use mio::{Interest, Registry};
    use nix::sys::time::TimeSpec;
    use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

    /// A timer of the kernel's.
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
            registry.register(&mut SourceFd(&fd), super::ALARM, Interest::READABLE)?;
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
    }
}

#[cfg(any(test, not(target_os = "linux")))]
mod elsewhere {
    use std::io;
    use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
    use std::thread;
    use std::time::Instant;

    use mio::{Registry, Waker};

    /// A thread that sleeps, and ends with the alarm.
    #[derive(Debug)]
    pub struct Alarm(Sender<Instant>);

    impl Alarm {
        /// A thread that wakes the poll behind `registry`.
        ///
        /// # Errors
        /// When the system gives none.
        pub fn new(registry: &Registry) -> io::Result<Alarm> {
            let waker = Waker::new(registry, super::ALARM)?;
            let (set, instants) = channel();
            let thread = thread::Builder::new().name("alarm".to_owned());
            thread.spawn(move || ring(&instants, &waker))?;
            Ok(Alarm(set))
        }

        /// Goes off at this instant.
        ///
        /// # Errors
        /// When its thread has ended.
        pub fn set(&self, at: Instant) -> io::Result<()> {
            self.0.send(at).map_err(io::Error::other)
        }
    }

    /// Wakes at the instant that was set last.
    fn ring(instants: &Receiver<Instant>, waker: &Waker) {
        while let Ok(mut at) = instants.recv() {
            loop {
                match instants.recv_timeout(at.saturating_duration_since(Instant::now())) {
                    Ok(another) => at = another,
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => break,
                }
            }
            if waker.wake().is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use mio::{Events, Poll};

    use super::*;

    #[test]
    fn the_alarm_of_other_systems_wakes_a_poll_at_the_instant_it_was_set_to_last() {
        let (mut poll, mut events) = (Poll::new().unwrap(), Events::with_capacity(4));
        let alarm = elsewhere::Alarm::new(poll.registry()).unwrap();
        let at = Instant::now() + Duration::from_millis(20);
        alarm.set(at + Duration::from_secs(3600)).unwrap();
        alarm.set(at).unwrap();
        poll.poll(&mut events, Some(Duration::from_secs(60)))
            .unwrap();
        assert!(Instant::now() >= at && events.iter().all(|event| is_alarm(event.token())));
        assert_eq!(events.iter().count(), 1, "it did not wait for the limit");
    }
}
