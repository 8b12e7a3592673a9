//! A QUIC connection to the first of several addresses that responds (RFC 9000), with TLS inside.
//!
//! Each connection has a UDP socket of its own, which is connected, so that the system reports a closed port at once.
//! Only during the handshake does that end a connection: afterwards such a report may be anyone's. `quinn` has a task
//! for the socket and one for the connection. Both are tasks of the engine's reactor, outside of tokio's budget (see
//! `runtime`).

use std::fmt;
use std::future::poll_fn;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use nix::errno::Errno;
use nix::sys::socket::{MsgFlags, recv};
use quinn::udp::{RecvMeta, Transmit, UdpSocketState};
use quinn::{
    AsyncTimer, AsyncUdpSocket, ConnectionError, Endpoint, EndpointConfig, Runtime,
    TransportConfig, UdpPoller, VarInt,
};
use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::runtime::Handle;
use tokio::task::coop::unconstrained;
use tokio::time::{Sleep, sleep_until};

use super::happy_eyeballs;
use super::resolve::in_zone;
use super::tcp::{CloseIdle, Destination, Tried, of_a_kind, open, refusals, refused};
use super::tls::quic::{QuicTls, failure};
use crate::config::Config;
use crate::message::failure::Failure;
use crate::message::zone;
use crate::runtime::descriptors::{Noted, OfProcess};
use crate::runtime::lock::lock;
use crate::runtime::tasks::spawn;

/// How much of one body may come before its reader has taken it. 4 MiB allow 40 MB/s if the round trip takes 100 ms.
const STREAM_WINDOW: u32 = 4 << 20;

/// The same for all bodies of a connection together, or `max_buffered` if that is less.
const CONNECTION_WINDOW: u32 = 64 << 20;

/// How much of all bodies on their way to a server is held until it is acknowledged.
const SEND_WINDOW: u64 = 4 << 20;

/// After this time without a datagram a connection has ended, and after this one it shows that it is alive.
const SILENCE: Duration = Duration::from_secs(30);
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// How many streams beside responses the server may have open: three are of use (RFC 9114 §6.2).
const MOST_UNI: u32 = 16;

/// A connection. Dropping it closes the connection.
pub(crate) struct Quic {
    pub connection: quinn::Connection,
    socket: Arc<Udp>,
}

impl Quic {
    /// Whether the kernel has something that was not read.
    pub fn has_unread(&self) -> bool {
        let flags = MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT;
        recv(self.socket.socket.as_raw_fd(), &mut [0], flags) != Err(Errno::EAGAIN)
    }
}

/// Connects to `destination`, which has these addresses. The ends of the connection are noted in `tried`.
pub(super) async fn connect(
    addresses: &[SocketAddr],
    destination: &Destination<'_>,
    tls: &QuicTls,
    config: &Config,
    close_idle: CloseIdle<'_>,
    tried: &Tried,
) -> Result<Quic, Failure> {
    let from = destination.from.map(|from| in_zone(from, 0)).transpose();
    let from = from.map_err(|why| refused(destination, &why))?;
    let of_a_kind = |from| of_a_kind(addresses, from, destination);
    let addresses = from.map_or(Ok(addresses.into()), of_a_kind)?;
    let opened = happy_eyeballs::first(&addresses, |address| {
        tried.note(address);
        async move {
            let socket = open(|| async move { bind(from, address) }, close_idle).await?;
            handshake(socket, address, destination.host, tls, config).await
        }
    });
    let quic = opened.await.map_err(|all| refusals(destination, &all))??;
    let peer = quic.connection.remote_address();
    // The system does not say from which of its addresses an unconnected socket sends.
    let local = quic.socket.local_addr().ok();
    tried.note_ends(
        Some(peer),
        local.filter(|local| !local.ip().is_unspecified()),
    );
    Ok(quic)
}

fn bind(from: Option<SocketAddr>, to: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = match to.is_ipv4() {
        true => ([0; 4], 0).into(),
        false => ([0_u16; 8], 0).into(),
    };
    let socket = std::net::UdpSocket::bind(from.unwrap_or(any))?;
    // On Apple's systems, a connected socket can send nothing to a given address, not even its own.
    #[cfg(not(target_vendor = "apple"))]
    socket.connect(to)?;
    socket.set_nonblocking(true)?;
    UdpSocket::from_std(socket)
}

/// A failure of TLS is the server's word, and no other address is tried.
async fn handshake(
    socket: Noted<UdpSocket>,
    to: SocketAddr,
    host: &str,
    tls: &QuicTls,
    config: &Config,
) -> io::Result<Result<Quic, Failure>> {
    let socket = Arc::new(Udp::new(socket)?);
    let (mut settings, refusal) = match tls.settings() {
        Ok(settings) => settings,
        Err(failure) => return Ok(Err(failure)),
    };
    settings.transport_config(Arc::new(transport(config)));
    let endpoint = OfProcess::new(Endpoint::new_with_abstract_socket(
        EndpointConfig::default(),
        None,
        socket.clone(),
        Arc::new(OnReactor),
    )?);
    let connecting = endpoint.connect_with(settings, to, zone::without(host));
    let mut connecting = OfProcess::new(connecting.map_err(io::Error::other)?);
    let result = poll_fn(|cx| {
        if let Some(error) = socket.refused(cx) {
            return Poll::Ready(Err(error));
        }
        connecting.poll_unpin(cx).map(Ok)
    });
    let connected = result.await?.and_then(|connection| {
        // The server's word on this side's certificate may have come at once.
        let closed = connection.close_reason();
        closed.map_or(Ok(connection), Err)
    });
    Ok(match connected {
        Ok(connection) => Ok(Quic { connection, socket }),
        Err(error) => match failure(host, &error, &refusal) {
            Some(failure) => Err(failure),
            None => return Err(describe(error)),
        },
    })
}

/// Why there is no connection, if TLS is not the cause.
fn describe(error: ConnectionError) -> io::Error {
    let kind = match error {
        ConnectionError::TimedOut => io::ErrorKind::TimedOut,
        ConnectionError::ConnectionClosed(_) | ConnectionError::ApplicationClosed(_) => {
            io::ErrorKind::ConnectionReset
        }
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, format!("no QUIC: {error}"))
}

fn transport(config: &Config) -> TransportConfig {
    let window = config.max_buffered.unwrap_or(usize::MAX);
    let window = u32::try_from(window).unwrap_or(u32::MAX);
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .max_concurrent_uni_streams(VarInt::from_u32(MOST_UNI))
        .stream_receive_window(STREAM_WINDOW.into())
        .receive_window(window.clamp(STREAM_WINDOW, CONNECTION_WINDOW).into())
        .send_window(SEND_WINDOW)
        .datagram_receive_buffer_size(None)
        .keep_alive_interval(Some(SIGN_OF_LIFE))
        .max_idle_timeout(SILENCE.try_into().ok());
    transport
}

/// The UDP socket of a connection.
struct Udp {
    socket: Noted<UdpSocket>,
    state: UdpSocketState,
    refused: Mutex<Refused>,
}

/// Whether the system has reported that nobody is at the other end.
#[derive(Default)]
struct Refused {
    error: Option<io::Error>,
    waker: Option<Waker>,
}

impl Udp {
    fn new(socket: Noted<UdpSocket>) -> io::Result<Udp> {
        let state = UdpSocketState::new((&*socket).into())?;
        let refused = Mutex::default();
        Ok(Udp {
            socket,
            state,
            refused,
        })
    }

    /// Keeps the system's report for a handshake; whether it was one.
    fn is_report(&self, error: &io::Error) -> bool {
        let number = error.raw_os_error().map(Errno::from_raw);
        let is = matches!(
            number,
            Some(Errno::ECONNREFUSED | Errno::EHOSTUNREACH | Errno::ENETUNREACH)
        );
        if let (true, Some(number)) = (is, error.raw_os_error()) {
            let mut refused = lock(&self.refused);
            refused.error = Some(io::Error::from_raw_os_error(number));
            if let Some(waker) = refused.waker.take() {
                waker.wake();
            }
        }
        is
    }

    fn refused(&self, cx: &mut Context<'_>) -> Option<io::Error> {
        let mut refused = lock(&self.refused);
        refused.waker = Some(cx.waker().clone());
        refused.error.take()
    }
}

impl fmt::Debug for Udp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a UDP socket")
    }
}

impl AsyncUdpSocket for Udp {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(Writable(self))
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let sent = self.socket.try_io(Interest::WRITABLE, || {
            self.state.try_send((&*self.socket).into(), transmit)
        });
        match sent {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(error),
            // The datagram counts as lost. One that explores the largest size may be too large.
            Err(error) => {
                self.is_report(&error);
                Ok(())
            }
            sent => sent,
        }
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.socket.poll_recv_ready(cx))?;
            let received = self.socket.try_io(Interest::READABLE, || {
                self.state.recv((&*self.socket).into(), bufs, meta)
            });
            match received {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if self.is_report(&error) => {}
                received => return Poll::Ready(received),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.state.max_gso_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.state.gro_segments()
    }

    fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }
}

/// Waits until the socket takes another datagram. Only the connection's task does so.
struct Writable(Arc<Udp>);

impl fmt::Debug for Writable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl UdpPoller for Writable {
    fn poll_writable(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.socket.poll_send_ready(cx)
    }
}

/// The parts of the engine's reactor that `quinn` needs.
#[derive(Debug)]
struct OnReactor;

impl Runtime for OnReactor {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        Box::pin(Timer(Box::pin(sleep_until(at.into()))))
    }

    fn spawn(&self, task: Pin<Box<dyn Future<Output = ()> + Send>>) {
        spawn(&Handle::current(), unconstrained(task));
    }

    fn wrap_udp_socket(&self, _: std::net::UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        // The only endpoints are those with a socket from here.
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[derive(Debug)]
struct Timer(Pin<Box<Sleep>>);

impl AsyncTimer for Timer {
    fn reset(mut self: Pin<&mut Self>, at: Instant) {
        self.0.as_mut().reset(at.into());
    }

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Future::poll(self.0.as_mut(), cx)
    }
}
