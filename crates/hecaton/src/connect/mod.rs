//! Opens connections: name to addresses, addresses to a socket, and TLS on it.

mod race;
mod resolve;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use nix::errno::Errno;
use tokio::net::{TcpStream, UnixStream};

use crate::attempt::Trace;
use crate::config::Config;
use crate::connection::Connection;
use crate::error::{Failure, InvalidRequest, Kind, Phase};
use crate::origin::{Origin, Scheme};
use crate::pool::Pool;
use crate::timer::within;
use crate::tls::{Offer, Tls};
use crate::wire::{Pipe, Socket, Wire};
use race::Refusals;
pub use resolve::Addresses;
use resolve::Resolver;

/// Most addresses that a message names.
const MOST_NAMED: usize = 8;

/// The ways out that the settings name.
pub(crate) struct Connector {
    resolver: Resolver,
    tls: Tls,
}

impl Connector {
    /// Checks the settings; opens and reads nothing that can wait.
    pub fn new(config: &Config) -> Result<Connector, InvalidRequest> {
        Ok(Connector {
            resolver: Resolver::new(&config.resolve),
            tls: Tls::new(config)?,
        })
    }

    /// Opens a connection to `origin`, noting in `trace` how far it got. The pool numbers it. What is
    /// offered matters to TLS alone.
    pub async fn connect(
        &self,
        origin: &Origin,
        pool: &Pool,
        config: &Config,
        trace: &mut Trace,
        offer: Offer,
    ) -> Result<Box<Connection>, Failure> {
        let pipe = match &config.unix_socket {
            Some(path) => Pipe::Unix(open_unix(path, pool, config, trace).await?),
            None => Pipe::Tcp(self.open_tcp(origin, pool, config, trace).await?),
        };
        let socket = Socket::new(pipe);
        let ticket = pool.ticket();
        trace.attempt().connection = ticket.id;
        let stream = match origin.scheme {
            Scheme::Http => Wire::Plain(socket),
            Scheme::Https => {
                trace.attempt().phase = Phase::Tls;
                let shaking = self.tls.handshake(&origin.host, socket, offer);
                let tls = within(config, Phase::Tls, shaking).await?;
                trace.attempt().tls = trace.lap();
                Wire::Tls(Box::new(tls))
            }
        };
        Ok(Box::new(Connection::new(ticket, stream)))
    }

    async fn open_tcp(
        &self,
        origin: &Origin,
        pool: &Pool,
        config: &Config,
        trace: &mut Trace,
    ) -> Result<TcpStream, Failure> {
        trace.attempt().phase = Phase::Resolve;
        let resolving = self.resolver.resolve(&origin.host, origin.port);
        let addresses = within(config, Phase::Resolve, resolving).await?;
        trace.attempt().resolve = trace.lap();

        trace.attempt().phase = Phase::Connect;
        let tried = Tried::default();
        let opening = race::first(&addresses, |address| {
            tried.note(address);
            open(move || TcpStream::connect(address), pool)
        });
        let opening = async { opening.await.map_err(|all| refusals(origin, &all)) };
        let opened = within(config, Phase::Connect, opening).await;
        let stream = opened.map_err(|mut failure| {
            if failure.kind == Kind::Timeout {
                failure.detail += &format!(" (tried {tried})");
            }
            failure
        })?;
        trace.attempt().connect = trace.lap();
        // Nagle's algorithm would hold back the end of a request until what was sent before is acknowledged.
        stream
            .set_nodelay(true)
            .map_err(|error| refused(origin, &error.to_string()).because(&error))?;
        Ok(stream)
    }
}

/// What was tried, for messages.
#[derive(Default)]
struct Tried(Mutex<Vec<SocketAddr>>);

impl Tried {
    fn note(&self, address: SocketAddr) {
        let mut tried = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tried.push(address);
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tried = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all: Vec<_> = tried
            .iter()
            .map(|address| address.ip().to_string())
            .collect();
        f.write_str(&few(all))
    }
}

async fn open_unix(
    path: &Path,
    pool: &Pool,
    config: &Config,
    trace: &mut Trace,
) -> Result<UnixStream, Failure> {
    trace.attempt().phase = Phase::Connect;
    let opening = async {
        let opened = open(|| UnixStream::connect(path), pool).await;
        opened.map_err(|error| {
            let detail = format!("can not connect to the Unix socket {path:?}: {error}");
            Failure::new(Kind::Connect, Phase::Connect, detail)
        })
    };
    let stream = within(config, Phase::Connect, opening).await?;
    trace.attempt().connect = trace.lap();
    Ok(stream)
}

/// One connection. When descriptors have run out, those of idle connections are given up for it.
async fn open<T, F: Future<Output = io::Result<T>>>(
    connect: impl Fn() -> F,
    pool: &Pool,
) -> io::Result<T> {
    match connect().await {
        Err(error) if out_of_descriptors(&error) && pool.idle() > 0 => {
            pool.clear();
            connect().await
        }
        result => result,
    }
}

fn out_of_descriptors(error: &io::Error) -> bool {
    let number = error.raw_os_error().map(Errno::from_raw);
    matches!(number, Some(Errno::EMFILE | Errno::ENFILE))
}

fn refused(origin: &Origin, why: &str) -> Failure {
    let Origin { host, port, .. } = origin;
    let detail = format!("can not connect to {host} port {port}: {why}");
    Failure::new(Kind::Connect, Phase::Connect, detail)
}

/// Each address with its error, the address alone being known from the host.
fn refusals(origin: &Origin, refusals: &Refusals) -> Failure {
    let why = match refusals.as_slice() {
        [(address, error)] if address.ip().to_string() == origin.host => error.to_string(),
        several => {
            let each = |(address, error): &(SocketAddr, _)| format!("{} ({error})", address.ip());
            few(several.iter().map(each).collect())
        }
    };
    let failure = refused(origin, &why);
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
