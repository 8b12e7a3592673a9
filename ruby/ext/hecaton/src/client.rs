//! `Hecaton::Native::Client`: settings, and the engine of the current process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use hecaton::{
    AllowAddress, Config, InvalidRequest, Kind, Limits, Method, Networks, Phase, Protocol, Proxy,
    Reactor, Retry, Stats, Template, TlsVersion,
};
use magnus::typed_data::Obj;
use magnus::{
    Error, IntoValue, Module, Object, RArray, RHash, RModule, Ruby, Value, function, method,
};

use crate::batch::Batch;
use crate::cookies::{Cookies, Home};
use crate::feed::{self, Wants};
use crate::fibers::{self, Fibers};
use crate::process::ProcessLocal;
use crate::request::{given, given_in};
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
        let outcome = match request::feed(body)? {
            None => fibers::wait(ruby, &engine, engine.client.send(request))?,
            Some((feed, upload)) => {
                let wants = Arc::new(Wants::default());
                let (source, length) = feed.source(wants.clone(), 0);
                let sending = engine.client.send(request.body_from(source, length));
                feed::wait(ruby, &engine, (&wants, upload), sending)?
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
        let (opened, fed) = match request::feed(body)? {
            None => {
                let opening = engine.client.open(request);
                (fibers::wait(ruby, &engine, opening)?, None)
            }
            Some((feed, upload)) => {
                let wants = Arc::new(Wants::default());
                let (source, length) = feed.source(wants.clone(), 0);
                let opening = engine.client.open(request.body_from(source, length));
                let opened = feed::wait(ruby, &engine, (&wants, upload), opening)?;
                (opened, Some((wants, upload)))
            }
        };
        let values = match opened {
            Err(error) => record::failure(ruby, &error),
            Ok(stream) => {
                let (status, record) = (stream.status(), record::of_stream(ruby, &stream));
                into.fill(stream, engine, fed);
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

/// The engine's defaults, with what the options name in their place; nil and absent are the same.
fn config(ruby: &Ruby, options: RHash) -> Result<Config, Error> {
    let timeout = given::<f64>(ruby, options, "timeout")?
        .ok_or_else(|| request::invalid(ruby, "timeout is missing".into()))?;
    let mut config = Config::new(request::seconds(ruby, "timeout", timeout)?);
    if let Some(limit) = given::<f64>(ruby, options, "connect_timeout")? {
        config.connect_timeout = request::seconds(ruby, "connect_timeout", limit)?;
    }
    for (name, limit) in [
        ("queue_timeout", &mut config.queue_timeout),
        ("resolve_timeout", &mut config.resolve_timeout),
        ("tls_timeout", &mut config.tls_timeout),
        ("send_timeout", &mut config.send_timeout),
        ("first_byte_timeout", &mut config.first_byte_timeout),
        ("read_timeout", &mut config.read_timeout),
        ("max_age", &mut config.max_age),
    ] {
        if let Some(given) = given::<f64>(ruby, options, name)? {
            *limit = Some(request::seconds(ruby, name, given)?);
        }
    }
    for (name, limit) in [
        ("idle_timeout", &mut config.idle_timeout),
        ("expect_timeout", &mut config.expect_timeout),
    ] {
        if let Some(given) = given::<f64>(ruby, options, name)? {
            *limit = request::seconds(ruby, name, given)?;
        }
    }
    if let Some(options) = given::<RHash>(ruby, options, "retry")? {
        config.retry = Some(retry(ruby, options)?);
    }
    if let Some(moves) = given(ruby, options, "reconnect")? {
        config.reconnect = moves;
    }
    if let Some(most) = given(ruby, options, "redirects")? {
        config.redirects = most;
    }
    if let Some(allowed) = given(ruby, options, "redirects_to_http")? {
        config.redirects_to_http = allowed;
    }
    config.redirect_hosts = given(ruby, options, "redirect_hosts")?;
    config.per_origin = given(ruby, options, "per_origin")?;
    config.max_connections = given(ruby, options, "max_connections")?;
    config.max_queue = given(ruby, options, "max_queue")?;
    config.max_idle = given(ruby, options, "max_idle")?;
    for (name, most) in [
        ("max_body", &mut config.max_body),
        ("max_header_fields", &mut config.max_header_fields),
        ("max_header_bytes", &mut config.max_header_bytes),
    ] {
        if let Some(given) = given(ruby, options, name)? {
            *most = given;
        }
    }
    config.max_buffered = given(ruby, options, "max_buffered")?;
    if let Some(decode) = given(ruby, options, "decode")? {
        config.decode = decode;
    }
    if let Some(concurrency) = given(ruby, options, "concurrency")? {
        config.concurrency = concurrency;
    }
    let known = given::<HashMap<String, Vec<String>>>(ruby, options, "resolve")?;
    for (place, addresses) in known.unwrap_or_default() {
        let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
        let added = config.resolve.add(&place, &addresses);
        added.map_err(|error| request::invalid(ruby, error.to_string()))?;
    }
    if let Some(rule) = given(ruby, options, "allow_address")? {
        let rule = allow_address(&rule);
        config.allow_address = rule.map_err(|error| request::invalid(ruby, error.to_string()))?;
    }
    config.unix_socket = given::<String>(ruby, options, "unix_socket")?.map(Into::into);
    config.proxy = match given::<String>(ruby, options, "proxy")? {
        None => Proxy::Environment,
        Some(url) if url.is_empty() => Proxy::Off,
        Some(url) => Proxy::Url(url),
    };
    config.no_proxy = given(ruby, options, "no_proxy")?;
    set_tls(ruby, options, &mut config)?;
    if let Some(user_agent) = given(ruby, options, "user_agent")? {
        config.user_agent = user_agent;
    }
    Ok(config)
}

/// What is under `allow` and `deny`, each of which may be missing.
fn allow_address(rule: &HashMap<String, Vec<String>>) -> Result<AllowAddress, InvalidRequest> {
    let list = |name: &str| {
        let list = rule.get(name)?;
        Some(list.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let (allow, deny) = (list("allow"), list("deny").unwrap_or_default());
    if allow.as_deref() == Some(&["public"]) && deny.is_empty() {
        return Ok(AllowAddress::Public);
    }
    Ok(AllowAddress::Networks(Networks::new(
        allow.as_deref(),
        &deny,
    )?))
}

fn set_tls(ruby: &Ruby, options: RHash, config: &mut Config) -> Result<(), Error> {
    for (name, pem) in [
        ("ca", &mut config.ca),
        ("client_cert", &mut config.client_cert),
        ("client_key", &mut config.client_key),
    ] {
        *pem = given::<String>(ruby, options, name)?.map(Into::into);
    }
    if let Some(version) = given::<String>(ruby, options, "tls_min")? {
        config.tls_min = match version.as_str() {
            "1.2" => TlsVersion::Tls12,
            "1.3" => TlsVersion::Tls13,
            _ => {
                let why = format!("tls_min: {version:?} is unknown: use \"1.2\" or \"1.3\"");
                return Err(request::invalid(ruby, why));
            }
        };
    }
    if let Some(version) = given::<String>(ruby, options, "http")? {
        config.http = match version.as_str() {
            "1.1" => Protocol::Http1,
            "2" => Protocol::Http2,
            _ => {
                let why = format!("http: {version:?} is unknown: use \"1.1\", \"2\" or nil");
                return Err(request::invalid(ruby, why));
            }
        };
    }
    if let Some(pins) = given(ruby, options, "pins")? {
        config.pins = pins;
    }
    if let Some(verify) = given(ruby, options, "verify")? {
        config.verify = verify;
    }
    Ok(())
}

/// The engine's defaults, with what the options name in their place.
fn retry(ruby: &Ruby, options: RHash) -> Result<Retry, Error> {
    let mut retry = Retry::default();
    if let Some(max) = given_in(ruby, options, "retry: ", "max")? {
        retry.max = max;
    }
    if let Some(methods) = given_in::<Vec<String>>(ruby, options, "retry: ", "methods")? {
        let parse = |name: String| Method::from_bytes(name.as_bytes());
        let methods: Result<Vec<_>, _> = methods.into_iter().map(parse).collect();
        retry.methods = methods
            .map_err(|_| request::invalid(ruby, "retry: methods are words such as GET".into()))?;
    }
    if let Some(names) = given_in::<Vec<String>>(ruby, options, "retry: ", "on")? {
        retry.on = names
            .iter()
            .map(|name| kind(ruby, name))
            .collect::<Result<_, _>>()?;
    }
    if let Some(statuses) = given_in(ruby, options, "retry: ", "statuses")? {
        retry.statuses = statuses;
    }
    if let Some(interval) = given_in::<f64>(ruby, options, "retry: ", "interval")? {
        retry.interval = request::seconds(ruby, "retry: interval", interval)?;
    }
    if let Some(backoff) = given_in(ruby, options, "retry: ", "backoff")? {
        retry.backoff = backoff;
    }
    if let Some(jitter) = given_in(ruby, options, "retry: ", "jitter")? {
        retry.jitter = jitter;
    }
    Ok(retry)
}

fn kind(ruby: &Ruby, name: &str) -> Result<Kind, Error> {
    match name {
        "resolve" => Ok(Kind::Resolve),
        "connect" => Ok(Kind::Connect),
        "tls" => Ok(Kind::Tls),
        "timeout" => Ok(Kind::Timeout),
        "protocol" => Ok(Kind::Protocol),
        "body" => Ok(Kind::Body),
        _ => {
            let names = "resolve, connect, tls, timeout, protocol and body";
            Err(request::invalid(
                ruby,
                format!("retry: on {name:?} is unknown: there are {names}"),
            ))
        }
    }
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
