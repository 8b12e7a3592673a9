//! `Hecaton::Native::BodySource`: hands the pieces of a request's body from Ruby to the engine, one at a time.
//!
//! The engine runs without the GVL, so it cannot call Ruby. It reports that it needs a piece, which ends the wait.
//! Ruby's thread reads one and waits again.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use hecaton::{Readable, Source};
use magnus::typed_data::Obj;
use magnus::value::ReprValue;
use magnus::{Error, Module, Object, RModule, RString, Ruby, Value, function, method};

use crate::client::Engine;
use crate::hooks::{HookCalls, KeptHooks, RubyHooks};
use crate::process::ProcessLocal;
use crate::{fibers, gvl, lock, process};

#[magnus::wrap(class = "Hecaton::Native::BodySource", free_immediately, size)]
pub struct BodySource(Arc<Shared>);

struct Shared {
    length: Option<u64>,
    rewindable: bool,
    slot: Mutex<Slot>,
}

#[derive(Default)]
struct Slot {
    piece: Option<Bytes>,
    ended: bool,
    /// Whether Ruby could not read it to its end.
    failed: bool,
    needed: bool,
    rewound: bool,
    waker: Option<ProcessLocal<Waker>>,
    ruby_queue: Option<(Arc<RubyQueue>, usize)>,
    /// The descriptor that must be readable before the reading thread is woken.
    watched: Option<Readable>,
}

impl BodySource {
    fn new(length: Option<u64>, rewindable: bool) -> BodySource {
        BodySource(Arc::new(Shared {
            length,
            rewindable,
            slot: Mutex::default(),
        }))
    }

    /// The source for the engine, and its length if that is known. Adds `tag` to `ruby_queue` when a piece is needed.
    pub fn source(
        &self,
        ruby_queue: Arc<RubyQueue>,
        tag: usize,
    ) -> (impl Source + 'static + use<>, Option<u64>) {
        lock(&self.0.slot).ruby_queue = Some((ruby_queue, tag));
        (Outlet(self.0.clone()), self.0.length)
    }

    /// Whether a piece is needed.
    fn is_needed(&self) -> bool {
        lock(&self.0.slot).needed
    }

    /// Whether the source must begin again before the next piece. Only the first call returns true.
    fn take_rewound(&self) -> bool {
        std::mem::take(&mut lock(&self.0.slot).rewound)
    }

    /// Gives the piece that was needed, nil at the end.
    fn give(&self, piece: Option<RString>) {
        let piece = piece.map(|piece| piece.to_bytes());
        let mut slot = lock(&self.0.slot);
        slot.ended = piece.is_none();
        slot.piece = piece;
        slot.needed = false;
        wake(slot);
    }

    /// An exception left the reading of a piece, so the next piece would not follow the last one. The request fails.
    fn fail(&self) {
        let mut slot = lock(&self.0.slot);
        (slot.failed, slot.needed) = (true, false);
        wake(slot);
    }

    /// There is no piece yet: the reading thread is woken when this descriptor is readable. The engine waits for that
    /// with everything else.
    fn read_when_ready(ruby: &Ruby, this: &BodySource, descriptor: i32) -> Result<(), Error> {
        let duplicate = gvl::duplicate(ruby, descriptor)?;
        let mut slot = lock(&this.0.slot);
        slot.watched = Some(Readable::new(duplicate));
        wake(slot);
        Ok(())
    }
}

/// Wakes the engine after a change.
fn wake(mut slot: MutexGuard<'_, Slot>) {
    let waker = slot.waker.take();
    drop(slot);
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// The engine's end of a source.
struct Outlet(Arc<Shared>);

impl Source for Outlet {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let mut slot = lock(&self.0.slot);
        if let Some(piece) = slot.piece.take() {
            return Poll::Ready(Some(Ok(piece)));
        }
        if slot.ended {
            return Poll::Ready(None);
        }
        if slot.failed {
            let why = "an exception ended the reading of the request's body";
            return Poll::Ready(Some(Err(io::Error::other(why))));
        }
        slot.waker = Some(ProcessLocal::new(cx.waker().clone()));
        let reports = match &mut slot.watched {
            Some(watched) => {
                let ready = watched.poll(cx).is_ready();
                if ready {
                    slot.watched = None;
                }
                ready
            }
            None => !slot.needed,
        };
        slot.needed = true;
        if let (true, Some((ruby_queue, tag))) = (reports, &slot.ruby_queue) {
            ruby_queue.add(*tag);
        }
        Poll::Pending
    }

    fn rewind(&mut self) -> bool {
        let mut slot = lock(&self.0.slot);
        if !self.0.rewindable || slot.failed {
            return false;
        }
        slot.rewound = true;
        (slot.piece, slot.ended, slot.needed) = (None, false, false);
        slot.watched = None;
        true
    }
}

/// The requests that need Ruby, for the thread that can run it.
#[derive(Default)]
pub struct RubyQueue {
    tags: Mutex<Vec<usize>>,
    waker: AtomicWaker,
}

impl RubyQueue {
    /// Adds a request that needs a piece of its body, or a call about its outcome.
    pub fn add(&self, tag: usize) {
        lock(&self.tags).push(tag);
        self.waker.wake();
    }

    /// Ready as soon as a request needs Ruby.
    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.waker.register(cx.waker());
        match lock(&self.tags).is_empty() {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    }

    /// The requests that need Ruby; each is returned once.
    pub fn take(&self) -> Vec<usize> {
        std::mem::take(&mut lock(&self.tags))
    }
}

/// The future's output, or none when a request needs Ruby first. The reactor has a turn first. Otherwise bodies
/// that always need a piece would starve deadlines and responses.
pub async fn ended_or_needed<T>(
    future: impl Future<Output = T>,
    ruby_queue: &RubyQueue,
) -> Option<T> {
    let mut future = pin!(future);
    let mut turned = false;
    poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        let needed = ruby_queue.poll(cx).is_ready();
        match (needed, std::mem::replace(&mut turned, true)) {
            (true, true) => Poll::Ready(None),
            (true, false) => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            (false, _) => Poll::Pending,
        }
    })
    .await
}

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
    source: Option<Arc<Shared>>,
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
            self.ruby_hooks.of(ruby).resolve(ruby, call)?;
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
            let needed = |source: &Arc<Shared>| lock(&source.slot).needed;
            if self.source.as_ref().is_some_and(needed) {
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
        source: needs.source.map(|(native, _)| native.0.clone()),
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
    let class = crate::define::<BodySource>(ruby, native, "BodySource")?;
    class.define_singleton_method("new", function!(BodySource::new, 2))?;
    class.define_method("needed?", method!(BodySource::is_needed, 0))?;
    class.define_method("rewound?", method!(BodySource::take_rewound, 0))?;
    class.define_method("give", method!(BodySource::give, 1))?;
    class.define_method("fail", method!(BodySource::fail, 0))?;
    class.define_method("read_when_ready", method!(BodySource::read_when_ready, 1))?;
    let class = crate::define::<Turns>(ruby, native, "Turns")?;
    class.define_method("next?", method!(Turns::next, 0))
}
