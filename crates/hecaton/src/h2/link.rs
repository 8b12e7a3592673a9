//! One HTTP/2 connection. A task of the runtime drives it, and each waiting thread drives the runtime. For a moment
//! after the last wait nothing is driven, so a connection that was left alone is checked before it is used.

use std::os::fd::RawFd;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use h2::client::{Builder, Connection, SendRequest};
use h2::{Ping, PingPong, Reason};
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use tokio::sync::Notify;
use tokio::time::{timeout, timeout_at};

use super::instrumented::Instrumented;
use super::observed::Observed;
use super::window::{CONNECTION, Streams, Taken, Window};
use crate::config::Config;
use crate::message::failure::{Failure, Kind, Phase};
use crate::runtime::lock::lock;
use crate::transport::wire::Wire;

/// Memory for small frames until they are read; beyond it `h2` closes the connection. Since small frames are joined
/// (`joined`), only padded ones can need so much.
const FRAME_BUDGET: usize = 8 << 20;

/// How much of a head `h2` reads, in multiples of `max_header_bytes`. `h2` ends the connection when the frames of one
/// head exceed it, which would end the other streams. A head that is only too large ends its own stream (`head`).
const HEADS: usize = 4;

/// How many given-up streams are remembered, so that late frames for them are recognised.
const MOST_RESET: usize = 1024;

/// Stands for the peer's limit on streams until it has sent one. No frame can carry this number.
pub(crate) const NO_LIMIT_YET: usize = usize::MAX - 1;

/// How long a connection is trusted after it was driven, or after a look found nothing unread.
const TRUSTED: Duration = Duration::from_millis(1);

/// A connection that nobody drove gets this many turns, each of at most this length, to read what came.
const LOOKS: u32 = 32;
const LOOK: Duration = Duration::from_millis(50);

/// How long a connection that was silent while a request gave up may take to acknowledge a ping, before another
/// request trusts it.
const PROBE: Duration = Duration::from_secs(1);

/// In place of the byte count at which doubt began: the connection is not doubted.
const TRUSTED_NOW: u64 = u64::MAX;

pub(crate) struct Link {
    pub(super) observed: Arc<Observed>,
    /// Only to be used while `driven` has the connection that owns it.
    socket: RawFd,
    driven: Mutex<Driven>,
    /// Wakes the tasks that wait for the connection to be driven.
    turned: Notify,
    driver: AtomicWaker,
    window: Window,
    /// How often the windows of bodies have shrunk.
    shrunk: AtomicU32,
    ping: Mutex<Option<PingPong>>,
    /// How many bytes had come when the connection fell silent.
    doubted: AtomicU64,
    /// Since when requests have waited for the connection to show that it is alive.
    probed: Mutex<Option<tokio::time::Instant>>,
}

struct Driven {
    connection: Option<Box<Connection<Instrumented<Wire>, Bytes>>>,
    at: Instant,
    /// When a look last found nothing unread, and whether one has found something since the last turn. So requests that
    /// start together share one look, which is a system call.
    quiet: Instant,
    has_unread: bool,
    /// The window of each body, as announced to the peer.
    window: u32,
    /// Whether a smaller window was announced, and `h2` is not known to have applied it.
    shrinks: bool,
}

impl Driven {
    /// Whether a look has just found nothing unread.
    fn is_quiet(&self) -> bool {
        self.quiet.elapsed() < TRUSTED
    }

    fn is_trusted(&self) -> bool {
        self.at.elapsed() < TRUSTED || self.is_quiet()
    }

    /// Announces another window to the peer. `h2` refuses while the peer has not acknowledged the previous one; a later
    /// turn tries again.
    fn announce(&mut self, window: u32, observed: &Observed) {
        if let (Some(connection), true) = (&mut self.connection, self.window != window) {
            if connection.set_initial_window_size(window).is_ok() {
                match window < self.window {
                    true => self.shrinks = true,
                    false => observed.will_widen(),
                }
                self.window = window;
            }
        }
    }

    /// Whether the windows of bodies have shrunk. `h2` takes another announcement, here of the same window, only when
    /// it has applied the previous one.
    fn have_shrunk(&mut self) -> bool {
        let again = match &mut self.connection {
            Some(connection) if self.shrinks => connection.set_initial_window_size(self.window),
            _ => return false,
        };
        self.shrinks = again.is_err();
        !self.shrinks
    }
}

impl Link {
    /// Begins HTTP/2 on a stream. Requests are sent at once, without a wait for the peer's settings.
    pub async fn open(
        stream: Wire,
        config: &Config,
        streams: Arc<Streams>,
    ) -> Result<(SendRequest<Bytes>, Arc<Link>), Failure> {
        let socket = stream.descriptor();
        let observed = Arc::new(Observed::default());
        let window = Window::new(streams);
        let first = window.size();
        let begun = begin(stream, config, &observed, first).await;
        let (send, mut connection) = begun.map_err(|error| match observed.refusal() {
            Some(why) => why.failure(Phase::Tls),
            None => {
                let detail = format!("cannot begin HTTP/2: {error}");
                Failure::new(Kind::Connect, Phase::Connect, detail)
            }
        })?;
        let ping = Mutex::new(connection.ping_pong());
        let driven = Driven {
            connection: Some(Box::new(connection)),
            at: Instant::now(),
            quiet: Instant::now(),
            has_unread: false,
            window: first,
            shrinks: false,
        };
        let link = Link {
            observed,
            socket,
            driven: Mutex::new(driven),
            turned: Notify::new(),
            driver: AtomicWaker::new(),
            window,
            shrunk: AtomicU32::new(0),
            ping,
            doubted: AtomicU64::new(TRUSTED_NOW),
            probed: Mutex::default(),
        };
        Ok((send, Arc::new(link)))
    }

    /// Lets the connection read and write; ready when it has ended.
    pub fn poll_drive(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.driver.register(cx.waker());
        let mut driven = lock(&self.driven);
        driven.announce(self.window.size(), &self.observed);
        let Some(connection) = &mut driven.connection else {
            return Poll::Ready(());
        };
        self.observed.begin_turn();
        // Each of its streams gets the reason of the end.
        let mut result = Pin::new(connection).poll(cx).map(|_| ());
        // After a GOAWAY with an error the peer says nothing more (RFC 9113 §5.4.1), whether or not it hangs up.
        if self.last_word().is_some() {
            result = Poll::Ready(());
        }
        if result.is_ready() {
            driven.connection = None;
        }
        driven.at = Instant::now();
        driven.has_unread = false;
        let have_shrunk = driven.have_shrunk();
        drop(driven);
        if have_shrunk {
            self.shrunk.fetch_add(1, Ordering::Relaxed);
            self.observed.wake_readers();
            self.wake();
        }
        self.turned.notify_waiters();
        result
    }

    /// A request gets a stream.
    pub fn opens_stream(&self) {
        self.window.opens();
    }

    /// Its stream has ended.
    pub fn closes_stream(&self) {
        self.window.closes();
    }

    /// How often the windows of bodies have shrunk. Bytes that a reader released before may then be enough for a
    /// WINDOW_UPDATE, and `h2` does not look.
    pub fn shrunk(&self) -> u32 {
        self.shrunk.load(Ordering::Relaxed)
    }

    /// A reader is done with a piece of its body.
    pub fn note_taken(&self, taken: &mut Taken, piece: usize) {
        if self.window.grows(taken, piece) {
            self.wake();
        }
    }

    /// Gives the connection another turn.
    pub fn wake(&self) {
        self.driver.wake();
    }

    /// The error for which the peer ended the connection, if it did (GOAWAY).
    pub fn last_word(&self) -> Option<Reason> {
        self.observed.goaway_error().map(Reason::from)
    }

    /// Whether the connection has not ended, as far as is known.
    pub fn is_open(&self) -> bool {
        lock(&self.driven).connection.is_some()
    }

    /// Notices an end of the connection that came while nobody drove it.
    pub async fn refresh(&self) {
        if lock(&self.driven).is_trusted() {
            return;
        }
        for _ in 0..LOOKS {
            let mut turned = pin!(self.turned.notified());
            turned.as_mut().enable();
            if !self.has_unread() {
                return;
            }
            let _ = timeout(LOOK, turned).await;
        }
    }

    /// Doubts a connection on which no byte came while a request waited until it gave up. Without this, nobody would
    /// notice a dead path: writing succeeds for minutes until TCP gives up, and each request would run into its limit.
    pub fn doubt(&self, received: u64) {
        if self.observed.received() != received {
            return;
        }
        if self.doubted.swap(received, Ordering::Relaxed) != received {
            *lock(&self.probed) = None;
        }
        let mut ping = lock(&self.ping);
        if let Some(ping) = ping.as_mut() {
            // A response to the previous ping that was never read would block another ping.
            let _ = ping.poll_pong(&mut Context::from_waker(Waker::noop()));
            let _ = ping.send_ping(Ping::opaque());
        }
    }

    /// Whether the connection must still show that it is alive.
    pub fn is_doubted(&self) -> bool {
        self.doubted.load(Ordering::Relaxed) != TRUSTED_NOW
    }

    /// Whether a doubted connection acknowledges a ping in time. All requests share one wait, so that requests with
    /// short limits do not wait in vain one after the other.
    pub async fn lives(&self) -> bool {
        let doubted = self.doubted.load(Ordering::Relaxed);
        let now = tokio::time::Instant::now();
        let until = *lock(&self.probed).get_or_insert(now) + PROBE;
        loop {
            let mut turned = pin!(self.turned.notified());
            turned.as_mut().enable();
            if self.observed.received() != doubted {
                self.doubted.store(TRUSTED_NOW, Ordering::Relaxed);
                return true;
            }
            if timeout_at(until, turned).await.is_err() {
                return false;
            }
        }
    }

    /// Whether the kernel has something that the connection has not read.
    fn has_unread(&self) -> bool {
        let mut driven = lock(&self.driven);
        if driven.connection.is_none() || driven.is_quiet() {
            return false;
        }
        if !driven.has_unread {
            let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
            driven.has_unread = recv(self.socket, &mut [0], flags) != Err(Errno::EAGAIN);
        }
        if !driven.has_unread {
            driven.quiet = Instant::now();
        }
        driven.has_unread
    }

    /// Closes the connection at once, driven or not. Sends a GOAWAY if the socket takes it.
    pub fn close(&self) {
        if let Some(mut connection) = lock(&self.driven).connection.take() {
            self.observed.begin_turn();
            let _ = Pin::new(&mut connection).poll(&mut Context::from_waker(Waker::noop()));
        }
        self.driver.wake();
    }
}

/// Sends the preface and the settings of this side, with this window for each body.
async fn begin(
    stream: Wire,
    config: &Config,
    observed: &Arc<Observed>,
    window: u32,
) -> Result<(SendRequest<Bytes>, Connection<Instrumented<Wire>, Bytes>), h2::Error> {
    // The most bytes of a header block that `h2` reads, frame heads included.
    let largest_block = (head_room(config) as usize).saturating_mul(2) + (128 << 10);
    Builder::new()
        .enable_push(false)
        .initial_window_size(window)
        .initial_connection_window_size(CONNECTION)
        .data_frame_budget(FRAME_BUDGET)
        .max_header_list_size(head_room(config))
        .max_concurrent_reset_streams(MOST_RESET)
        .initial_max_send_streams(NO_LIMIT_YET)
        .handshake(Instrumented::new(stream, observed.clone(), largest_block))
        .await
}

/// `h2` counts 32 more bytes per field (RFC 9113 §6.5.2).
fn head_room(config: &Config) -> u32 {
    let fields = config.max_header_fields.min(config.max_header_bytes);
    let (fields, most) = (fields.saturating_mul(32), config.max_header_bytes);
    let most = most.saturating_mul(HEADS);
    most.saturating_add(fields).try_into().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream as Peer;

    use tokio::net::UnixStream;

    use super::*;
    use crate::Reactor;
    use crate::runtime::descriptors::Noted;
    use crate::transport::pipe::Pipe;
    use crate::transport::wire::Socket;

    /// A look at the socket is a system call.
    #[test]
    fn requests_that_start_together_share_one_look_at_a_connection() {
        Reactor::new().unwrap().block_on(async {
            let (own, mut peer) = Peer::pair().unwrap();
            own.set_nonblocking(true).unwrap();
            let own = UnixStream::from_std(own).unwrap();
            let wire = Wire::Plain(Socket::new(Pipe::Unix(Noted::new(own))));
            let config = Config::new(Duration::from_secs(10));
            let opened = Link::open(wire, &config, Streams::new(None)).await;
            let (_send, link) = opened.map_err(|failure| failure.detail).unwrap();
            let long_ago = Instant::now() - 2 * TRUSTED;
            let forget = || {
                let mut driven = lock(&link.driven);
                (driven.at, driven.quiet) = (long_ago, long_ago);
            };
            forget();
            link.refresh().await;
            assert!(lock(&link.driven).quiet > long_ago);
            forget();
            peer.write_all(&[0]).unwrap();
            assert!(link.has_unread() && lock(&link.driven).has_unread);
            let _ = link.poll_drive(&mut Context::from_waker(Waker::noop()));
            assert!(!lock(&link.driven).has_unread, "a turn may have read it");
        });
    }
}
