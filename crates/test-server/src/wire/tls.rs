//! TLS on the test server's port: its certificate, what it demands of clients, and the handshake.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, ServerConnection, WebPkiClientVerifier};
use rustls::version::{TLS12, TLS13};
use rustls::{HandshakeKind, ProtocolVersion, RootCertStore, ServerConfig};
use serde::Serialize;
use tokio_rustls::TlsAcceptor;

use crate::wire::certificates::{self, Flaw, Identity};

/// The TLS settings of a test server. The default shows a good certificate of an authority made for this
/// test server ([`crate::TestServer::ca_pem`]), in TLS 1.2 or 1.3.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tls {
    /// The certificate that the server shows. Default: a good one.
    pub certificate: Certificate,
    /// Names and addresses in the certificate, beside `localhost`, the loopback addresses and the
    /// address listened on. Default none.
    pub names: Vec<String>,
    /// Whether clients must show a certificate of the test server's authority
    /// ([`crate::TestServer::client_pem`] is one). Default no.
    pub client_certificate: bool,
    /// Whether TLS 1.2 is the newest version supported. Default no: 1.3 is.
    pub only_1_2: bool,
    /// Whether to accept connections and never respond to a ClientHello. Default no.
    pub stall: bool,
    /// Whether each handshake is whole, because no session can be resumed. Default no.
    pub no_resumption: bool,
}

/// The certificate that a test server shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Certificate {
    /// Good. Text `valid`.
    #[default]
    Valid,
    /// It expired in 2001. Text `expired`.
    Expired,
    /// It becomes valid in 2999. Text `not-yet-valid`.
    NotYetValid,
    /// For `wrong.example`. Text `wrong-host`.
    WrongHost,
    /// Signed by itself and not by the authority. Text `self-signed`.
    SelfSigned,
    /// Given as PEM: the chain, leaf first, and the leaf's key.
    Given {
        /// Certificates, leaf first.
        chain: String,
        /// Private key of the leaf: PKCS #8, PKCS #1 or SEC 1.
        key: String,
    },
}

/// Why a text names no certificate.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such certificate; choose valid, expired, not-yet-valid, wrong-host or self-signed")]
pub struct CertificateError;

/// The state of TLS in the test server's thread.
pub(crate) struct Port {
    pub(crate) acceptor: TlsAcceptor,
    pub(crate) stall: bool,
}

/// The parameters of a connection's handshake, as `/echo` shows them.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Secure {
    pub(crate) version: &'static str,
    /// Server name that the client sent; none for addresses.
    pub(crate) sni: Option<String>,
    pub(crate) alpn: Option<String>,
    pub(crate) resumed: bool,
    /// Whether the client showed a certificate.
    pub(crate) client_certificate: bool,
}

const NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

impl FromStr for Certificate {
    type Err = CertificateError;

    fn from_str(text: &str) -> Result<Certificate, CertificateError> {
        Ok(match text {
            "valid" => Certificate::Valid,
            "expired" => Certificate::Expired,
            "not-yet-valid" => Certificate::NotYetValid,
            "wrong-host" => Certificate::WrongHost,
            "self-signed" => Certificate::SelfSigned,
            _ => return Err(CertificateError),
        })
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Certificate::Valid => "valid",
            Certificate::Expired => "expired",
            Certificate::NotYetValid => "not-yet-valid",
            Certificate::WrongHost => "wrong-host",
            Certificate::SelfSigned => "self-signed",
            Certificate::Given { .. } => "given",
        })
    }
}

impl Tls {
    /// The certificate to show, made or as given.
    pub(crate) fn identity(&self, listen: IpAddr) -> Result<Identity, String> {
        let mut names: Vec<String> = NAMES.map(str::to_owned).to_vec();
        if !listen.is_loopback() && !listen.is_unspecified() {
            names.push(listen.to_string());
        }
        names.extend(self.names.iter().cloned());
        let flaw = match self.certificate {
            Certificate::Valid | Certificate::Given { .. } => Flaw::None,
            Certificate::Expired => Flaw::Expired,
            Certificate::NotYetValid => Flaw::NotYetValid,
            Certificate::WrongHost => Flaw::WrongHost,
            Certificate::SelfSigned => Flaw::SelfSigned,
        };
        let mut identity = certificates::make(&names, flaw).map_err(|error| error.to_string())?;
        if let Certificate::Given { chain, key } = &self.certificate {
            (identity.chain, identity.key) = (chain.clone(), key.clone());
        }
        Ok(identity)
    }

    /// The port of that identity, with these protocols in ALPN.
    pub(crate) fn port(&self, identity: &Identity, alpn: &[&str]) -> Result<Port, String> {
        Ok(Port {
            acceptor: TlsAcceptor::from(Arc::new(self.config(identity, alpn)?)),
            stall: self.stall,
        })
    }

    /// The settings of TLS for that identity, with these protocols in ALPN.
    pub(crate) fn config(
        &self,
        identity: &Identity,
        alpn: &[&str],
    ) -> Result<ServerConfig, String> {
        let versions = if self.only_1_2 {
            vec![&TLS12]
        } else {
            vec![&TLS12, &TLS13]
        };
        let provider = Arc::new(default_provider());
        let config = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)
            .map_err(text)?;
        let config = if self.client_certificate {
            let mut roots = RootCertStore::empty();
            for certificate in chain(&identity.ca)? {
                roots.add(certificate).map_err(text)?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
            config.with_client_cert_verifier(verifier.build().map_err(text)?)
        } else {
            config.with_no_client_auth()
        };
        let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).map_err(text)?;
        let mut config = config
            .with_single_cert(chain(&identity.chain)?, key)
            .map_err(text)?;
        if self.no_resumption {
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        Ok(config)
    }
}

fn text(error: impl fmt::Display) -> String {
    error.to_string()
}

fn chain(pem: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match certificates.map_err(text)? {
        none if none.is_empty() => Err("there is no certificate in the PEM".to_owned()),
        certificates => Ok(certificates),
    }
}

impl Secure {
    pub(crate) fn of(connection: &ServerConnection) -> Secure {
        let name = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Secure {
            version: match connection.protocol_version() {
                Some(ProtocolVersion::TLSv1_2) => "1.2",
                _ => "1.3",
            },
            sni: connection.server_name().map(str::to_owned),
            alpn: connection.alpn_protocol().map(name),
            resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
            client_certificate: connection.peer_certificates().is_some(),
        }
    }

    /// Round trips that the opening of such a connection takes on a network before the client may send its request: one
    /// for TCP, and those of TLS. QUIC needs one for both.
    pub(crate) fn round_trips(&self) -> u32 {
        match (self.version, self.resumed, self.alpn.as_deref()) {
            (_, _, Some("h3")) => 1,
            ("1.2", false, _) => 3,
            _ => 2,
        }
    }

    /// Whether HTTP/2 was agreed on.
    pub(crate) fn is_http2(&self) -> bool {
        self.alpn.as_deref() == Some("h2")
    }
}
