//! Drives the reactor while nobody waits: one small thread, which exists only as long as a reactor has tasks.
//!
//! Tasks are connections of HTTP/2 and HTTP/3, which receive pings, GOAWAYs and the end, and the task that looks after idle
//! connections (`pool`). The thread drives once nobody has driven for a moment, and stops at once when another thread
//! waits. It ends when there is no task left.
//!
//! The thread is made when the last waiting thread leaves and the runtime has tasks. Many short waits must not wake it
//! each time, so while they come, it checks ten times a second whether they still do. That costs a busy client a few
//! atomic operations a wait. During a long wait, it sleeps until the last waiting thread has left. While it drives,
//! only what is due wakes it, so a program in which nothing is due wakes no thread. A child of `fork` needs no such
//! thread.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::sys::signal::{SigSet, SigmaskHow};
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use crate::runtime::lock::lock;
use crate::runtime::tasks::Tasks;

/// How long no thread must have driven before the keeper's thread does.
const QUIET: Duration = Duration::from_millis(100);

/// A runtime, the threads that drive it, and the keeper's thread.
pub(crate) struct SharedRuntime {
    pub runtime: Runtime,
    /// How many threads wait, and so drive.
    waiting: Arc<AtomicUsize>,
    /// How often a thread has begun to wait.
    waits: AtomicU64,
    tasks: Arc<Tasks>,
    /// Whether the thread drives.
    drives: AtomicBool,
    /// Whether the thread sleeps until no other waits.
    asleep: AtomicBool,
    /// Whether there is a thread.
    alive: AtomicBool,
    handed_over: Notify,
    thread: Mutex<Option<JoinHandle<()>>>,
    ends: Mutex<bool>,
    end: Condvar,
}

/// Keeps the thread from driving, until it is dropped.
pub(crate) struct Waiting<'a>(&'a Arc<SharedRuntime>);

impl SharedRuntime {
    /// `waiting` is 0.
    pub fn new(runtime: Runtime, waiting: Arc<AtomicUsize>) -> Arc<SharedRuntime> {
        Arc::new(SharedRuntime {
            runtime,
            waiting,
            waits: AtomicU64::new(0),
            tasks: Arc::default(),
            drives: AtomicBool::new(false),
            asleep: AtomicBool::new(false),
            alive: AtomicBool::new(false),
            handed_over: Notify::new(),
            thread: Mutex::default(),
            ends: Mutex::new(false),
            end: Condvar::new(),
        })
    }

    /// Says that the calling thread waits from now on, and will drive.
    pub fn wait(self: &Arc<SharedRuntime>) -> Waiting<'_> {
        self.tasks.enter();
        self.waiting.fetch_add(1, Ordering::SeqCst);
        self.waits.fetch_add(1, Ordering::Relaxed);
        if self.drives.load(Ordering::SeqCst) {
            self.handed_over.notify_one();
        }
        Waiting(self)
    }

    /// Ends the thread, and waits for it: it holds the runtime.
    pub fn end(&self) {
        *lock(&self.ends) = true;
        self.end.notify_all();
        self.handed_over.notify_one();
        if let Some(thread) = lock(&self.thread).take() {
            let _ = thread.join();
        }
    }

    /// Makes the thread, if there is none and it has something to do. If no thread can be made, nothing is driven until
    /// a thread waits.
    fn begin(self: &Arc<SharedRuntime>) {
        if self.alive.load(Ordering::SeqCst) || !self.tasks.any() {
            return;
        }
        let mut thread = lock(&self.thread);
        if *lock(&self.ends) || self.alive.swap(true, Ordering::SeqCst) {
            return;
        }
        let shared = self.clone();
        let keeper = thread::Builder::new().name("hecaton-keeper".into());
        // The new thread must receive none of the program's signals.
        let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_BLOCK);
        let begun = keeper.stack_size(256 << 10).spawn(move || shared.keep());
        if let Ok(mask) = mask {
            let _ = mask.thread_set_mask();
        }
        // If there is a thread, it alone says when it ends, and it may have ended by now.
        if begun.is_err() {
            self.alive.store(false, Ordering::SeqCst);
        }
        *thread = begun.ok(); // The previous thread has ended, or is about to.
    }

    fn keep(&self) {
        let mut seen = self.waits.load(Ordering::Relaxed);
        loop {
            if self.sleep() {
                return;
            }
            let waits = self.waits.load(Ordering::Relaxed);
            let busy = std::mem::replace(&mut seen, waits) != waits;
            if busy {
                continue;
            }
            if self.waiting.load(Ordering::SeqCst) > 0 {
                self.sleep_long();
            } else if self.tasks.any() {
                self.drive();
            } else if self.leave() {
                return;
            }
        }
    }

    /// Sleeps for a moment, and returns whether the end has come.
    fn sleep(&self) -> bool {
        let ends = lock(&self.ends);
        let slept = self.end.wait_timeout_while(ends, QUIET, |ends| !*ends);
        *slept.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Sleeps until no other thread waits, or the end has come.
    fn sleep_long(&self) {
        let ends = lock(&self.ends);
        self.asleep.store(true, Ordering::SeqCst);
        let is_needed = |ends: &mut bool| !*ends && self.waiting.load(Ordering::SeqCst) > 0;
        drop(self.end.wait_while(ends, is_needed));
        self.asleep.store(false, Ordering::SeqCst);
    }

    /// Called when the last waiting thread has left.
    fn left(self: &Arc<SharedRuntime>) {
        if self.asleep.load(Ordering::SeqCst) {
            // Under the lock, so that the thread is not between its check and its sleep.
            drop(lock(&self.ends));
            self.end.notify_all();
        }
        self.begin();
    }

    /// Whether the thread is not needed any more. Tasks begin only while a thread waits, and that thread then makes
    /// another keeper.
    fn leave(&self) -> bool {
        self.alive.store(false, Ordering::SeqCst);
        let needed = self.waiting.load(Ordering::SeqCst) > 0 || self.tasks.any();
        // A waiting thread may have made another one by now.
        !needed || self.alive.swap(true, Ordering::SeqCst)
    }

    /// Drives until somebody waits, or nothing is left to be driven.
    fn drive(&self) {
        self.drives.store(true, Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) == 0 {
            self.tasks.enter();
            self.runtime.block_on(async {
                tokio::select! {
                    () = self.handed_over.notified() => {}
                    () = self.tasks.ended() => {}
                }
            });
        }
        self.drives.store(false, Ordering::SeqCst);
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.0.waiting.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.left();
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Handle;
    use tokio::sync::oneshot;
    use tokio::time::sleep;

    use super::*;
    use crate::runtime::tasks::spawn;

    fn shared() -> Arc<SharedRuntime> {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        SharedRuntime::new(builder.enable_all().build().unwrap(), Arc::default())
    }

    fn wait_until(so: impl Fn() -> bool) {
        for _ in 0..12_000 {
            if so() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("it did not come about");
    }

    #[test]
    fn a_task_is_driven_while_nobody_waits_and_the_thread_ends_with_it() {
        let shared = shared();
        let (say, said) = std::sync::mpsc::channel();
        let (end, ended) = oneshot::channel::<()>();
        let waiting = shared.wait();
        shared.runtime.block_on(async {
            spawn(&Handle::current(), async move {
                sleep(Duration::from_millis(1)).await;
                say.send(()).unwrap();
                let _ = ended.await;
            });
        });
        assert!(
            !shared.alive.load(Ordering::SeqCst),
            "while somebody waits there is none"
        );
        drop(waiting);
        said.recv_timeout(Duration::from_secs(20))
            .expect("the task went on");
        assert!(shared.alive.load(Ordering::SeqCst));
        end.send(()).unwrap();
        wait_until(|| !shared.alive.load(Ordering::SeqCst));
        shared.end();
    }

    #[test]
    fn without_a_task_there_is_no_thread() {
        let shared = shared();
        let waiting = shared.wait();
        shared.runtime.block_on(async {});
        drop(waiting);
        assert!(!shared.alive.load(Ordering::SeqCst));
    }

    #[test]
    fn a_task_is_driven_at_once_whenever_the_last_wait_ended() {
        let shared = shared();
        let (_end, ended) = oneshot::channel::<()>();
        for pause in [0, 50, 99, 100, 101, 150, 250, 0, 100] {
            let waiting = shared.wait();
            shared
                .runtime
                .block_on(async { sleep(Duration::from_millis(1)).await });
            drop(waiting);
            thread::sleep(Duration::from_millis(pause));
        }
        let waiting = shared.wait();
        shared.runtime.block_on(async {
            spawn(&Handle::current(), async move { drop(ended.await) });
        });
        drop(waiting);
        wait_until(|| shared.drives.load(Ordering::SeqCst));
        for pause in [0, 99, 100, 101, 150, 250, 120, 100, 0] {
            thread::sleep(Duration::from_millis(pause));
            let waiting = shared.wait();
            shared
                .runtime
                .block_on(async { sleep(Duration::from_millis(1)).await });
            drop(waiting);
        }
        shared.end();
        assert_eq!(
            Arc::strong_count(&shared),
            1,
            "the thread let the runtime go"
        );
    }
}
