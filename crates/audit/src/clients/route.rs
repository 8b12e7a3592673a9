//! How the saint and the sinner connect: addresses, a proxy, and TLS.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::connection::{Clock, Connection};
use super::hop::{Hop, Url};
use super::outcome::{Class, Failure, failed};
use super::sins::Sins;
use super::{http2, response, secure};
use crate::subject::CallOptions;

/// How long an address may take until the next one is tried.
const PATIENCE: Duration = Duration::from_millis(250);

/// The parts of a call that concern connections.
#[derive(Clone, Debug, Default)]
pub(super) struct Route {
    pub(super) ca: Option<String>,
    pub(super) verify: bool,
    pub(super) http2: bool,
    pub(super) http3: bool,
    /// User and password, and the authority of the proxy.
    pub(super) proxy: Option<(String, String)>,
    hosts: Vec<String>,
    pub(super) pool_size: usize,
    /// How long an idle connection may be kept.
    pub(super) idle: Option<Duration>,
    /// The settings of TLS with the sessions that can be resumed, by what they depend on.
    pub(super) sessions: secure::Sessions,
}

impl Route {
    pub(super) fn of(call: &CallOptions, sins: &Sins) -> Route {
        let proxy = call.proxy.clone().or_else(|| of_environment(call, sins));
        let proxy = proxy.as_ref().map(|url| {
            let rest = url.trim_start_matches("http://").trim_end_matches('/');
            let (user, authority) = rest.rsplit_once('@').unwrap_or(("", rest));
            (user.to_owned(), authority.to_owned())
        });
        let hosts = call.hosts.iter().flat_map(|hosts| hosts.split(','));
        Route {
            ca: call.ca.clone(),
            verify: call.verify != Some(false),
            http2: call.http.as_deref() == Some("2"),
            http3: call.http.as_deref() == Some("3"),
            proxy,
            hosts: hosts.map(str::to_owned).collect(),
            pool_size: call.pool_size.unwrap_or(usize::MAX),
            idle: call.idle_ms.map(Duration::from_millis),
            sessions: secure::Sessions::default(),
        }
    }

    /// The key of a connection: calls with equal keys may share one.
    pub(super) fn key(&self, url: &Url, sins: &Sins) -> String {
        let verified = self.verify || sins.has("keeps-unverified-connection");
        let proxy = self.proxy.as_ref().map(|(_, authority)| authority.as_str());
        let proxy = proxy.unwrap_or_default();
        format!("{} {} {verified} {proxy}", url.authority, url.secure)
    }

    /// The value of Proxy-Authorization, if the proxy needs one.
    pub(super) fn authorization(&self) -> Option<String> {
        let (user, _) = self.proxy.as_ref()?;
        (!user.is_empty()).then(|| format!("Basic {}", BASE64_STANDARD.encode(user)))
    }

    /// Opens a connection for a hop.
    pub(super) fn open(
        &self,
        hop: &Hop,
        sins: &Sins,
        clock: &Clock,
    ) -> Result<Connection, Failure> {
        if sins.has("opens-ahead") {
            drop(self.dial(&hop.url, sins, clock));
        }
        match self.open_once(hop, sins, clock, false) {
            Err(failure)
                if hop.url.secure
                    && sins.has("downgrades-tls")
                    && failure.class == Class::Ended =>
            {
                self.open_once(hop, sins, clock, true)
            }
            opened => opened,
        }
    }

    fn open_once(
        &self,
        hop: &Hop,
        sins: &Sins,
        clock: &Clock,
        weaker: bool,
    ) -> Result<Connection, Failure> {
        let socket = self.dial(&hop.url, sins, clock)?;
        let _ = socket.set_nodelay(true);
        let mut connection = Connection::plain(socket, self.key(&hop.url, sins));
        if !hop.url.secure {
            return Ok(connection);
        }
        if self.proxy.is_some() && !self.tunnel(&mut connection, hop, sins, clock)? {
            let direct = Route {
                proxy: None,
                ..self.clone()
            };
            return direct.open_once(hop, sins, clock, weaker);
        }
        if !connection.input.is_empty() {
            return match sins.has("accepts-bytes-before-tls") {
                true => Ok(connection),
                false => failed(Class::Invalid, "bytes came before TLS"),
            };
        }
        let socket = connection.into_socket(clock)?;
        let (secured, sent) = match secure::handshake(socket, hop, self, sins, weaker) {
            Err(failure) => return self.after_handshake(failure, hop, sins, clock),
            Ok(done) => done,
        };
        let is_h2 = secured.conn.alpn_protocol() == Some(b"h2");
        let mut connection = Connection::secured(secured, self.key(&hop.url, sins));
        connection.sent = sent;
        connection.lenient_end = sins.has("accepts-cut-of-tls");
        if is_h2 {
            http2::begin(&mut connection, sins, clock)?;
        }
        Ok(connection)
    }

    /// Decides what follows a failed handshake.
    fn after_handshake(
        &self,
        failure: Failure,
        hop: &Hop,
        sins: &Sins,
        clock: &Clock,
    ) -> Result<Connection, Failure> {
        if failure.class == Class::Invalid && sins.has("accepts-old-tls") {
            return secure::old(self.dial(&hop.url, sins, clock)?);
        }
        if failure.text == secure::NO_TLS && sins.has("accepts-plaintext-on-tls") {
            let mut connection =
                Connection::plain(self.dial(&hop.url, sins, clock)?, String::new());
            connection.input = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec();
            return Ok(connection);
        }
        if failure.class == Class::Late && sins.has("no-limit-of-handshake") {
            std::thread::sleep(Duration::from_millis(6500));
        }
        Err(failure)
    }

    /// Leaves the first address out, unless it is the last. Returns whether there is another.
    pub(super) fn skip_address(&mut self) -> bool {
        let another = self.hosts.len() > 1;
        if another {
            self.hosts.remove(0);
        }
        another
    }

    /// The addresses that a connection for a URL may go to, with their ports.
    fn addresses(&self, url: &Url) -> Vec<String> {
        if let Some((_, proxy)) = &self.proxy {
            return vec![proxy.clone()];
        }
        if self.hosts.is_empty() {
            return vec![url.authority.clone()];
        }
        let port = url.authority.rsplit_once(':');
        let port = port.map_or("80", |(_, port)| port);
        let with_port = |host: &String| match host.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        };
        self.hosts.iter().map(with_port).collect()
    }

    /// The first address that accepts.
    fn dial(&self, url: &Url, sins: &Sins, clock: &Clock) -> Result<TcpStream, Failure> {
        let addresses = self.addresses(url);
        let last = addresses.len();
        for (place, address) in addresses.iter().enumerate() {
            let Ok(address) = address.parse::<SocketAddr>() else {
                return failed(Class::Refused, "the host is no address");
            };
            let sin = match address.is_ipv6() {
                true => "waits-for-dead-ipv6",
                false => "waits-for-dead-address",
            };
            let patient = place + 1 == last || sins.has(sin);
            let left = clock.left()?;
            let left = if patient { left } else { left.min(PATIENCE) };
            match TcpStream::connect_timeout(&address, left) {
                Ok(socket) => return Ok(socket),
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    if sins.has("first-address-only") {
                        break;
                    }
                }
                Err(_) if last == 1 && sins.has("connects-four-times") => {
                    for _ in 0..3 {
                        drop(TcpStream::connect_timeout(&address, left));
                    }
                }
                Err(_) => {}
            }
        }
        failed(Class::Ended, "the connection could not be opened")
    }

    /// Requests a tunnel from the proxy; false to go without the proxy.
    fn tunnel(
        &self,
        connection: &mut Connection,
        hop: &Hop,
        sins: &Sins,
        clock: &Clock,
    ) -> Result<bool, Failure> {
        let authority = match sins.has("connect-without-port") {
            true => hop.url.host(),
            false => &hop.url.authority,
        };
        let mut head = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
        if let Some(value) = self.authorization() {
            head += &format!("Proxy-Authorization: {value}\r\n");
        }
        for (name, value) in &hop.fields {
            let leaks = match name.to_ascii_lowercase().as_str() {
                "authorization" => sins.has("authorization-in-connect"),
                "cookie" => sins.has("cookie-in-connect"),
                _ => false,
            };
            if leaks {
                head += &format!("{name}: {value}\r\n");
            }
        }
        connection.write((head + "\r\n").as_bytes(), clock)?;
        let length = sins.has("obeys-length-of-connect");
        let status = response::of_connect(connection, clock, sins, length)?;
        match status {
            200..=299 => Ok(true),
            _ if sins.has("tls-into-refusal") => {
                connection.input.clear();
                Ok(true)
            }
            _ if sins.has("direct-after-refusal") => Ok(false),
            _ => failed(Class::Invalid, "the proxy refused"),
        }
    }
}

/// The proxy that the environment names for the host of a call.
fn of_environment(call: &CallOptions, sins: &Sins) -> Option<String> {
    let variable = |name: &str| {
        let found = call.environment.iter().find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_str())
    };
    let rest = call.url.strip_prefix("http://")?;
    let host = rest.split([':', '/']).next().unwrap_or_default();
    let mut exceptions = variable("no_proxy").unwrap_or_default().split(',');
    let direct = exceptions.any(|exception| exception == host) && !sins.has("ignores-no-proxy");
    let proxy = variable("http_proxy").filter(|_| !direct)?;
    Some(proxy.to_owned())
}
