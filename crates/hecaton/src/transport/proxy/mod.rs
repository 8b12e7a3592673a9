//! Proxies: which one a connection goes through, and how the client requests a connection of it.
//!
//! Pure functions from bytes to decisions, property-tested, and short exchanges around them. Decisions:
//!
//! - A client chooses the proxy of each origin when it is made (from its settings, or from the environment as curl
//!   reads it), so the pool's key is only the origin.
//! - An HTTP proxy forwards `http` requests. Its credentials belong to the connection, not to the request, so they
//!   cannot reach an origin. Everything else (`https`, HTTP/2 without TLS) goes through a tunnel, and the proxy sees
//!   only host and port.
//! - A refused tunnel is a `ConnectError`, because nothing was sent. A refused `http` request is the proxy's own
//!   response, such as 407.
//! - As in curl, requests to loopback addresses use the proxy too, unless `no_proxy` names them.
//! - The client's pins and its certificate are for servers, not for proxies, which have names and keys of their own.
//! - A `Proxy-Authorization` header of a program goes to a proxy that forwards the request. Tunnels are shared between
//!   requests, so a tunnel uses only the credentials of the proxy's URL.

mod environment;
mod exceptions;
mod http;
mod refused;
mod server;
mod socks;
mod socks4;

use std::sync::Arc;

pub(crate) use self::http::Forward;
pub(super) use self::server::{ProxyProtocol, Server};
pub(super) use self::socks::Target;

#[cfg(any(fuzzing, test))]
pub(crate) mod fuzzing {
    pub(crate) use super::http::tunnel;
    pub(crate) use super::socks::{Target, negotiate as negotiate_socks};
}

use self::exceptions::Exceptions;
use crate::config::Config;
use crate::config::proxy::Proxy;
use crate::message::failure::InvalidRequest;
use crate::message::origin::{Origin, Scheme};

/// The proxies of a client.
#[derive(Debug, Default)]
pub(super) struct Proxies {
    http: Option<Arc<Server>>,
    https: Option<Arc<Server>>,
    exceptions: Exceptions,
}

impl Proxies {
    pub fn new(config: &Config) -> Result<Proxies, InvalidRequest> {
        let given = config.no_proxy.as_ref().map(|list| list.join(","));
        match &config.proxy {
            Proxy::Url(_) if config.unix_socket.is_some() => {
                let why = "unix_socket and proxy exclude each other: give one";
                Err(InvalidRequest(why.into()))
            }
            Proxy::Url(url) => {
                let server = Server::parse(url)
                    .map(Arc::new)
                    .map_err(|why| InvalidRequest(format!("proxy: {why}")))?;
                Ok(Proxies {
                    http: Some(server.clone()),
                    https: Some(server),
                    exceptions: Exceptions::parse(&given.unwrap_or_default()),
                })
            }
            Proxy::Environment if config.unix_socket.is_none() => {
                let get = |name: &str| Some(std::env::var_os(name)?.to_string_lossy().into_owned());
                environment::read(get, given)
            }
            Proxy::Environment | Proxy::Off => Ok(Proxies::default()),
        }
    }

    /// The proxy on the way to `origin`.
    pub fn of(&self, origin: &Origin) -> Option<&Arc<Server>> {
        let server = match origin.scheme {
            Scheme::Http => self.http.as_ref(),
            Scheme::Https => self.https.as_ref(),
        };
        server.filter(|_| !self.exceptions.include(&origin.host, origin.port))
    }
}
