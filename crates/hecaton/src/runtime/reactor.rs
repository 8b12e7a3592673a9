//! Lets threads wait for requests: whoever waits drives the sockets of everyone.
//!
//! The first waiting thread runs the reactor for all. The others sleep until their own request has news. When the first
//! is done, another takes over: tokio's current-thread runtime hands its driver on in just this way.
//! `docs/decisions/who-drives-the-sockets.md` has the measurement that led here. While nobody waits, a small thread
//! looks after idle connections (`keeper`).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::task::coop::unconstrained;
use tokio::time::timeout;

use crate::runtime::descriptors::Anonymous;
use crate::runtime::keeper::SharedRuntime;

/// How long the end of a reactor waits for threads of the system's resolver.
const A_MOMENT: Duration = Duration::from_millis(20);

/// A reactor for threads to wait on; share it by reference, any number of threads may wait at once.
pub struct Reactor(Option<Arc<SharedRuntime>>, Anonymous); // None while it is dropped.

impl Reactor {
    /// A new reactor. Starts no thread; there is one later while connections are idle and nobody waits. Fails when the
    /// process is out of descriptors, because it needs three. One reactor serves any number of clients.
    pub fn new() -> io::Result<Reactor> {
        Reactor::built(Builder::new_current_thread(), Arc::default())
    }

    /// A new reactor for threads that queue for a lock, where each hands the lock on to the next. Ruby's is such a lock
    /// from 3.3 on. Before the thread that drives sleeps, the threads that it has woken run first, if they are on the
    /// same core. Otherwise the next response would wake it while one of them has the lock, and stop that thread. From
    /// then on all others would queue, and sleep twice for each request.
    pub fn for_queued_lock() -> io::Result<Reactor> {
        let waiting = Arc::new(AtomicUsize::new(0));
        let threads = waiting.clone();
        let mut builder = Builder::new_current_thread();
        builder.on_thread_park(move || {
            if threads.load(Ordering::Relaxed) > 1 {
                thread::yield_now();
            }
        });
        Reactor::built(builder, waiting)
    }

    fn built(mut builder: Builder, waiting: Arc<AtomicUsize>) -> io::Result<Reactor> {
        let (runtime, descriptors) = Anonymous::of(|| builder.enable_io().enable_time().build());
        let shared = SharedRuntime::new(runtime?, waiting);
        Ok(Reactor(Some(shared), descriptors))
    }

    /// Whether an ancestor of this process made it, so that it is closed here (see
    /// [`forget_inherited`](crate::forget_inherited)): it must not be waited on.
    pub fn is_inherited(&self) -> bool {
        self.1.is_inherited()
    }

    /// Waits on the calling thread until `future` is ready. Must not be called from within a future.
    ///
    /// A batch's requests stay alive between two waits, so no wake-up may be lost. With its cooperative budget, tokio
    /// keeps some wake-ups until the end of a turn, and forgets them if the wait ends before. So it is switched off
    /// here (`unconstrained`). A future that could run for too long, such as a body that is always ready, yields by
    /// itself.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let shared = self.0.as_ref().expect("it is not being dropped");
        let _waiting = shared.wait();
        shared.runtime.block_on(unconstrained(future))
    }

    /// Waits like `block_on`, but at most this long; none if the future was not ready by then. A future that is passed
    /// by reference can be waited for again.
    pub fn block_on_at_most<F: Future>(&self, future: F, longest: Duration) -> Option<F::Output> {
        self.block_on(async { timeout(longest, future).await.ok() })
    }
}

impl Drop for Reactor {
    /// Does not wait for the system's resolver. A lookup that was given up cannot be stopped. Waiting for it would
    /// delay the end of the program, or all of Ruby during a garbage collection. An idle resolver thread ends within a
    /// moment, and closes its descriptors.
    fn drop(&mut self) {
        if self.is_inherited() {
            // Its threads are not in this process, and its descriptors belong to another.
            return std::mem::forget(self.0.take());
        }
        self.1.release();
        let shared = self.0.take().inspect(|shared| shared.end());
        if let Some(runtime) = shared
            .and_then(Arc::into_inner)
            .map(|shared| shared.runtime)
        {
            match Handle::try_current() {
                Ok(_) => runtime.shutdown_background(), // Where waiting is not allowed.
                Err(_) => runtime.shutdown_timeout(A_MOMENT),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_lookup_under_way_does_not_hold_up_the_end() {
        let reactor = Reactor::new().unwrap();
        // The resolver runs in just such a task.
        let lookup = || std::thread::sleep(Duration::from_secs(60));
        reactor.block_on(async { drop(tokio::task::spawn_blocking(lookup)) });
        let begun = Instant::now();
        drop(reactor);
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
