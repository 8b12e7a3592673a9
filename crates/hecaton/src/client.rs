//! A client: settings and a pool, and the one place where a request runs from start to outcome.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::HeaderValue;
use tokio::time::timeout_at;

use crate::attempt::{Attempt, Ending};
use crate::config::Config;
use crate::connect::connect;
use crate::error::{Error, Failure, InvalidRequest, Kind, Phase};
use crate::exchange::{Answer, Broken, exchange};
use crate::pool::{Connection, Pool};
use crate::request::{Origin, Request, Wire, display_url};
use crate::response::Response;

/// Stands for deadlines that the clock can not express, some centuries from now.
const FAR_AWAY: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// How every request ends: in exactly one of these.
pub type Outcome = Result<Response, Error>;

/// An HTTP client. Clones share settings and connections.
#[derive(Clone)]
pub struct Client(Arc<Shared>);

struct Shared {
    config: Config,
    user_agent: HeaderValue,
    pool: Pool,
}

impl Client {
    /// A client with these settings; opens nothing.
    ///
    /// # Panics
    /// When `user_agent` contains a control character; see [`Client::try_new`].
    pub fn new(config: Config) -> Client {
        Client::try_new(config).unwrap_or_else(|error| panic!("{error}"))
    }

    /// A client with these settings, or the reason why they can not be used.
    pub fn try_new(config: Config) -> Result<Client, InvalidRequest> {
        let user_agent = HeaderValue::from_bytes(config.user_agent.as_bytes()).map_err(|_| {
            InvalidRequest("user agent contains a line break or another control character".into())
        })?;
        if config.concurrency == 0 {
            return Err(InvalidRequest("concurrency is 0: use at least 1".into()));
        }
        Ok(Client(Arc::new(Shared {
            config,
            user_agent,
            pool: Pool::default(),
        })))
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// How many connections are idle.
    pub fn idle_connections(&self) -> usize {
        self.0.pool.idle()
    }

    /// Closes idle connections. Requests in flight go on, and the client can still be used.
    pub fn close_idle(&self) {
        self.0.pool.clear();
    }

    /// Runs one request to its outcome. Dropping the future gives the request up and closes its
    /// connection.
    pub async fn send(&self, mut request: Request) -> Outcome {
        let begun = Instant::now();
        let limit = request.timeout.unwrap_or(self.0.config.timeout);
        request.complete(&self.0.user_agent);
        let Request {
            origin,
            target,
            wire,
            ..
        } = request;
        // The list outlives the future that a deadline cuts off.
        let mut attempts = Vec::with_capacity(1);
        let result = match begun.checked_add(limit) {
            // The timer counts milliseconds, and much can be done in one: zero must not start at all.
            Some(_) if limit.is_zero() => Ok(Err(out_of_time(limit, None))),
            deadline => {
                let deadline = deadline.unwrap_or_else(|| begun + FAR_AWAY);
                timeout_at(deadline.into(), self.run(&origin, wire, &mut attempts)).await
            }
        };
        let elapsed = begun.elapsed();
        match result.unwrap_or_else(|_| Err(out_of_time(limit, attempts.last()))) {
            Ok(Answer {
                status,
                headers,
                body,
                ..
            }) => Ok(Response {
                status,
                headers,
                body,
                attempts,
                elapsed,
            }),
            Err(failure) => Err(Error::new(
                failure,
                display_url(&origin, &target),
                elapsed,
                attempts,
            )),
        }
    }

    /// The attempts, one after the other: another one only if the last wrote nothing.
    async fn run(
        &self,
        origin: &Arc<Origin>,
        mut wire: Box<Wire>,
        attempts: &mut Vec<Attempt>,
    ) -> Result<Answer, Failure> {
        loop {
            attempts.push(Attempt::new());
            let attempt = attempts.last_mut().expect("one was pushed just now");
            match self.attempt(origin, wire, attempt).await {
                Ok(answer) => {
                    attempt.ending = Ending::Status(answer.status);
                    return Ok(answer);
                }
                Err(Broken::Unsent(unsent)) if attempt.reused => {
                    attempt.ending = Ending::Moved;
                    wire = unsent;
                }
                Err(broken) => {
                    attempt.ending = Ending::Failed;
                    return Err(broken.into_failure());
                }
            }
        }
    }

    async fn attempt(
        &self,
        origin: &Arc<Origin>,
        wire: Box<Wire>,
        attempt: &mut Attempt,
    ) -> Result<Answer, Broken> {
        let Shared { config, pool, .. } = &*self.0;
        let mut connection = self
            .connection(origin, attempt)
            .await
            .map_err(Broken::Failed)?;
        let answer = exchange(&mut connection, wire, config.max_body, attempt).await?;
        if answer.reusable {
            pool.put(origin, connection, config.idle_timeout);
        }
        Ok(answer)
    }

    /// A pooled connection if there is one, else a new one.
    async fn connection(
        &self,
        origin: &Arc<Origin>,
        attempt: &mut Attempt,
    ) -> Result<Box<Connection>, Failure> {
        let Shared { config, pool, .. } = &*self.0;
        if let Some(connection) = pool.take(origin, config.idle_timeout) {
            attempt.connection = connection.id;
            attempt.reused = true;
            return Ok(connection);
        }
        // Boxed, so that requests which need no new connection do not carry its state along.
        Box::pin(connect(
            origin,
            pool.next_id(),
            config.connect_timeout,
            attempt,
        ))
        .await
    }
}

fn out_of_time(limit: Duration, attempt: Option<&Attempt>) -> Failure {
    let doing = attempt
        .map_or(Phase::Queue, |attempt| attempt.phase)
        .doing();
    let detail = format!("the deadline of {limit:?} passed while {doing}");
    Failure::new(Kind::Timeout, Phase::Total, detail)
}
