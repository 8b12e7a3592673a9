//! `Hecaton::Native::Stream`: a response whose body is read piece by piece, by whichever thread asks.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Poll;

use hecaton::Streaming;
use magnus::value::Opaque;
use magnus::{
    DataTypeFunctions, Error, IntoValue, Module, Object, RModule, Ruby, TypedData, Value, function,
    gc, method,
};

use crate::client::Engine;
use crate::feed::{self, Wants};
use crate::process::{self, ProcessLocal};
use crate::signal::Signal;
use crate::{gvl, record};

#[derive(TypedData)]
#[magnus(class = "Hecaton::Native::Stream", free_immediately, size, mark)]
pub struct Stream {
    /// What feeds the request, which a server may answer before it has read it. Not behind the lock: a collection of
    /// garbage reads it while another thread waits for a piece.
    fed: OnceLock<(Arc<Wants>, Opaque<Value>)>,
    home: u32,
    closed: Signal,
    /// None until the head of the response is there.
    inner: Mutex<Option<ProcessLocal<Inner>>>,
}

struct Inner {
    // Dropped before the engine: its connection is registered with the engine's reactor.
    stream: Streaming,
    engine: Arc<Engine>,
}

impl DataTypeFunctions for Stream {
    fn mark(&self, marker: &gc::Marker) {
        if let Some((_, upload)) = self.fed.get() {
            marker.mark(*upload);
        }
    }
}

impl Stream {
    /// One that is still to be filled: made before the request, so that Ruby has something to close at whatever moment an
    /// interrupt comes.
    fn new() -> Stream {
        Stream {
            fed: OnceLock::new(),
            home: std::process::id(),
            closed: Signal::default(),
            inner: Mutex::new(None),
        }
    }

    /// Takes a response, which is driven by this engine's reactor.
    pub fn fill(&self, stream: Streaming, engine: Arc<Engine>, fed: Option<(Arc<Wants>, Value)>) {
        if let Some((wants, upload)) = fed {
            let _ = self.fed.set((wants, upload.into()));
        }
        if let Ok(mut inner) = self.inner.try_lock() {
            *inner = Some(ProcessLocal::new(Inner { stream, engine }));
        }
    }

    /// The next piece, nil at the end; record and facts of an error as an Array. One thread at a time
    /// may wait for it; when another closes the stream meanwhile, the wait ends.
    fn chunk(ruby: &Ruby, this: &Stream) -> Result<Value, Error> {
        this.with(ruby, |inner| {
            let Inner { stream, engine } = inner;
            let piece = {
                let mut next = pin!(stream.chunk());
                let next = poll_fn(|cx| match this.closed.poll(cx) {
                    Poll::Ready(()) => Poll::Ready(None),
                    Poll::Pending => next.as_mut().poll(cx).map(Some),
                });
                match this.fed.get() {
                    None => gvl::block_on(ruby, &engine.reactor, next)?,
                    Some((wants, upload)) => {
                        let upload = ruby.get_inner(*upload);
                        feed::block_on(ruby, &engine.reactor, (wants, upload), next)?
                    }
                }
            };
            let piece = match piece {
                Some(piece) => piece,
                None => {
                    stream.close();
                    // Closed as it is, it has its answer ready.
                    gvl::block_on(ruby, &engine.reactor, stream.chunk())?
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
        })
    }

    /// Times and headers, as they are now.
    fn record(ruby: &Ruby, this: &Stream) -> Result<Value, Error> {
        this.with(ruby, |inner| Ok(record::of_stream(ruby, &inner.stream)))
    }

    /// Closes the connection unless the body has been read whole. In a forked child it does nothing:
    /// there the connection is the parent's.
    fn close(this: &Stream) {
        if this.home != std::process::id() {
            return;
        }
        this.closed.raise();
        // Whoever holds it is waiting for a piece, and closes it as soon as that wait has ended.
        if let Ok(mut guard) = this.inner.try_lock() {
            if let Some(inner) = guard.as_mut().and_then(ProcessLocal::get) {
                inner.stream.close();
            }
        }
    }

    fn with<T>(
        &self,
        ruby: &Ruby,
        work: impl FnOnce(&mut Inner) -> Result<T, Error>,
    ) -> Result<T, Error> {
        // Before the lock, which another thread may have held at the moment of the fork.
        if self.home != std::process::id() {
            return Err(process::inherited(ruby, "this response is read"));
        }
        let busy = "this response is being read by another thread";
        let mut guard = self
            .inner
            .try_lock()
            .map_err(|_| Error::new(ruby.exception_thread_error(), busy))?;
        match guard.as_mut().and_then(ProcessLocal::get) {
            Some(inner) => work(inner),
            None => Err(process::inherited(ruby, "this response is read")),
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
