//! Opens connections: name to addresses, addresses to a socket, and TLS on it.

use std::io;
use std::net::{IpAddr, SocketAddr};

use nix::errno::Errno;
use tokio::net::TcpStream;

use crate::attempt::Trace;
use crate::config::Config;
use crate::connection::Connection;
use crate::error::{Failure, InvalidRequest, Kind, Phase};
use crate::origin::{Origin, Scheme};
use crate::pool::Pool;
use crate::timer::within;
use crate::tls::Tls;
use crate::wire::{Socket, Wire};

/// The ways out that the settings name.
pub(crate) struct Connector {
    tls: Tls,
}

impl Connector {
    /// Checks the settings; opens and reads nothing that can wait.
    pub fn new(config: &Config) -> Result<Connector, InvalidRequest> {
        Ok(Connector {
            tls: Tls::new(config)?,
        })
    }

    /// Opens a connection to `origin`, noting in `trace` how far it got. The pool numbers it.
    pub async fn connect(
        &self,
        origin: &Origin,
        pool: &Pool,
        config: &Config,
        trace: &mut Trace,
    ) -> Result<Box<Connection>, Failure> {
        let socket = Socket::new(open_tcp(origin, pool, config, trace).await?);
        let ticket = pool.ticket();
        trace.attempt().connection = ticket.id;
        let stream = match origin.scheme {
            Scheme::Http => Wire::Plain(socket),
            Scheme::Https => {
                trace.attempt().phase = Phase::Tls;
                let shaking = self.tls.handshake(&origin.host, socket);
                let tls = within(config, Phase::Tls, shaking).await?;
                trace.attempt().tls = trace.lap();
                Wire::Tls(Box::new(tls))
            }
        };
        Ok(Box::new(Connection::new(ticket, stream)))
    }
}

async fn open_tcp(
    origin: &Origin,
    pool: &Pool,
    config: &Config,
    trace: &mut Trace,
) -> Result<TcpStream, Failure> {
    trace.attempt().phase = Phase::Resolve;
    let addresses = within(config, Phase::Resolve, resolve(origin)).await?;
    trace.attempt().resolve = trace.lap();

    trace.attempt().phase = Phase::Connect;
    let opening = async {
        first_that_answers(&addresses, pool)
            .await
            .map_err(|error| refused(origin, &error))
    };
    let stream = within(config, Phase::Connect, opening).await?;
    trace.attempt().connect = trace.lap();
    // Nagle's algorithm would hold back the end of a request until what was sent before is acknowledged.
    stream
        .set_nodelay(true)
        .map_err(|error| refused(origin, &error))?;
    Ok(stream)
}

async fn resolve(origin: &Origin) -> Result<Vec<SocketAddr>, Failure> {
    if let Ok(address) = origin.host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, origin.port)]);
    }
    let failed = |why: String| {
        Failure::new(
            Kind::Resolve,
            Phase::Resolve,
            format!("can not resolve {}: {why}", origin.host),
        )
    };
    let found = tokio::net::lookup_host((origin.host.as_str(), origin.port)).await;
    let addresses: Vec<_> = found.map_err(|error| failed(error.to_string()))?.collect();
    if addresses.is_empty() {
        Err(failed("it has no address".into()))
    } else {
        Ok(addresses)
    }
}

/// Tries the addresses in the resolver's order; the last error counts when none answers.
async fn first_that_answers(addresses: &[SocketAddr], pool: &Pool) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match open(address, pool).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// One connection. When descriptors have run out, those of idle connections are given up for it.
async fn open(address: &SocketAddr, pool: &Pool) -> io::Result<TcpStream> {
    match TcpStream::connect(address).await {
        Err(error) if out_of_descriptors(&error) && pool.idle() > 0 => {
            pool.clear();
            TcpStream::connect(address).await
        }
        result => result,
    }
}

fn out_of_descriptors(error: &io::Error) -> bool {
    let number = error.raw_os_error().map(Errno::from_raw);
    matches!(number, Some(Errno::EMFILE | Errno::ENFILE))
}

fn refused(origin: &Origin, error: &io::Error) -> Failure {
    let Origin { host, port, .. } = origin;
    let detail = format!("can not connect to {host} port {port}: {error}");
    Failure::new(Kind::Connect, Phase::Connect, detail)
}
