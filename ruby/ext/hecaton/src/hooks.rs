//! Calls Ruby while a request is under way: its retry predicate, its features, and who intercepts its attempts.
//!
//! The engine runs without the GVL, so a call that is due ends the wait, as a needed piece of a body does. Ruby's
//! thread makes it and waits again.
//!
//! An exception in a call of a single request leaves the request (`turns.rs`, `call_hooks`). In a batch
//! (`Batch#run_hook_calls` in `ruby/lib/hecaton/batch.rb`) it leaves the batch, and the engine gets a refusal as the
//! result.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Instant;

use futures_util::future::BoxFuture;
use hecaton::{
    Changes, Given, GivenFailure, GivenResponse, Hooks, Kind, Outcome, Phase, Request, Response,
    Upcoming,
};
use magnus::value::{Opaque, ReprValue};
use magnus::{Error, RArray, RString, Ruby, TryConvert, Value};

use crate::process::ProcessLocal;
use crate::ruby_queue::RubyQueue;
use crate::{error_classes, lock, record};

/// The calls of Ruby that are due.
pub struct HookCalls {
    ruby_queue: Arc<RubyQueue>,
    pending: Mutex<VecDeque<HookCall>>,
}

/// A call of Ruby about the request with this tag.
pub struct HookCall {
    pub tag: usize,
    pub about: About,
    /// Receives the result.
    pub decision: Arc<dyn Decision>,
}

/// The subject of a call.
pub enum About {
    /// Whether the request is sent again after this outcome.
    Again(Box<Outcome>),
    /// How an attempt is to be made.
    BeforeAttempt(Upcoming),
    /// An interceptor's response to an attempt.
    Respond(Upcoming),
    /// A response of the network, for observers.
    Observe(Box<Response>),
}

impl About {
    /// Ruby's method, and the attribute of a request in a batch that has it.
    pub fn hook(&self) -> (&'static str, &'static str) {
        match self {
            About::Again(_) => ("predicate", "again?"),
            About::BeforeAttempt(_) => ("run", "before_attempt"),
            About::Respond(_) => ("interception", "respond"),
            About::Observe(_) => ("interception", "observe"),
        }
    }

    /// The arguments of the call: the first so many of these values.
    pub fn arguments(self, ruby: &Ruby) -> Result<([Value; 3], usize), Error> {
        Ok(match self {
            About::Again(outcome) => (record::values(ruby, *outcome), 3),
            About::Observe(response) => (record::values(ruby, Ok(*response)), 3),
            About::BeforeAttempt(attempt) | About::Respond(attempt) => {
                ([upcoming(ruby, &attempt)?.as_value(); 3], 1)
            }
        })
    }
}

/// The Ruby objects that a request calls.
#[derive(Clone, Copy, Default)]
pub struct RubyHooks {
    /// The `Hecaton::RetryPredicate`, if no rules decide.
    pub predicate: Option<Value>,
    /// The `Hecaton::FeatureRun`, if a feature sees each attempt.
    pub features: Option<Value>,
    /// The `Hecaton::Interception::Run`, if there are interceptors.
    pub interception: Option<Value>,
}

/// The same, for a value that another thread may drop.
pub struct KeptHooks([Option<Opaque<Value>>; 3]);

impl KeptHooks {
    /// The caller sees to it that Ruby keeps the objects.
    pub fn new(hooks: &RubyHooks) -> KeptHooks {
        KeptHooks(
            [hooks.predicate, hooks.features, hooks.interception]
                .map(|hook| hook.map(Opaque::from)),
        )
    }

    /// As they were given.
    pub fn of(&self, ruby: &Ruby) -> RubyHooks {
        let [predicate, features, interception] =
            self.0.map(|hook| hook.map(|hook| ruby.get_inner(hook)));
        RubyHooks {
            predicate,
            features,
            interception,
        }
    }
}

impl RubyHooks {
    /// Whether the request calls none.
    pub fn is_none(&self) -> bool {
        self.predicate.is_none() && self.features.is_none() && self.interception.is_none()
    }

    /// The request with the number by which the hooks know it.
    pub fn mark(&self, mut request: Request, number: usize) -> Request {
        if self.predicate.is_some() {
            request = request.call_retry_predicate(number);
        }
        if self.features.is_some() {
            request = request.call_before_attempt(number);
        }
        if self.interception.is_some() {
            request = request.intercepted(number);
        }
        request
    }

    /// Makes the call, and hands its result to the engine.
    pub fn call(&self, ruby: &Ruby, call: HookCall) -> Result<(), Error> {
        let object = match call.about {
            About::Again(_) => self.predicate,
            About::BeforeAttempt(_) => self.features,
            About::Respond(_) | About::Observe(_) => self.interception,
        };
        let (_, method) = call.about.hook();
        let object = object.expect("only a request with this object calls it");
        let began = Instant::now();
        let (arguments, count) = call.about.arguments(ruby)?;
        let result: Value = object.funcall(method, &arguments[..count])?;
        call.decision.give(result, began)
    }
}

/// Receives the result of a call.
pub trait Decision: Send + Sync {
    /// Sets the result of the call that began then.
    fn give(&self, result: Value, began: Instant) -> Result<(), Error>;
}

/// A result that a request waits for.
struct Expected<T> {
    /// Reads what Ruby returned.
    read: fn(Value, Instant) -> Result<T, Error>,
    state: Mutex<State<T>>,
}

struct State<T> {
    given: Option<T>,
    waker: Option<ProcessLocal<Waker>>,
}

impl HookCalls {
    /// No calls yet. `ruby_queue` gets the tag of each.
    pub fn new(ruby_queue: Arc<RubyQueue>) -> Arc<HookCalls> {
        let pending = Mutex::default();
        Arc::new(HookCalls {
            ruby_queue,
            pending,
        })
    }

    /// The oldest call whose request still waits for the result; each is returned once. The number of another request
    /// may have become that of one which has ended.
    pub fn next(&self) -> Option<HookCall> {
        let mut pending = lock(&self.pending);
        loop {
            let call = pending.pop_front()?;
            // Else no request waits for it any more.
            if Arc::strong_count(&call.decision) > 1 {
                return Some(call);
            }
        }
    }

    /// Has Ruby called again, if more calls are due.
    pub fn remind(&self) {
        let tag = lock(&self.pending).front().map(|call| call.tag);
        if let Some(tag) = tag {
            self.ruby_queue.add(tag);
        }
    }

    fn call_ruby<T: Send + 'static>(
        &self,
        tag: usize,
        about: About,
        read: fn(Value, Instant) -> Result<T, Error>,
    ) -> BoxFuture<'static, T> {
        let state = Mutex::new(State {
            given: None,
            waker: None,
        });
        let expected = Arc::new(Expected { read, state });
        let decision = expected.clone();
        lock(&self.pending).push_back(HookCall {
            tag,
            about,
            decision,
        });
        self.ruby_queue.add(tag);
        Box::pin(poll_fn(move |cx| {
            let mut state = lock(&expected.state);
            match state.given.take() {
                Some(given) => Poll::Ready(given),
                None => {
                    state.waker = Some(ProcessLocal::new(cx.waker().clone()));
                    Poll::Pending
                }
            }
        }))
    }
}

impl Hooks for HookCalls {
    fn again(&self, tag: usize, outcome: Outcome) -> BoxFuture<'static, bool> {
        let about = About::Again(Box::new(outcome));
        self.call_ruby(tag, about, |again, _| Ok(again.to_bool()))
    }

    fn before_attempt(&self, tag: usize, attempt: Upcoming) -> BoxFuture<'static, Option<Changes>> {
        self.call_ruby(tag, About::BeforeAttempt(attempt), changes)
    }

    fn respond(&self, tag: usize, attempt: Upcoming) -> BoxFuture<'static, Given> {
        self.call_ruby(tag, About::Respond(attempt), given)
    }

    fn observe(&self, tag: usize, response: Response) -> BoxFuture<'static, ()> {
        self.call_ruby(tag, About::Observe(Box::new(response)), |_, _| Ok(()))
    }
}

impl<T: Send> Decision for Expected<T> {
    fn give(&self, result: Value, began: Instant) -> Result<(), Error> {
        let given = (self.read)(result, began)?;
        let mut state = lock(&self.state);
        state.given = Some(given);
        if let Some(waker) = state.waker.take() {
            drop(state);
            waker.wake();
        }
        Ok(())
    }
}

/// An attempt as `FeatureRun#before_attempt` and `Interception::Run#respond` take it: number, method, URL, headers as a
/// flat list, whether there is a body, and whether a coded response is decoded.
fn upcoming(ruby: &Ruby, attempt: &Upcoming) -> Result<RArray, Error> {
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
    list.push(attempt.decodes)?;
    Ok(list)
}

/// The result of `FeatureRun#before_attempt`: a flat list of names and values, or nil.
fn changes(list: Value, _: Instant) -> Result<Option<Changes>, Error> {
    let list = Option::<RArray>::try_convert(list)?;
    list.map(pairs).transpose()
}

/// Reads what `Interception::Run#respond` returned. `began` is when it was called.
///
/// - true or false: the attempt is made on the network, with or without observers.
/// - Status, headers as a flat list, pieces of the body, and the failure after them or nil.
/// - A failure.
fn given(value: Value, began: Instant) -> Result<Given, Error> {
    let Some(list) = RArray::from_value(value) else {
        let observed = value.to_bool();
        return Ok(Given::Nothing { observed });
    };
    let Ok(status) = list.entry(0) else {
        return Ok(Given::Failure(failure(list)?));
    };
    let fields = pairs(list.entry(1)?)?.into_iter();
    let headers = fields.filter_map(|(name, value)| Some((name, value?)));
    let ending: Option<RArray> = list.entry(3)?;
    let mut body = Vec::new();
    for piece in list.entry::<RArray>(2)? {
        body.push(RString::try_convert(piece)?.to_bytes());
    }
    Ok(Given::Response(GivenResponse {
        status,
        headers: headers.collect(),
        body,
        ending: ending.map(failure).transpose()?,
        took: began.elapsed(),
    }))
}

/// The names and values of a flat list; a value may be nil.
fn pairs(list: RArray) -> Result<Changes, Error> {
    let mut pairs = Vec::with_capacity(list.len() / 2);
    let mut flat = list.into_iter();
    while let (Some(name), Some(value)) = (flat.next(), flat.next()) {
        let value = Option::<RString>::try_convert(value)?;
        pairs.push((
            String::try_convert(name)?,
            value.map(|value| value.to_bytes().to_vec()),
        ));
    }
    Ok(pairs)
}

/// A failure from the name of its class, its phase, whether the request was sent, and whether the connection ended
/// before a response. Ruby has the Error itself.
fn failure(list: RArray) -> Result<GivenFailure, Error> {
    let kind: String = list.entry(0)?;
    let phase: String = list.entry(1)?;
    let known = Phase::ALL.into_iter().find(|known| known.name() == phase);
    Ok(GivenFailure {
        kind: error_classes::kind(&kind).unwrap_or(Kind::Cancelled),
        phase: known.unwrap_or(Phase::FirstByte),
        sent: list.entry(2)?,
        ended: list.entry(3)?,
        detail: String::new(),
    })
}
