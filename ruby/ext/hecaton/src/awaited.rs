//! The futures that fibers wait for, driven together by one thread.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};

use futures_util::stream::{FuturesUnordered, StreamExt};
use futures_util::task::AtomicWaker;
use hecaton::{begin_turn, poll_turn};

use crate::{lock, process};

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
    pub fn add(&self, awaited: Arc<Awaited>) {
        lock(&self.news).added.push(Running(awaited));
        self.waker.wake();
    }

    /// Makes the caller the driving thread and returns its number; none if another thread drives.
    pub fn claim(&self) -> Option<u64> {
        let mut news = lock(&self.news);
        if news.driver != 0 {
            return None;
        }
        news.drivers += 1;
        news.driver = news.drivers;
        Some(news.driver)
    }

    /// Lets another drive.
    pub fn leave(&self, driver: u64) {
        let mut news = lock(&self.news);
        if news.driver == driver {
            news.driver = 0;
        }
    }

    /// The tags of waits that have ended since the last call.
    pub fn take_ended(&self) -> Vec<u64> {
        std::mem::take(&mut lock(&self.ended))
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
    pub fn poll(&self, cx: &mut Context<'_>, turned: &mut bool) -> Poll<bool> {
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
pub struct Awaited {
    pub tag: u64,
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
    pub fn new(future: impl Future<Output = ()> + Send + 'static) -> Awaited {
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

    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Drops the future, if it has not ended. It does nothing in a forked child, because the future belongs to the
    /// parent.
    pub fn give_up(&self) {
        if self.is_ended() || self.home != process::id() {
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
