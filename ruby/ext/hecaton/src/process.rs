//! Values that belong to one process: a child of `fork` never uses or drops its parent's.
//!
//! A forked child shares the parent's sockets and its epoll instance. Dropping a connection there would remove the
//! parent's registration. So the child forgets its connections, and closes the bare descriptors
//! (`hecaton::forget_inherited`); the next use makes new ones (`client.rs`, `shared.rs`).
//!
//! A handler of `pthread_atfork` (`gvl.rs`) does that. A fork that bypasses it is noticed at the next use.

use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Waker;

use magnus::{Error, ExceptionClass, Module, RModule, Ruby};

use crate::gvl;

/// This process's id, once it was looked up. None where the kernel does not wipe it at a fork.
static KNOWN: OnceLock<Option<&'static AtomicU32>> = OnceLock::new();

/// The id of this process. Most requests need it, and some twice, so it takes no system call: the kernel wipes the
/// known id in a child, whatever forked it.
pub fn id() -> u32 {
    let Some(known) = KNOWN.get_or_init(gvl::word_wiped_at_fork) else {
        return process::id();
    };
    match known.load(Ordering::Relaxed) {
        0 => {
            known.store(process::id(), Ordering::Relaxed);
            process::id()
        }
        id => id,
    }
}

/// A value with the process it was made in.
pub struct ProcessLocal<T> {
    pid: u32,
    value: Option<T>,
}

impl<T> ProcessLocal<T> {
    /// Binds `value` to this process.
    pub fn new(value: T) -> ProcessLocal<T> {
        ProcessLocal {
            pid: id(),
            value: Some(value),
        }
    }

    /// Gives the value up, and belongs to the current process from now on.
    pub fn clear(&mut self) {
        *self = ProcessLocal {
            pid: id(),
            value: None,
        };
    }

    /// The value, whichever process it belongs to. This is for code that only touches memory, and runs so often that a
    /// system call to get the process would be measurable.
    pub fn anywhere(&mut self) -> Option<&mut T> {
        self.value.as_mut()
    }

    /// Whether it belongs to another process, which has forked this one.
    pub fn is_inherited(&self) -> bool {
        self.pid != id()
    }

    /// The value, or none in a process that is not its own.
    pub fn get(&mut self) -> Option<&mut T> {
        match self.is_inherited() {
            true => None,
            false => self.value.as_mut(),
        }
    }
}

impl ProcessLocal<Waker> {
    /// Wakes what waits in this process. A waiter of the parent must not be woken, because its descriptors are closed
    /// here.
    pub fn wake(mut self) {
        if let Some(waker) = self.get() {
            waker.wake_by_ref();
        }
    }
}

impl<T> Drop for ProcessLocal<T> {
    fn drop(&mut self) {
        if self.is_inherited() {
            std::mem::forget(self.value.take());
        }
    }
}

/// A ForkError. `what` begins its message, such as "this batch runs".
pub fn inherited(ruby: &Ruby, what: &str) -> Error {
    let message = format!("{what} in the process that forked: make a new one in this process");
    let hecaton = ruby.class_object().const_get::<_, RModule>("Hecaton");
    let class = hecaton.and_then(|hecaton| hecaton.const_get::<_, ExceptionClass>("ForkError"));
    match class {
        Ok(class) => Error::new(class, message),
        Err(error) => error,
    }
}
