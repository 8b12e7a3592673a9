//! A client: settings and a pool, and the one place where a request runs from start to outcome.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderValue, Method};
use tokio::time::{sleep, timeout_at};

use crate::allowance::Allowance;
use crate::attempt::{Ending, Trace};
use crate::config::Config;
use crate::connect::Connector;
use crate::connection::Connection;
use crate::error::{Error, Failure, InvalidRequest, Phase};
use crate::exchange::{Broken, exchange};
use crate::h2::{self, Reply, Sessions};
use crate::origin::Origin;
use crate::pool::Pool;
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

/// Most times that a request moves on because its peer did nothing of it: one that refuses every
/// stream must not be asked for ever.
const MOST_MOVES: u32 = 4;

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
    requests: AtomicU64,
    retries: AtomicU64,
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
        tls::read_files(&mut config)?;
        let sessions = Sessions::new(&config);
        Ok(Client(Arc::new(Shared {
            turns: Turns::new(&config),
            connector: Connector::new(&config)?,
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
        match result {
            Ok(result) => result.map_err(|failure| allowance.told(failure, trace.attempts.last())),
            Err(_) => Err(allowance.used_up(trace.attempts.last())),
        }
    }

    /// The attempts, one after the other: another one if the last wrote nothing because its pooled
    /// connection was closed, or if the settings ask for it and there is time.
    pub async fn run(
        self: &Arc<Self>,
        request: &Request,
        reading: Reading,
        allowance: &Allowance,
        trace: &mut Trace,
    ) -> Result<Answer, Failure> {
        let mut tries = 0;
        let mut moves = 0;
        loop {
            trace.begin();
            let result = self.attempt(request, reading, trace).await;
            let result = match result {
                Err(Broken::Unsent) if trace.attempt().reused => {
                    trace.end(Ending::Moved, Instant::now());
                    continue;
                }
                Err(Broken::Unprocessed(failure))
                    if moves < MOST_MOVES && !request.body.begin_again() =>
                {
                    trace.end(Ending::Failed, Instant::now());
                    Err(failure.only_once())
                }
                Err(Broken::Unprocessed(_)) if moves < MOST_MOVES => {
                    trace.end(Ending::Moved, Instant::now());
                    moves += 1;
                    continue;
                }
                Err(broken) => {
                    trace.end(Ending::Failed, Instant::now());
                    Err(broken.into_failure())
                }
                Ok(answer) => {
                    trace.end(Ending::Status(answer.status), trace.mark);
                    if let Some(jar) = &self.config.cookies {
                        jar.keep(request, &answer.fields);
                    }
                    Ok(answer)
                }
            };
            tries += 1;
            let sent = trace.attempt().sent;
            match self.wait_before_retry(&request.method, tries, sent, &result) {
                Some(wait) if wait < allowance.left() => {
                    if !request.body.begin_again() {
                        return result.map_err(Failure::only_once);
                    }
                    self.retries.fetch_add(1, Ordering::Relaxed);
                    drop(result); // A body that was to be read closes its connection now.
                    Box::pin(sleep(wait)).await;
                    trace.lap();
                }
                _ => return result,
            }
        }
    }

    fn wait_before_retry(
        &self,
        method: &Method,
        tries: u32,
        sent: bool,
        result: &Result<Answer, Failure>,
    ) -> Option<Duration> {
        let retry = self.config.retry.as_ref()?;
        match result {
            Ok(answer) => retry.after_status(method, tries, answer.status, &answer.fields),
            Err(failure) => retry.after_failure(method, tries, sent, failure),
        }
    }

    async fn attempt(
        self: &Arc<Self>,
        request: &Request,
        reading: Reading,
        trace: &mut Trace,
    ) -> Result<Answer, Broken> {
        let origin = &request.origin;
        let mut opened = None;
        if self.sessions.concern(origin) {
            // Boxed like the other ways that plain requests do not take.
            match Box::pin(h2::answer(self, request, reading, trace)).await? {
                Reply::Answer(answer) => return Ok(answer),
                Reply::Http1(connection) => opened = connection,
            }
        }
        // The turn is given back after the connection was put away, or dropped.
        let (turn, mut connection) = match opened {
            Some(opened) => opened,
            None => {
                let turn = self.turn(origin, trace).await.map_err(Broken::Failed)?;
                let connection = self.connection(origin, trace).await;
                (turn, connection.map_err(Broken::Failed)?)
            }
        };
        let (head, mut incoming) = exchange(&mut connection, request, &self.config, trace).await?;
        let decoder = match head.coded {
            true => decoder(request, &self.config, &head.fields).map_err(Broken::Failed)?,
            false => None,
        };
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
            let whole = incoming.whole(&mut connection, &self.config).await;
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

    /// A pooled connection if there is one, else a new one.
    async fn connection(
        &self,
        origin: &Arc<Origin>,
        trace: &mut Trace,
    ) -> Result<Box<Connection>, Failure> {
        if let Some(connection) = self.pool.take(origin, trace.mark) {
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
