//! `Hecaton::Native::Wait` and `Driver`: the waits of fibers of a `Fiber.scheduler`, driven together by one Ruby thread
//! for the process.
//!
//! A fiber must not wait as threads do, because it would hold up the other fibers of its thread. So its wait is put
//! beside those of other fibers, and one thread drives them all (`ruby/lib/hecaton/fibers.rb`). The thread lives as
//! long as there are waits. The fiber sleeps in a queue of Ruby's, which its scheduler knows.
//!
//! No fiber may drive, because that would hold up the others of its thread. A fiber waits for a future that owns
//! everything it needs. If an exception ends the wait, the fiber drops the future, whether or not it is being driven.
//! The queues are Ruby's own, so a scheduler needs no support for this.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use futures_util::task::AtomicWaker;
use hecaton::{begin_turn, poll_turn};
use magnus::value::ReprValue;
use magnus::{Error, Module, RArray, RModule, Ruby, Value, method};

use crate::client::Engine;
use crate::shared::Shared;
use crate::{gvl, lock, process};

/// Waits for a future while other Ruby threads run, and other fibers of this one if it has a scheduler.
///
/// An earlier end of the wait (an exception of the scheduler's, `Thread#kill`, Ctrl-C) is returned, and the future is
/// dropped.
pub fn wait<F>(ruby: &Ruby, engine: &Arc<Engine>, future: F) -> Result<F::Output, Error>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    gvl::check_stack(ruby)?;
    if !gvl::is_in_fiber_of_scheduler(ruby) {
        return gvl::block_on(ruby, &engine.shared.reactor, future);
    }
    let output = Arc::new(Mutex::new(None));
    let slot = output.clone();
    let awaited = Arc::new(Awaited::new(async move {
        let result = AssertUnwindSafe(future).catch_unwind().await;
        *lock(&slot) = Some(result);
    }));
    engine.shared.fibers.add(awaited.clone());
    let wait = Wait {
        awaited: awaited.clone(),
        engine: engine.clone(),
    };
    let hecaton: RModule = ruby.class_object().const_get("Hecaton")?;
    let fibers: RModule = hecaton.const_get("Fibers")?;
    let woken = fibers.funcall::<_, _, Value>("wait", (ruby.obj_wrap(wait),));
    awaited.give_up();
    woken?;
    let output = lock(&output).take();
    match output {
        Some(Ok(output)) => Ok(output),
        Some(Err(panic)) => Err(gvl::bug(ruby, panic.as_ref())),
        None => Err(gvl::bug(ruby, &"a fiber was woken too early")),
    }
}

/// The waits of all fibers. They stay here when the driving thread is killed, and the next thread continues with them.
#[derive(Default)]
pub struct Fibers {
    news: Mutex<News>,
    /// Wakes the driving thread when there is news.
    waker: AtomicWaker,
    /// Used only by the driving thread.
    running: Mutex<FuturesUnordered<Running>>,
    /// Waits that have ended, but were not reported yet.
    ended: Mutex<Vec<u64>>,
}

#[derive(Default)]
struct News {
    /// The number of the driving thread, 0 when there is none.
    driver: u64,
    /// How many have driven.
    drivers: u64,
    added: Vec<Running>,
}

impl Fibers {
    fn add(&self, awaited: Arc<Awaited>) {
        lock(&self.news).added.push(Running(awaited));
        self.waker.wake();
    }

    /// Makes the caller the driving thread and returns its number; none if another thread drives.
    fn claim(&self) -> Option<u64> {
        let mut news = lock(&self.news);
        if news.driver != 0 {
            return None;
        }
        news.drivers += 1;
        news.driver = news.drivers;
        Some(news.driver)
    }

    /// Lets another drive.
    fn leave(&self, driver: u64) {
        let mut news = lock(&self.news);
        if news.driver == driver {
            news.driver = 0;
        }
    }

    /// Takes new waits. False when there is nothing left to drive or report: from then on no thread drives.
    fn begin(&self, running: &mut FuturesUnordered<Running>) -> bool {
        let mut news = lock(&self.news);
        running.extend(news.added.drain(..));
        if running.is_empty() && lock(&self.ended).is_empty() {
            news.driver = 0;
        }
        news.driver != 0
    }

    /// Ready as soon as a wait has ended, or none is left. The reactor has a turn first. Otherwise bodies that always
    /// need a piece would starve deadlines and responses.
    fn poll(&self, cx: &mut Context<'_>, turned: &mut bool) -> Poll<bool> {
        self.waker.register(cx.waker());
        let _turn = begin_turn();
        let mut running = lock(&self.running);
        loop {
            if !self.begin(&mut running) {
                return Poll::Ready(false);
            }
            match running.poll_next_unpin(cx) {
                Poll::Ready(Some(Some(tag))) => lock(&self.ended).push(tag),
                Poll::Ready(Some(None)) => {}
                Poll::Ready(None) | Poll::Pending => break,
            }
        }
        match (
            lock(&self.ended).is_empty(),
            std::mem::replace(turned, true),
        ) {
            (true, _) => Poll::Pending,
            (false, true) => Poll::Ready(true),
            (false, false) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

/// A future, driven by one thread and given up by another.
struct Awaited {
    tag: u64,
    home: u32,
    ended: AtomicBool,
    work: Mutex<Work>,
}

struct Work {
    /// None once it has ended, or was given up.
    future: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    waker: Option<Waker>,
}

impl Awaited {
    fn new(future: impl Future<Output = ()> + Send + 'static) -> Awaited {
        static TAGS: AtomicU64 = AtomicU64::new(0);
        Awaited {
            tag: TAGS.fetch_add(1, Ordering::Relaxed),
            home: process::id(),
            ended: AtomicBool::new(false),
            work: Mutex::new(Work {
                future: Some(Box::pin(future)),
                waker: None,
            }),
        }
    }

    /// Drops the future, if it has not ended. It does nothing in a forked child, because the future belongs to the
    /// parent.
    fn give_up(&self) {
        if self.ended.load(Ordering::Acquire) || self.home != process::id() {
            return;
        }
        let (future, waker) = {
            let mut work = lock(&self.work);
            (work.future.take(), work.waker.take())
        };
        drop(future);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The future for the driving thread: gives the tag when it has ended, none when it was given up.
struct Running(Arc<Awaited>);

impl Future for Running {
    type Output = Option<u64>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<u64>> {
        ready!(poll_turn(cx));
        let awaited = &self.0;
        let mut work = lock(&awaited.work);
        let Some(future) = &mut work.future else {
            return Poll::Ready(None);
        };
        if future.as_mut().poll(cx).is_pending() {
            match &mut work.waker {
                Some(waker) => waker.clone_from(cx.waker()),
                waker => *waker = Some(cx.waker().clone()),
            }
            return Poll::Pending;
        }
        work.future = None;
        awaited.ended.store(true, Ordering::Release);
        Poll::Ready(Some(awaited.tag))
    }
}

/// The wait of one fiber.
#[magnus::wrap(class = "Hecaton::Native::Wait", free_immediately, size)]
struct Wait {
    awaited: Arc<Awaited>,
    engine: Arc<Engine>,
}

impl Wait {
    fn tag(&self) -> u64 {
        self.awaited.tag
    }

    fn is_ended(&self) -> bool {
        self.awaited.ended.load(Ordering::Acquire)
    }

    /// A driver if no thread drives, which the caller must then run; else none.
    fn driver(&self) -> Option<Driver> {
        let shared = self.engine.shared.clone();
        let number = shared.fibers.claim()?;
        Some(Driver { number, shared })
    }
}

/// For the thread that drives.
#[magnus::wrap(class = "Hecaton::Native::Driver", free_immediately, size)]
struct Driver {
    number: u64,
    shared: Arc<Shared>,
}

impl Driver {
    /// Waits until some have ended, and returns their tags. Nil when none is left; from then on no thread drives.
    fn drive(ruby: &Ruby, this: &Driver) -> Result<Option<RArray>, Error> {
        let shared = &this.shared;
        let mut turned = false;
        let turn = std::future::poll_fn(|cx| shared.fibers.poll(cx, &mut turned));
        if !gvl::block_on(ruby, &shared.reactor, turn)? {
            return Ok(None);
        }
        let tags = std::mem::take(&mut *lock(&shared.fibers.ended));
        Ok(Some(ruby.ary_from_iter(tags)))
    }

    /// Lets another thread drive, if this one still does.
    fn leave(&self) {
        self.shared.fibers.leave(self.number);
    }
}

/// Defines the classes.
pub fn init(ruby: &Ruby, native: RModule) -> Result<(), Error> {
    let class = crate::define::<Wait>(ruby, native, "Wait")?;
    class.define_method("tag", method!(Wait::tag, 0))?;
    class.define_method("ended?", method!(Wait::is_ended, 0))?;
    class.define_method("driver", method!(Wait::driver, 0))?;
    let class = crate::define::<Driver>(ruby, native, "Driver")?;
    class.define_method("drive", method!(Driver::drive, 0))?;
    class.define_method("leave", method!(Driver::leave, 0))
}
