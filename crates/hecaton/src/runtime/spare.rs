//! Values that a thread keeps for reuse: a few that cost more to make than to keep.

use std::cell::RefCell;
use std::thread::LocalKey;

/// How many of a kind a thread keeps.
const MOST: usize = 4;

/// The values of one kind. The last one given is taken first, because it is still in the processor's cache.
pub(crate) struct Spare<T: 'static>(RefCell<Vec<T>>);

impl<T> Spare<T> {
    /// An empty store.
    pub const fn new() -> Spare<T> {
        Spare(RefCell::new(Vec::new()))
    }

    /// Takes a value, if there is any.
    pub fn take(of: &'static LocalKey<Spare<T>>) -> Option<T> {
        of.try_with(|spare| spare.0.borrow_mut().pop()).ok()?
    }

    /// Stores a value, unless there are enough or the thread ends.
    pub fn give(of: &'static LocalKey<Spare<T>>, one: T) {
        let _ = of.try_with(|spare| {
            let mut spare = spare.0.borrow_mut();
            if spare.len() < MOST {
                spare.push(one);
            }
        });
    }
}
