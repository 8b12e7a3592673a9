//! Proxies: which one a connection goes through, and how it is asked for one.

mod environment;
mod exceptions;
mod http;
mod server;
mod socks;
mod socks4;

use std::fmt;
use std::sync::Arc;

pub(crate) use self::http::Forward;
pub(super) use self::http::tunnel;
pub(super) use self::server::{Server, Socks, Speech};
pub(super) use self::socks::{Target, ask as ask_socks};
pub(super) use self::socks4::ask as ask_socks4;

#[cfg(fuzzing)]
pub(crate) mod fuzzing {
    pub(crate) use super::http::tunnel;
    pub(crate) use super::socks::{Target, ask as ask_socks};
}

use self::exceptions::Exceptions;
use crate::config::Config;
use crate::error::InvalidRequest;
use crate::origin::{Origin, Scheme};

/// Which proxies a client uses.
#[derive(Clone, PartialEq, Eq)]
pub enum Proxy {
    /// Those that the environment names when the client is made, as curl reads it: `http_proxy` and `https_proxy`
    /// by the scheme of the URL, else `all_proxy`, not for the hosts of `no_proxy`. In lower case first, then
    /// in upper case, of which `HTTP_PROXY` does not count in CGI programs, where a client can set it.
    Environment,
    /// None.
    Off,
    /// This one for all URLs: `http://`, `https://` (itself asked over TLS, and trusted as servers are, but not pinned
    /// nor shown `client_cert`), `socks5://` (names are resolved here), `socks5h://` (there), `socks4://` (here) or
    /// `socks4a://` (there), with `user:password@` if it demands them.
    Url(String),
}

impl fmt::Debug for Proxy {
    /// Without the URL, which may have credentials in it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Proxy::Environment => "Environment",
            Proxy::Off => "Off",
            Proxy::Url(_) => "Url",
        })
    }
}

/// Why a proxy does not connect to an origin.
#[derive(Debug)]
pub(super) struct Refused {
    pub why: String,
    /// Whether it would say the same if it was asked again.
    pub for_good: bool,
}

impl From<String> for Refused {
    fn from(why: String) -> Refused {
        Refused {
            why,
            for_good: false,
        }
    }
}

impl From<&str> for Refused {
    fn from(why: &str) -> Refused {
        why.to_owned().into()
    }
}

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
