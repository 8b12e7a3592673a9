//! Cooperation: how much one request does before the other requests are polled.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::{Context, Poll};

/// How many pieces of one response are read before others have their turn; a piece is what one read
/// brings, at most 64 KiB.
pub(crate) const PIECES_PER_TURN: u32 = 8;

/// How many requests one wait begins or continues before the reactor has its turn. More than a usual batch has in
/// flight: a turn is a system call. All clients may share the reactor, so the first wave of a large batch would delay
/// everyone's deadlines.
pub(crate) const REQUESTS_PER_TURN: u32 = 256;

thread_local! {
    /// How many more requests this thread's wait may poll in this turn.
    static LEFT: Cell<u32> = const { Cell::new(REQUESTS_PER_TURN) };

    /// Whether this thread is in a turn.
    static IN_TURN: Cell<bool> = const { Cell::new(false) };
}

/// A turn, until it is dropped. One within another is part of that: a fiber may wait for a batch.
pub struct Turn {
    outer: bool,
}

impl Drop for Turn {
    fn drop(&mut self) {
        IN_TURN.set(self.outer);
    }
}

/// To be called at the beginning of each poll of a future that polls many requests. See [`poll_turn`].
#[must_use]
pub fn begin_turn() -> Turn {
    let outer = IN_TURN.replace(true);
    if !outer {
        LEFT.set(REQUESTS_PER_TURN);
    }
    Turn { outer }
}

/// Whether one of many requests may be polled in this turn. If not, its task is woken for the next turn. So one wait
/// for thousands of requests holds up the deadlines of other waits on the same [`Reactor`](crate::Reactor) no longer
/// than a few hundred polls.
pub fn poll_turn(cx: &mut Context<'_>) -> Poll<()> {
    let left = LEFT.get();
    if left == 0 {
        cx.waker().wake_by_ref();
        return Poll::Pending;
    }
    LEFT.set(left - 1);
    Poll::Ready(())
}

/// Lets the other requests have a turn.
pub(crate) async fn yield_now() {
    let mut given = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut given, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    fn polled(cx: &mut Context<'_>) -> u32 {
        (0..2 * REQUESTS_PER_TURN)
            .filter(|_| poll_turn(cx).is_ready())
            .count() as u32
    }

    #[test]
    fn a_turn_withinanother_gets_no_polls_of_its_own() {
        let mut cx = Context::from_waker(Waker::noop());
        let turn = begin_turn();
        assert!(poll_turn(&mut cx).is_ready());
        {
            let _inner = begin_turn();
            assert_eq!(polled(&mut cx), REQUESTS_PER_TURN - 1);
        }
        let another = begin_turn();
        assert_eq!(polled(&mut cx), 0);
        drop(another);
        drop(turn);
        let _next = begin_turn();
        assert_eq!(polled(&mut cx), REQUESTS_PER_TURN);
    }
}
