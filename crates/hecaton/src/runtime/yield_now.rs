//! Cooperation: how much one request does before the others have their turn.

use std::future::poll_fn;
use std::task::Poll;

/// How many pieces of one response are read before others have their turn; a piece is what one read
/// brings, at most 64 KiB.
pub(crate) const PIECES_PER_TURN: u32 = 8;

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
