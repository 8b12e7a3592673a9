//! How long a connection serves streams, and what ends it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::Waker;

use super::Ending;

/// The end that a connection comes to, and the streams that are being served until then.
pub(crate) struct Life {
    ending: Cell<Ending>,
    active: Cell<usize>,
    waker: RefCell<Option<Waker>>,
}

/// A stream that is being served; its drop marks the end.
pub(crate) struct Activity(Rc<Life>);

impl Life {
    pub(crate) fn new() -> Rc<Life> {
        Rc::new(Life {
            ending: Cell::new(Ending::Open),
            active: Cell::new(0),
            waker: RefCell::new(None),
        })
    }

    /// Decides the end; only an earlier end replaces the first decision.
    pub(crate) fn end(&self, ending: Ending) {
        if matches!(self.ending.get(), Ending::Open | Ending::AfterStreams) {
            self.ending.set(ending);
        }
        self.wake();
    }

    pub(crate) fn ending(&self) -> Ending {
        self.ending.get()
    }

    /// Whether nothing is left to do.
    pub(crate) fn is_over(&self) -> bool {
        match self.ending.get() {
            Ending::Open => false,
            Ending::AfterStreams => self.active.get() == 0,
            Ending::Now | Ending::Cut => true,
        }
    }

    pub(crate) fn activity(self: &Rc<Self>) -> Activity {
        self.active.set(self.active.get() + 1);
        Activity(self.clone())
    }

    /// Wakes `waker` when something has changed.
    pub(crate) fn wait(&self, waker: &Waker) {
        self.waker.borrow_mut().replace(waker.clone());
    }

    pub(crate) fn wake(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        self.0.active.set(self.0.active.get() - 1);
        self.0.wake();
    }
}
