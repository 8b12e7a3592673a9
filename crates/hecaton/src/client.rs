//! A client: settings and a pool, and the one place where a request runs from start to outcome.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderValue, Method};
use tokio::time::{sleep, timeout_at};

use crate::attempt::{Attempt, Ending, Trace};
use crate::config::Config;
use crate::connect::connect;
use crate::connection::Connection;
use crate::error::{Error, Failure, InvalidRequest, Kind, Phase};
use crate::exchange::{Answer, Broken, exchange};
use crate::pool::Pool;
use crate::request::{Origin, Request, display_url};
use crate::response::Response;
use crate::timer::within;
use crate::turns::{Turn, Turns};

/// Stands for deadlines that the clock can not express: thirty years from now.
const FAR_AWAY: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// How every request ends: in exactly one of these.
pub type Outcome = Result<Response, Error>;

/// An HTTP client. Clones share settings and connections.
#[derive(Clone)]
pub struct Client(Arc<Shared>);

struct Shared {
    config: Config,
    pool: Pool,
    turns: Turns,
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
        HeaderValue::from_bytes(config.user_agent.as_bytes()).map_err(|_| {
            InvalidRequest("user agent contains a line break or another control character".into())
        })?;
        if config.concurrency == 0 {
            return Err(InvalidRequest("concurrency is 0: use at least 1".into()));
        }
        Ok(Client(Arc::new(Shared {
            turns: Turns::new(&config),
            config,
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
    pub fn send(&self, request: Request) -> impl Future<Output = Outcome> + Send + use<> {
        let shared = self.0.clone();
        // Boxed to keep the future under a kibibyte, where malloc is quick.
        let request = Box::new(request);
        async move {
            let begun = Instant::now();
            let limit = request.timeout.unwrap_or(shared.config.timeout);
            let mut trace = Trace::new(begun);
            let result = match begun.checked_add(limit) {
                // The timer counts milliseconds, and much can be done in one: zero must not start.
                Some(_) if limit.is_zero() => Ok(Err(out_of_time(limit, None))),
                deadline => {
                    let deadline = deadline.unwrap_or_else(|| begun + FAR_AWAY);
                    let run = shared.run(&request, deadline, &mut trace);
                    timeout_at(deadline.into(), run).await
                }
            };
            let attempts = trace.attempts;
            match result.unwrap_or_else(|_| Err(out_of_time(limit, attempts.last()))) {
                Ok(Answer {
                    status,
                    fields,
                    body,
                    ..
                }) => Ok(Response {
                    status,
                    fields,
                    body,
                    attempts,
                    elapsed: trace.mark - begun,
                }),
                Err(failure) => {
                    let url = display_url(&request.origin, &request.target);
                    Err(Error::new(failure, url, begun.elapsed(), attempts))
                }
            }
        }
    }
}

impl Shared {
    /// The attempts, one after the other: another one if the last wrote nothing because its pooled
    /// connection was closed, or if the settings ask for it and there is time.
    async fn run(
        &self,
        request: &Request,
        deadline: Instant,
        trace: &mut Trace,
    ) -> Result<Answer, Failure> {
        let mut tries = 0;
        loop {
            trace.begin();
            let result = self.attempt(request, trace).await;
            let attempt = trace.attempt();
            let result = match result {
                Err(Broken::Unsent) if attempt.reused => {
                    attempt.ending = Ending::Moved;
                    continue;
                }
                Err(broken) => {
                    attempt.ending = Ending::Failed;
                    Err(broken.into_failure())
                }
                Ok(answer) => {
                    attempt.ending = Ending::Status(answer.status);
                    Ok(answer)
                }
            };
            tries += 1;
            let sent = attempt.sent;
            match self.wait_before_retry(&request.method, tries, sent, &result) {
                Some(wait) if wait < deadline.saturating_duration_since(Instant::now()) => {
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

    async fn attempt(&self, request: &Request, trace: &mut Trace) -> Result<Answer, Broken> {
        // Given back after the connection was put away, or dropped.
        let _turn = self
            .turn(&request.origin, trace)
            .await
            .map_err(Broken::Failed)?;
        let mut connection = self
            .connection(&request.origin, trace)
            .await
            .map_err(Broken::Failed)?;
        let answer = exchange(&mut connection, request, &self.config, trace).await?;
        if answer.reusable {
            self.pool.put(
                &request.origin,
                connection,
                trace.mark,
                self.config.idle_timeout,
            );
        }
        Ok(answer)
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
        let waiting = Box::pin(async { Ok(self.turns.wait(origin).await) });
        let turn = Box::pin(within(&self.config, Phase::Queue, waiting)).await?;
        trace.attempt().queue = trace.lap();
        Ok(Some(Box::new(turn)))
    }

    /// A pooled connection if there is one, else a new one.
    async fn connection(
        &self,
        origin: &Arc<Origin>,
        trace: &mut Trace,
    ) -> Result<Connection, Failure> {
        if let Some(connection) = self.pool.take(origin, trace.mark, self.config.idle_timeout) {
            let attempt = trace.attempt();
            attempt.connection = connection.id;
            attempt.reused = true;
            return Ok(connection);
        }
        if let Some(most) = self.turns.room_for_idle() {
            self.pool.shrink(most);
        }
        // Boxed, so that requests which need no new connection do not carry its state along.
        Box::pin(connect(origin, &self.pool, &self.config, trace)).await
    }
}

fn out_of_time(limit: Duration, attempt: Option<&Attempt>) -> Failure {
    let doing = attempt
        .map_or(Phase::Queue, |attempt| attempt.phase)
        .doing();
    let detail = format!("the deadline of {limit:?} passed while {doing}");
    Failure::new(Kind::Timeout, Phase::Total, detail)
}
