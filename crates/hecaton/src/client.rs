//! A client: settings and a pool, and the one place where a request runs from start to outcome.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bytes::Bytes;
use http::HeaderValue;
use tokio::time::timeout_at;

use crate::allowance::Allowance;
use crate::attempt::{Ending, Trace};
use crate::buffered::{Buffered, Share};
use crate::config::Config;
use crate::connect::Connector;
use crate::connection::Connection;
use crate::crowd::Crowds;
use crate::error::{Error, Failure, InvalidRequest, Phase};
use crate::exchange::{Broken, exchange};
use crate::h2::{self, Reply, Sessions};
use crate::origin::Origin;
use crate::pool::Pool;
use crate::redirect_hosts;
use crate::request::Request;
use crate::response::Response;
use crate::rest::{Http1Rest, Rest, Source, decoder};
use crate::spent::Spent;
use crate::stats::Stats;
use crate::stream::Streaming;
use crate::timer::within_rest;
use crate::tls;
use crate::tls::Offer;
use crate::turns::{Turn, Turns};

/// How every request ends: in exactly one of these.
pub type Outcome = Result<Response, Error>;

/// An HTTP client. Clones share settings and connections.
#[derive(Clone)]
pub struct Client(Arc<Shared>);

/// What the clones of a client share.
pub(crate) struct Shared {
    pub config: Config,
    pub pool: Pool,
    pub sessions: Arc<Sessions>,
    pub turns: Turns,
    pub connector: Connector,
    crowds: Crowds,
    /// None without a limit.
    pub buffered: Option<Arc<Buffered>>,
    requests: AtomicU64,
    pub retries: AtomicU64,
}

/// What a request is answered with.
pub(crate) struct Answer {
    pub status: u16,
    pub fields: Vec<u8>,
    pub body: Body,
}

/// The body of an answer.
pub(crate) enum Body {
    Whole(Bytes),
    /// Still to be read. Dropping it closes the connection.
    Open(Box<Rest>),
}

impl Answer {
    /// Reads a body that was left open because it might not have been of use.
    pub async fn settle(self, trace: &mut Trace) -> Result<Answer, Failure> {
        let body = match self.body {
            Body::Open(rest) => rest.body(Reading::Whole, trace).await,
            body => Ok(body),
        };
        let body = body.inspect_err(|_| trace.end(Ending::Failed, Instant::now()))?;
        Ok(Answer { body, ..self })
    }
}

impl Body {
    /// The body that was asked for whole.
    fn into_whole(self) -> Bytes {
        match self {
            Body::Whole(body) => body,
            Body::Open(_) => unreachable!("bodies are read as they were asked for"),
        }
    }
}

/// How a body is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    Whole,
    Open,
}

/// What one attempt is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Order {
    pub reading: Reading,
    /// Whether its connection must be a new one.
    pub fresh: bool,
    /// Whether the settings allow no further try.
    pub last: bool,
}

impl Client {
    /// A client with these settings; opens nothing.
    ///
    /// # Panics
    /// When a setting can not be used; see [`Client::try_new`].
    pub fn new(config: Config) -> Client {
        Client::try_new(config).unwrap_or_else(|error| panic!("{error}"))
    }

    /// A client with these settings, or the reason why they can not be used.
    pub fn try_new(mut config: Config) -> Result<Client, InvalidRequest> {
        HeaderValue::from_bytes(config.user_agent.as_bytes()).map_err(|_| {
            InvalidRequest("user agent contains a line break or another control character".into())
        })?;
        if config.concurrency == 0 {
            return Err(InvalidRequest("concurrency is 0: use at least 1".into()));
        }
        if config.max_header_bytes == 0 {
            let why = "max_header_bytes is 0, which allows no response: use at least 1";
            return Err(InvalidRequest(why.into()));
        }
        if let Some(hosts) = &config.redirect_hosts {
            redirect_hosts::check(hosts)?;
        }
        tls::read_files(&mut config)?;
        let sessions = Sessions::new(&config);
        Ok(Client(Arc::new(Shared {
            turns: Turns::new(&config),
            connector: Connector::new(&config)?,
            crowds: Crowds::default(),
            buffered: config.max_buffered.map(Buffered::new),
            pool: Pool::new(&config, sessions.clone()),
            sessions,
            config,
            requests: AtomicU64::new(0),
            retries: AtomicU64::new(0),
        })))
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// How many connections are idle.
    pub fn idle_connections(&self) -> usize {
        self.0.pool.idle() + self.0.sessions.idle()
    }

    /// What the client has done so far, and what it is doing.
    pub fn stats(&self) -> Stats {
        let shared = &self.0;
        let pool = shared.pool.counts();
        Stats {
            requests: shared.requests.load(Ordering::Relaxed),
            retries: shared.retries.load(Ordering::Relaxed),
            opened: pool.opened,
            reused: pool.reused + shared.sessions.reused(),
            idle: pool.idle + shared.sessions.idle(),
            in_use: pool.in_use.saturating_sub(shared.sessions.idle()),
            waiting: shared.turns.waiting(),
        }
    }

    /// Closes idle connections. Requests in flight go on, and the client can still be used.
    pub fn close_idle(&self) {
        self.0.pool.give_up_idle();
    }

    /// Runs one request to its outcome. Dropping the future gives the request up and closes its
    /// connection.
    pub fn send(&self, request: Request) -> impl Future<Output = Outcome> + Send + use<> {
        let shared = self.0.clone();
        // Boxed to keep the future under a kibibyte, where malloc is quick.
        let mut request = Box::new(request);
        async move {
            let allowance = Allowance::new(request.timeout.unwrap_or(shared.config.timeout));
            let mut trace = Trace::new(allowance.begun);
            let answer = shared.answer(&mut request, Reading::Whole, &allowance, &mut trace);
            match answer.await {
                Ok(answer) => Ok(Response {
                    status: answer.status,
                    fields: answer.fields,
                    body: answer.body.into_whole(),
                    attempts: trace.attempts,
                    elapsed: trace.mark - allowance.begun,
                    request: without_body(request),
                }),
                Err(failure) => Err(failed(&request, failure, allowance, trace)),
            }
        }
    }

    /// Runs one request up to the head of its response, retries included; the body is read from what
    /// is returned, under the same deadline. Dropping it, or the future, closes the connection.
    pub fn open(
        &self,
        request: Request,
    ) -> impl Future<Output = Result<Streaming, Error>> + Send + use<> {
        let shared = self.0.clone();
        let mut request = Box::new(request);
        async move {
            let allowance = Allowance::new(request.timeout.unwrap_or(shared.config.timeout));
            let mut trace = Trace::new(allowance.begun);
            let answer = shared.answer(&mut request, Reading::Open, &allowance, &mut trace);
            match answer.await {
                Ok(answer) => {
                    let request = without_body(request);
                    Ok(Streaming::new(answer, allowance, trace, request))
                }
                Err(failure) => Err(failed(&request, failure, allowance, trace)),
            }
        }
    }
}

/// A request as its response keeps it.
fn without_body(mut request: Box<Request>) -> Box<Request> {
    request.body = Default::default();
    request
}

fn failed(request: &Request, failure: Failure, allowance: Allowance, trace: Trace) -> Error {
    let elapsed = allowance.begun.elapsed();
    Error::new(failure, request, elapsed, trace.attempts)
}

impl Shared {
    /// One deadline around all of it.
    async fn answer(
        self: &Arc<Self>,
        request: &mut Request,
        reading: Reading,
        allowance: &Allowance,
        trace: &mut Trace,
    ) -> Result<Answer, Failure> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        // The timer counts milliseconds, and much can be done in one: zero must not start.
        if allowance.limit.is_zero() {
            return Err(allowance.used_up(None));
        }
        let deadline = allowance.deadline.into();
        let result = if self.is_one_hop(request) {
            timeout_at(deadline, self.run(request, reading, allowance, trace)).await
        } else {
            // Boxed like everything that most requests do not need.
            let hops = self.hops(request, reading, allowance, trace);
            timeout_at(deadline, Box::pin(hops)).await
        };
        let attempt = trace.attempts.last();
        let result = match result {
            Ok(result) => result.map_err(|failure| allowance.told(failure, attempt)),
            Err(_) => Err(allowance.used_up(attempt)),
        };
        result.map_err(|failure| self.crowds.told(failure, &request.origin, attempt))
    }

    /// One attempt, on a connection that is kept or a new one.
    pub async fn attempt(
        self: &Arc<Self>,
        request: &Request,
        order: Order,
        trace: &mut Trace,
    ) -> Result<Answer, Broken> {
        let origin = &request.origin;
        let mut opened = None;
        if self.sessions.concern(origin) {
            // Boxed like the other ways that plain requests do not take.
            match Box::pin(h2::answer(self, request, order, trace)).await? {
                Reply::Answer(answer) => return Ok(answer),
                Reply::Http1(connection) => opened = connection,
            }
        }
        // The turn is given back after the connection was put away, or dropped.
        let (turn, mut connection) = match opened {
            Some(opened) => opened,
            None => {
                let turn = self.turn(origin, trace).await.map_err(Broken::Failed)?;
                let connection = self.connection(origin, order.fresh, trace).await;
                (turn, connection.map_err(Broken::Failed)?)
            }
        };
        if !trace.attempt().reused {
            connection.ticket.crowd = Some(self.crowds.join(origin));
        }
        let (head, mut incoming) = exchange(&mut connection, request, &self.config, trace).await?;
        let decoder = match head.coded {
            true => decoder(request, &self.config, &head.fields).map_err(Broken::Failed)?,
            false => None,
        };
        let reading = self.reading_of(order, request, head.status, &head.fields);
        let body = if reading == Reading::Open || decoder.is_some() {
            let source = Source::Http1(Http1Rest {
                shared: self.clone(),
                origin: origin.clone(),
                incoming,
                connection,
                turn,
            });
            let body = Box::pin(Rest::new(source, decoder).body(reading, trace)).await;
            body.map_err(Broken::Failed)?
        } else {
            connection.share = Buffered::share(&self.buffered);
            let whole = incoming.whole(&mut connection, &self.config).await;
            connection.share = Share::default();
            let whole = whole.map_err(Broken::Failed)?;
            trace.attempt().read = trace.lap();
            if incoming.finish(&mut connection) {
                self.pool.put(origin, connection, trace.mark);
            }
            Body::Whole(whole)
        };
        Ok(Answer {
            status: head.status,
            fields: head.fields,
            body,
        })
    }

    /// Waits until another connection may be used, if there is a limit. Boxed like the other way that
    /// most requests do not take.
    async fn turn(
        &self,
        origin: &Arc<Origin>,
        trace: &mut Trace,
    ) -> Result<Option<Box<Turn>>, Failure> {
        if !self.turns.are_limited() {
            return Ok(None);
        }
        // Some may have passed while another request found out that the server speaks HTTP/1.1.
        let spent = trace.attempt().queue.unwrap_or_default();
        let waiting = Box::pin(self.turns.wait(origin));
        let turn = Box::pin(within_rest(&self.config, Phase::Queue, spent, waiting)).await?;
        trace.lap_queue();
        Ok(Some(Box::new(turn)))
    }

    /// A pooled connection if there is one and it may be one, else a new one.
    async fn connection(
        &self,
        origin: &Arc<Origin>,
        fresh: bool,
        trace: &mut Trace,
    ) -> Result<Box<Connection>, Failure> {
        if fresh {
            // Its turn is for one connection, and not for one beside an idle one.
            if self.turns.are_limited() {
                self.pool.replace(origin);
            }
        } else if let Some(connection) = self.pool.take(origin, trace.mark) {
            let attempt = trace.attempt();
            attempt.connection = connection.ticket.id;
            attempt.reused = true;
            return Ok(connection);
        }
        self.sessions.make_room(&self.pool, &self.turns);
        // Boxed, so that requests which need no new connection do not carry its state along.
        let (connector, spent) = (&self.connector, Spent::default());
        let (pool, config) = (&self.pool, &self.config);
        Box::pin(connector.connect(origin, pool, config, trace, Offer::Http1, &spent)).await
    }
}
