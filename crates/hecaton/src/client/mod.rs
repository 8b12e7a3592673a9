//! A client: what programs hold, and what runs each request to its one outcome.
//!
//! A request passes these modules in this order. One deadline (`message/deadline.rs`) limits all of them together:
//!
//! - `respond`: one run of it, or as many as its retry predicate demands (`predicate_retries`)
//! - `redirects`: one URL after the other, by `redirect_rules`
//! - `attempts`: whether another attempt follows (`resends`, retries, `digest`). A request's own hooks are called
//!   before (`before_attempt`, `intercepted`)
//! - `attempt`: one attempt, over HTTP/2 or HTTP/3 if the origin supports them (`stream_attempt`), else over HTTP/1.1.
//!   `pool` gives it its connection, after it has waited for a permit if `per_origin` or `max_connections` is set. The
//!   deadline limits that wait, and `queue_timeout` if it is set. A stream of a connection that carries others needs no
//!   permit
//! - `body_reader`: a body that is decoded or read later; `streaming`: a body that the program reads in pieces
//!
//! Decisions:
//!
//! - A request is sent again if `retry` (`message/retry.rs`) or a challenge of digest authentication demands it. Every
//!   attempt is listed, and none goes past the deadline. Three kinds of request are also re-sent without such a demand,
//!   and are listed as re-sent (`resends`). No other request is sent twice.
//! - The first kind certainly did nothing on the server: its connection, which had carried a request, was closed before
//!   a byte was written, or an HTTP/2 or HTTP/3 server says so. The second kind is any other request whose connection
//!   ended before a byte was written, without a TLS alert. The third kind is an idempotent request whose connection
//!   ended before a byte of the response (RFC 9110 §9.2.2), unless the server named an error by a GOAWAY or a TLS
//!   alert. The second and the third kind are re-sent once each to a URL, and `reconnect` switches them off.
//! - The end of a new connection counts as the end of a pooled one, and a close as a reset. A server that reloads ends
//!   connections that it has not accepted or read, and by chance the client sees a close or a reset. Measured with
//!   Caddy 2.6 at 50 requests at once, each on a new connection, 20 reloads: 105 of 21,246 GETs were lost.
//!   `docs/decisions/resends.md` has the other reasons.
//! - No client can see a close that is on its way while the request goes out. An idempotent request is re-sent then,
//!   once. Any other request fails, and the error says that it was sent.
//! - Over HTTP/2 or HTTP/3, a request may be left out by a GOAWAY, or its open connection may end before a byte of it
//!   was written. It is re-sent after each connection that got something done (a response begun, or a last stream
//!   named), and after four that did not. A refused request is re-sent four times, with pauses, or once if it is not
//!   idempotent.
//! - Redirects and cookies change a request between two URLs here, by functions without I/O (`redirect_rules`,
//!   `config/cookies.rs`). So both work in batches and streams alike, and under the one deadline. A request
//!   enters that loop only if it may be redirected or its client has a jar (`once` in `respond`).
//! - Only public headers leave their origin (`message/public_headers.rs`: a fixed list, and the setting
//!   `public_headers`), and a redirect back does not restore the others. A redirect to a URL with a user
//!   and a password in it is refused, or with `lenient` followed without them: a server does not choose the credentials
//!   of a request.
//! - The reader drives. Over HTTP/1.1, a `Streaming` reads from its socket only when its reader calls for the next
//!   piece, and some hundred KiB are held at most. Over HTTP/2 and HTTP/3 the stream's window limits what is held (see
//!   `h2`). So a slow reader slows the server down.
//! - `max_body` is for whole bodies. A program that streams decides about memory itself. The total deadline still
//!   holds, and counts the reader's time too.
//! - A challenge of digest authentication that is answered (`digest`) costs another attempt of the request. The body of the challenge
//!   is passed over, as before a retry. The loop of attempts looks for it only in a request with options of its own.
//! - The retry predicate (`predicate_retries`) is called after a run of a request, which may have redirects. The engine
//!   calls it, waits and sends again, so deadline, slot in the batch and list of attempts belong to one request.
//! - A program may respond in place of the network (`intercepted`). It is called where the attempt would get its
//!   connection, so everything above holds for its responses too: redirects, retries, cookies, credentials, limits and
//!   the deadline. Only the waits between its attempts are left out, so that tests with stubs take no longer than they
//!   must.
//! - A client on the connections of another (`sharing`) holds its own settings, and pointers to the rest.
//! - Futures are boxed where most requests do not need them, so that the others stay small enough for malloc's fast
//!   path. The clock is looked at once a phase.

mod attempt;
mod attempts;
mod before_attempt;
mod body_reader;
mod connecting;
mod digest;
pub(crate) mod hooks;
mod intercepted;
mod open_response;
mod predicate_retries;
pub(crate) mod redirect_rules;
mod redirects;
mod replaced;
mod resends;
mod respond;
mod shared;
pub(crate) mod sharing;
mod stream_attempt;
pub(crate) mod streaming;

use std::borrow::BorrowMut;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use http::HeaderValue;

use self::open_response::Reading;
use self::shared::Shared;
use self::streaming::Streaming;
use crate::config::proxy::Proxy;
use crate::config::{Config, Protocol, redirect_hosts};
use crate::message::attempt::Trace;
use crate::message::error::Error;
use crate::message::failure::{Failure, InvalidRequest};
use crate::message::request::Request;
use crate::message::response::Response;
use crate::message::sent::Sent;
use crate::pool::stats::Stats;

/// How a request ends whose response is read whole: in exactly one of these.
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

    /// Totals of the client's work, and its work now.
    pub fn stats(&self) -> Stats {
        let shared = &self.0;
        Stats {
            requests: shared.counts.requests.load(Ordering::Relaxed),
            retries: shared.counts.retries.load(Ordering::Relaxed),
            ..shared.pool.counts()
        }
    }

    /// Closes idle connections. Requests in flight continue, and the client can still be used.
    pub fn close_idle(&self) {
        self.0.pool.close_idle();
    }

    /// Runs one request to its outcome. Dropping the future gives the request up: it closes its
    /// HTTP/1.1 connection, or resets its stream.
    pub fn send(&self, request: Request) -> impl Future<Output = Outcome> + Send + use<> {
        // Boxed to keep the future under a kibibyte, where malloc is quick.
        self.whole(Box::new(request))
    }

    /// As [`send`](Client::send), for a batch, which reuses the memory of its futures. So the request is in the future.
    pub(crate) fn send_in_place(
        &self,
        request: Request,
    ) -> impl Future<Output = Outcome> + Send + use<> {
        self.whole(request)
    }

    fn whole<R>(&self, mut request: R) -> impl Future<Output = Outcome> + Send + use<R>
    where
        R: BorrowMut<Request> + Into<Sent> + Send,
    {
        let shared = self.0.clone();
        async move {
            let limit = request.borrow().timeout.unwrap_or(shared.config.timeout);
            let mut trace = Trace::new(limit);
            let response = shared.respond(request.borrow_mut(), Reading::Whole, &mut trace);
            match response.await {
                Ok(response) => {
                    let (body, trailers) = response.body.into_whole();
                    Ok(Response {
                        status: response.status,
                        fields: response.fields,
                        body,
                        trailers,
                        elapsed: trace.elapsed(),
                        attempts: trace.attempts,
                        request: request.into(),
                    })
                }
                Err(failure) => Err(failed(request, failure, trace)),
            }
        }
    }

    /// Runs one request up to the head of its response, retries included; the body is read from what
    /// is returned, under the same deadline. Dropping it, or the future, closes an
    /// HTTP/1.1 connection, or resets the stream.
    pub fn open(
        &self,
        request: Request,
    ) -> impl Future<Output = Result<Streaming, Error>> + Send + use<> {
        let shared = self.0.clone();
        let mut request = Box::new(request);
        async move {
            let mut trace = Trace::new(request.timeout.unwrap_or(shared.config.timeout));
            let response = shared.respond(&mut request, Reading::Open, &mut trace);
            match response.await {
                Ok(response) => Ok(Streaming::new(response, trace, request.into())),
                Err(failure) => Err(failed(request, failure, trace)),
            }
        }
    }
}

/// Refuses invalid settings, and reads the files that the settings name.
fn check(config: &mut Config) -> Result<(), InvalidRequest> {
    HeaderValue::from_bytes(config.user_agent.as_bytes()).map_err(|_| {
        InvalidRequest("user agent contains a line break or another control character".into())
    })?;
    // For the batches that its caller makes; a single request has no such limit.
    if config.concurrency == 0 {
        return Err(InvalidRequest("concurrency is 0: use at least 1".into()));
    }
    if config.max_header_bytes == 0 {
        let why = "max_header_bytes is 0, which allows no response: use at least 1";
        return Err(InvalidRequest(why.into()));
    }
    if config.local_address.is_some() && config.unix_socket.is_some() {
        let why = "local_address and unix_socket exclude each other: give one";
        return Err(InvalidRequest(why.into()));
    }
    check_http3(config)?;
    if let Some(hosts) = &config.redirect_hosts {
        redirect_hosts::check(hosts)?;
    }
    config.read_files()
}

/// Refuses what HTTP/3 cannot do.
fn check_http3(config: &Config) -> Result<(), InvalidRequest> {
    let (only, any) = (Protocol::Http3, Protocol::Any);
    let why = if cfg!(not(feature = "http3")) && (config.http == only || config.http == any) {
        "http has 3, and this build is without HTTP/3: build it with the feature `http3`"
    } else if config.http != only {
        return Ok(());
    } else if config.unix_socket.is_some() {
        "http is 3, which does not go through a Unix socket: leave unix_socket out"
    } else if matches!(config.proxy, Proxy::Url(_)) {
        "http is 3, which does not go through a proxy: leave proxy out"
    } else {
        return Ok(());
    };
    Err(InvalidRequest(why.into()))
}

fn failed(request: impl Into<Sent>, failure: Failure, trace: Trace) -> Error {
    let elapsed = trace.deadline.begun.elapsed();
    Error::new(failure, request.into(), elapsed, trace.attempts)
}
