//! Opens connections: name to addresses, addresses to a socket, perhaps a proxy's, and TLS on it.

mod allowed;
mod network;
mod proxy;
mod race;
mod resolve;
mod tcp;

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use tokio::net::{TcpStream, UnixStream};

use crate::attempt::Trace;
use crate::config::{Config, Protocol};
use crate::connection::Connection;
use crate::descriptors::Noted;
use crate::error::{Failure, InvalidRequest, Kind, Phase};
use crate::origin::{Origin, Scheme};
use crate::pipe::Pipe;
use crate::pool::Pool;
use crate::spent::Spent;
use crate::timer::within_rest;
use crate::tls::{Offer, Tls};
use crate::wire::{Socket, Wire};
pub use allowed::{AllowAddress, Networks};
pub(crate) use proxy::Forward;
pub use proxy::Proxy;
#[cfg(fuzzing)]
pub(crate) use proxy::fuzzing;
use proxy::{Proxies, Server, Socks, Speech, Target};
pub use resolve::Addresses;
use resolve::Resolver;
use tcp::{Place, Tried, open};

/// The ways out that the settings name.
pub(crate) struct Connector {
    proxies: Proxies,
    resolver: Resolver,
    tls: Tls,
}

impl Connector {
    /// Checks the settings; opens and reads nothing that can wait.
    pub fn new(config: &Config) -> Result<Connector, InvalidRequest> {
        Ok(Connector {
            proxies: Proxies::new(config)?,
            resolver: Resolver::new(&config.resolve),
            tls: Tls::new(config)?,
        })
    }

    /// Opens a connection to `origin`, noting in `trace` how far it got. The pool numbers it. What is
    /// offered matters to TLS alone; what was spent counts against the limits.
    pub async fn connect(
        &self,
        origin: &Origin,
        pool: &Pool,
        config: &Config,
        trace: &mut Trace,
        offer: Offer,
        spent: &Spent,
    ) -> Result<Box<Connection>, Failure> {
        let (pipe, forward) = self.open(origin, pool, config, trace, spent).await?;
        let socket = Socket::new(pipe);
        let ticket = pool.ticket();
        trace.attempt().connection = ticket.id;
        let stream = match origin.scheme {
            Scheme::Http => Wire::Plain(socket),
            Scheme::Https => {
                trace.attempt().phase = Phase::Tls;
                let shaking = self.tls.handshake(&origin.host, socket, offer);
                let tls = within_rest(config, Phase::Tls, spent.of(Phase::Tls), shaking).await?;
                trace.attempt().tls = trace.lap();
                Wire::Tls(Box::new(tls))
            }
        };
        Ok(Box::new(Connection::new(ticket, stream, forward)))
    }

    /// A socket on the way to `origin`, and what requests on it say to the proxy that they are handed to.
    async fn open(
        &self,
        origin: &Origin,
        pool: &Pool,
        config: &Config,
        trace: &mut Trace,
        spent: &Spent,
    ) -> Result<(Pipe, Option<Arc<Forward>>), Failure> {
        if let Some(path) = &config.unix_socket {
            let unix = open_unix(path, pool, config, trace, spent).await?;
            return Ok((Pipe::Unix(unix), None));
        }
        match self.proxies.of(origin) {
            Some(server) => {
                self.through(server, origin, pool, config, trace, spent)
                    .await
            }
            None => {
                let tcp = self.straight(origin, pool, config, trace, spent).await?;
                Ok((Pipe::Tcp(tcp), None))
            }
        }
    }

    /// A TCP connection to the origin itself.
    async fn straight(
        &self,
        origin: &Origin,
        pool: &Pool,
        config: &Config,
        trace: &mut Trace,
        spent: &Spent,
    ) -> Result<Noted<TcpStream>, Failure> {
        trace.attempt().phase = Phase::Resolve;
        let resolving = self.resolver.resolve(&origin.host, origin.port);
        let addresses =
            within_rest(config, Phase::Resolve, spent.of(Phase::Resolve), resolving).await?;
        trace.attempt().resolve = trace.lap();

        trace.attempt().phase = Phase::Connect;
        let addresses = allowed(addresses, origin, config)?;
        let (place, tried) = (place("", &origin.host, origin.port), Tried::default());
        let opening = tcp::connect(&addresses, &place, pool, &tried);
        let opened = within_rest(config, Phase::Connect, spent.of(Phase::Connect), opening).await;
        let stream = opened.map_err(|failure| tried.name_in(failure))?;
        trace.lap_connect();
        Ok(stream)
    }

    /// A connection to a proxy, and through it unless it is handed the requests. The limit of connecting is around
    /// all of it.
    async fn through(
        &self,
        server: &Server,
        origin: &Origin,
        pool: &Pool,
        config: &Config,
        trace: &mut Trace,
        spent: &Spent,
    ) -> Result<(Pipe, Option<Arc<Forward>>), Failure> {
        trace.attempt().phase = Phase::Resolve;
        let resolving = async {
            let addresses = self.resolver.resolve(&server.host, server.port).await?;
            Ok((addresses, self.target(server, origin, config).await?))
        };
        let (addresses, target) =
            within_rest(config, Phase::Resolve, spent.of(Phase::Resolve), resolving).await?;
        trace.attempt().resolve = trace.lap();

        trace.attempt().phase = Phase::Connect;
        let place = place("the proxy ", &server.host, server.port);
        let tried = Tried::default();
        let opening = async {
            let tcp = tcp::connect(&addresses, &place, pool, &tried).await?;
            let mut pipe = self.to_proxy(server, tcp).await?;
            let asked = match &server.speech {
                // HTTP/2 in the clear is not for such proxies to understand.
                Speech::Http(forward)
                    if origin.scheme == Scheme::Http && config.http != Protocol::Http2 =>
                {
                    return Ok((pipe, Some(forward.clone())));
                }
                Speech::Http(forward) => {
                    proxy::tunnel(&mut pipe, forward, origin, &config.user_agent).await
                }
                Speech::Socks { socks, .. } => match socks {
                    Socks::Five(credentials) => {
                        let asked = proxy::ask_socks(&mut pipe, credentials, target).await;
                        asked.map_err(Into::into)
                    }
                    Socks::Four(user) => {
                        let asked = proxy::ask_socks4(&mut pipe, user, target).await;
                        asked.map_err(Into::into)
                    }
                },
            };
            asked
                .map(|()| (pipe, None))
                .map_err(|refused: proxy::Refused| {
                    let (Origin { host, port, .. }, why) = (origin, refused.why);
                    let detail = format!("{place} does not connect to {host} port {port}: {why}");
                    let failure = Failure::new(Kind::Connect, Phase::Connect, detail);
                    match refused.for_good {
                        true => failure.for_good(),
                        false => failure,
                    }
                })
        };
        let opening = Box::pin(opening);
        let opened = within_rest(config, Phase::Connect, spent.of(Phase::Connect), opening).await;
        let opened = opened.map_err(|failure| tried.name_in(failure))?;
        trace.lap_connect();
        Ok(opened)
    }

    /// What a proxy is spoken to on.
    async fn to_proxy(&self, server: &Server, tcp: Noted<TcpStream>) -> Result<Pipe, Failure> {
        let pipe = Pipe::Tcp(tcp);
        if !server.secure {
            return Ok(pipe);
        }
        let shaking = self
            .tls
            .handshake_with_proxy(&server.host, Socket::new(pipe));
        Ok(Pipe::Tls(Box::new(shaking.await?)))
    }

    /// What a SOCKS proxy is asked for: the name, or the address that it has here; IPv4 if there is one,
    /// which more of them can reach.
    async fn target<'a>(
        &self,
        server: &Server,
        origin: &'a Origin,
        config: &Config,
    ) -> Result<Target<'a>, Failure> {
        // What is known here without asking is judged here, even if the proxy is told the name.
        if let Some(known) = self.resolver.known(&origin.host, origin.port) {
            allowed(known, origin, config)?;
        }
        match server.speech {
            Speech::Socks { names: false, .. } => {
                let addresses = self.resolver.resolve(&origin.host, origin.port).await?;
                let addresses = allowed(addresses, origin, config)?;
                let four = addresses.iter().find(|address| address.is_ipv4());
                Ok(Target::Address(*four.unwrap_or(&addresses[0])))
            }
            _ => Ok(match origin.host.parse::<IpAddr>() {
                Ok(address) => Target::Address(SocketAddr::new(address, origin.port)),
                Err(_) => Target::Name(&origin.host, origin.port),
            }),
        }
    }
}

/// Those of an origin's addresses that may be connected to, at least one.
fn allowed(
    mut addresses: Vec<SocketAddr>,
    origin: &Origin,
    config: &Config,
) -> Result<Vec<SocketAddr>, Failure> {
    let rule = &config.allow_address;
    if *rule == AllowAddress::Any {
        return Ok(addresses);
    }
    let first = addresses[0].ip();
    addresses.retain(|address| rule.allows(address.ip()));
    if !addresses.is_empty() {
        return Ok(addresses);
    }
    let Origin { host, port, .. } = origin;
    let detail = format!("can not connect to {host} port {port}: allow_address forbids {first}");
    Err(Failure::new(Kind::Connect, Phase::Connect, detail).for_good())
}

fn place<'a>(what: &'static str, host: &'a str, port: u16) -> Place<'a> {
    Place { what, host, port }
}

async fn open_unix(
    path: &Path,
    pool: &Pool,
    config: &Config,
    trace: &mut Trace,
    spent: &Spent,
) -> Result<Noted<UnixStream>, Failure> {
    trace.attempt().phase = Phase::Connect;
    let opening = async {
        let opened = open(|| UnixStream::connect(path), pool).await;
        opened.map_err(|error| {
            let detail = format!("can not connect to the Unix socket {path:?}: {error}");
            Failure::new(Kind::Connect, Phase::Connect, detail)
        })
    };
    let stream = within_rest(config, Phase::Connect, spent.of(Phase::Connect), opening).await?;
    trace.lap_connect();
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::{Reactor, h2::Sessions};

    #[test]
    fn resolving_ends_within_50_ms_of_its_limit() {
        const LIMIT: Duration = Duration::from_millis(200);
        let mut config = Config::new(Duration::from_secs(10));
        config.proxy = Proxy::Off;
        config.resolve_timeout = Some(LIMIT);
        let mut connector = Connector::new(&config).unwrap();
        connector.resolver = Resolver::asking(|_| {
            std::thread::sleep(Duration::from_secs(1));
            Ok(Vec::new())
        });
        let origin = Origin {
            scheme: Scheme::Http,
            host: "slow.example".into(),
            port: 80,
        };
        let pool = Pool::new(&config, Sessions::new(&config));
        let reactor = Reactor::new().unwrap();
        // Others use the machine too, and may keep the thread from its turn: that is not so each time.
        let in_time = (0..10).any(|_| {
            let mut trace = Trace::new(Instant::now());
            trace.begin();
            let spent = Spent::default();
            let opening =
                connector.connect(&origin, &pool, &config, &mut trace, Offer::Http1, &spent);
            let begun = Instant::now();
            let failure = reactor.block_on(opening).err().expect("too late");
            let took = begun.elapsed();
            assert_eq!(
                (failure.kind, failure.phase),
                (Kind::Timeout, Phase::Resolve)
            );
            assert_eq!(trace.attempt().phase, Phase::Resolve);
            assert!(took >= LIMIT, "early: {took:?}");
            took < LIMIT + Duration::from_millis(50)
        });
        assert!(in_time);
    }
}
