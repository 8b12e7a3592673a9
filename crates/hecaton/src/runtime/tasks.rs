//! The tasks of a reactor: how many there are, and the news that there is none left.
//!
//! tokio reports the number of tasks, but not its change. The keeper must know of the end of the last one without
//! looking now and then, because each look would wake an idle program.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::Handle;
use tokio::sync::Notify;

/// The tasks of one reactor.
#[derive(Default)]
pub(crate) struct Tasks {
    count: AtomicUsize,
    /// Wakes the keeper when the last task has ended.
    none: Notify,
}

thread_local! {
    /// The tasks of the reactor that this thread waits on, or waited on last.
    static CURRENT: RefCell<Option<Arc<Tasks>>> = const { RefCell::new(None) };
}

/// Counts a task for as long as it exists.
struct Counted(Arc<Tasks>);

impl Drop for Counted {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.none.notify_waiters();
        }
    }
}

impl Tasks {
    /// Counts this thread's tasks here from now on.
    pub fn enter(self: &Arc<Tasks>) {
        let _ = CURRENT.try_with(|current| {
            let mut current = current.borrow_mut();
            if !current.as_ref().is_some_and(|own| Arc::ptr_eq(own, self)) {
                *current = Some(self.clone());
            }
        });
    }

    /// Whether there is a task.
    pub fn any(&self) -> bool {
        self.count.load(Ordering::SeqCst) > 0
    }

    /// Returns once there is no task.
    pub async fn ended(&self) {
        loop {
            let none = self.none.notified();
            tokio::pin!(none);
            none.as_mut().enable();
            if !self.any() {
                return;
            }
            none.await;
        }
    }
}

/// Makes a task of the reactor that this thread waits on.
pub(crate) fn spawn(handle: &Handle, task: impl Future<Output = ()> + Send + 'static) {
    let current = CURRENT.try_with(|current| current.borrow().clone());
    let counted = current.ok().flatten().map(|tasks| {
        tasks.count.fetch_add(1, Ordering::SeqCst);
        Counted(tasks)
    });
    handle.spawn(async move {
        let _counted = counted;
        task.await;
    });
}
