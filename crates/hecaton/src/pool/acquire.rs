//! From an origin to a stream: on an existing connection, or on a new one that all waiting requests share.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use tokio::runtime::Handle;
use tokio::select;
use tokio::task::coop::unconstrained;

use super::Pool;
use super::connection::{Connection, Held};
use super::limits::Permit;
use super::origin_state::Session;
use super::sessions::{QueueEntry, Sessions, StreamOffer};
pub(crate) use super::waiter::Acquired;
use super::waiter::Grant;
use crate::message::attempt::Trace;
use crate::message::failure::{Failure, Phase};
use crate::message::origin::Origin;
use crate::multiplex::Driver;
use crate::multiplex::open::NewConnection;
use crate::runtime::tasks::spawn;
use crate::runtime::timer::within;

/// The end of the wait.
enum Way {
    Acquired(Acquired),
    /// A connection is to be opened, with its permit if there is a limit.
    Open(Option<Box<Permit>>),
}

/// A stream to `origin`, on a connection that has not ended as far as is known.
pub(crate) async fn acquire(
    pool: &Pool,
    origin: &Arc<Origin>,
    trace: &mut Trace,
) -> Result<Acquired, Failure> {
    loop {
        let mut acquired = match pool.sessions.request_stream(origin) {
            StreamOffer::Acquired(acquired) => acquired,
            // Boxed, so that a request that needs not wait does not carry its state along.
            StreamOffer::Wait(entry, busy) => {
                Box::pin(wait(pool, entry, busy, origin, trace)).await?
            }
        };
        if let Acquired::Stream(stream) = &mut acquired {
            stream.refresh().await;
            if stream.is_doubted() {
                if !stream.lives().await {
                    stream.retire();
                }
                // This time counts neither as sending nor as opening another connection.
                trace.lap_queue();
            }
            if !stream.is_usable() {
                continue;
            }
            let attempt = trace.attempt();
            let loan = stream.loan();
            attempt.connection = loan.connection;
            attempt.facts = loan.facts.clone();
            attempt.reused = loan.reused;
        }
        return Ok(acquired);
    }
}

/// Waits for a stream, or opens a connection. The wait counts as `Queue` if no more connections are allowed, or if all
/// connections carry as many streams as their peers allow. Otherwise the request waits for the first connection, which
/// another request opens. That counts as `Connect`, and has its limits.
async fn wait(
    pool: &Pool,
    entry: QueueEntry,
    busy: bool,
    origin: &Arc<Origin>,
    trace: &mut Trace,
) -> Result<Acquired, Failure> {
    let mut queued = busy || pool.sessions.limited;
    let mut at_once = true;
    let mut waiting = Box::pin(granted(pool, &entry, origin));
    let way = match poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx))).await {
        Poll::Ready(way) => way,
        Poll::Pending => {
            // While permits are free, the request waits for the connection and not for the limit.
            queued = busy || (pool.sessions.limited && !pool.limits.are_free(origin));
            at_once = false;
            trace.attempt().phase = if queued { Phase::Queue } else { Phase::Connect };
            next(pool, waiting.as_mut(), queued).await
        }
    };
    drop(waiting);
    let way = way.inspect_err(|failure| trace.attempt().phase = failure.phase)?;
    match (&way, queued) {
        (_, true) => trace.lap_queue(),
        (Way::Open(_), false) if at_once => {}
        (_, false) => trace.lap_connect(),
    }
    match way {
        Way::Acquired(acquired) => Ok(acquired),
        Way::Open(permit) => open(pool, entry, permit, origin, trace).await,
    }
}

/// Waits for a grant, within the limits of waiting if it waits for a limit.
async fn next(
    pool: &Pool,
    waiting: impl Future<Output = Result<Way, Failure>>,
    queued: bool,
) -> Result<Way, Failure> {
    if !queued {
        return waiting.await;
    }
    let limited = pool.sessions.limited;
    let _counted = limited.then(|| pool.limits.queue_slot()).transpose()?;
    within(&pool.config, Phase::Queue, waiting).await
}

async fn granted(pool: &Pool, entry: &QueueEntry, origin: &Arc<Origin>) -> Result<Way, Failure> {
    let mut grant = entry.granted().await;
    if let (Grant::Open, true) = (&grant, pool.sessions.limited) {
        grant = select! {
            biased;
            other = entry.granted() => other,
            permit = pool.limits.wait_in_slot(origin) => {
                return Ok(match entry.use_permit(Some(Box::new(permit))) {
                    Ok(stream) => Way::Acquired(Acquired::Stream(stream)),
                    Err(permit) => Way::Open(permit),
                });
            }
        };
    }
    match grant {
        Grant::Acquired(acquired) => Ok(Way::Acquired(acquired)),
        Grant::Failed(failure) => Err(failure),
        Grant::Open => Ok(match entry.use_permit(None) {
            Ok(stream) => Way::Acquired(Acquired::Stream(stream)),
            Err(permit) => Way::Open(permit),
        }),
    }
}

/// Opens a connection for all who wait. If this request gives up, the next one opens it.
async fn open(
    pool: &Pool,
    entry: QueueEntry,
    permit: Option<Box<Permit>>,
    origin: &Arc<Origin>,
    trace: &mut Trace,
) -> Result<Acquired, Failure> {
    pool.make_room();
    let elapsed = entry.elapsed();
    let mut opening = Opening {
        begun: Instant::now(),
        entry: Some(entry),
        trace,
    };
    // A request that gives up returns its permit before another one begins.
    let permit = permit;
    let opened = pool.open_shared(origin, &elapsed, opening.trace).await;
    let entry = opening.entry.take().expect("it is taken once, here");
    match opened {
        Ok((ticket, NewConnection::Shared(connection))) => {
            let driver = connection.driver();
            let session = Session::new(ticket, connection, permit, &pool.config);
            spawn_driver(pool, origin, session.ticket.id, driver);
            let stream = entry.opened(session);
            pool.idle.tend();
            Ok(Acquired::Stream(stream))
        }
        Ok((mut ticket, NewConnection::Http1(wire, forward))) => {
            ticket.counted = Some(pool.connection_counts.join(origin));
            let connection = Box::new(Connection::new(ticket, wire, forward));
            entry.supports_only_http1();
            Ok(Acquired::Http1(Some(Held { connection, permit })))
        }
        Err(failure) => {
            drop(permit);
            entry.failed(&failure);
            Err(failure)
        }
    }
}

/// A request that gives up reports how long it took, so that the limits of the waiting requests do not begin again.
struct Opening<'a> {
    begun: Instant,
    entry: Option<QueueEntry>,
    trace: &'a mut Trace,
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        if let Some(entry) = &self.entry {
            entry.note_intervals(self.trace.intervals(self.begun));
        }
    }
}

/// The task that drives a connection until it ends. It holds no handle that sends requests, so the connection ends with
/// the client. It runs outside of tokio's budget, whose wake-ups are lost between two waits (`reactor`).
fn spawn_driver(pool: &Pool, origin: &Arc<Origin>, id: u64, driver: Driver) {
    let sessions = Arc::downgrade(&pool.sessions);
    let origin = origin.clone();
    let driving = poll_fn(move |cx| {
        let result = driver.poll(cx);
        match sessions.upgrade() {
            Some(sessions) if result.is_ready() => Sessions::ended(&sessions, &origin, id),
            Some(sessions) => sessions.driven(&origin),
            None => {}
        }
        result
    });
    spawn(&Handle::current(), unconstrained(driving));
}
