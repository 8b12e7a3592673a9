//! The requests in flight of all threads: together no more than the job allows, and each thread gets its share if it
//! needs it.
//!
//! A thread may have more than its share while no other thread needs more. When its requests end, their permits are free
//! for any thread that needs them.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The permits of a run.
pub struct Permits {
    free: AtomicUsize,
    /// The share of each thread.
    fair: usize,
    /// Threads that have less than their share, and need more.
    needy: AtomicUsize,
}

/// The permits of a thread. They are free again when it is dropped.
pub struct ThreadPermits<'a> {
    permits: &'a Permits,
    held: usize,
    needs_more: bool,
}

impl Permits {
    /// So many, for so many threads. There must be one or more for each.
    pub fn new(all: usize, threads: usize) -> Permits {
        Permits {
            free: AtomicUsize::new(all),
            fair: all / threads.max(1),
            needy: AtomicUsize::new(0),
        }
    }

    /// Those of a thread: none yet.
    pub fn of_thread(&self) -> ThreadPermits<'_> {
        ThreadPermits {
            permits: self,
            held: 0,
            needs_more: false,
        }
    }
}

impl ThreadPermits<'_> {
    /// Takes one; false if there is none for this thread.
    pub fn take(&mut self) -> bool {
        let has_share = self.held >= self.permits.fair;
        if has_share && self.permits.needy.load(Ordering::Relaxed) > 0 {
            return false;
        }
        let one_less = |free: usize| free.checked_sub(1);
        let free = &self.permits.free;
        if free
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
            .is_err()
        {
            self.need(!has_share);
            return false;
        }
        self.held += 1;
        if self.held >= self.permits.fair {
            self.need(false);
        }
        true
    }

    /// Gives one back.
    pub fn give(&mut self) {
        self.held -= 1;
        self.permits.free.fetch_add(1, Ordering::Relaxed);
    }

    /// Says whether this thread has less than its share and needs more.
    pub fn need(&mut self, needs_more: bool) {
        if needs_more == self.needs_more {
            return;
        }
        self.needs_more = needs_more;
        match needs_more {
            true => self.permits.needy.fetch_add(1, Ordering::Relaxed),
            false => self.permits.needy.fetch_sub(1, Ordering::Relaxed),
        };
    }

    /// Whether this thread has less than its share and needs more: other threads leave theirs to it.
    pub fn needs_more(&self) -> bool {
        self.needs_more
    }
}

impl Drop for ThreadPermits<'_> {
    fn drop(&mut self) {
        self.need(false);
        self.permits.free.fetch_add(self.held, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take_all(thread: &mut ThreadPermits<'_>) -> usize {
        (0..1000).take_while(|_| thread.take()).count()
    }

    #[test]
    fn a_thread_has_all_slots_until_another_needs_its_share() {
        let permits = Permits::new(10, 2);
        let (mut one, mut other) = (permits.of_thread(), permits.of_thread());
        assert_eq!(take_all(&mut one), 10);
        assert!(!one.needs_more());
        assert_eq!(take_all(&mut other), 0);
        assert!(other.needs_more());
        for taken in 1..=5 {
            one.give();
            assert!(!one.take(), "the other is served first");
            assert_eq!(take_all(&mut other), 1);
            assert_eq!(other.held, taken);
        }
        assert!(!other.needs_more());
        // Both have their share: whoever has one back may use it again.
        one.give();
        assert!(one.take());
        assert_eq!(take_all(&mut other), 0);
        assert!(!other.needs_more());
        drop(other);
        assert_eq!(take_all(&mut one), 5);
        drop(one);
        assert_eq!(permits.free.load(Ordering::Relaxed), 10);
    }

    #[test]
    fn threads_never_hold_more_than_there_are() {
        use std::sync::atomic::AtomicUsize;
        let (permits, held) = (Permits::new(7, 3), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut mine = permits.of_thread();
                    for turn in 0..20_000 {
                        match mine.take() {
                            true => assert!(held.fetch_add(1, Ordering::Relaxed) < 7),
                            false if mine.held > 0 => {
                                held.fetch_sub(1, Ordering::Relaxed);
                                mine.give();
                            }
                            false => mine.need(turn % 2 == 0),
                        }
                    }
                    held.fetch_sub(mine.held, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(permits.free.load(Ordering::Relaxed), 7);
    }
}
