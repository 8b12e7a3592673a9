//! `Hecaton::Native::Batch`: takes Ruby's requests, and hands them back with their outcomes.
//!
//! Requests of further clients come through `guest`.
//!
//! Only the batch knows the state of a request: queued or in flight (the batch holds the request), or ended (the batch
//! has handed it back). Ruby's interrupts come between Ruby's own steps and while `wait` waits, and in no other step of
//! this file. So no request is ever lost or in two states.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use futures_util::lock::{Mutex, MutexGuard};
use hecaton::{InParts, InvalidUrl, Limits, Outcome, Request, Template};
use magnus::rb_sys::AsRawValue;
use magnus::value::{Opaque, ReprValue};
use magnus::{
    DataTypeFunctions, Error, Module, RArray, RHash, RModule, Ruby, Thread, TypedData, Value, gc,
    method,
};

use crate::held::Held;
use crate::hooks::{About, Decision, HookCalls};
use crate::process::ProcessLocal;
use crate::request::{Built, Refused};
use crate::ruby_queue::{RubyQueue, ended_or_needed};
use crate::shared::Engine;
use crate::{fibers, gvl, process, record, request, values};

/// The engine's batch, used by the thread that made it, or by the one that adopted it. `wait` holds the lock while it waits without the GVL.
#[derive(TypedData)]
#[magnus(class = "Hecaton::Native::Batch", free_immediately, size, mark)]
pub struct Batch {
    thread: Cell<Opaque<Thread>>,
    template: Arc<Template>,
    /// Ruby's requests that are queued or in flight. They can be read while another call holds the lock.
    held: Held,
    /// The process that made it.
    pid: u32,
    inner: Arc<Mutex<ProcessLocal<Inner>>>,
}

/// How many outcomes are handed to Ruby's list at once.
const AT_ONCE: usize = 16;

/// Outcomes that go to Ruby's list together, four values each. They are on the stack, where Ruby's garbage collector
/// sees them.
struct Together {
    values: [Value; 4 * AT_ONCE],
    filled: usize,
}

impl Together {
    fn add(&mut self, outcome: [Value; 4]) {
        self.values[self.filled..self.filled + 4].copy_from_slice(&outcome);
        self.filled += 4;
    }

    fn hand_to(&mut self, ended: RArray) -> Result<(), Error> {
        let filled = std::mem::take(&mut self.filled);
        ended.cat(&self.values[..filled])
    }
}

struct Inner {
    // Dropped before the engine: its connections are registered with the engine's reactor.
    batch: hecaton::Batch<usize>,
    /// Outcomes that were not handed over yet, because an interrupt came first.
    ended: Vec<(usize, Outcome)>,
    /// Requests with an invalid URL. They failed when they were queued, and are handed over with the next outcomes.
    refused: Vec<(usize, InvalidUrl)>,
    /// The request that was queued last, as long as it cannot have started.
    newest: Option<usize>,
    /// The tags of requests by Ruby's `object_id`, made when an older request than `newest` is looked up. Searching all
    /// requests each time would be slow.
    tags: Option<HashMap<i64, usize>>,
    /// The requests that need Ruby, once a body comes in pieces.
    ruby_queue: Option<Arc<RubyQueue>>,
    /// The calls of retry predicates, once a request has one.
    hook_calls: Option<Arc<HookCalls>>,
    /// Where the result of the latest call goes, and when the call began.
    decision: Option<(Arc<dyn Decision>, Instant)>,
    engine: Arc<Engine>,
}

impl DataTypeFunctions for Batch {
    fn mark(&self, marker: &gc::Marker) {
        marker.mark(self.thread.get());
        self.held.mark(marker);
    }
}

impl Batch {
    /// An empty batch.
    pub fn new(
        ruby: &Ruby,
        engine: Arc<Engine>,
        client: hecaton::Client,
        template: Arc<Template>,
        concurrency: usize,
        limits: Limits,
    ) -> Result<Batch, Error> {
        let batch = hecaton::Batch::with_limits(client, concurrency, limits)
            .map_err(|error| values::invalid(ruby, error.to_string()))?;
        let inner = Inner {
            batch,
            ended: Vec::new(),
            refused: Vec::new(),
            newest: None,
            tags: None,
            ruby_queue: None,
            hook_calls: None,
            decision: None,
            engine,
        };
        Ok(Batch {
            thread: Cell::new(ruby.thread_current().into()),
            template,
            held: Held::default(),
            pid: process::id(),
            inner: Arc::new(Mutex::new(ProcessLocal::new(inner))),
        })
    }

    /// Refuses other threads.
    pub fn own(&self, ruby: &Ruby) -> Result<(), Error> {
        if ruby.thread_current().as_raw() == ruby.get_inner(self.thread.get()).as_raw() {
            return Ok(());
        }
        let message = "this batch belongs to another thread: use it in its block and its callbacks";
        Err(Error::new(ruby.exception_thread_error(), message))
    }

    /// Makes the calling thread the one that uses the batch, unless the batch waits.
    fn adopt(ruby: &Ruby, this: &Batch) -> Result<(), Error> {
        let _guard = this.lock(ruby)?;
        this.thread.set(ruby.thread_current().into());
        Ok(())
    }

    /// Fails while the batch waits, which only signal handlers and other fibers of its thread can cause. If such a
    /// handler forks, the batch waits for ever in the child.
    fn lock(&self, ruby: &Ruby) -> Result<MutexGuard<'_, ProcessLocal<Inner>>, Error> {
        gvl::check_stack(ruby)?;
        self.inner
            .try_lock()
            .ok_or_else(|| match self.is_inherited() {
                true => process::inherited(ruby, RUNS),
                false => waiting(ruby),
            })
    }

    fn is_inherited(&self) -> bool {
        self.pid != process::id()
    }

    /// Queues one of Ruby's requests, and returns it. Nil if Ruby must read the options.
    fn push(
        ruby: &Ruby,
        this: &Batch,
        queued: Value,
        method: Value,
        url: Value,
        options: Option<RHash>,
        built: Option<RArray>,
    ) -> Result<Option<Value>, Error> {
        this.own(ruby)?;
        let built = Built::of(built)?;
        let request = request::build(ruby, &this.template, method, url, options, &built);
        this.queue(ruby, None, queued, request, &built)
    }

    /// Queues a request, which `client` sends; none for the batch's own. Returns it, if there is one.
    pub fn queue(
        &self,
        ruby: &Ruby,
        client: Option<hecaton::Client>,
        queued: Value,
        request: Result<Request, Refused>,
        built: &Built,
    ) -> Result<Option<Value>, Error> {
        let mut request = match request {
            Ok(request) => Ok(request),
            Err(Refused::Url(error)) => Err(error),
            Err(Refused::Options) => return Ok(None),
            Err(Refused::Other(error)) => return Err(error),
        };
        // The body on the stack keeps it alive.
        let source = built.body_source()?;
        let mut guard = self.lock(ruby)?;
        let inner = running(ruby, &mut guard)?;
        if let Some((native, _)) = &source {
            let ruby_queue = inner.ruby_queue.get_or_insert_default().clone();
            let tag = self.held.next_tag();
            request = match request {
                Ok(request) => Ok(request::with_source(
                    ruby, request, native, ruby_queue, tag,
                )?),
                refused => refused,
            };
        }
        let tag = self.held.put(queued);
        if let Some(tags) = &mut inner.tags {
            tags.insert(object_id(queued)?, tag);
        }
        match request {
            Ok(request) => inner.start(client, tag, request, built),
            Err(error) => inner.refused.push((tag, error)),
        }
        Ok(Some(queued))
    }

    /// Has the response of one of Ruby's requests handed over in parts: its head, and the pieces of its body if
    /// `pieces`. False when it is too late, because the request has been started.
    fn in_parts(ruby: &Ruby, this: &Batch, request: Value, pieces: bool) -> Result<bool, Error> {
        this.own(ruby)?;
        let mut guard = this.lock(ruby)?;
        let Some(inner) = guard.anywhere() else {
            return Ok(false);
        };
        let is = |tag: usize| this.held.get(ruby, tag).as_raw() == request.as_raw();
        // Most requests are looked up right after they were queued.
        if inner
            .refused
            .last()
            .is_some_and(|(refused, _)| is(*refused))
        {
            return Ok(true);
        }
        let tag = match inner.newest {
            Some(newest) if is(newest) => newest,
            _ => match inner.late(&this.held, ruby, request)? {
                // Its URL is invalid, so it will have no response.
                Some(tag) if inner.refused.iter().any(|(refused, _)| *refused == tag) => {
                    return Ok(true);
                }
                Some(tag) if !inner.batch.has_started(&tag) => tag,
                _ => return Ok(false),
            },
        };
        let in_parts = match pieces {
            true => InParts::HeadAndBody,
            false => InParts::Head,
        };
        inner.batch.in_parts(tag, in_parts);
        Ok(true)
    }

    /// Reads no more of a response that is handed over in parts, and whose part was just taken. It ends at the next
    /// wait, and its connection is closed.
    fn enough(ruby: &Ruby, this: &Batch, request: Value) -> Result<(), Error> {
        this.own(ruby)?;
        if let Some(inner) = this.lock(ruby)?.anywhere() {
            if let Some(tag) = inner.late(&this.held, ruby, request)? {
                inner.batch.enough(&tag);
            }
        }
        Ok(())
    }

    /// Ruby's requests that are queued or in flight.
    fn held(ruby: &Ruby, this: &Batch) -> RArray {
        let all = this.held.all(ruby);
        ruby.ary_from_iter(all.iter().map(|(_, request)| *request))
    }

    /// Waits until some requests have ended and adds all ended ones to `ended`, four values each: the request, status
    /// or nil, record, body or the facts of the error. Adds requests that need another piece of their body to
    /// `wanting`. Adds parts that came to `parts`, three values each: the request, status and record of a head, or nil
    /// and a piece. False when there was nothing left to wait for.
    fn wait(
        ruby: &Ruby,
        this: &Batch,
        ended: RArray,
        wanting: RArray,
        parts: RArray,
    ) -> Result<bool, Error> {
        this.wait_until_ended(ruby)?;
        let mut guard = this.lock(ruby)?;
        let inner = running(ruby, &mut guard)?;
        let needing = inner.ruby_queue.as_ref();
        let needing = needing
            .map(|ruby_queue| ruby_queue.take())
            .unwrap_or_default();
        let needs_ruby = !needing.is_empty();
        for tag in needing {
            // It may have ended meanwhile.
            let request = this.held.get(ruby, tag);
            if !request.is_nil() {
                wanting.push(request)?;
            }
        }
        for (tag, part) in inner.batch.take_parts() {
            let request = this.held.get(ruby, *tag);
            parts.cat(&record::part(ruby, request, part))?;
        }
        let ended_any = !inner.ended.is_empty() || !inner.refused.is_empty();
        let any = ended_any || needs_ruby || !parts.is_empty();
        this.hand_over(ruby, inner, ended)?;
        Ok(any)
    }

    /// Waits until some requests have ended, or need Ruby.
    fn wait_until_ended(&self, ruby: &Ruby) -> Result<(), Error> {
        let guard = self.inner.try_lock_owned();
        let mut guard = guard.ok_or_else(|| waiting(ruby))?;
        let inner = running(ruby, &mut guard)?;
        inner.newest = None;
        if !inner.ended.is_empty() || !inner.refused.is_empty() {
            return Ok(());
        }
        let engine = inner.engine.clone();
        fibers::wait(ruby, &engine, async move {
            if let Some(inner) = guard.anywhere() {
                let waiting = inner.batch.wait(&mut inner.ended);
                match &inner.ruby_queue {
                    None => waiting.await,
                    Some(ruby_queue) => {
                        ended_or_needed(waiting, ruby_queue).await;
                    }
                }
            }
        })
    }

    /// The next call that is due; nil when there is none. It begins with the request, its attribute that is called, and
    /// the method. The arguments of `again?` and `observe` are three values: status or nil, record, body or the facts
    /// of the error. `before_attempt` and `respond` have one. After `respond` `wait` returns soon if more calls are
    /// due, because Ruby hands over what has ended before it makes another call.
    fn next_hook_call(ruby: &Ruby, this: &Batch) -> Result<Option<RArray>, Error> {
        let mut guard = this.lock(ruby)?;
        let inner = running(ruby, &mut guard)?;
        let Some(hook_calls) = &inner.hook_calls else {
            return Ok(None);
        };
        let Some(call) = hook_calls.next() else {
            return Ok(None);
        };
        if matches!(call.about, About::Respond(_)) {
            hook_calls.remind();
        }
        let list = ruby.ary_new_from_values(&[this.held.get(ruby, call.tag)]);
        let (object, method) = call.about.hook();
        list.cat(&[object, method].map(|name| ruby.to_symbol(name)))?;
        let (arguments, count) = call.about.arguments(ruby)?;
        list.cat(&arguments[..count])?;
        inner.decision = Some((call.decision, Instant::now()));
        Ok(Some(list))
    }

    /// Gives the result of the latest call: whether the request is sent again, the headers of the attempt as a flat
    /// list (nil if the attempt is not made), or what `Interception::Run#respond` returned.
    fn give(ruby: &Ruby, this: &Batch, given: Value) -> Result<(), Error> {
        let mut guard = this.lock(ruby)?;
        match running(ruby, &mut guard)?.decision.take() {
            Some((decision, began)) => decision.give(given, began),
            None => Ok(()),
        }
    }

    /// Hands over ended requests, some at a time, because each call of Ruby's list is expensive.
    fn hand_over(&self, ruby: &Ruby, inner: &mut Inner, ended: RArray) -> Result<(), Error> {
        let mut some = Together {
            values: [ruby.qnil().as_value(); 4 * AT_ONCE],
            filled: 0,
        };
        let result = self.hand_each(ruby, inner, ended, &mut some);
        some.hand_to(ended)?;
        result
    }

    fn hand_each(
        &self,
        ruby: &Ruby,
        inner: &mut Inner,
        ended: RArray,
        some: &mut Together,
    ) -> Result<(), Error> {
        let refused = inner.refused.drain(..);
        let refused = refused.map(|(tag, error)| (tag, Err(error)));
        let others = inner.ended.drain(..);
        for (tag, outcome) in refused.chain(others.map(|(tag, outcome)| (tag, Ok(outcome)))) {
            let request = self.held.get(ruby, tag);
            let [status, record, body] = match outcome {
                Ok(outcome) => record::values(ruby, outcome),
                Err(error) => record::refused(ruby, &error),
            };
            if some.filled == some.values.len() {
                some.hand_to(ended)?;
            }
            some.add([request, status, record, body]);
            self.held.take(ruby, tag);
            if let Some(tags) = &mut inner.tags {
                tags.remove(&object_id(request)?);
            }
        }
        Ok(())
    }

    /// Gives everything up. Adds ended requests to `ended`, as `wait` does, and returns two lists: the requests that
    /// had not been started, and those that had.
    fn clear(ruby: &Ruby, this: &Batch, ended: RArray) -> Result<RArray, Error> {
        let (queued, started) = (ruby.ary_new(), ruby.ary_new());
        // In a child of fork all requests belong to the parent, which may have sent any. Another thread of the parent
        // may have run the batch, and may be waiting in it.
        let mut guard = match this.is_inherited() {
            true => None,
            false => {
                this.own(ruby)?;
                Some(this.lock(ruby)?)
            }
        };
        if let Some(inner) = guard.as_mut().and_then(|guard| guard.get()) {
            this.hand_over(ruby, inner, ended)?;
            for tag in inner.batch.abort().queued {
                queued.push(this.held.take(ruby, tag))?;
            }
            inner.newest = None;
            inner.tags = None;
        }
        for (_, request) in this.held.all(ruby) {
            started.push(request)?;
        }
        this.held.clear();
        Ok(ruby.ary_new_from_values(&[queued, started]))
    }

    /// Drops the engine's batch, when nothing is queued or in flight any more. If a call still waits, it is dropped
    /// with this object instead.
    fn finish(&self) {
        if let Some(mut inner) = self.inner.try_lock() {
            inner.clear();
        }
    }

    fn concurrency(ruby: &Ruby, this: &Batch) -> Result<usize, Error> {
        let mut guard = this.lock(ruby)?;
        Ok(guard
            .anywhere()
            .map_or(0, |inner| inner.batch.concurrency()))
    }

    fn set_concurrency(ruby: &Ruby, this: &Batch, most: usize) -> Result<(), Error> {
        this.own(ruby)?;
        if let Some(inner) = this.lock(ruby)?.anywhere() {
            inner.batch.set_concurrency(most);
        }
        Ok(())
    }

    /// Requests queued or in flight.
    fn size(&self) -> usize {
        self.held.count()
    }
}

/// The beginning of a ForkError's message.
const RUNS: &str = "this batch runs";

/// The part of a batch that belongs to this process, until `finish`.
fn running<'a>(ruby: &Ruby, inner: &'a mut ProcessLocal<Inner>) -> Result<&'a mut Inner, Error> {
    match inner.is_inherited() {
        true => Err(process::inherited(ruby, RUNS)),
        false => inner.anywhere().ok_or_else(|| closed(ruby)),
    }
}

fn closed(ruby: &Ruby) -> Error {
    let message = "this batch was closed in its block or a callback: call abort there to give up its requests";
    Error::new(ruby.exception_runtime_error(), message)
}

fn waiting(ruby: &Ruby) -> Error {
    let message = "this batch is waiting for the network: use it in its block and its callbacks";
    Error::new(ruby.exception_thread_error(), message)
}

impl Inner {
    /// Hands a request to the engine's batch.
    #[inline]
    fn start(
        &mut self,
        mut client: Option<hecaton::Client>,
        tag: usize,
        mut request: Request,
        built: &Built,
    ) {
        if !built.ruby_hooks.is_none() {
            let hook_calls = self.enable_hooks();
            client = client.map(|client| client.with_hooks(hook_calls));
            request = built.ruby_hooks.mark(request, tag);
        }
        self.newest = Some(tag);
        match (client, built.front) {
            (None, false) => self.batch.push(tag, request),
            (None, true) => self.batch.push_front(tag, request),
            (Some(client), false) => self.batch.push_by(client, tag, request),
            (Some(client), true) => self.batch.push_front_by(client, tag, request),
        }
    }

    /// Makes ready to call Ruby about outcomes and attempts.
    fn enable_hooks(&mut self) -> Arc<HookCalls> {
        let hook_calls = self.hook_calls.get_or_insert_with(|| {
            let ruby_queue = self.ruby_queue.get_or_insert_default().clone();
            let hook_calls = HookCalls::new(ruby_queue);
            self.batch.with_hooks(hook_calls.clone());
            hook_calls
        });
        hook_calls.clone()
    }

    /// The tag of a request that was queued a while ago, if it is still here.
    fn late(&mut self, held: &Held, ruby: &Ruby, request: Value) -> Result<Option<usize>, Error> {
        let id = object_id(request)?;
        if let Some(tags) = &self.tags {
            return Ok(tags.get(&id).copied());
        }
        let mut tags = HashMap::with_capacity(held.count());
        for (tag, request) in held.all(ruby) {
            tags.insert(object_id(request)?, tag);
        }
        Ok(self.tags.insert(tags).get(&id).copied())
    }
}

/// A number that an object keeps wherever Ruby moves it.
fn object_id(request: Value) -> Result<i64, Error> {
    request.funcall("object_id", ())
}

/// Defines the class.
pub fn init(ruby: &Ruby, native: RModule) -> Result<(), Error> {
    let class = crate::define::<Batch>(ruby, native, "Batch")?;
    class.define_method("push", method!(Batch::push, 5))?;
    class.define_method("in_parts", method!(Batch::in_parts, 2))?;
    class.define_method("held", method!(Batch::held, 0))?;
    class.define_method("next_hook_call", method!(Batch::next_hook_call, 0))?;
    class.define_method("give", method!(Batch::give, 1))?;
    class.define_method("adopt", method!(Batch::adopt, 0))?;
    class.define_method("enough", method!(Batch::enough, 1))?;
    class.define_method("wait", method!(Batch::wait, 3))?;
    class.define_method("clear", method!(Batch::clear, 1))?;
    class.define_method("finish", method!(Batch::finish, 0))?;
    class.define_method("size", method!(Batch::size, 0))?;
    class.define_method("concurrency", method!(Batch::concurrency, 0))?;
    class.define_method("concurrency=", method!(Batch::set_concurrency, 1))
}
