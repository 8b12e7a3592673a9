//! Opens connections: name to addresses, addresses to a socket, perhaps through a proxy, and TLS on it.
//!
//! In the order of a connection: `resolve` (name → addresses) → `config/allowed.rs` (may they be connected to?) →
//! `happy_eyeballs`, `tcp` (the first that responds) → `proxy` → `tls`. `pipe` is a socket of any kind, `wire` that or
//! TLS over it. Decisions:
//!
//! - `allow_address` decides about resolved addresses, right before connecting to exactly those, so a name that changes
//!   its address gains nothing. It is data and not a callable, because the engine runs without Ruby's lock. A name that
//!   a proxy resolves cannot be checked here; addresses that are known without a lookup (an address, `localhost`,
//!   `resolve`) can.
//! - A stream is an enum and not a trait object, so that plain TCP pays a comparison. A proxy's TLS is one more kind of
//!   socket (`Pipe`), so TLS in TLS needs no code of its own.
//! - One `connect_timeout` covers all addresses of a name.
//! - Each phase is boxed (`Dial::within`), and so are the connections to several addresses. When hundreds of
//!   connections are opened at once, their memory is most of what a client needs. Unboxed, opening one took 4.6 kB.

mod dns_cache;
mod farewell;
mod happy_eyeballs;
pub(crate) mod pipe;
pub(crate) mod proxy;
#[cfg(feature = "http3")]
pub(crate) mod quic;
mod resolve;
mod tcp;
pub(crate) mod tls;
pub(crate) mod wire;

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use tokio::net::{TcpStream, UnixStream};

use self::pipe::Pipe;
use self::proxy::{Forward, Proxies, ProxyProtocol, Server, Target};
use self::resolve::Resolver;
pub(crate) use self::tcp::CloseIdle;
use self::tcp::{Destination, Tried, open};
use self::tls::{Offer, Tls};
use self::wire::{Socket, Wire};
use crate::config::Config;
use crate::config::allowed::AllowAddress;
use crate::message::attempt::Trace;
use crate::message::connection_facts::{ConnectionFacts, Endpoint};
use crate::message::elapsed::Elapsed;
use crate::message::failure::{Failure, InvalidRequest, Kind, Phase};
use crate::message::origin::{Origin, Scheme};
use crate::message::reason::Reason;
use crate::message::zone;
use crate::runtime::descriptors::Noted;
#[cfg(feature = "http3")]
use crate::runtime::timer::within;
use crate::runtime::timer::within_rest;

/// Opens connections as the settings say.
pub(crate) struct Connector {
    proxies: Proxies,
    resolver: Resolver,
    tls: Tls,
}

/// One connection to be opened.
pub(crate) struct Dial<'a> {
    pub origin: &'a Origin,
    pub config: &'a Config,
    /// How much of each phase has passed already, which counts against its limit.
    pub elapsed: &'a Elapsed,
    /// The trace, which records the phases.
    pub trace: &'a mut Trace,
    /// Closes idle connections when descriptors have run out; whether there were any.
    pub close_idle: CloseIdle<'a>,
}

impl Dial<'_> {
    /// Runs one phase within the rest of its limit. Its future is boxed, because no connection needs the memory of
    /// all phases at once.
    fn within<T>(
        &self,
        phase: Phase,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> impl Future<Output = Result<T, Failure>> {
        within_rest(self.config, phase, self.elapsed.of(phase), Box::pin(work))
    }
}

/// An opened connection.
pub(crate) struct Opened {
    pub pipe: Pipe,
    /// The headers for an HTTP proxy that forwards the requests, if there is one.
    pub forward: Option<Arc<Forward>>,
}

impl From<Pipe> for Opened {
    fn from(pipe: Pipe) -> Opened {
        let forward = None;
        Opened { pipe, forward }
    }
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

    /// A socket to the origin, and the headers for an HTTP proxy that forwards the requests.
    pub async fn open(&self, dial: &mut Dial<'_>) -> Result<Opened, Failure> {
        if let Some(path) = &dial.config.unix_socket {
            let unix = open_unix(path, dial).await?;
            return Ok(Pipe::Unix(unix).into());
        }
        let origin = self.resolver.unless_reached(&dial.origin.host);
        let opened = match self.proxies.of(dial.origin) {
            Some(server) => self.through(server, dial).await?,
            None => Pipe::Tcp(self.straight(dial).await?).into(),
        };
        origin.reached();
        Ok(opened)
    }

    /// The socket itself, or TLS over it.
    pub async fn secure(
        &self,
        pipe: Pipe,
        offer: Offer,
        dial: &mut Dial<'_>,
    ) -> Result<Wire, Failure> {
        let socket = Socket::new(pipe);
        match dial.origin.scheme {
            Scheme::Http => Ok(Wire::Plain(socket)),
            Scheme::Https => {
                dial.trace.attempt().phase = Phase::Tls;
                let origin = self.resolver.unless_reached(&dial.origin.host);
                let shaking = self
                    .tls
                    .handshake(zone::without(&dial.origin.host), socket, offer);
                let tls = dial.within(Phase::Tls, shaking).await?;
                origin.reached();
                let time = dial.trace.lap();
                let attempt = dial.trace.attempt();
                attempt.tls_time = time;
                // No other owner has the facts yet, so nothing is copied.
                Arc::make_mut(attempt.facts.get_or_insert_default()).tls =
                    Some(self.tls.facts(&tls));
                Ok(Wire::Tls(Box::new(tls)))
            }
        }
    }

    /// A QUIC connection to this port of the origin's host, with TLS in it. The limit of connecting covers both.
    #[cfg(feature = "http3")]
    pub async fn open_quic(&self, dial: &mut Dial<'_>, port: u16) -> Result<quic::Quic, Failure> {
        let (origin, config) = (dial.origin, dial.config);
        if let Some(why) = self.unfit_for_quic(dial) {
            let detail = format!("HTTP/3 cannot be used to {}: {why}", origin.host);
            return Err(Failure::new(Kind::Connect, Phase::Connect, detail).for_good());
        }
        let host = self.resolver.unless_reached(&origin.host);
        let addresses = self.addresses(dial, port).await?;
        let tls = self.tls.quic(&origin.host).await?;
        let (destination, tried) = (
            destination("", &origin.host, port, config),
            Tried::default(),
        );
        let opening = quic::connect(
            &addresses,
            &destination,
            tls,
            config,
            dial.close_idle,
            &tried,
        );
        // A limit of the handshake that is shorter ends it, too.
        let opening = within(config, Phase::Tls, Box::pin(opening));
        let opened = dial.within(Phase::Connect, opening).await;
        if let Err(failure) = &opened {
            dial.trace.attempt().phase = failure.phase;
        }
        let opened = noted(opened, tried, dial)?;
        host.reached();
        let facts = self.tls.quic_facts(&opened.connection);
        let attempt = dial.trace.attempt();
        Arc::make_mut(attempt.facts.get_or_insert_default()).tls = Some(facts);
        Ok(opened)
    }

    /// Why requests to the origin cannot go over QUIC.
    #[cfg(feature = "http3")]
    fn unfit_for_quic(&self, dial: &Dial<'_>) -> Option<&'static str> {
        if dial.origin.scheme == Scheme::Http {
            return Some("the URL must be https, because HTTP/3 has no form without TLS");
        }
        if dial.config.unix_socket.is_some() {
            return Some("its requests go through a Unix socket");
        }
        let why = "its requests go through a proxy; set `proxy` to false, or name it in `no_proxy`";
        self.proxies.of(dial.origin).map(|_| why)
    }

    /// A TCP connection to the origin itself.
    async fn straight(&self, dial: &mut Dial<'_>) -> Result<Noted<TcpStream>, Failure> {
        let origin = dial.origin;
        let addresses = self.addresses(dial, origin.port).await?;
        let (destination, tried) = (
            destination("", &origin.host, origin.port, dial.config),
            Tried::default(),
        );
        let opening = tcp::connect(&addresses, &destination, dial.close_idle, &tried);
        let opened = dial.within(Phase::Connect, opening).await;
        noted(opened, tried, dial)
    }

    /// The addresses of the origin that may be connected to.
    async fn addresses(&self, dial: &mut Dial<'_>, port: u16) -> Result<Vec<SocketAddr>, Failure> {
        let origin = dial.origin;
        dial.trace.attempt().phase = Phase::Resolve;
        let resolving = self.resolver.resolve(&origin.host, port);
        let addresses = dial.within(Phase::Resolve, resolving).await?;
        dial.trace.attempt().resolve_time = dial.trace.lap();

        dial.trace.attempt().phase = Phase::Connect;
        allowed(addresses, origin, dial.config)
    }

    /// A connection to a proxy, and a tunnel through it unless the proxy forwards requests. The limit of connecting
    /// covers both.
    async fn through(&self, server: &Server, dial: &mut Dial<'_>) -> Result<Opened, Failure> {
        let (origin, config) = (dial.origin, dial.config);
        dial.trace.attempt().phase = Phase::Resolve;
        let proxy = self.resolver.unless_reached(&server.host);
        let resolving = async {
            let addresses = self.resolver.resolve(&server.host, server.port).await;
            let addresses = addresses.map_err(|of| of.for_reason(Reason::ProxyUnresolved))?;
            Ok((addresses, self.target(server, origin, config).await?))
        };
        let (addresses, target) = dial.within(Phase::Resolve, resolving).await?;
        dial.trace.attempt().resolve_time = dial.trace.lap();

        dial.trace.attempt().phase = Phase::Connect;
        let destination = destination("the proxy ", &server.host, server.port, config);
        let tried = Tried::default();
        let opening = async {
            let tcp = tcp::connect(&addresses, &destination, dial.close_idle, &tried).await?;
            let mut pipe = self.to_proxy(server, tcp).await?;
            let forward = server.handed_whole(origin, config);
            if forward.is_none() {
                let connected = server.negotiate(&mut pipe, origin, target, config).await;
                connected.map_err(|refused| refused.into_failure(&destination, origin))?;
            }
            Ok(Opened { pipe, forward })
        };
        let opened = dial.within(Phase::Connect, opening).await;
        let opened = noted(opened, tried, dial)?;
        proxy.reached();
        Ok(opened)
    }

    /// The socket to a proxy, or TLS over it.
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

    /// The target of a SOCKS proxy: the name, or its address here. IPv4 goes first, because more proxies can reach it.
    async fn target<'a>(
        &self,
        server: &Server,
        origin: &'a Origin,
        config: &Config,
    ) -> Result<Target<'a>, Failure> {
        // Known addresses are checked here, even if the proxy gets the name.
        if let Some(known) = self.resolver.known(&origin.host, origin.port) {
            allowed(known, origin, config)?;
        }
        match server.protocol {
            ProxyProtocol::Socks { names: false, .. } => {
                let addresses = self.resolver.resolve(&origin.host, origin.port).await?;
                let addresses = allowed(addresses, origin, config)?;
                let four = addresses.iter().find(|address| address.is_ipv4());
                Ok(Target::Address(*four.unwrap_or(&addresses[0])))
            }
            _ => Ok(match zone::without(&origin.host).parse::<IpAddr>() {
                Ok(address) => Target::Address(SocketAddr::new(address, origin.port)),
                Err(_) => Target::Name(&origin.host, origin.port),
            }),
        }
    }
}

/// The result of connecting, with the ends of the connection in the trace.
fn noted<T>(opened: Result<T, Failure>, tried: Tried, dial: &mut Dial<'_>) -> Result<T, Failure> {
    let opened = opened.map_err(|failure| tried.name_in(failure));
    // The facts are set even if a proxy refused to connect further.
    dial.trace.attempt().facts = tried.into_ends().map(Arc::new);
    let opened = opened?;
    dial.trace.lap_connect();
    Ok(opened)
}

/// The addresses of an origin that may be connected to, at least one.
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
    let detail = format!("cannot connect to {host} port {port}: allow_address forbids {first}");
    let failure = Failure::new(Kind::Connect, Phase::Connect, detail);
    Err(failure.for_reason(Reason::AddressForbidden).for_good())
}

fn destination<'a>(
    what: &'static str,
    host: &'a str,
    port: u16,
    config: &'a Config,
) -> Destination<'a> {
    let from = config.local_address.as_ref();
    Destination {
        what,
        host,
        port,
        from,
    }
}

async fn open_unix(path: &Path, dial: &mut Dial<'_>) -> Result<Noted<UnixStream>, Failure> {
    dial.trace.attempt().phase = Phase::Connect;
    let opening = async {
        let opened = open(|| UnixStream::connect(path), dial.close_idle).await;
        opened.map_err(|error| {
            let detail = format!("cannot connect to the Unix socket {path:?}: {error}");
            Failure::new(Kind::Connect, Phase::Connect, detail)
        })
    };
    let stream = dial.within(Phase::Connect, opening).await?;
    dial.trace.lap_connect();
    dial.trace.attempt().facts = Some(Arc::new(ConnectionFacts {
        peer: Some(Endpoint::Unix(path.to_owned())),
        ..ConnectionFacts::default()
    }));
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::sync::atomic::{AtomicU8, Ordering};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::Reactor;
    use crate::config::proxy::Proxy;

    #[test]
    fn resolving_ends_within_50_ms_of_its_limit() {
        const LIMIT: Duration = Duration::from_millis(200);
        let mut config = Config::new(Duration::from_secs(10));
        config.proxy = Proxy::Off;
        config.resolve_timeout = Some(LIMIT);
        let mut connector = Connector::new(&config).unwrap();
        connector.resolver = Resolver::with_lookup(|_| {
            std::thread::sleep(Duration::from_secs(1));
            Ok(Vec::new())
        });
        let origin = Origin {
            scheme: Scheme::Http,
            host: "slow.example".into(),
            port: 80,
        };
        let reactor = Reactor::new().unwrap();
        // Other processes may delay the thread, but not in every try.
        let in_time = (0..50).any(|_| {
            let mut trace = Trace::new(Duration::from_secs(10));
            trace.begin();
            let mut dial = Dial {
                origin: &origin,
                config: &config,
                elapsed: &Elapsed::default(),
                trace: &mut trace,
                close_idle: &|| false,
            };
            let begun = Instant::now();
            let opening = connector.open(&mut dial);
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

    /// The last byte of the address that `moving.example` has.
    static MOVING: AtomicU8 = AtomicU8::new(0);

    /// Listeners on one port of two addresses, 127.0.0.2 and 127.0.0.3, which accept connections and say nothing.
    fn two_places() -> (u16, [TcpListener; 2]) {
        loop {
            let first = TcpListener::bind("127.0.0.2:0").unwrap();
            let port = first.local_addr().unwrap().port();
            if let Ok(second) = TcpListener::bind(("127.0.0.3", port)) {
                return (port, [first, second]);
            }
        }
    }

    /// Opens a connection to `moving.example`, and returns the address. With TLS, for which the server says nothing, it is
    /// given up.
    async fn reached(connector: &Connector, config: &Config, scheme: Scheme, port: u16) -> u8 {
        let origin = Origin {
            scheme,
            host: "moving.example".into(),
            port,
        };
        let mut trace = Trace::new(Duration::from_secs(10));
        trace.begin();
        let mut dial = Dial {
            origin: &origin,
            config,
            elapsed: &Elapsed::default(),
            trace: &mut trace,
            close_idle: &|| false,
        };
        let opening = async {
            let opened = connector.open(&mut dial).await.ok().unwrap();
            let _ = connector.secure(opened.pipe, Offer::Http1, &mut dial).await;
        };
        // More than it takes to connect.
        let _ = tokio::time::timeout(Duration::from_secs(2), opening).await;
        let facts = trace.attempt().facts.as_ref().unwrap();
        match &facts.peer {
            Some(Endpoint::Ip(address)) => match address.ip() {
                IpAddr::V4(address) => address.octets()[3],
                IpAddr::V6(_) => panic!("{address}"),
            },
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_name_that_moves_is_followed_by_the_next_connection_or_when_the_cached_address_fails() {
        let (port, _listeners) = two_places();
        let mut config = Config::new(Duration::from_secs(10));
        config.proxy = Proxy::Off;
        let mut connector = Connector::new(&config).unwrap();
        let lookup = |_: &str| {
            let last = MOVING.load(Ordering::SeqCst);
            Ok(vec![Ipv4Addr::new(127, 0, 0, last).into()])
        };
        let reactor = Reactor::new().unwrap();
        let to = |connector: &Connector, place: u8, scheme: Scheme| {
            MOVING.store(place, Ordering::SeqCst);
            reactor.block_on(reached(connector, &config, scheme, port))
        };
        connector.resolver = Resolver::with_lookup(lookup);
        assert_eq!(
            [2, 3, 2].map(|place| to(&connector, place, Scheme::Http)),
            [2, 3, 2]
        );
        connector.resolver = Resolver::with_cache(Duration::from_secs(3600), lookup);
        assert_eq!(to(&connector, 2, Scheme::Http), 2);
        assert_eq!(to(&connector, 3, Scheme::Http), 2, "the address is cached");
        // The server at the old address does not respond to the handshake, and the request gives up.
        assert_eq!(to(&connector, 3, Scheme::Https), 2);
        assert_eq!(to(&connector, 3, Scheme::Http), 3);
    }
}
