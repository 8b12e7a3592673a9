//! `Hecaton::Native::Guest`: queues the requests of a further client in a batch.

use std::sync::{Arc, Mutex};

use hecaton::Template;
use magnus::typed_data::Obj;
use magnus::value::Opaque;
use magnus::{
    DataTypeFunctions, Error, Module, RArray, RHash, RModule, Ruby, TypedData, Value, gc, method,
};

use crate::batch::Batch;
use crate::process::ProcessLocal;
use crate::request::Built;
use crate::shared::Engine;
use crate::{lock, request};

/// A client's part in a batch of another. Its requests are the batch's, and it may be gone before they end.
#[derive(TypedData)]
#[magnus(class = "Hecaton::Native::Guest", free_immediately, size, mark)]
pub struct Guest {
    batch: Opaque<Obj<Batch>>,
    template: Arc<Template>,
    joined: Mutex<ProcessLocal<Joined>>,
}

struct Joined {
    // Dropped before the engine: its connections are registered with the engine's reactor.
    client: hecaton::Client,
    _engine: Arc<Engine>,
}

impl DataTypeFunctions for Guest {
    fn mark(&self, marker: &gc::Marker) {
        marker.mark(self.batch);
    }
}

impl Guest {
    /// The part of this client in a batch.
    pub fn new(
        batch: Obj<Batch>,
        engine: Arc<Engine>,
        client: hecaton::Client,
        template: Arc<Template>,
    ) -> Guest {
        let joined = Joined {
            client,
            _engine: engine,
        };
        Guest {
            batch: batch.into(),
            template,
            joined: Mutex::new(ProcessLocal::new(joined)),
        }
    }

    /// The client. None after its process has forked away.
    fn client(&self) -> Option<hecaton::Client> {
        lock(&self.joined)
            .anywhere()
            .map(|joined| joined.client.clone())
    }

    /// As `Batch::push`.
    fn push(
        ruby: &Ruby,
        this: &Guest,
        queued: Value,
        method: Value,
        url: Value,
        options: Option<RHash>,
        built: Option<RArray>,
    ) -> Result<Option<Value>, Error> {
        let batch = ruby.get_inner(this.batch);
        batch.own(ruby)?;
        let built = Built::of(built)?;
        let request = request::build(ruby, &this.template, method, url, options, &built);
        batch.queue(ruby, this.client(), queued, request, &built)
    }
}

/// Defines the class.
pub fn init(ruby: &Ruby, native: RModule) -> Result<(), Error> {
    let class = crate::define::<Guest>(ruby, native, "Guest")?;
    class.define_method("push", method!(Guest::push, 5))
}
