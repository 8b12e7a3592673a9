//! A client: what programs hold, and what runs each request to its one outcome.
//!
//! In the order of a request: `redirects` (one URL after the other, by `redirect_rules`) → `attempts` (what each end means: `resends`,
//! retries) → `attempt` (one try, over HTTP/1.1 or `http2`) → `body_reader` and `streaming` (the body). One `deadline` is around
//! it all.
//!
//! Decisions:
//!
//! - Nothing is sent twice unless `retry` asks for it (`config/retry.rs`). Every try is listed, and none goes past the deadline.
//!   Two things are done again by themselves, on another connection, and are listed as moved (`resends`): a request that the server
//!   did nothing of for sure, because its pooled connection had been closed before a byte was written, or by the word of an
//!   HTTP/2 server; and, once, an idempotent request whose pooled connection ended before a byte of the response (RFC 9110
//!   §9.2.2; `reconnect` switches it off). No other method is sent twice once a byte left.
//! - A new connection that was reset counts as one that was pooled: the system of a server that reloads resets what the server has
//!   not accepted or not read. One that was closed without a response does not: somebody read the request, and hung up.
//!   Measured with Caddy 2.6 at 50 requests at once, each on a new connection, 20 reloads: 105 of 21,246 GETs were lost.
//! - What no client can see is a close that is on its way while the request goes out. An idempotent request moves then, once;
//!   any other fails, as sent.
//! - Over HTTP/2 a request that a GOAWAY left out moves as long as each connection got something done (an answer begun, or a
//!   last stream named), else four times. One that was refused moves, with pauses, four times or, if it is not idempotent, once.
//! - What a request becomes between two URLs (redirects, cookies) is decided here, in pure functions (`redirect_rules`,
//!   `config/cookies.rs`). So it holds in batches and streams alike, and under the one deadline. Requests for which neither is
//!   asked never enter that loop (`uses_one_url` in `redirects`).
//! - What proves who asks does not leave its origin, and is not put back when a redirect returns to it. A redirect to a URL with a
//!   user and a password in it is refused: a server does not decide as whom a request is sent.
//! - Whoever reads drives. A stream reads from its socket when its next piece is asked for, and never ahead. A slow reader holds up
//!   the server, and at most some hundred KiB are held (over HTTP/2 the stream's window, see `h2`). There is no task that could
//!   fill a buffer behind its back.
//! - `max_body` is for whole bodies. Who streams decides about memory; the total deadline goes on and counts the reader's time too.
//! - Digest authentication (`digest`) is two attempts of one request; the body of the first answer is passed over as one is that is
//!   retried. Without it the loop of attempts asks one pointer whether it is null, and so it does for retries of a request's own.
//! - A program that judges outcomes itself (`judge`, `judged`) is asked between two ways of a request, each of which may have redirects. The
//!   engine asks, waits and sends again, so that the deadline, the place in a batch and the list of attempts are those of one request.
//! - A client with settings of its own on the connections of another (`sharing`) is these settings and pointers to all else.
//! - Futures are boxed where most requests do not need them, so that the others stay small enough for malloc's fast path. The
//!   clock is looked at once a phase.

mod attempt;
mod attempts;
mod body_reader;
mod deadline;
mod digest;
pub(crate) mod hooks;
mod http2;
mod open_response;
mod predicate_retries;
pub(crate) mod redirect_rules;
pub(crate) mod redirection;
mod redirects;
mod resends;
mod shared;
pub(crate) mod sharing;
pub(crate) mod stats;
pub(crate) mod streaming;
pub(crate) mod watched;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::HeaderValue;

use self::deadline::Deadline;
use self::open_response::Reading;
use self::shared::Shared;
use self::stats::Stats;
use self::streaming::Streaming;
use crate::config::{Config, redirect_hosts};
use crate::message::attempt::Trace;
use crate::message::error::Error;
use crate::message::failure::{Failure, InvalidRequest};
use crate::message::request::Request;
use crate::message::response::Response;

/// How every request ends: in exactly one of these.
pub type Outcome = Result<Response, Error>;

/// An HTTP client. Clones share settings and connections.
#[derive(Clone)]
pub struct Client(Arc<Shared>);

impl Client {
    /// A client with these settings; opens nothing.
    ///
    /// # Panics
    /// When a setting cannot be used; see [`Client::try_new`].
    pub fn new(config: Config) -> Client {
        Client::try_new(config).unwrap_or_else(|error| panic!("{error}"))
    }

    /// A client with these settings, or the reason why they cannot be used.
    pub fn try_new(mut config: Config) -> Result<Client, InvalidRequest> {
        check(&mut config)?;
        Ok(Client(Arc::new(Shared::new(config)?)))
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// How many connections are idle.
    pub fn idle_connections(&self) -> usize {
        self.0.pool.idle()
    }

    /// What the client has done so far, and what it is doing.
    pub fn stats(&self) -> Stats {
        let shared = &self.0;
        let pool = shared.pool.counts();
        Stats {
            requests: shared.counts.requests.load(Ordering::Relaxed),
            retries: shared.counts.retries.load(Ordering::Relaxed),
            opened: pool.opened,
            reused: pool.reused,
            idle: pool.idle,
            in_use: pool.in_use,
            waiting: pool.waiting,
        }
    }

    /// Closes idle connections. Requests in flight go on, and the client can still be used.
    pub fn close_idle(&self) {
        self.0.pool.close_idle();
    }

    /// Runs one request to its outcome. Dropping the future gives the request up and closes its
    /// connection.
    pub fn send(&self, request: Request) -> impl Future<Output = Outcome> + Send + use<> {
        let shared = self.0.clone();
        // Boxed to keep the future under a kibibyte, where malloc is quick.
        let mut request = Box::new(request);
        async move {
            let deadline = Deadline::new(request.timeout.unwrap_or(shared.config.timeout));
            let mut trace = Trace::new(deadline.begun);
            let response = shared.respond(&mut request, Reading::Whole, &deadline, &mut trace);
            match response.await {
                Ok(response) => {
                    let (body, trailers) = response.body.into_whole();
                    Ok(Response {
                        status: response.status,
                        fields: response.fields,
                        body,
                        trailers,
                        attempts: trace.attempts,
                        elapsed: trace.mark - deadline.begun,
                        request: without_body(request),
                    })
                }
                Err(failure) => Err(failed(&request, failure, deadline, trace)),
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
            let deadline = Deadline::new(request.timeout.unwrap_or(shared.config.timeout));
            let mut trace = Trace::new(deadline.begun);
            let response = shared.respond(&mut request, Reading::Open, &deadline, &mut trace);
            match response.await {
                Ok(response) => {
                    let request = without_body(request);
                    Ok(Streaming::new(response, deadline, trace, request))
                }
                Err(failure) => Err(failed(&request, failure, deadline, trace)),
            }
        }
    }
}

/// Refuses settings that cannot be used, and reads the files that they name.
fn check(config: &mut Config) -> Result<(), InvalidRequest> {
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
    config.read_files()
}

/// A request as its response keeps it.
fn without_body(mut request: Box<Request>) -> Box<Request> {
    request.body = Default::default();
    request
}

fn failed(request: &Request, failure: Failure, deadline: Deadline, trace: Trace) -> Error {
    let elapsed = deadline.begun.elapsed();
    let (url, redirects) = (request.display_url(), request.redirected.clone());
    Error::new(failure, url, redirects, elapsed, trace.attempts)
}
