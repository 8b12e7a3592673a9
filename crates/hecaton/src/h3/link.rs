//! One HTTP/3 connection: the control streams of both sides, GOAWAY, and the streams for requests.
//!
//! `quinn` drives QUIC in tasks of its own, which run on the engine's reactor. The task of this file reads what the
//! server sends beside responses, and knows when the server allows another stream.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use quinn::{ConnectionError, ReadError, RecvStream, SendStream, VarInt};
use tokio::time::{Instant, sleep};

use super::control::Control;
use super::frames::{NO_ERROR, SETTINGS, Violation, push_head, push_integer};
use crate::config::Config;
use crate::message::failure::{Failure, Kind, Phase};
use crate::runtime::descriptors::OfProcess;
use crate::runtime::lock::lock;
use crate::transport::quic::Quic;
use crate::transport::tls::quic::alert;

/// The type of the control stream (RFC 9114 §6.2.1).
const CONTROL: u64 = 0;
/// SETTINGS_MAX_FIELD_SECTION_SIZE (§7.2.4.1).
const MAX_FIELD_SECTION_SIZE: u64 = 6;

/// At most this much of a stream is taken at once.
const PIECE: usize = 64 << 10;

/// A connection that nobody drove gets this many turns, each of this length, to read what came.
const LOOKS: u32 = 50;
const LOOK: Duration = Duration::from_millis(1);

/// How long a connection that was silent while a request gave up may take to show that it is alive, and how often that
/// is looked for.
const PROBE: Duration = Duration::from_secs(1);
const PROBED_EVERY: Duration = Duration::from_millis(10);

/// Stands among the streams of waiting requests for the one that waits for a stream.
const OPENER: u64 = u64::MAX;

/// In place of the count of datagrams at which doubt began: the connection is not doubted.
const TRUSTED_NOW: u64 = u64::MAX;

/// Both halves of the stream of a request.
pub(super) type Pair = (SendStream, RecvStream);

pub(crate) struct Link {
    quic: OfProcess<Quic>,
    driven: Mutex<OfProcess<Driven>>,
    /// Wakes the task.
    driver: Mutex<Waker>,
    /// A stream that the server allows and no request has yet. There are more only if requests gave theirs back.
    spare: Mutex<OfProcess<Vec<Pair>>>,
    /// The first stream that the server's GOAWAY leaves out.
    left_out: AtomicU64,
    /// Wakes the requests that wait for the heads of their responses, by their streams.
    waiting: Mutex<HashMap<u64, Waker>>,
    /// Why the connection was ended here.
    violation: OnceLock<Violation>,
    /// Whether the head of a response has come.
    pub(super) progressed: AtomicBool,
    doubted: AtomicU64,
    /// Since when requests have waited for the connection to show that it is alive.
    probed: Mutex<Option<Instant>>,
}

/// The events that the task waits for.
struct Driven {
    closed: BoxFuture<'static, ConnectionError>,
    opening: BoxFuture<'static, Result<Pair, ConnectionError>>,
    control: Control,
    /// The stream with the settings of this side. It stays open as long as the connection.
    _settings: SendStream,
}

impl Link {
    /// Begins HTTP/3 on a connection. Requests are sent at once, without a wait for the server's settings.
    pub fn open(quic: Quic, config: &Config) -> Result<Arc<Link>, Failure> {
        let connection = &quic.connection;
        let settings = begin(connection, config).ok_or_else(|| unopened(connection))?;
        let whole = connection.clone();
        let driven = Driven {
            closed: async move { whole.closed().await }.boxed(),
            opening: open_stream(connection),
            control: Control::new(connection),
            _settings: settings,
        };
        Ok(Arc::new(Link {
            quic: OfProcess::new(quic),
            driven: Mutex::new(OfProcess::new(driven)),
            driver: Mutex::new(Waker::noop().clone()),
            spare: Mutex::new(OfProcess::new(Vec::new())),
            left_out: AtomicU64::new(u64::MAX),
            waiting: Mutex::default(),
            violation: OnceLock::new(),
            progressed: AtomicBool::new(false),
            doubted: AtomicU64::new(TRUSTED_NOW),
            probed: Mutex::default(),
        }))
    }

    /// Reads what the server sends beside responses; ready when the connection has ended.
    pub fn poll_drive(&self, cx: &mut Context<'_>) -> Poll<()> {
        lock(&self.driver).clone_from(cx.waker());
        let mut driven = lock(&self.driven);
        if driven.closed.poll_unpin(cx).is_ready() {
            drop(driven);
            self.wake_all();
            return Poll::Ready(());
        }
        match driven.control.poll(cx) {
            Ok(Some(goaway)) => {
                self.left_out.store(goaway, Ordering::Relaxed);
                drop(driven);
                self.wake_all();
            }
            Ok(None) => drop(driven),
            Err(violation) => {
                drop(driven);
                self.violate(violation);
            }
        }
        self.find_spare(cx);
        Poll::Pending
    }

    /// Opens a stream for the next request, if the server allows one.
    fn find_spare(&self, cx: &mut Context<'_>) {
        let mut driven = lock(&self.driven);
        let mut spare = lock(&self.spare);
        if !spare.is_empty() {
            return;
        }
        if let Poll::Ready(opened) = driven.opening.poll_unpin(cx) {
            // If the connection has ended, so the task learns.
            spare.extend(opened);
            driven.opening = open_stream(&self.quic.connection);
            if let Some(opener) = lock(&self.waiting).remove(&OPENER) {
                opener.wake();
            }
        }
    }

    /// Whether another request may be sent: the server allows a stream.
    pub fn has_spare(&self) -> bool {
        if lock(&self.spare).is_empty() {
            // The task waits for the next one, whoever looked last.
            let task = lock(&self.driver).clone();
            self.find_spare(&mut Context::from_waker(&task));
        }
        !lock(&self.spare).is_empty()
    }

    /// The stream of a request: the one with the lowest number, because the server opens all below it as well.
    pub fn take_spare(&self) -> Option<Pair> {
        let mut spare = lock(&self.spare);
        let lowest = (0..spare.len()).min_by_key(|index| spare[*index].0.id())?;
        Some(spare.swap_remove(lowest))
    }

    /// Takes back a stream on which nothing was sent.
    pub fn put_back(&self, pair: Pair) {
        lock(&self.spare).push(pair);
    }

    /// Whether the connection has not ended, as far as is known, and is not about to.
    pub fn is_open(&self) -> bool {
        self.left_out.load(Ordering::Relaxed) == u64::MAX
            && self.violation.get().is_none()
            && self.quic.connection.close_reason().is_none()
    }

    /// Whether the server's GOAWAY says that it did nothing for the request on this stream.
    pub fn leaves_out(&self, stream: u64) -> bool {
        stream >= self.left_out.load(Ordering::Relaxed)
    }

    /// The request on this stream waits for its response.
    pub fn waits(&self, stream: u64, waker: &Waker) {
        lock(&self.waiting).insert(stream, waker.clone());
    }

    /// The request on this stream waits no longer. If nothing came while it waited, the connection is doubted.
    pub fn ends(&self, stream: u64, received: u64) {
        if !self.quic.is_inherited() {
            lock(&self.waiting).remove(&stream);
            self.doubt(received);
        }
    }

    /// A stream as soon as the server allows one, for the one request that waits on a new connection.
    pub async fn open_stream(&self) -> Result<Pair, ConnectionError> {
        poll_fn(|cx| {
            self.waits(OPENER, cx.waker());
            self.find_spare(cx);
            match (self.take_spare(), self.quic.connection.close_reason()) {
                (Some(pair), _) => Poll::Ready(Ok(pair)),
                (None, Some(error)) => Poll::Ready(Err(error)),
                (None, None) => Poll::Pending,
            }
        })
        .await
    }

    fn wake_all(&self) {
        let all: Vec<Waker> = lock(&self.waiting)
            .drain()
            .map(|(_, waker)| waker)
            .collect();
        all.iter().for_each(Waker::wake_by_ref);
    }

    /// The server violates HTTP/3: the connection ends.
    pub fn violate(&self, violation: Violation) {
        let _ = self.violation.set(violation);
        self.end(violation.code);
    }

    /// Ends the connection. One that has ended keeps its reason.
    fn end(&self, code: u32) {
        if self.quic.connection.close_reason().is_none() {
            self.quic.connection.close(code.into(), b"");
        }
        lock(&self.driver).wake_by_ref();
    }

    /// Why the connection was ended here.
    pub fn violation(&self) -> Option<Violation> {
        self.violation.get().copied()
    }

    /// How many STREAM frames have left the machine. One with the beginning of a request is among those that leave after
    /// it was written.
    pub fn stream_frames(&self) -> u64 {
        self.quic.connection.stats().frame_tx.stream
    }

    /// Whether an ancestor of this process opened the connection.
    pub fn is_inherited(&self) -> bool {
        self.quic.is_inherited()
    }

    /// How many datagrams have come.
    pub fn received(&self) -> u64 {
        self.quic.connection.stats().udp_rx.datagrams
    }

    /// Notices an end of the connection that came while nobody drove it.
    pub async fn refresh(&self) {
        for _ in 0..LOOKS {
            if !self.quic.has_unread() {
                return;
            }
            sleep(LOOK).await;
        }
    }

    /// Doubts a connection on which nothing came while a request waited until it gave up. The server acknowledges the end
    /// of that request's stream, if the path is alive.
    fn doubt(&self, received: u64) {
        if self.received() == received && self.doubted.swap(received, Ordering::Relaxed) != received
        {
            *lock(&self.probed) = None;
        }
    }

    /// Whether the connection must still show that it is alive.
    pub fn is_doubted(&self) -> bool {
        self.doubted.load(Ordering::Relaxed) != TRUSTED_NOW
    }

    /// Whether anything comes on a doubted connection in time. All requests share one wait, so that requests with short
    /// limits do not wait in vain one after the other.
    pub async fn lives(&self) -> bool {
        let doubted = self.doubted.load(Ordering::Relaxed);
        let until = *lock(&self.probed).get_or_insert_with(Instant::now) + PROBE;
        loop {
            if self.received() != doubted {
                self.doubted.store(TRUSTED_NOW, Ordering::Relaxed);
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            sleep(PROBED_EVERY).await;
        }
    }

    /// Closes the connection.
    pub fn close(&self) {
        if !self.quic.is_inherited() {
            self.end(NO_ERROR);
        }
    }
}

/// Why HTTP/3 did not begin on a connection.
fn unopened(connection: &quinn::Connection) -> Failure {
    let closed = connection.close_reason();
    if let Some(alert) = closed.as_ref().and_then(alert) {
        return alert.failure(Phase::Tls).for_good();
    }
    let why = match closed {
        Some(_) => "the server ended the connection",
        None => "the server allows no control stream",
    };
    let detail = format!("cannot begin HTTP/3: {why}");
    Failure::new(Kind::Protocol, Phase::Connect, detail).for_good()
}

/// Opens the control stream, and sends the settings.
fn begin(connection: &quinn::Connection, config: &Config) -> Option<SendStream> {
    let mut control = connection.open_uni().now_or_never()?.ok()?;
    let fields = config.max_header_fields.min(config.max_header_bytes);
    let most = config
        .max_header_bytes
        .saturating_add(fields.saturating_mul(32));
    let mut settings = Vec::new();
    push_integer(&mut settings, MAX_FIELD_SECTION_SIZE);
    push_integer(&mut settings, (most as u64).min(VarInt::MAX.into_inner()));
    let mut out = Vec::new();
    push_integer(&mut out, CONTROL);
    push_head(&mut out, SETTINGS, settings.len());
    out.extend_from_slice(&settings);
    control.write_all(&out).now_or_never()?.ok()?;
    Some(control)
}

fn open_stream(
    connection: &quinn::Connection,
) -> BoxFuture<'static, Result<Pair, ConnectionError>> {
    let connection = connection.clone();
    async move { connection.open_bi().await }.boxed()
}

/// The next bytes of a stream, none at its end.
pub(super) fn poll_bytes(
    stream: &mut RecvStream,
    cx: &mut Context<'_>,
) -> Poll<Result<Option<Bytes>, ReadError>> {
    // The stream has the state of its reading, so that each poll may have a future of its own.
    let reading = pin!(stream.read_chunk(PIECE, true));
    reading
        .poll(cx)
        .map_ok(|chunk| chunk.map(|chunk| chunk.bytes))
}
