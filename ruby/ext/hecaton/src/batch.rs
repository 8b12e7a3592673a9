//! `Hecaton::Native::Batch`: requests in, outcomes out, each known by a number of Ruby's choice.

use std::sync::{Arc, Mutex, MutexGuard};

use magnus::{Class, Error, IntoValue, Module, RArray, RHash, RModule, RString, Ruby, method};

use crate::client::Engine;
use crate::process::ProcessLocal;
use crate::{gvl, record, request};

/// The engine's batch. One thread at a time may use it: `wait` holds it while the GVL is away.
#[magnus::wrap(class = "Hecaton::Native::Batch", free_immediately, size)]
pub struct Batch {
    inner: Mutex<ProcessLocal<Inner>>,
}

struct Inner {
    // Dropped before the engine: its connections are registered with the engine's reactor.
    batch: hecaton::Batch<usize>,
    engine: Arc<Engine>,
}

impl Batch {
    /// An empty batch.
    pub fn new(engine: Arc<Engine>, concurrency: usize) -> Batch {
        let batch = hecaton::Batch::new(engine.client.clone(), concurrency);
        Batch {
            inner: Mutex::new(ProcessLocal::new(Inner { batch, engine })),
        }
    }

    fn lock(&self, ruby: &Ruby) -> Result<MutexGuard<'_, ProcessLocal<Inner>>, Error> {
        let busy = "this batch is being run by another thread: queue from its own callbacks";
        self.inner
            .try_lock()
            .map_err(|_| Error::new(ruby.exception_thread_error(), busy))
    }

    #[allow(clippy::too_many_arguments)] // They are Ruby's, passed one by one because it is fastest.
    fn push(
        ruby: &Ruby,
        this: &Batch,
        tag: usize,
        method: RString,
        url: RString,
        headers: Option<RArray>,
        body: Option<RString>,
        timeout: Option<f64>,
        options: Option<RHash>,
    ) -> Result<(), Error> {
        let request = request::build(ruby, method, url, headers, body, timeout, options)?;
        if let Some(inner) = this.lock(ruby)?.anywhere() {
            inner.batch.push(tag, request);
        }
        Ok(())
    }

    /// Waits for outcomes and returns all there are, four values each: tag, status or nil, record,
    /// body or the facts of the error. Empty when nothing is queued or in flight.
    fn wait(ruby: &Ruby, this: &Batch) -> Result<RArray, Error> {
        let mut outcomes = Vec::new();
        {
            let mut guard = this.lock(ruby)?;
            let Inner { batch, engine } = local(ruby, &mut guard)?;
            gvl::block_on(ruby, &engine.reactor, batch.wait(&mut outcomes))?;
        }
        let values = ruby.ary_new_capa(outcomes.len() * 4);
        for (tag, outcome) in outcomes {
            let [status, record, body] = record::values(ruby, outcome);
            values.cat(&[tag.into_value_with(ruby), status, record, body])?;
        }
        Ok(values)
    }

    /// Gives everything up; returns the tags of what had not been started.
    fn clear(ruby: &Ruby, this: &Batch) -> Result<RArray, Error> {
        let mut guard = this.lock(ruby)?;
        Ok(ruby.ary_from_iter(local(ruby, &mut guard)?.batch.clear()))
    }
}

fn local<'a>(ruby: &Ruby, inner: &'a mut ProcessLocal<Inner>) -> Result<&'a mut Inner, Error> {
    let message = "this batch belongs to the process that forked: make a new one";
    inner
        .get()
        .ok_or_else(|| Error::new(ruby.exception_runtime_error(), message))
}

/// Defines the class.
pub fn init(ruby: &Ruby, native: RModule) -> Result<(), Error> {
    let class = native.define_class("Batch", ruby.class_object())?;
    class.undef_default_alloc_func();
    class.define_method("push", method!(Batch::push, 7))?;
    class.define_method("wait", method!(Batch::wait, 0))?;
    class.define_method("clear", method!(Batch::clear, 0))
}
