//! From an origin to a stream: on a connection there is, or on one that is opened for all who wait.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use tokio::select;
use tokio::task::coop::unconstrained;

use super::known::Session;
use super::lease::Lease;
use super::link::Link;
use super::seat::Grant;
use super::sessions::{Asked, Place, Sessions};
use crate::attempt::Trace;
use crate::client::Shared;
use crate::config::Protocol;
use crate::connection::Connection;
use crate::error::{Failure, Kind, Phase};
use crate::origin::{Origin, Scheme};
use crate::spent::Spent;
use crate::timer::within;
use crate::tls::Offer;
use crate::turns::Turn;

/// What a request is sent on.
pub(crate) enum Acquired {
    Stream(Lease),
    /// The peer speaks HTTP/1.1: a connection of one's own, which may be there already.
    Http1(Option<Opened>),
}

/// A connection that speaks HTTP/1.1, with its turn if there is a limit.
pub(crate) type Opened = (Option<Box<Turn>>, Box<Connection>);

/// What was opened.
enum Fresh {
    Http2(Session, Arc<Link>),
    Http1(Opened),
}

/// What became of the wait.
enum Way {
    Acquired(Acquired),
    /// To be opened, with its turn if there is a limit.
    Open(Option<Box<Turn>>),
}

/// A stream to `origin`, on a connection that is not known to have ended.
pub(crate) async fn acquire(
    shared: &Shared,
    origin: &Arc<Origin>,
    trace: &mut Trace,
) -> Result<Acquired, Failure> {
    loop {
        let mut acquired = match shared.sessions.ask(origin) {
            Asked::Stream(lease) => Acquired::Stream(lease),
            Asked::Http1 => Acquired::Http1(None),
            Asked::Wait(place, busy) => wait(shared, place, busy, origin, trace).await?,
        };
        if let Acquired::Stream(lease) = &mut acquired {
            lease.link.refresh().await;
            if lease.link.is_doubted() {
                if !lease.link.lives().await {
                    lease.retire();
                }
                // Not a part of sending, nor of opening another one.
                trace.lap_queue();
            }
            if !lease.is_usable() {
                continue;
            }
            let attempt = trace.attempt();
            attempt.connection = lease.connection;
            attempt.reused = lease.reused;
        }
        return Ok(acquired);
    }
}

/// Waits for a stream, or opens a connection. Waiting counts as `Queue` where no more connections are allowed,
/// or all there are have as many streams as their peers allow. Without either, what is waited for is the
/// first connection, which another request opens: that counts as `Connect`, and ends with its limits.
async fn wait(
    shared: &Shared,
    place: Place,
    busy: bool,
    origin: &Arc<Origin>,
    trace: &mut Trace,
) -> Result<Acquired, Failure> {
    let mut queued = busy || shared.sessions.limited;
    let mut at_once = true;
    let mut waiting = Box::pin(granted(shared, &place, origin));
    let way = match poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx))).await {
        Poll::Ready(way) => way,
        Poll::Pending => {
            // While turns are free, it is the connection that is waited for and not the limit.
            queued = busy || (shared.sessions.limited && !shared.turns.are_free(origin));
            at_once = false;
            trace.attempt().phase = if queued { Phase::Queue } else { Phase::Connect };
            next(shared, waiting.as_mut(), queued).await
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
        Way::Open(turn) => open(shared, place, turn, origin, trace).await,
    }
}

/// What comes of the seat, within the limits of waiting if it is a wait for a limit.
async fn next(
    shared: &Shared,
    waiting: impl Future<Output = Result<Way, Failure>>,
    queued: bool,
) -> Result<Way, Failure> {
    if !queued {
        return waiting.await;
    }
    let limited = shared.sessions.limited;
    let _counted = limited.then(|| shared.turns.place()).transpose()?;
    within(&shared.config, Phase::Queue, waiting).await
}

async fn granted(shared: &Shared, place: &Place, origin: &Arc<Origin>) -> Result<Way, Failure> {
    let mut grant = place.granted().await;
    if let (Grant::Open, true) = (&grant, shared.sessions.limited) {
        grant = select! {
            biased;
            other = place.granted() => other,
            turn = shared.turns.wait_in_place(origin) => {
                return Ok(match place.use_turn(Some(Box::new(turn))) {
                    Ok(lease) => Way::Acquired(Acquired::Stream(lease)),
                    Err(turn) => Way::Open(turn),
                });
            }
        };
    }
    match grant {
        Grant::Stream(lease) => Ok(Way::Acquired(Acquired::Stream(lease))),
        Grant::Http1 => Ok(Way::Acquired(Acquired::Http1(None))),
        Grant::Failed(failure) => Err(failure),
        Grant::Open => Ok(match place.use_turn(None) {
            Ok(lease) => Way::Acquired(Acquired::Stream(lease)),
            Err(turn) => Way::Open(turn),
        }),
    }
}

/// Opens a connection for all who wait. Given up, the task goes to the next of them.
async fn open(
    shared: &Shared,
    place: Place,
    turn: Option<Box<Turn>>,
    origin: &Arc<Origin>,
    trace: &mut Trace,
) -> Result<Acquired, Failure> {
    shared.sessions.make_room(&shared.pool, &shared.turns);
    let spent = place.spent();
    let mut opening = Opening {
        begun: Instant::now(),
        place: Some(place),
        trace,
    };
    let begun = begin(shared, turn, origin, opening.trace, &spent).await;
    let place = opening.place.take().expect("it is taken once, here");
    match begun {
        Ok(Fresh::Http2(session, link)) => {
            spawn_driver(shared, origin, session.ticket.id, link);
            let lease = place.opened(session);
            shared.pool.tend();
            Ok(Acquired::Stream(lease))
        }
        Ok(Fresh::Http1(opened)) => {
            place.speaks_http1();
            Ok(Acquired::Http1(Some(opened)))
        }
        Err(failure) => {
            place.failed(&failure);
            Err(failure)
        }
    }
}

/// Given up before its end, it leaves word of how long it took: the limits of those who waited do not begin again.
struct Opening<'a> {
    begun: Instant,
    place: Option<Place>,
    trace: &'a mut Trace,
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        if let Some(place) = &self.place {
            place.note_spells(self.trace.spells(self.begun));
        }
    }
}

/// Opens a connection, and begins HTTP/2 on it if that is what the server speaks.
async fn begin(
    shared: &Shared,
    turn: Option<Box<Turn>>,
    origin: &Origin,
    trace: &mut Trace,
    spent: &Spent,
) -> Result<Fresh, Failure> {
    let (config, connector) = (&shared.config, &shared.connector);
    let only = config.http == Protocol::Http2;
    let offer = if only { Offer::Http2 } else { Offer::Both };
    let connection = connector
        .connect(origin, &shared.pool, config, trace, offer, spent)
        .await?;
    if origin.scheme == Scheme::Https && !connection.chose_http2() {
        if only {
            let host = &origin.host;
            let detail = format!("{host} does not speak HTTP/2: it did not choose it (ALPN)");
            return Err(Failure::new(Kind::Tls, Phase::Tls, detail).for_good());
        }
        return Ok(Fresh::Http1((turn, connection)));
    }
    let (ticket, stream) = connection.into_stream();
    let (send, link) = Link::open(stream, config).await?;
    let session = Session::new(ticket, send, link.clone(), turn, config);
    Ok(Fresh::Http2(session, link))
}

/// The task that drives a connection until it ends. It holds no handle to send requests with, so the
/// connection ends with the client. Outside of tokio's budget, whose wake-ups are lost between two waits
/// (`reactor`).
fn spawn_driver(shared: &Shared, origin: &Arc<Origin>, id: u64, link: Arc<Link>) {
    let sessions = Arc::downgrade(&shared.sessions);
    let origin = origin.clone();
    let driver = poll_fn(move |cx| {
        let result = link.poll_drive(cx);
        match sessions.upgrade() {
            Some(sessions) if result.is_ready() => Sessions::ended(&sessions, &origin, id),
            Some(sessions) => sessions.driven(&origin),
            None => {}
        }
        result
    });
    tokio::spawn(unconstrained(driver));
}
