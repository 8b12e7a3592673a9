//! One proxy: its URL, and how the client requests a connection of it.

use std::fmt;
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use tokio::io::{AsyncRead, AsyncWrite};
use url::Url;

use super::http::{Forward, tunnel};
use super::refused::Refused;
use super::socks::{self, Target};
use super::socks4;
use crate::config::{Config, Protocol};
use crate::message::origin::{Origin, Scheme};

/// The port of SOCKS when the URL names none (RFC 1928 §3).
const SOCKS_PORT: u16 = 1080;

/// A proxy.
pub(crate) struct Server {
    pub protocol: ProxyProtocol,
    /// Whether it uses TLS.
    pub secure: bool,
    /// An IPv6 address without brackets.
    pub host: String,
    pub port: u16,
}

/// The protocol to a proxy.
pub(crate) enum ProxyProtocol {
    Http(Arc<Forward>),
    Socks {
        /// Whether the proxy resolves names.
        names: bool,
        socks: Socks,
    },
}

/// The version of SOCKS, and its credentials.
pub(crate) enum Socks {
    /// A user, perhaps empty, without a NUL.
    Four(Vec<u8>),
    /// User and password, each of 1 to 255 bytes.
    Five(Credentials),
}

impl fmt::Debug for Server {
    /// Leaves out the credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Server {
    /// `scheme://user:password@host:port`; without scheme, `http`. A path means nothing, as for curl. The reason never shows the URL, in
    /// which there may be credentials.
    pub fn parse(url: &str) -> Result<Server, String> {
        let whole = match url.contains("://") {
            true => url.to_owned(),
            false => format!("http://{url}"),
        };
        let url = Url::parse(&whole).map_err(|error| format!("it is not a URL: {error}"))?;
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or("its URL has no host")?;
        let default_port = match url.scheme() {
            "http" => 80,
            "https" => 443,
            _ => SOCKS_PORT,
        };
        Ok(Server {
            protocol: protocol(&url)?,
            secure: url.scheme() == "https",
            host: host
                .trim_start_matches('[')
                .trim_end_matches(']')
                .to_ascii_lowercase(),
            port: url.port().unwrap_or(default_port),
        })
    }

    /// The headers for a proxy that forwards requests to this origin; none if a tunnel is requested. Such proxies do
    /// not support HTTP/2 without TLS.
    pub fn handed_whole(&self, origin: &Origin, config: &Config) -> Option<Arc<Forward>> {
        let is_whole = origin.scheme == Scheme::Http && config.http != Protocol::Http2;
        match &self.protocol {
            ProxyProtocol::Http(forward) if is_whole => Some(forward.clone()),
            _ => None,
        }
    }

    /// Requests a connection to the origin, which SOCKS gets as `target`.
    pub async fn negotiate<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: &mut S,
        origin: &Origin,
        target: Target<'_>,
        config: &Config,
    ) -> Result<(), Refused> {
        let connected = match &self.protocol {
            ProxyProtocol::Http(forward) => {
                return tunnel(stream, forward, origin, &config.user_agent).await;
            }
            ProxyProtocol::Socks { socks, .. } => match socks {
                Socks::Five(credentials) => socks::negotiate(stream, credentials, target).await,
                Socks::Four(user) => socks4::negotiate(stream, user, target).await,
            },
        };
        connected.map_err(Refused::from)
    }
}

/// The user and the password of a URL.
type Credentials = Option<(Vec<u8>, Vec<u8>)>;

fn protocol(url: &Url) -> Result<ProxyProtocol, String> {
    let decoded = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
    let given = !url.username().is_empty() || url.password().is_some();
    let credentials = given.then(|| {
        let password = url.password().unwrap_or_default();
        (decoded(url.username()), decoded(password))
    });
    let names = matches!(url.scheme(), "socks5h" | "socks4a");
    let socks = match url.scheme() {
        "http" | "https" => return http(credentials),
        "socks5" | "socks5h" => five(credentials)?,
        "socks4" | "socks4a" => four(credentials)?,
        other => {
            return Err(format!(
                "its URL has the scheme {other:?}: use http, https, socks5, socks5h, socks4 or socks4a"
            ));
        }
    };
    Ok(ProxyProtocol::Socks { names, socks })
}

fn http(credentials: Credentials) -> Result<ProxyProtocol, String> {
    match &credentials {
        Some((user, _)) if user.contains(&b':') => {
            Err("its user name has a colon in it (RFC 7617 §2)".into())
        }
        _ => Ok(ProxyProtocol::Http(Arc::new(Forward::new(credentials)))),
    }
}

fn five(credentials: Credentials) -> Result<Socks, String> {
    let fits = |part: &[u8]| (1..=255).contains(&part.len());
    match &credentials {
        Some((user, password)) if !fits(user) || !fits(password) => {
            Err("its user name and password must be 1 to 255 bytes each (RFC 1929 §2)".into())
        }
        _ => Ok(Socks::Five(credentials)),
    }
}

fn four(credentials: Credentials) -> Result<Socks, String> {
    let (user, password) = credentials.unwrap_or_default();
    match password.is_empty() && !user.contains(&0) && user.len() <= 255 {
        true => Ok(Socks::Four(user)),
        false => Err("SOCKS 4 has a user of at most 255 bytes and no password: use socks5".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        Server::parse(url).unwrap_err()
    }

    #[test]
    fn a_proxys_url_has_its_host_and_its_protocol() {
        let server = Server::parse("http://Proxy.example:3128").unwrap();
        assert_eq!((server.host.as_str(), server.port), ("proxy.example", 3128));
        assert!(matches!(server.protocol, ProxyProtocol::Http(_)));
        let server = Server::parse("proxy:8080").unwrap();
        assert_eq!((server.host.as_str(), server.port), ("proxy", 8080));
        let server = Server::parse("http://proxy:8080/path?query").unwrap();
        assert_eq!((server.host.as_str(), server.port), ("proxy", 8080));
        let server = Server::parse("socks5://[::1]").unwrap();
        assert_eq!((server.host.as_str(), server.port), ("::1", 1080));
        assert!(matches!(
            server.protocol,
            ProxyProtocol::Socks {
                names: false,
                socks: Socks::Five(None)
            }
        ));
        let server = Server::parse("https://proxy.example").unwrap();
        assert!(server.secure && server.port == 443);
        let server = Server::parse("socks4a://me@proxy.example").unwrap();
        assert!(
            matches!(server.protocol, ProxyProtocol::Socks { names: true, socks: Socks::Four(user) } if user == b"me")
        );
        let server = Server::parse("socks5h://us%3aer:p%40ss@host:1").unwrap();
        let ProxyProtocol::Socks {
            names: true,
            socks: Socks::Five(Some((user, password))),
        } = server.protocol
        else {
            panic!("SOCKS with credentials");
        };
        assert_eq!(
            (user.as_slice(), password.as_slice()),
            (&b"us:er"[..], &b"p@ss"[..])
        );
    }

    #[test]
    fn an_invalid_proxy_is_refused_without_a_secret() {
        for (url, word) in [
            ("socks4://u:secret@h", "no password"),
            ("socks4a://%00:@h", "SOCKS 4"),
            ("ftp://u:secret@h", "ftp"),
            ("http://u:secret@", "URL"),
            ("http://u%3a:secret@h", "colon"),
            ("socks5://u:@h", "255"),
            ("http://u:secret@h:99999", "URL"),
        ] {
            let why = refusal(url);
            assert!(why.contains(word), "no {word:?} in: {why}");
            assert!(!why.contains("secret"), "{why}");
        }
        let server = Server::parse("http://u:secret@h:1").unwrap();
        assert_eq!(format!("{server:?}"), "h:1");
    }

    proptest::proptest! {
        #[test]
        fn no_url_panics(url in "\\PC{0,40}|(https?|socks5h?|socks4a?)://[a-z%:@\\[\\]0-9./?]{0,30}") {
            let _ = Server::parse(&url);
        }
    }
}
