//! Asks Ruby whether a request is sent again, and how an attempt is made. The engine runs without the GVL, so a question ends
//! the wait, as a needed piece of a body does. Ruby's thread answers it and waits again.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use futures_util::future::BoxFuture;
use hecaton::{Changes, Hooks, Outcome, Upcoming};
use magnus::{Error, RArray, RString, Ruby, TryConvert};

use crate::body_source::RubyQueue;

/// Questions without an answer.
pub struct Questions {
    ruby_queue: Arc<RubyQueue>,
    pending: Mutex<Vec<Question>>,
}

/// A question about the request with this tag.
pub struct Question {
    pub tag: usize,
    pub about: About,
}

/// The subject of a question.
pub enum About {
    /// Whether the request is sent again after this outcome.
    Outcome(Box<Outcome>, Decision<bool>),
    /// How an attempt is to be made.
    Attempt(Upcoming, Decision<Option<Changes>>),
}

/// Receives the answer.
pub struct Decision<T>(Arc<Mutex<(Option<T>, Option<Waker>)>>);

impl Questions {
    /// No questions yet. `ruby_queue` gets the tag of each.
    pub fn new(ruby_queue: Arc<RubyQueue>) -> Arc<Questions> {
        let pending = Mutex::default();
        Arc::new(Questions {
            ruby_queue,
            pending,
        })
    }

    /// The next question; each is returned once.
    pub fn next(&self) -> Option<Question> {
        lock(&self.pending).pop()
    }

    fn ask<T: Send + 'static>(
        &self,
        tag: usize,
        about: impl FnOnce(Decision<T>) -> About,
    ) -> BoxFuture<'static, T> {
        let decision = Decision(Arc::default());
        let about = about(Decision(decision.0.clone()));
        lock(&self.pending).push(Question { tag, about });
        self.ruby_queue.add(tag);
        Box::pin(poll_fn(move |cx| {
            let mut decision = lock(&decision.0);
            match decision.0.take() {
                Some(given) => Poll::Ready(given),
                None => {
                    decision.1 = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        }))
    }
}

impl Hooks for Questions {
    fn again(&self, tag: usize, outcome: Outcome) -> BoxFuture<'static, bool> {
        self.ask(tag, |decision| About::Outcome(Box::new(outcome), decision))
    }

    fn before_attempt(&self, tag: usize, attempt: Upcoming) -> BoxFuture<'static, Option<Changes>> {
        self.ask(tag, |decision| About::Attempt(attempt, decision))
    }
}

impl<T> Decision<T> {
    /// Sets the answer.
    pub fn give(&self, given: T) {
        let mut decision = lock(&self.0);
        decision.0 = Some(given);
        if let Some(waker) = decision.1.take() {
            drop(decision);
            waker.wake();
        }
    }
}

/// An attempt as Ruby's `FeatureRun#before_attempt` takes it: number, method, URL, headers as a flat list, and whether there is a body.
pub fn upcoming(ruby: &Ruby, attempt: &Upcoming) -> Result<RArray, Error> {
    let fields = ruby.ary_new();
    for (name, value) in &attempt.headers {
        fields.push(ruby.str_new(name))?;
        fields.push(ruby.str_from_slice(value))?;
    }
    let list = ruby.ary_new();
    list.push(attempt.number)?;
    list.push(ruby.str_new(&attempt.method))?;
    list.push(ruby.str_new(&attempt.url))?;
    list.push(fields)?;
    list.push(attempt.has_body)?;
    Ok(list)
}

/// The answer of `FeatureRun#before_attempt`: a flat list of names and values, or nil.
pub fn changes(list: Option<RArray>) -> Result<Option<Changes>, Error> {
    let Some(list) = list else {
        return Ok(None);
    };
    let mut changes = Changes::new();
    let mut flat = list.into_iter();
    while let (Some(name), Some(value)) = (flat.next(), flat.next()) {
        let value = Option::<RString>::try_convert(value)?;
        let value = value.map(|value| Vec::from(value.to_bytes()));
        changes.push((String::try_convert(name)?, value));
    }
    Ok(Some(changes))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
