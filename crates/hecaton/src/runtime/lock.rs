//! Takes a lock, poisoned or not: a panic leaves no value of the engine half-changed.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
