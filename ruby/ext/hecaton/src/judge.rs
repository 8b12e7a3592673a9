//! Asks Ruby whether a request is sent again. The engine asks while the GVL is away: the question ends the wait, as a piece of a
//! body that is wanted does, and Ruby's thread answers it and waits again.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use futures_util::future::BoxFuture;
use hecaton::{Judge, Outcome};

use crate::body_source::Wants;

/// What was asked and not answered yet.
pub struct Questions {
    wants: Arc<Wants>,
    asked: Mutex<Vec<Question>>,
}

/// Whether the request with this tag is sent again, which ended so.
pub struct Question {
    pub tag: usize,
    pub outcome: Outcome,
    pub answer: Answer,
}

/// Where the answer goes.
#[derive(Clone, Default)]
pub struct Answer(Arc<Mutex<(Option<bool>, Option<Waker>)>>);

impl Questions {
    /// None yet. `wants` is told of each.
    pub fn new(wants: Arc<Wants>) -> Arc<Questions> {
        let asked = Mutex::default();
        Arc::new(Questions { wants, asked })
    }

    /// The next one, once.
    pub fn next(&self) -> Option<Question> {
        lock(&self.asked).pop()
    }
}

impl Judge for Questions {
    fn again(&self, tag: usize, outcome: Outcome) -> BoxFuture<'static, bool> {
        let answer = Answer::default();
        lock(&self.asked).push(Question {
            tag,
            outcome,
            answer: answer.clone(),
        });
        self.wants.add(tag);
        Box::pin(poll_fn(move |cx| {
            let mut answer = lock(&answer.0);
            match answer.0 {
                Some(again) => Poll::Ready(again),
                None => {
                    answer.1 = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        }))
    }
}

impl Answer {
    /// Answers.
    pub fn give(&self, again: bool) {
        let mut answer = lock(&self.0);
        answer.0 = Some(again);
        if let Some(waker) = answer.1.take() {
            drop(answer);
            waker.wake();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
