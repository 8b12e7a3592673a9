//! `Hecaton::Native::Client`: settings, and the engine of the current process.

use std::sync::{Arc, Mutex, PoisonError};

use hecaton::{Config, Limits, Phase, Reactor, Stats, Template};
use magnus::typed_data::Obj;
use magnus::{
    Error, IntoValue, Module, Object, RArray, RHash, RModule, Ruby, Value, function, method,
};

use crate::batch::Batch;
use crate::body_source::{self, Wants};
use crate::cookies::{Cookies, Home};
use crate::fibers::{self, Fibers};
use crate::process::ProcessLocal;
use crate::request::given;
use crate::settings::config;
use crate::stream::Stream;
use crate::{record, request};

/// An engine client and the reactor that its threads wait on.
pub struct Engine {
    // Dropped before the reactor: what they wait for has connections registered with it.
    pub fibers: Fibers,
    pub client: hecaton::Client,
    pub reactor: Reactor,
}

#[magnus::wrap(class = "Hecaton::Native::Client", free_immediately, size)]
struct Client {
    config: Config,
    cookies: Option<Home>,
    template: Arc<Template>,
    running: Mutex<ProcessLocal<Running>>,
}

/// What a client has in a process.
#[derive(Default)]
struct Running {
    /// None before the first request, and after the client was closed.
    engine: Option<Arc<Engine>>,
    /// What those did that were closed.
    before: Stats,
}

impl Client {
    fn new(ruby: &Ruby, options: RHash) -> Result<Client, Error> {
        let config = config(ruby, options)?;
        let jar = given::<Obj<Cookies>>(ruby, options, "cookies")?;
        let cookies = jar.map(|jar| jar.0.clone());
        let template = Arc::new(request::template(ruby, options)?);
        let engine = Arc::new(start(ruby, &config, cookies.as_ref())?);
        Ok(Client {
            // With what the files held: a child of `fork` may have no right to read them.
            config: engine.client.config().clone(),
            cookies,
            template,
            running: Mutex::new(ProcessLocal::new(Running {
                engine: Some(engine),
                before: Stats::default(),
            })),
        })
    }

    /// The engine of this process: a child of `fork` gets one of its own at its first request, and so does who goes on
    /// after `close`.
    fn engine(&self, ruby: &Ruby) -> Result<Arc<Engine>, Error> {
        self.with_running(|running| match &running.engine {
            Some(engine) => Ok(engine.clone()),
            None => {
                let fresh = Arc::new(start(ruby, &self.config, self.cookies.as_ref())?);
                running.engine = Some(fresh.clone());
                Ok(fresh)
            }
        })
    }

    fn with_running<T>(&self, look: impl FnOnce(&mut Running) -> T) -> T {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.get().is_none() {
            *running = ProcessLocal::new(Running::default());
        }
        look(running.get().expect("it was made just now"))
    }

    #[allow(clippy::too_many_arguments)] // They are Ruby's, passed one by one because it is fastest.
    fn perform(
        ruby: &Ruby,
        this: &Client,
        method: Value,
        url: Value,
        headers: Option<RArray>,
        body: Option<Value>,
        timeout: Option<f64>,
        options: Option<RHash>,
    ) -> Result<RArray, Error> {
        let template = &this.template;
        let request = request::build(ruby, template, method, url, headers, body, timeout, options)
            .map_err(|refused| refused.raised(ruby))?;
        let engine = this.engine(ruby)?;
        let outcome = match request::body_source(body)? {
            None => fibers::wait(ruby, &engine, engine.client.send(request))?,
            Some((native, source)) => {
                let wants = Arc::new(Wants::default());
                let (pieces, length) = native.source(wants.clone(), 0);
                let sending = engine.client.send(request.body_from(pieces, length));
                body_source::wait(ruby, &engine, (&wants, source), sending)?
            }
        };
        Ok(ruby.ary_new_from_values(&record::values(ruby, outcome)))
    }

    /// Like `perform`, up to the head of the response, whose body then is to be had from `into`.
    #[allow(clippy::too_many_arguments)] // As for `perform`.
    fn open(
        ruby: &Ruby,
        this: &Client,
        into: Obj<Stream>,
        method: Value,
        url: Value,
        headers: Option<RArray>,
        body: Option<Value>,
        timeout: Option<f64>,
        options: Option<RHash>,
    ) -> Result<RArray, Error> {
        let template = &this.template;
        let request = request::build(ruby, template, method, url, headers, body, timeout, options)
            .map_err(|refused| refused.raised(ruby))?;
        let engine = this.engine(ruby)?;
        let (opened, source) = match request::body_source(body)? {
            None => {
                let opening = engine.client.open(request);
                (fibers::wait(ruby, &engine, opening)?, None)
            }
            Some((native, source)) => {
                let wants = Arc::new(Wants::default());
                let (pieces, length) = native.source(wants.clone(), 0);
                let opening = engine.client.open(request.body_from(pieces, length));
                let opened = body_source::wait(ruby, &engine, (&wants, source), opening)?;
                (opened, Some((wants, source)))
            }
        };
        let values = match opened {
            Err(error) => record::failure(ruby, &error),
            Ok(stream) => {
                let (status, record) = (stream.status(), record::of_stream(ruby, &stream));
                into.fill(stream, engine, source);
                [
                    status.into_value_with(ruby),
                    record,
                    into.into_value_with(ruby),
                ]
            }
        };
        Ok(ruby.ary_new_from_values(&values))
    }

    fn batch(
        ruby: &Ruby,
        this: &Client,
        concurrency: Option<usize>,
        per_origin: Option<usize>,
        rate: Option<f64>,
    ) -> Result<Batch, Error> {
        let concurrency = concurrency.unwrap_or(this.config.concurrency);
        let limits = Limits { per_origin, rate };
        let (engine, template) = (this.engine(ruby)?, this.template.clone());
        Batch::new(ruby, engine, template, concurrency, limits)
    }

    fn idle_connections(&self) -> usize {
        self.with_running(|running| match &running.engine {
            Some(engine) => engine.client.idle_connections(),
            None => 0,
        })
    }

    fn stats(ruby: &Ruby, this: &Client) -> Result<RHash, Error> {
        let stats = this.with_running(|running| running.stats());
        let hash = ruby.hash_new();
        hash.aset(ruby.to_symbol("requests"), stats.requests)?;
        hash.aset(ruby.to_symbol("retries"), stats.retries)?;
        hash.aset(ruby.to_symbol("opened"), stats.opened)?;
        hash.aset(ruby.to_symbol("reused"), stats.reused)?;
        hash.aset(ruby.to_symbol("idle"), stats.idle)?;
        hash.aset(ruby.to_symbol("in_use"), stats.in_use)?;
        hash.aset(ruby.to_symbol("waiting"), stats.waiting)?;
        Ok(hash)
    }

    /// Closes what is idle, and lets the engine go: whoever waits for a request has it until that ends.
    fn close(&self) {
        let engine = self.with_running(|running| {
            running.before = running.stats();
            running.engine.take()
        });
        if let Some(engine) = engine {
            engine.client.close_idle();
        }
    }
}

impl Running {
    fn stats(&self) -> Stats {
        let now = self.engine.as_ref().map(|engine| engine.client.stats());
        let now = now.unwrap_or_default();
        let before = &self.before;
        Stats {
            requests: before.requests + now.requests,
            retries: before.retries + now.retries,
            opened: before.opened + now.opened,
            reused: before.reused + now.reused,
            ..now
        }
    }
}

fn start(ruby: &Ruby, config: &Config, cookies: Option<&Home>) -> Result<Engine, Error> {
    // Before this process opens anything, where the hook on `fork` did not run (`Process.daemon`).
    hecaton::forget_inherited();
    let mut config = config.clone();
    config.cookies = cookies.map(Home::jar);
    let client = hecaton::Client::try_new(config)
        .map_err(|error| request::invalid(ruby, error.to_string()))?;
    let reactor = Reactor::new().map_err(|error| {
        let message = format!("can not start the reactor: {error}");
        Error::new(ruby.exception_runtime_error(), message)
    })?;
    Ok(Engine {
        fibers: Fibers::default(),
        client,
        reactor,
    })
}

/// Defines the class and the list of phase names, in the order of their numbers in a record.
pub fn init(ruby: &Ruby, native: RModule) -> Result<(), Error> {
    let names = Phase::ALL.iter().map(|phase| ruby.to_symbol(phase.name()));
    native.const_set("PHASES", ruby.ary_from_iter(names))?;
    let class = crate::define::<Client>(ruby, native, "Client")?;
    class.define_singleton_method("new", function!(Client::new, 1))?;
    class.define_method("perform", method!(Client::perform, 6))?;
    class.define_method("open", method!(Client::open, 7))?;
    class.define_method("batch", method!(Client::batch, 3))?;
    class.define_method("idle_connections", method!(Client::idle_connections, 0))?;
    class.define_method("stats", method!(Client::stats, 0))?;
    class.define_method("close", method!(Client::close, 0))
}
