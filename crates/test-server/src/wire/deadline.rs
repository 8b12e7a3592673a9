//! How long clients may take, and the end of what takes longer.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use crate::wire::timer::Timer;

/// How long a closing connection waits for the client's end, so that the last response is not lost
/// to a reset.
pub(crate) const LINGER: Duration = Duration::from_secs(1);
/// How long a TLS handshake may take, and the head of a request from its first byte to its last.
pub(crate) const TO_BEGIN: Duration = seconds(10);
/// How long a connection may be idle.
pub(crate) const IDLE: Duration = seconds(30);
/// How long a connection may live. Without this limit a slow reader could hold memory without end.
pub(crate) const LIFE: Duration = seconds(300);

/// This many seconds; a hundredth of that in this crate's own tests.
const fn seconds(count: u64) -> Duration {
    Duration::from_millis(count * if cfg!(test) { 10 } else { 1000 })
}

/// The result of the future, or none if it is not done at `deadline`; without a deadline it has all the time.
pub(crate) async fn within<T>(
    timer: &Timer,
    deadline: Option<Instant>,
    future: impl Future<Output = T>,
) -> Option<T> {
    let mut future = pin!(future);
    let mut timer_is_set = false;
    poll_fn(|context| {
        if let Poll::Ready(done) = future.as_mut().poll(context) {
            return Poll::Ready(Some(done));
        }
        match deadline {
            Some(deadline) if Instant::now() >= deadline => return Poll::Ready(None),
            Some(deadline) if !std::mem::replace(&mut timer_is_set, true) => {
                timer.wake_at(deadline, context.waker().clone());
            }
            _ => {}
        }
        Poll::Pending
    })
    .await
}
