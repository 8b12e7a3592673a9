//! Cooperation: how much one request does before the others have their turn.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::{Context, Poll};

/// How many pieces of one response are read before others have their turn; a piece is what one read
/// brings, at most 64 KiB.
pub(crate) const PIECES_PER_TURN: u32 = 8;

/// How many requests a batch begins or continues before the reactor has its turn. More than a usual batch has in flight: a turn
/// is a system call. All clients may share the reactor, so the first wave of a large batch would delay everyone's deadlines.
pub(crate) const REQUESTS_PER_TURN: u32 = 256;

thread_local! {
    /// How many more requests this thread's batch may poll in this turn.
    static LEFT: Cell<u32> = const { Cell::new(REQUESTS_PER_TURN) };
}

/// To be called when a batch's turn begins.
pub(crate) fn begin_turn() {
    LEFT.set(REQUESTS_PER_TURN);
}

/// Whether a request may be polled in this turn. If not, it is woken for the next.
pub(crate) fn poll_turn(cx: &mut Context<'_>) -> Poll<()> {
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
