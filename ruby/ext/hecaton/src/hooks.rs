//! Asks Ruby whether a request is sent again, and how an attempt is made. The engine asks while the GVL is away: the question ends the wait, as a piece of a
//! body that is wanted does, and Ruby's thread answers it and waits again.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use futures_util::future::BoxFuture;
use hecaton::{Changes, Hooks, Outcome, Upcoming};
use magnus::{Error, RArray, RString, Ruby, TryConvert};

use crate::body_source::Wants;

/// What was asked and not answered yet.
pub struct Questions {
    wants: Arc<Wants>,
    asked: Mutex<Vec<Question>>,
}

/// A question about the request with this tag.
pub struct Question {
    pub tag: usize,
    pub about: About,
}

/// What is asked.
pub enum About {
    /// Whether the request is sent again, which ended so.
    Outcome(Box<Outcome>, Answer<bool>),
    /// How an attempt is to be made.
    Attempt(Upcoming, Answer<Option<Changes>>),
}

/// Where the answer goes.
pub struct Answer<T>(Arc<Mutex<(Option<T>, Option<Waker>)>>);

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

impl Questions {
    fn ask<T: Send + 'static>(
        &self,
        tag: usize,
        about: impl FnOnce(Answer<T>) -> About,
    ) -> BoxFuture<'static, T> {
        let answer = Answer(Arc::default());
        let about = about(Answer(answer.0.clone()));
        lock(&self.asked).push(Question { tag, about });
        self.wants.add(tag);
        Box::pin(poll_fn(move |cx| {
            let mut answer = lock(&answer.0);
            match answer.0.take() {
                Some(given) => Poll::Ready(given),
                None => {
                    answer.1 = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        }))
    }
}

impl Hooks for Questions {
    fn again(&self, tag: usize, outcome: Outcome) -> BoxFuture<'static, bool> {
        self.ask(tag, |answer| About::Outcome(Box::new(outcome), answer))
    }

    fn before_attempt(&self, tag: usize, attempt: Upcoming) -> BoxFuture<'static, Option<Changes>> {
        self.ask(tag, |answer| About::Attempt(attempt, answer))
    }
}

impl<T> Answer<T> {
    /// Answers.
    pub fn give(&self, given: T) {
        let mut answer = lock(&self.0);
        answer.0 = Some(given);
        if let Some(waker) = answer.1.take() {
            drop(answer);
            waker.wake();
        }
    }
}

/// An attempt as Ruby's `FeatureRun#attempt` takes it: number, method, URL, headers as a flat list, and whether there is a body.
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

/// What that returns: a flat list of names and values, or nil.
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
