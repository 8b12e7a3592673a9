//! `Hecaton::Native::BodySource`: hands the pieces of a request's body from Ruby to the engine, one at a time.
//!
//! The engine runs without the GVL, so it cannot call Ruby. It reports that it needs a piece, which ends the wait.
//! Ruby's thread reads one and waits again.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use hecaton::{Readable, Source};
use magnus::value::ReprValue;
use magnus::{Error, Module, Object, RModule, RString, Ruby, Value, function, method};

use crate::client::Engine;
use crate::hooks::{HookCalls, RubyHooks};
use crate::process::ProcessLocal;
use crate::{fibers, gvl, process};

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
        self.0.lock().ruby_queue = Some((ruby_queue, tag));
        (Outlet(self.0.clone()), self.0.length)
    }

    /// Whether a piece is needed.
    fn is_needed(&self) -> bool {
        self.0.lock().needed
    }

    /// Whether the source must begin again before the next piece. Only the first call returns true.
    fn take_rewound(&self) -> bool {
        std::mem::take(&mut self.0.lock().rewound)
    }

    /// Gives the piece that was needed, nil at the end.
    fn give(&self, piece: Option<RString>) {
        let piece = piece.map(|piece| piece.to_bytes());
        let mut slot = self.0.lock();
        slot.ended = piece.is_none();
        slot.piece = piece;
        slot.needed = false;
        if let Some(waker) = slot.waker.take() {
            drop(slot);
            waker.wake();
        }
    }

    /// An exception left the reading of a piece, so the next piece would not follow the last one. The request fails.
    fn fail(&self) {
        let mut slot = self.0.lock();
        (slot.failed, slot.needed) = (true, false);
        if let Some(waker) = slot.waker.take() {
            drop(slot);
            waker.wake();
        }
    }

    /// There is no piece yet: the reading thread is woken when this descriptor is readable. The engine waits for that
    /// with everything else.
    fn read_when_ready(ruby: &Ruby, this: &BodySource, descriptor: i32) -> Result<(), Error> {
        let duplicate = gvl::duplicate(ruby, descriptor)?;
        let mut slot = this.0.lock();
        slot.watched = Some(Readable::new(duplicate));
        if let Some(waker) = slot.waker.take() {
            drop(slot);
            waker.wake();
        }
        Ok(())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The engine's end of a source.
struct Outlet(Arc<Shared>);

impl Source for Outlet {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let mut slot = self.0.lock();
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
        let mut slot = self.0.lock();
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
        self.lock().push(tag);
        self.waker.wake();
    }

    /// Ready as soon as a request needs Ruby.
    pub fn poll(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.waker.register(cx.waker());
        match self.lock().is_empty() {
            true => Poll::Pending,
            false => Poll::Ready(()),
        }
    }

    /// The requests that need Ruby; each is returned once.
    pub fn take(&self) -> Vec<usize> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<usize>> {
        self.tags.lock().unwrap_or_else(PoisonError::into_inner)
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
    /// A `Hecaton::BodySource`.
    pub source: Option<Value>,
    /// The calls of Ruby that are due.
    pub hook_calls: Option<Arc<HookCalls>>,
    /// The Ruby objects that they call.
    pub ruby_hooks: RubyHooks,
}

impl Needs {
    fn serve(&self, ruby: &Ruby) -> Result<(), Error> {
        self.ruby_queue.take();
        if let Some(source) = self.source {
            let _: Value = source.funcall("fill", ())?;
        }
        while let Some(call) = self
            .hook_calls
            .as_ref()
            .and_then(|hook_calls| hook_calls.next())
        {
            self.ruby_hooks.resolve(ruby, call.about)?;
        }
        Ok(())
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
    // Ruby code may fork.
    let mut future = ProcessLocal::new(Box::pin(future));
    loop {
        let watched = needs.ruby_queue.clone();
        let next = async move {
            let going = future.anywhere().expect("it was put there").as_mut();
            let output = ended_or_needed(going, &watched).await;
            (future, output)
        };
        let (going, output) = fibers::wait(ruby, engine, next)?;
        if let Some(output) = output {
            return Ok(output);
        }
        future = going;
        needs.serve(ruby)?;
        if engine.shared.reactor.is_inherited() {
            return Err(process::inherited(ruby, "this request was sent"));
        }
    }
}

/// Defines the class.
pub fn init(ruby: &Ruby, native: RModule) -> Result<(), Error> {
    let class = crate::define::<BodySource>(ruby, native, "BodySource")?;
    class.define_singleton_method("new", function!(BodySource::new, 2))?;
    class.define_method("needed?", method!(BodySource::is_needed, 0))?;
    class.define_method("rewound?", method!(BodySource::take_rewound, 0))?;
    class.define_method("give", method!(BodySource::give, 1))?;
    class.define_method("fail", method!(BodySource::fail, 0))?;
    class.define_method("read_when_ready", method!(BodySource::read_when_ready, 1))
}
