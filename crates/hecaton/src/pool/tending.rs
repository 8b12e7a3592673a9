//! When idle connections are looked after; `idle` decides which are too old, and closes them and those that their
//! server has ended.
//!
//! While connections come and go, the task looks a few times a second, which costs no system call. Once none has come
//! back between two looks, each connection wakes the task when something comes on it. Until then, or until the first of
//! them is too old, the task sleeps, so an idle program wakes for nothing.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Mutex, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::time::{sleep, sleep_until};

use super::idle::Idle;
use super::sessions::Sessions;
use crate::runtime::descriptors::Generation;
use crate::runtime::lock::lock;

/// How often idle connections are looked after while they come and go. After a wake-up, the task waits for as long, so
/// that a server cannot keep it busy.
const TENDED: Duration = Duration::from_millis(250);

/// The messages for the task, under the lock of the connections.
#[derive(Default)]
pub(super) struct Alarm {
    /// Whether a connection has come back since the last look.
    raised: bool,
    /// Whether the client is gone.
    ended: bool,
    /// Wakes the task from its sleep.
    sleeper: Option<(Waker, Generation)>,
}

impl Alarm {
    /// A connection has come back, or was opened.
    pub fn raise(&mut self) {
        self.raised = true;
        if let Some((waker, made)) = self.sleeper.take() {
            match made.is_past() {
                // Its runtime is the parent's: another thread may have held a lock of it at the moment of the fork.
                true => std::mem::forget(waker),
                false => waker.wake(),
            }
        }
    }

    /// The client is gone.
    pub fn end(&mut self) {
        self.ended = true;
        self.raise();
    }
}

/// The next step of the task.
enum Next {
    End,
    Look,
    /// Sleep, at the longest until then.
    Sleep(Option<Instant>),
}

/// Looks after the idle connections of a client, until none is left or the client is gone.
pub(super) async fn tend(idle: Weak<Mutex<Idle>>, sessions: Weak<Sessions>) {
    loop {
        sleep(TENDED).await;
        match look(&idle, &sessions) {
            Next::End => return,
            Next::Look => {}
            Next::Sleep(until) => rest(&idle, until).await,
        }
    }
}

fn look(idle: &Weak<Mutex<Idle>>, sessions: &Weak<Sessions>) -> Next {
    let (Some(idle), Some(sessions)) = (idle.upgrade(), sessions.upgrade()) else {
        return Next::End;
    };
    let mut idle = lock(&idle);
    if idle.alarm.ended {
        return Next::End;
    }
    idle.close_ended(Instant::now());
    if !sessions.tend() && idle.is_empty() {
        idle.tended = false;
        return Next::End;
    }
    if std::mem::take(&mut idle.alarm.raised) {
        return Next::Look;
    }
    Next::Sleep(idle.next_end().into_iter().chain(sessions.next_end()).min())
}

/// Sleeps until there is something to look at.
async fn rest(idle: &Weak<Mutex<Idle>>, until: Option<Instant>) {
    let mut until = pin!(until.map(|at| sleep_until(at.into())));
    poll_fn(|cx| {
        let is_due = match until.as_mut().as_pin_mut() {
            Some(until) => until.poll(cx).is_ready(),
            None => false,
        };
        match is_due {
            true => Poll::Ready(()),
            false => poll_news(idle, cx),
        }
    })
    .await;
}

fn poll_news(idle: &Weak<Mutex<Idle>>, cx: &mut Context<'_>) -> Poll<()> {
    let Some(idle) = idle.upgrade() else {
        return Poll::Ready(());
    };
    let mut idle = lock(&idle);
    if idle.alarm.raised {
        return Poll::Ready(());
    }
    idle.alarm.sleeper = Some((cx.waker().clone(), Generation::now()));
    idle.poll_news(cx)
}
