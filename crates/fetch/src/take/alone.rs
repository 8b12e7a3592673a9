//! Large bodies are searched one at a time in all threads, because the text or the tree of a body may take many times the
//! memory of the body.

use std::cell::Cell;

use parking_lot::{Mutex, MutexGuard};

/// Bodies up to this length are not large: all threads may search some at once.
pub const LARGE: usize = 1 << 20;

static TURN: Mutex<()> = Mutex::new(());

thread_local! {
    static HAS_TURN: Cell<bool> = const { Cell::new(false) };
}

/// The turn of a thread, until it is dropped.
pub struct Alone(Option<MutexGuard<'static, ()>>);

impl Alone {
    /// Waits for this thread's turn, unless the thread has it.
    pub fn wait() -> Alone {
        if HAS_TURN.replace(true) {
            return Alone(None);
        }
        // A panic leaves nothing behind that the next thread could meet.
        Alone(Some(TURN.lock()))
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        if self.0.is_some() {
            HAS_TURN.set(false);
        }
    }
}
