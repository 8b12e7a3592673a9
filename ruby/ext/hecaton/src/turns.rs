//! `Hecaton::Native::Turns`: waits for a request that needs Ruby meanwhile, in turns with Ruby.

use std::pin::Pin;
use std::sync::{Arc, Mutex};

use magnus::typed_data::Obj;
use magnus::value::ReprValue;
use magnus::{Error, Module, RModule, Ruby, Value, method};

use crate::body_source::BodySource;
use crate::hooks::{HookCalls, KeptHooks, RubyHooks};
use crate::process::ProcessLocal;
use crate::ruby_queue::{RubyQueue, ended_or_needed};
use crate::shared::Engine;
use crate::{fibers, gvl, lock, process};

/// The parts of Ruby that a waiting request may need.
pub struct Needs {
    pub ruby_queue: Arc<RubyQueue>,
    /// A `Hecaton::BodySource`, and its part here.
    pub source: Option<(Obj<BodySource>, Value)>,
    /// Whether the request's end is waited for. Else Ruby is to have the head of the response while the body is read.
    pub to_its_end: bool,
    /// The calls of Ruby that are due.
    pub hook_calls: Option<Arc<HookCalls>>,
    /// The Ruby objects that they call.
    pub ruby_hooks: RubyHooks,
}

/// A request that is waited for in turns: until a piece of its body is needed, or it has ended.
struct Waiting<F: Future> {
    going: Mutex<Going<F>>,
    engine: Arc<Engine>,
    ruby_queue: Arc<RubyQueue>,
    source: Option<BodySource>,
    hook_calls: Option<Arc<HookCalls>>,
    /// The objects are arguments of Ruby's call, so the garbage collector sees them as long as it lasts.
    ruby_hooks: KeptHooks,
}

struct Going<F: Future> {
    /// None while it is driven, and after its end.
    future: Option<ProcessLocal<Pin<Box<F>>>>,
    output: Option<F::Output>,
}

/// A `Waiting` of whatever future.
trait Turn: Send + Sync {
    /// Drives the request until its body needs a piece: true. False when it has ended. Hooks that are due are called.
    fn next(&self, ruby: &Ruby) -> Result<bool, Error>;
}

impl<F> Waiting<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    /// Drives it until it has ended, or needs Ruby. An exception of Ruby's drops it.
    fn drive(&self, ruby: &Ruby, mut future: ProcessLocal<Pin<Box<F>>>) -> Result<(), Error> {
        let watched = self.ruby_queue.clone();
        let next = async move {
            let going = future.anywhere().expect("it was put there").as_mut();
            let output = ended_or_needed(going, &watched).await;
            (future, output)
        };
        let (future, output) = fibers::wait(ruby, &self.engine, next)?;
        let mut going = lock(&self.going);
        match output {
            Some(output) => going.output = Some(output),
            None => going.future = Some(future),
        }
        Ok(())
    }

    fn call_hooks(&self, ruby: &Ruby) -> Result<(), Error> {
        let Some(hook_calls) = &self.hook_calls else {
            return Ok(());
        };
        while let Some(call) = hook_calls.next() {
            self.ruby_hooks.of(ruby).call(ruby, call)?;
        }
        Ok(())
    }
}

impl<F> Turn for Waiting<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn next(&self, ruby: &Ruby) -> Result<bool, Error> {
        loop {
            if self.engine.shared.reactor.is_inherited() {
                return Err(process::inherited(ruby, "this request was sent"));
            }
            let future = {
                let mut going = lock(&self.going);
                if going.output.is_some() {
                    return Ok(false);
                }
                going.future.take()
            };
            let message = "the request's body yields in two threads at once, or when its request was given up";
            let lost = || Error::new(ruby.exception_io_error(), message);
            self.drive(ruby, future.ok_or_else(lost)?)?;
            if lock(&self.going).output.is_some() {
                return Ok(false); // A need that was not looked at is for the wait for the body of the response.
            }
            self.ruby_queue.take();
            self.call_hooks(ruby)?;
            if self.source.as_ref().is_some_and(BodySource::is_needed) {
                return Ok(true);
            }
        }
    }
}

/// Drops the future at the end of its wait, however that ends. Ruby may keep `Turns` longer.
struct Given<'a, F: Future>(&'a Waiting<F>);

impl<F: Future> Drop for Given<'_, F> {
    fn drop(&mut self) {
        lock(&self.0.going).future = None;
    }
}

/// `Hecaton::Native::Turns`, for the body of a request whose thread waits for it alone.
#[magnus::wrap(class = "Hecaton::Native::Turns", free_immediately, size)]
struct Turns(Arc<dyn Turn>);

impl Turns {
    /// Waits until the next piece is needed: true. False when the request has ended.
    fn next(ruby: &Ruby, this: &Turns) -> Result<bool, Error> {
        this.0.next(ruby)
    }
}

/// Waits for a future whose request needs Ruby meanwhile. An exception of Ruby's ends the wait.
pub fn wait<F>(
    ruby: &Ruby,
    engine: &Arc<Engine>,
    needs: &Needs,
    future: F,
) -> Result<F::Output, Error>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let waiting = Arc::new(Waiting {
        going: Mutex::new(Going {
            future: Some(ProcessLocal::new(Box::pin(future))), // Ruby code may fork.
            output: None,
        }),
        engine: engine.clone(),
        ruby_queue: needs.ruby_queue.clone(),
        source: needs.source.map(|(native, _)| BodySource::clone(&native)),
        hook_calls: needs.hook_calls.clone(),
        ruby_hooks: KeptHooks::new(&needs.ruby_hooks),
    });
    let _given = Given(&waiting);
    let turns = match (needs.to_its_end, &needs.source) {
        (true, Some(_)) => Some(ruby.obj_wrap(Turns(waiting.clone()))),
        _ => None,
    };
    while waiting.next(ruby)? {
        if let Some((_, source)) = needs.source {
            let _: Value = source.funcall("fill", (turns,))?;
        }
    }
    let output = lock(&waiting.going).output.take();
    output.ok_or_else(|| gvl::bug(ruby, &"a request has ended without an outcome"))
}

/// Defines the class.
pub fn init(ruby: &Ruby, native: RModule) -> Result<(), Error> {
    let class = crate::define::<Turns>(ruby, native, "Turns")?;
    class.define_method("next?", method!(Turns::next, 0))
}
