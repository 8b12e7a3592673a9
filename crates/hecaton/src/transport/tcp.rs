//! A TCP connection to the first of several addresses that responds, and the error when none does.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::{Mutex, OnceLock};

use nix::errno::Errno;
use tokio::net::{TcpSocket, TcpStream};

use super::happy_eyeballs::{self, Refusals};
use super::resolve::in_zone;
use crate::message::connection_facts::{ConnectionFacts, Endpoint};
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::zone::ZonedAddress;
use crate::runtime::descriptors::Noted;
use crate::runtime::lock::lock;

/// A message names at most this many addresses.
const MOST_NAMED: usize = 8;

/// Closes idle connections; whether there were any.
pub(crate) type CloseIdle<'a> = &'a (dyn Fn() -> bool + Send + Sync);

/// The destination of a connection, for messages.
pub(super) struct Destination<'a> {
    /// The kind of the destination, with a space after it; empty for the origin.
    pub what: &'static str,
    pub host: &'a str,
    pub port: u16,
    /// The address of this machine to connect from, if one is set.
    pub from: Option<&'a ZonedAddress>,
}

impl fmt::Display for Destination<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{} port {}", self.what, self.host, self.port)
    }
}

/// Connects to `destination`, which has these addresses. The ends of the connection are noted in `tried`.
pub(super) async fn connect(
    addresses: &[SocketAddr],
    destination: &Destination<'_>,
    close_idle: CloseIdle<'_>,
    tried: &Tried,
) -> Result<Noted<TcpStream>, Failure> {
    let from = destination.from.map(|from| in_zone(from, 0)).transpose();
    let from = from.map_err(|why| refused(destination, &why))?;
    let of_a_kind = |from| of_a_kind(addresses, from, destination);
    let addresses = from.map_or(Ok(addresses.into()), of_a_kind)?;
    let opened = happy_eyeballs::first(&addresses, |address| {
        tried.note(address);
        open(move || connect_from(from, address), close_idle)
    });
    let stream = opened.await.map_err(|all| refusals(destination, &all))?;
    // Nagle's algorithm would hold back the end of a request until the bytes before it are acknowledged.
    let set = stream.set_nodelay(true);
    set.map_err(|error| refused(destination, &error.to_string()))?;
    tried.note_ends(stream.peer_addr().ok(), stream.local_addr().ok());
    Ok(stream)
}

/// The addresses that can be connected to from this one.
pub(super) fn of_a_kind<'a>(
    addresses: &[SocketAddr],
    from: SocketAddr,
    destination: &Destination<'_>,
) -> Result<Cow<'a, [SocketAddr]>, Failure> {
    let same = |address: &&SocketAddr| address.is_ipv4() == from.is_ipv4();
    let all: Vec<_> = addresses.iter().filter(same).copied().collect();
    match all.is_empty() {
        false => Ok(all.into()),
        true => {
            let kind = if from.is_ipv4() { "IPv4" } else { "IPv6" };
            let why = format!("it has no address of {kind}");
            Err(refused(destination, &why).for_good())
        }
    }
}

async fn connect_from(from: Option<SocketAddr>, to: SocketAddr) -> io::Result<TcpStream> {
    let Some(from) = from else {
        return TcpStream::connect(to).await;
    };
    let socket = if to.is_ipv4() {
        TcpSocket::new_v4()
    } else {
        TcpSocket::new_v6()
    }?;
    socket.bind(from)?;
    socket.connect(to).await
}

/// How far connecting came: the addresses tried so far, for messages, and the ends of the connection once there is one.
#[derive(Default)]
pub(super) struct Tried {
    addresses: Mutex<Vec<SocketAddr>>,
    ends: OnceLock<ConnectionFacts>,
}

impl Tried {
    pub fn note(&self, address: SocketAddr) {
        lock(&self.addresses).push(address);
    }

    pub fn note_ends(&self, peer: Option<SocketAddr>, local: Option<SocketAddr>) {
        let _ = self.ends.set(ConnectionFacts {
            peer: peer.map(Endpoint::Ip),
            local: local.map(Endpoint::Ip),
            tls: None,
        });
    }

    /// The ends of the connection, if there is one.
    pub fn into_ends(self) -> Option<ConnectionFacts> {
        self.ends.into_inner()
    }

    /// Adds the tried addresses to the failure of a limit.
    pub fn name_in(&self, mut failure: Failure) -> Failure {
        if failure.kind == Kind::Timeout {
            failure.detail += &format!(" (tried {self})");
        }
        failure
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = lock(&self.addresses);
        let all = all.iter().map(|address| address.ip().to_string());
        f.write_str(&few(all.collect()))
    }
}

/// Opens one connection. When descriptors have run out, idle connections are closed for it.
pub(super) async fn open<T: AsRawFd, F: Future<Output = io::Result<T>>>(
    connect: impl Fn() -> F,
    close_idle: CloseIdle<'_>,
) -> io::Result<Noted<T>> {
    let opened = match connect().await {
        Err(error) if out_of_descriptors(&error) && close_idle() => connect().await,
        result => result,
    };
    opened.map(Noted::new)
}

fn out_of_descriptors(error: &io::Error) -> bool {
    let number = error.raw_os_error().map(Errno::from_raw);
    matches!(number, Some(Errno::EMFILE | Errno::ENFILE))
}

pub(super) fn refused(destination: &Destination<'_>, why: &str) -> Failure {
    let from = destination.from;
    let from = from.map_or(String::new(), |from| format!(" from local_address {from}"));
    let detail = format!("cannot connect to {destination}{from}: {why}");
    Failure::new(Kind::Connect, Phase::Connect, detail)
}

/// Each address with its error. A lone address that equals the host is not repeated.
pub(super) fn refusals(destination: &Destination<'_>, refusals: &Refusals) -> Failure {
    let why = match refusals.as_slice() {
        [(address, error)] if address.ip().to_string() == destination.host => error.to_string(),
        several => {
            let each = |(address, error): &(SocketAddr, _)| format!("{} ({error})", address.ip());
            few(several.iter().map(each).collect())
        }
    };
    let failure = refused(destination, &why);
    match refusals.last() {
        Some((_, error)) => failure.because(error),
        None => failure,
    }
}

/// A list for people.
fn few(mut all: Vec<String>) -> String {
    let count = all.len();
    all.truncate(MOST_NAMED);
    let more = match count.saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    all.join(", ") + &more
}
