//! A clock that can be set to one instant: a timerfd on Linux, and tokio's timer, which rounds to milliseconds, elsewhere.
//!
//! Mio's implementation on `poll` reports a descriptor once, and again only after mio itself has read from it. It does
//! not read a timerfd, so with `poll` the timer is tokio's too.

/// Whether the runtime must know the time.
pub(crate) const NEEDS_TIME: bool = cfg!(any(
    mio_unsupported_force_poll_poll,
    not(target_os = "linux")
));

#[cfg(any(mio_unsupported_force_poll_poll, not(target_os = "linux")))]
pub(crate) use elsewhere::Clock;
#[cfg(all(target_os = "linux", not(mio_unsupported_force_poll_poll)))]
pub(crate) use linux::Clock;

#[cfg(all(target_os = "linux", not(mio_unsupported_force_poll_poll)))]
mod linux {
    use std::io;
    use std::os::fd::{AsFd, AsRawFd, RawFd};
    use std::time::Duration;

    use nix::sys::time::TimeSpec;
    use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
    use tokio::io::unix::AsyncFd;

    /// Accurate to some tens of microseconds.
    pub(crate) struct Clock(AsyncFd<Descriptor>);

    struct Descriptor(TimerFd);

    impl Clock {
        /// Must be called inside the runtime.
        pub(crate) fn new() -> io::Result<Clock> {
            let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
            let timer = Descriptor(TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?);
            #[allow(
                deprecated,
                reason = "its successor is unsafe; a Descriptor owns one descriptor for life"
            )]
            Ok(Clock(AsyncFd::new(timer)?))
        }

        /// Sets it to an instant after so long, instead of what it was set to.
        pub(crate) fn set(&self, wait: Duration) {
            // A time of zero would disarm the clock.
            let wait = wait.max(Duration::from_nanos(1));
            let once = Expiration::OneShot(TimeSpec::from_duration(wait));
            let set = self.0.get_ref().0.set(once, TimerSetTimeFlags::empty());
            debug_assert!(set.is_ok(), "a timerfd takes every positive time");
        }

        /// Waits for the instant that the clock is set to.
        pub(crate) async fn due(&self) -> io::Result<()> {
            // The timerfd is never read. Setting it again makes it unreadable until the next instant.
            self.0.readable().await?.clear_ready();
            Ok(())
        }
    }

    impl AsRawFd for Descriptor {
        fn as_raw_fd(&self) -> RawFd {
            self.0.as_fd().as_raw_fd()
        }
    }
}

#[cfg(any(test, mio_unsupported_force_poll_poll, not(target_os = "linux")))]
mod elsewhere {
    use std::cell::Cell;
    use std::io;
    use std::time::Duration;

    use tokio::sync::Notify;
    use tokio::time::{Instant, timeout_at};

    /// Accurate to a millisecond.
    pub(crate) struct Clock {
        at: Cell<Option<Instant>>,
        changed: Notify,
    }

    impl Clock {
        /// A clock that is not set.
        pub(crate) fn new() -> io::Result<Clock> {
            Ok(Clock {
                at: Cell::new(None),
                changed: Notify::new(),
            })
        }

        /// Sets it to an instant after so long, instead of what it was set to.
        pub(crate) fn set(&self, wait: Duration) {
            self.at.set(Some(Instant::now() + wait));
            self.changed.notify_one();
        }

        /// Waits for the instant that the clock is set to.
        pub(crate) async fn due(&self) -> io::Result<()> {
            loop {
                let changed = self.changed.notified();
                match self.at.get() {
                    None => changed.await,
                    Some(at) if timeout_at(at, changed).await.is_err() => break,
                    Some(_) => {}
                }
            }
            self.at.set(None);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::Poll;
    use std::time::{Duration, Instant};

    use tokio::runtime::Builder;
    use tokio::time::timeout;

    use super::elsewhere::Clock;

    #[test]
    fn the_clock_of_other_systems_goes_off_once_at_the_instant_it_was_set_to_last() {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (clock, wait) = (Clock::new().unwrap(), Duration::from_millis(20));
            clock.set(Duration::from_secs(3600));
            let mut due = pin!(clock.due());
            poll_fn(|cx| Poll::Ready(due.as_mut().poll(cx).is_pending())).await;
            let begun = Instant::now();
            clock.set(wait);
            due.await.unwrap();
            assert!(begun.elapsed() >= wait);
            assert!(
                timeout(wait, clock.due()).await.is_err(),
                "it is not set any more"
            );
        });
    }
}
