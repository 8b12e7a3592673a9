//! `Hecaton::Native::Client`: settings, and the engine of the current process.

use std::sync::{Arc, Mutex};

use hecaton::{Config, Limits, Phase, Request, Settings, Stats, Template};
use magnus::typed_data::Obj;
use magnus::{
    Error, IntoValue, Module, Object, RArray, RHash, RModule, Ruby, Value, function, method,
};

use crate::batch::Batch;
use crate::body_source::BodySource;
use crate::cookies::{Cookies, Home};
use crate::guest::Guest;
use crate::hooks::{HookCalls, RubyHooks};
use crate::process::ProcessLocal;
use crate::request::{Built, Refused};
use crate::ruby_queue::RubyQueue;
use crate::settings::config;
use crate::shared::{Engine, shared};
use crate::stream::Stream;
use crate::turns::{self, Needs};
use crate::values::{self, given};
use crate::{fibers, gvl, lock, record, request};

#[magnus::wrap(class = "Hecaton::Native::Client", free_immediately, size)]
struct Client {
    base: Arc<Base>,
    template: Arc<Template>,
    concurrency: usize,
    /// For a derived client: the settings for its requests, and its jar.
    derived: Option<(Settings, Option<Home>)>,
}

/// The parts that a client shares with those derived from it.
struct Base {
    config: Config,
    cookies: Option<Home>,
    running: Mutex<ProcessLocal<Running>>,
}

/// The engine of a client in one process.
#[derive(Default)]
struct Running {
    /// None before the first request, and after the client was closed.
    engine: Option<Arc<Engine>>,
    /// The counts of engines that were closed.
    before: Stats,
}

impl Client {
    fn new(ruby: &Ruby, options: RHash) -> Result<Client, Error> {
        let config = config(ruby, options)?;
        let cookies = jar(ruby, options)?;
        let template = Arc::new(request::template(ruby, options)?);
        let engine = Arc::new(start(ruby, &config, cookies.as_ref())?);
        Ok(Client {
            template,
            concurrency: config.concurrency,
            derived: None,
            base: Arc::new(Base {
                // With the contents of files, because a child of `fork` may not be able to read them.
                config: engine.client.config().clone(),
                cookies,
                running: Mutex::new(ProcessLocal::new(Running {
                    engine: Some(engine),
                    before: Stats::default(),
                })),
            }),
        })
    }

    /// A client with these settings on the connections of this one. Settings of connections are ignored, because Ruby
    /// has refused different ones.
    fn with(ruby: &Ruby, this: &Client, options: RHash) -> Result<Client, Error> {
        let config = config(ruby, options)?.with_connections_of(&this.base.config);
        let concurrency = config.concurrency;
        let engine = this.base.engine(ruby)?;
        let settings = engine.client.settings(config);
        let settings = settings.map_err(|error| values::invalid(ruby, error.to_string()))?;
        Ok(Client {
            base: this.base.clone(),
            template: Arc::new(request::template(ruby, options)?),
            concurrency,
            derived: Some((settings, jar(ruby, options)?)),
        })
    }

    /// The engine of this process, and this client on it.
    fn engine(&self, ruby: &Ruby) -> Result<(Arc<Engine>, hecaton::Client), Error> {
        let engine = self.base.engine(ruby)?;
        let client = match &self.derived {
            None => engine.client.clone(),
            Some((settings, jar)) => engine.client.with(settings, jar.as_ref().map(Home::jar)),
        };
        Ok((engine, client))
    }

    /// Sends a request and waits for its outcome. Nil if Ruby must read the options.
    fn perform(
        ruby: &Ruby,
        this: &Client,
        method: Value,
        url: Value,
        options: Option<RHash>,
        built: Option<RArray>,
    ) -> Result<Option<RArray>, Error> {
        let built = Built::of(built)?;
        let request = match request::build(ruby, &this.template, method, url, options, &built) {
            Err(Refused::Options) => return Ok(None),
            request => request.map_err(|refused| refused.raised(ruby))?,
        };
        let caller = Caller::of(ruby, this, &built)?;
        let outcome = if caller.needs_nothing() {
            fibers::wait(ruby, &caller.engine, caller.client.send(request))?
        } else {
            let (client, request, mut needs) = caller.needs(ruby, request)?;
            needs.to_its_end = true;
            turns::wait(ruby, &caller.engine, &needs, client.send(request))?
        };
        let values = record::values(ruby, outcome);
        Ok(Some(ruby.ary_new_from_values(&values)))
    }

    /// Connects to the origin of this URL: a record of it, or nil, record and facts of an error.
    fn connect(ruby: &Ruby, this: &Client, url: Value) -> Result<RArray, Error> {
        let request = request::get(ruby, &this.template, url);
        let request = request.map_err(|refused| refused.raised(ruby))?;
        let (engine, client) = this.engine(ruby)?;
        let connected = fibers::wait(ruby, &engine, client.connect(request))?;
        Ok(match connected {
            Ok(attempts) => ruby.ary_from_iter([record::connection(ruby, &attempts)]),
            Err(error) => ruby.ary_new_from_values(&record::failure(ruby, &error)),
        })
    }

    /// Sends a request and waits only for the head of its response. The body is then read from `into`.
    fn open(
        ruby: &Ruby,
        this: &Client,
        into: Obj<Stream>,
        method: Value,
        url: Value,
        built: RArray,
    ) -> Result<RArray, Error> {
        let built = Built::of(Some(built))?;
        let request = request::build(ruby, &this.template, method, url, None, &built);
        let request = request.map_err(|refused| refused.raised(ruby))?;
        let caller = Caller::of(ruby, this, &built)?;
        let (opened, source) = if caller.needs_nothing() {
            let opened = caller.client.open(request);
            (fibers::wait(ruby, &caller.engine, opened)?, None)
        } else {
            let (client, request, needs) = caller.needs(ruby, request)?;
            let opened = client.open(request);
            let opened = turns::wait(ruby, &caller.engine, &needs, opened)?;
            let source = needs.source;
            let source = source.map(|(native, source)| (needs.ruby_queue, native, source));
            (opened, source)
        };
        let values = match opened {
            Err(error) => record::failure(ruby, &error),
            Ok(stream) => {
                let (status, record) = (stream.status(), record::of_stream(ruby, &stream));
                into.fill(stream, caller.engine, source);
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
        let concurrency = concurrency.unwrap_or(this.concurrency);
        let limits = Limits { per_origin, rate };
        let (engine, client) = this.engine(ruby)?;
        let template = this.template.clone();
        Batch::new(ruby, engine, client, template, concurrency, limits)
    }

    /// This client's part in the batch of another.
    fn join(ruby: &Ruby, this: &Client, batch: Obj<Batch>) -> Result<Guest, Error> {
        let (engine, client) = this.engine(ruby)?;
        Ok(Guest::new(batch, engine, client, this.template.clone()))
    }

    fn idle_connections(&self) -> usize {
        self.base.with_running(|running| match &running.engine {
            Some(engine) => engine.client.idle_connections(),
            None => 0,
        })
    }

    fn stats(ruby: &Ruby, this: &Client) -> Result<RHash, Error> {
        let stats = this.base.with_running(|running| running.stats());
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

    /// Closes idle connections, and drops the engine. A request that is still waited for keeps the engine until it
    /// ends.
    fn close(&self) {
        let engine = self.base.with_running(|running| {
            running.before = running.stats();
            running.engine.take()
        });
        if let Some(engine) = engine {
            engine.client.close_idle();
        }
    }
}

impl Base {
    /// The engine of this process. A child of `fork` gets one of its own at its first request, and so does a program
    /// that continues after `close`.
    fn engine(&self, ruby: &Ruby) -> Result<Arc<Engine>, Error> {
        gvl::check_stack(ruby)?;
        self.with_running(|running| match &running.engine {
            Some(engine) => Ok(engine.clone()),
            None => {
                let started = Arc::new(start(ruby, &self.config, self.cookies.as_ref())?);
                running.engine = Some(started.clone());
                Ok(started)
            }
        })
    }

    fn with_running<T>(&self, look: impl FnOnce(&mut Running) -> T) -> T {
        let mut running = lock(&self.running);
        // Called once, because each call is a system call.
        if let Some(running) = running.get() {
            return look(running);
        }
        *running = ProcessLocal::new(Running::default());
        look(running.anywhere().expect("it was made just now"))
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

/// The jar that options name.
fn jar(ruby: &Ruby, options: RHash) -> Result<Option<Home>, Error> {
    let jar = given::<Obj<Cookies>>(ruby, options, "cookies")?;
    Ok(jar.map(|jar| jar.0.clone()))
}

/// The sender of a request that Ruby waits for, and the parts of Ruby that it needs.
struct Caller {
    // Dropped before the engine: its connections are registered with the engine's reactor.
    client: hecaton::Client,
    engine: Arc<Engine>,
    source: Option<(Obj<BodySource>, Value)>,
    ruby_hooks: RubyHooks,
}

impl Caller {
    fn of(ruby: &Ruby, client: &Client, built: &Built) -> Result<Caller, Error> {
        let (engine, client) = client.engine(ruby)?;
        Ok(Caller {
            client,
            engine,
            source: built.body_source()?,
            ruby_hooks: built.ruby_hooks,
        })
    }

    /// Whether the request needs nothing of Ruby until it has ended.
    fn needs_nothing(&self) -> bool {
        self.source.is_none() && self.ruby_hooks.is_none()
    }

    /// A client, the request, and the parts of Ruby that the request needs.
    fn needs(
        &self,
        ruby: &Ruby,
        mut request: Request,
    ) -> Result<(hecaton::Client, Request, Needs), Error> {
        let ruby_queue = Arc::new(RubyQueue::default());
        let mut client = self.client.clone();
        if let Some((native, _)) = self.source {
            request = request::with_source(ruby, request, &native, ruby_queue.clone(), 0)?;
        }
        let mut hook_calls = None;
        if !self.ruby_hooks.is_none() {
            let due = HookCalls::new(ruby_queue.clone());
            client = client.with_hooks(due.clone());
            hook_calls = Some(due);
            request = self.ruby_hooks.mark(request, 0);
        }
        let needs = Needs {
            ruby_queue,
            source: self.source,
            to_its_end: false,
            hook_calls,
            ruby_hooks: self.ruby_hooks,
        };
        Ok((client, request, needs))
    }
}

fn start(ruby: &Ruby, config: &Config, cookies: Option<&Home>) -> Result<Engine, Error> {
    // Must come before this process opens anything, in case a fork bypassed the C library and the handler did not run.
    hecaton::forget_inherited_late();
    let mut config = config.clone();
    config.cookies = cookies.map(Home::jar);
    let client = hecaton::Client::try_new(config)
        .map_err(|error| values::invalid(ruby, error.to_string()))?;
    let shared = shared(ruby)?;
    Ok(Engine { client, shared })
}

/// Defines the class, the list of phase names, in the order of their numbers in a record, and the default that Ruby's
/// streams need.
pub fn init(ruby: &Ruby, native: RModule) -> Result<(), Error> {
    let names = Phase::ALL.iter().map(|phase| ruby.to_symbol(phase.name()));
    native.const_set("PHASES", ruby.ary_from_iter(names))?;
    native.const_set("MAX_BODY", Config::new(std::time::Duration::ZERO).max_body)?;
    native.const_set("REDIRECTS", Config::REDIRECTS)?;
    let class = crate::define::<Client>(ruby, native, "Client")?;
    class.define_singleton_method("new", function!(Client::new, 1))?;
    class.define_method("with", method!(Client::with, 1))?;
    class.define_method("perform", method!(Client::perform, 4))?;
    class.define_method("connect", method!(Client::connect, 1))?;
    class.define_method("open", method!(Client::open, 4))?;
    class.define_method("batch", method!(Client::batch, 3))?;
    class.define_method("join", method!(Client::join, 1))?;
    class.define_method("idle_connections", method!(Client::idle_connections, 0))?;
    class.define_method("stats", method!(Client::stats, 0))?;
    class.define_method("close", method!(Client::close, 0))
}
