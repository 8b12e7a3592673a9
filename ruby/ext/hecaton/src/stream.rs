//! `Hecaton::Native::Stream`: a response whose body is read piece by piece, by any thread.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::lock::{Mutex, OwnedMutexGuard};
use hecaton::{Error as Failure, Streaming};
use magnus::typed_data::Obj;
use magnus::value::Opaque;
use magnus::{
    DataTypeFunctions, Error, IntoValue, Module, Object, RModule, Ruby, TypedData, Value, function,
    gc, method,
};

use crate::body_source::BodySource;
use crate::hooks::RubyHooks;
use crate::process::{self, ProcessLocal};
use crate::ruby_queue::RubyQueue;
use crate::shared::Engine;
use crate::signal::Signal;
use crate::turns::{self, Needs};
use crate::{fibers, gvl, record};

#[derive(TypedData)]
#[magnus(class = "Hecaton::Native::Stream", free_immediately, size, mark)]
pub struct Stream {
    /// The source of the request's body, because a server may respond before it has read the request. Not behind the
    /// lock, because a garbage collection reads it while another thread waits for a piece.
    source: OnceLock<Uploading>,
    home: u32,
    closed: Arc<Signal>,
    /// None until the head of the response is there.
    inner: Arc<Mutex<Option<ProcessLocal<Inner>>>>,
}

/// What needs Ruby, `Hecaton::BodySource`'s part here, and that itself.
type Uploading = (Arc<RubyQueue>, Opaque<Obj<BodySource>>, Opaque<Value>);

struct Inner {
    // Dropped before the engine: its connection is registered with the engine's reactor.
    stream: Streaming,
    /// None once it was closed: then its client may be closed too.
    engine: Option<Arc<Engine>>,
}

impl Inner {
    /// Closes the connection, and lets the engine go.
    fn close(&mut self) {
        self.stream.close();
        self.engine = None;
    }

    /// The result of a closed stream, which is known without a wait.
    fn last(&mut self) -> Result<Option<Bytes>, Failure> {
        let mut context = Context::from_waker(Waker::noop());
        match pin!(self.stream.chunk()).poll(&mut context) {
            Poll::Ready(last) => last,
            Poll::Pending => Ok(None),
        }
    }
}

impl DataTypeFunctions for Stream {
    fn mark(&self, marker: &gc::Marker) {
        if let Some((_, native, source)) = self.source.get() {
            marker.mark(*native);
            marker.mark(*source);
        }
    }
}

impl Stream {
    /// A stream that is still to be filled: made before the request, so that Ruby has something to close at whatever
    /// moment an interrupt comes.
    fn new() -> Stream {
        Stream {
            source: OnceLock::new(),
            home: process::id(),
            closed: Arc::default(),
            inner: Arc::new(Mutex::new(None)),
        }
    }

    /// Takes a response, which is driven by this engine's reactor.
    pub fn fill(
        &self,
        stream: Streaming,
        engine: Arc<Engine>,
        source: Option<(Arc<RubyQueue>, Obj<BodySource>, Value)>,
    ) {
        if let Some((ruby_queue, native, source)) = source {
            let _ = self.source.set((ruby_queue, native.into(), source.into()));
        }
        if let Some(mut inner) = self.inner.try_lock() {
            let engine = Some(engine);
            *inner = Some(ProcessLocal::new(Inner { stream, engine }));
        }
    }

    /// The next piece, nil at the end; record and facts of an error as an Array. One thread at a time may wait for it;
    /// if another closes the stream meanwhile, the wait ends.
    fn chunk(ruby: &Ruby, this: &Stream) -> Result<Value, Error> {
        let (mut guard, closed) = (this.lock(ruby)?, this.closed.clone());
        let piece = match opened(ruby, &mut guard)?.engine.clone() {
            None => opened(ruby, &mut guard)?.last(),
            Some(engine) => {
                let next = async move {
                    let inner = guard.as_mut().and_then(ProcessLocal::anywhere)?;
                    Some(next_piece(inner, &closed).await)
                };
                let piece = match this.source.get() {
                    None => fibers::wait(ruby, &engine, next)?,
                    Some((ruby_queue, native, source)) => {
                        let needs = Needs {
                            ruby_queue: ruby_queue.clone(),
                            source: Some((ruby.get_inner(*native), ruby.get_inner(*source))),
                            to_its_end: false,
                            hook_calls: None,
                            ruby_hooks: RubyHooks::default(),
                        };
                        turns::wait(ruby, &engine, &needs, next)?
                    }
                };
                piece.unwrap_or(Ok(None))
            }
        };
        Ok(match piece {
            Ok(None) => ruby.qnil().into_value_with(ruby),
            Ok(Some(piece)) => ruby.str_from_slice(&piece).into_value_with(ruby),
            Err(error) => {
                let [_, record, facts] = record::failure(ruby, &error);
                ruby.ary_new_from_values(&[record, facts])
                    .into_value_with(ruby)
            }
        })
    }

    /// Times and headers, as they are now.
    fn record(ruby: &Ruby, this: &Stream) -> Result<Value, Error> {
        let mut guard = this.lock(ruby)?;
        Ok(record::of_stream(ruby, &opened(ruby, &mut guard)?.stream))
    }

    /// Closes the connection unless the body has been read whole. In a forked child it does nothing:
    /// there the connection is the parent's.
    fn close(this: &Stream) {
        if this.home != process::id() {
            return;
        }
        this.closed.raise();
        // The thread that holds it waits for a piece, and closes it as soon as that wait has ended.
        if let Some(mut guard) = this.inner.try_lock() {
            if let Some(inner) = guard.as_mut().and_then(ProcessLocal::get) {
                inner.close();
            }
        }
    }

    fn lock(&self, ruby: &Ruby) -> Result<Guard, Error> {
        gvl::check_stack(ruby)?;
        // Before the lock, which another thread may have held at the moment of the fork.
        if self.home != process::id() {
            return Err(process::inherited(ruby, WHAT));
        }
        let busy = "this response is being read by another thread";
        self.inner
            .try_lock_owned()
            .ok_or_else(|| Error::new(ruby.exception_thread_error(), busy))
    }
}

/// The operation, for errors.
const WHAT: &str = "this response is read";

type Guard = OwnedMutexGuard<Option<ProcessLocal<Inner>>>;

fn opened<'a>(ruby: &Ruby, guard: &'a mut Guard) -> Result<&'a mut Inner, Error> {
    guard
        .as_mut()
        .and_then(ProcessLocal::get)
        .ok_or_else(|| process::inherited(ruby, WHAT))
}

/// The next piece, or the error of a closed stream as soon as it is closed.
async fn next_piece(inner: &mut Inner, closed: &Signal) -> Result<Option<Bytes>, Failure> {
    let piece = {
        let mut next = pin!(inner.stream.chunk());
        poll_fn(|cx| match closed.poll(cx) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => next.as_mut().poll(cx).map(Some),
        })
        .await
    };
    match piece {
        Some(piece) => piece,
        None => {
            inner.close();
            inner.last()
        }
    }
}

/// Defines the class.
pub fn init(ruby: &Ruby, native: RModule) -> Result<(), Error> {
    let class = crate::define::<Stream>(ruby, native, "Stream")?;
    class.define_singleton_method("new", function!(Stream::new, 0))?;
    class.define_method("chunk", method!(Stream::chunk, 0))?;
    class.define_method("record", method!(Stream::record, 0))?;
    class.define_method("close", method!(Stream::close, 0))
}
