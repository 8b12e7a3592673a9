//! TLS: certificates that a client trusts and shows, and the handshake.
//!
//! rustls, with ring, inside the connection's own stream. Each client has one configuration, made at the first
//! handshake: connections share the sessions to resume, and a client of plain HTTP reads no certificates. Decisions:
//!
//! - `ca` replaces the system's authorities instead of adding to them: a program that names an authority
//!   means only that one.
//! - A certificate that is given as `ca`, or is among the system's, is trusted for itself too, byte for byte. That
//!   holds even if it is the certificate of an authority, as with curl and OpenSSL; webpki alone would refuse it. Name,
//!   time and pins are still checked.
//! - P-521 is the `p521` crate's (pure Rust), plugged into ring's provider for signatures of servers and for the
//!   exchange of keys, last in both lists (`docs/decisions/tls-p521.md`).
//! - `verify: false` takes certificates of any version and with any extension, and RSA keys of any length, as OpenSSL
//!   does. That the server has the key is checked nevertheless, as OpenSSL and `curl -k` do (`unverified`).
//! - Pins look at the server's own certificate only. The rest of the chain is what the server chose to send, which need
//!   not be the chain that was verified, so an authority's key in it proves nothing.
//! - In a handshake, errors of writing wait until reading has shown why: a server that refuses the client
//!   says so and hangs up.

mod der;
pub(crate) mod explain;
mod key_usage;
mod p521;
mod public_key;
#[cfg(feature = "http3")]
pub(crate) mod quic;
mod rsa;
mod setup;
mod unverified;
mod verify;

use std::io;
use std::sync::{Arc, Mutex};

use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ProtocolVersion};
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;

use explain::{Received, explain_after};

use crate::config::Config;
use crate::message::connection_facts::TlsFacts;
use crate::message::failure::{Failure, InvalidRequest, Kind, Phase};
use crate::runtime::lock::lock;
use crate::transport::farewell;
use crate::transport::wire::{Socket, TlsStream};
pub(crate) use setup::Offer;
use setup::{Loaded, Setup};

/// The first byte of a TLS record with an alert (RFC 8446 §5.1).
const ALERT: u8 = 21;

/// The TLS side of one client. The settings are checked when it is made. The system's certificates are read at the
/// first handshake, because a client of plain HTTP needs none.
pub(crate) struct Tls {
    setup: Arc<Setup>,
    /// Shared by all connections of the client, and with it the sessions to resume.
    configs: OnceCell<Configs>,
    /// The certificates of the last handshake: connections to one server share one copy.
    last_certificates: Mutex<Arc<[Vec<u8>]>>,
}

/// What connections need, loaded at the first handshake.
struct Configs {
    tcp: Loaded,
    #[cfg(feature = "http3")]
    quic: quic::QuicTls,
}

impl Tls {
    pub fn new(config: &Config) -> Result<Tls, InvalidRequest> {
        Ok(Tls {
            setup: Arc::new(Setup::new(config)?),
            configs: OnceCell::new(),
            last_certificates: Mutex::default(),
        })
    }

    /// Makes a connection to `host` a TLS one.
    pub async fn handshake(
        &self,
        host: &str,
        socket: Socket,
        offer: Offer,
    ) -> Result<TlsStream, Failure> {
        self.shake(host, socket, |tcp| tcp.of(offer)).await
    }

    /// Makes a connection to a proxy a TLS one, as a part of connecting.
    pub async fn handshake_with_proxy(
        &self,
        host: &str,
        socket: Socket,
    ) -> Result<TlsStream, Failure> {
        let shaken = self.shake(host, socket, |tcp| &tcp.proxy).await;
        shaken.map_err(|failure| Failure {
            phase: Phase::Connect,
            detail: format!("the proxy cannot be connected to: {}", failure.detail),
            ..failure
        })
    }

    /// The facts that the handshake agreed on.
    pub fn facts(&self, stream: &TlsStream) -> TlsFacts {
        let session = stream.get_ref().1;
        let version = match session.protocol_version() {
            Some(ProtocolVersion::TLSv1_3) => "1.3",
            _ => "1.2",
        };
        let cipher = session.negotiated_cipher_suite().map(|suite| suite.suite());
        let cipher = cipher.and_then(|suite| suite.as_str()).unwrap_or_default();
        let alpn = session.alpn_protocol();
        TlsFacts {
            version,
            // rustls puts a 13 into the names of TLS 1.3, which IANA's do not have.
            cipher: cipher.replacen("TLS13_", "TLS_", 1),
            alpn: alpn.map(|name| String::from_utf8_lossy(name).into_owned()),
            certificates: self.certificates(session.peer_certificates().unwrap_or_default()),
        }
    }

    /// These certificates, in one copy for successive connections that have them.
    fn certificates(&self, all: &[CertificateDer<'_>]) -> Arc<[Vec<u8>]> {
        let mut last = lock(&self.last_certificates);
        if !last
            .iter()
            .map(Vec::as_slice)
            .eq(all.iter().map(|one| &**one))
        {
            *last = all.iter().map(|one| one.to_vec()).collect();
        }
        last.clone()
    }

    async fn shake(
        &self,
        host: &str,
        socket: Socket,
        choose: impl Fn(&Loaded) -> &Arc<ClientConfig>,
    ) -> Result<TlsStream, Failure> {
        // An IP address is no name to indicate (RFC 6066 §3): rustls leaves it out.
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| refused(host, "the name is not one that a certificate can have"))?;
        let configs = self.loaded(host).await?;
        let connected = TlsConnector::from(choose(&configs.tcp).clone())
            .connect(name, socket)
            .into_fallible()
            .await;
        let mut stream = connected.map_err(|(error, socket)| {
            let received = match socket.first() {
                Some(ALERT) => Received::NothingElse,
                _ => Received::More,
            };
            farewell::drain(&socket.pipe);
            broken(host, &error, received)
        })?;
        stream.get_mut().0.shaken();
        Ok(stream)
    }

    async fn loaded(&self, host: &str) -> Result<&Configs, Failure> {
        let configs = self.configs.get_or_try_init(|| self.load()).await;
        configs.map_err(|why| refused(host, &why))
    }

    /// Runs in one of tokio's threads, like the resolver, because it may read hundreds of files.
    async fn load(&self) -> Result<Configs, String> {
        let setup = self.setup.clone();
        let loaded = tokio::task::spawn_blocking(move || setup.load()).await;
        let tcp = loaded.map_err(|error| error.to_string())??;
        Ok(Configs {
            #[cfg(feature = "http3")]
            quic: quic::QuicTls::new(&tcp.http3, &tcp.verifier),
            tcp,
        })
    }
}

fn refused(host: &str, why: &str) -> Failure {
    let detail = format!("no TLS with {host}: {why}");
    Failure::new(Kind::Tls, Phase::Tls, detail).for_good()
}

/// The failure of a handshake: TLS itself, or the connection under it.
fn broken(host: &str, error: &io::Error, received: Received) -> Failure {
    if let Some(why) = explain_after(received, error) {
        return refused(host, &why.text).for_reason(why.reason);
    }
    let why = match error.kind() {
        io::ErrorKind::UnexpectedEof => "the server closed it".to_owned(),
        _ => error.to_string(),
    };
    let detail = format!("the connection to {host} ended during the TLS handshake: {why}");
    Failure::new(Kind::Connect, Phase::Tls, detail).because(error)
}
