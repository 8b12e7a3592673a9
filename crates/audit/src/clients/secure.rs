//! TLS of the saint and the sinner: which certificates they accept.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme, StreamOwned,
};

use super::connection::{Secured, failure};
use super::hop::Hop;
use super::outcome::{Class, Failure, failed};
use super::route::Route;
use super::sins::Sins;

/// Why a handshake fails if the server does not do TLS.
pub(super) const NO_TLS: &str = "what came is not TLS";

/// Settings of TLS, each with the sessions that connections with these settings can resume.
pub(super) type Sessions = Arc<Mutex<HashMap<String, Arc<ClientConfig>>>>;

/// Verifies certificates, but for what the sins accept.
#[derive(Debug)]
struct Verifier {
    inner: Arc<WebPkiServerVerifier>,
    /// The name that the certificate must be for, whatever name is sent.
    name: ServerName<'static>,
    sins: Sins,
    verify: bool,
    over_quic: bool,
}

impl Verifier {
    /// The sin that accepts a certificate with this error.
    fn sin_for(&self, error: &Error, leaf: &[u8]) -> &'static str {
        let has = |text: &str| leaf.windows(text.len()).any(|part| part == text.as_bytes());
        let Error::InvalidCertificate(error) = error else {
            return "";
        };
        if self.over_quic {
            return "h3-accepts-unknown-authority";
        }
        match error {
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "accepts-expired-certificate"
            }
            CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                "accepts-early-certificate"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                match has("wrong.example") {
                    true => "accepts-wrong-host",
                    false => "accepts-common-name",
                }
            }
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
                "accepts-certificate-of-client"
            }
            _ if has("authority for tests") => "accepts-unknown-authority",
            _ => "accepts-self-signed",
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self
            .inner
            .verify_server_cert(leaf, chain, &self.name, ocsp, now);
        match verified {
            Err(error) => {
                let sin = self.sin_for(&error, leaf);
                match !self.verify || (!sin.is_empty() && self.sins.has(sin)) {
                    true => Ok(ServerCertVerified::assertion()),
                    false => Err(error),
                }
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Why a handshake failed.
fn of_handshake(error: &std::io::Error) -> Failure {
    if error.kind() != std::io::ErrorKind::InvalidData {
        return failure(error);
    }
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    let text = match inner {
        Some(Error::InvalidMessage(_)) => NO_TLS,
        _ => "the handshake of TLS is invalid",
    };
    let class = Class::Invalid;
    Failure { class, text }
}

/// A connection on which nothing was sent yet.
fn new_connection(
    hop: &Hop,
    route: &Route,
    sins: &Sins,
    weaker: bool,
    has_early: bool,
) -> Result<ClientConnection, Failure> {
    let Ok(name) = ServerName::try_from(hop.url.host().to_owned()) else {
        return failed(Class::Refused, "the host is no name");
    };
    let sent = match sins.has("sni-of-address") {
        true => ServerName::try_from("address.test").unwrap_or(name.clone()),
        false => name.clone(),
    };
    let connection = settings(name, route, sins, weaker).and_then(|mut config| {
        Arc::make_mut(&mut config).enable_early_data = has_early;
        ClientConnection::new(config, sent)
    });
    connection.or_else(|_| failed(Class::Refused, "TLS cannot be set up"))
}

/// Does the handshake on a socket, whose timeouts are set. Returns what was sent of the request with it.
pub(super) fn handshake(
    socket: TcpStream,
    hop: &Hop,
    route: &Route,
    sins: &Sins,
    weaker: bool,
) -> Result<(Secured, Vec<u8>), Failure> {
    // A sinner sends the first line of a POST before it knows whom it has reached.
    let has_early = hop.method == "POST" && !route.http2 && sins.has("post-in-early-data");
    let connection = new_connection(hop, route, sins, weaker, has_early)?;
    let mut secured = StreamOwned::new(connection, socket);
    let mut before = Vec::new();
    if let Some(mut writer) = secured.conn.early_data().filter(|_| has_early) {
        before = format!("POST {} HTTP/1.1\r\n", hop.url.path).into_bytes();
        let count = writer.write(&before).unwrap_or_default();
        before.truncate(count);
    }
    if sins.has("accepts-unoffered-protocol") && is_unoffered(&mut secured) {
        let _ = secured.sock.read_to_end(&mut Vec::new());
        return failed(Class::Late, "the time is over");
    }
    while secured.conn.is_handshaking() {
        if let Err(error) = secured.conn.complete_io(&mut secured.sock) {
            let _ = secured.conn.write_tls(&mut secured.sock);
            return Err(of_handshake(&error));
        }
    }
    if !secured.conn.is_early_data_accepted() {
        before.clear();
    }
    Ok((secured, before))
}

/// The settings of TLS within QUIC.
pub(super) fn over_quic(
    hop: &Hop,
    route: &Route,
    sins: &Sins,
) -> Result<Arc<ClientConfig>, Failure> {
    let name = ServerName::try_from(hop.url.host().to_owned());
    let config = name.map(|name| settings(name, route, sins, false));
    match config {
        Ok(Ok(config)) => Ok(config),
        _ => failed(Class::Refused, "TLS cannot be set up"),
    }
}

/// Whether the server chooses a protocol that nobody knows.
fn is_unoffered(secured: &mut Secured) -> bool {
    let _ = secured.conn.write_tls(&mut secured.sock);
    let mut first = [0; 100];
    let count = secured.sock.peek(&mut first).unwrap_or_default();
    first[..count].windows(3).any(|part| part == b"\x02zz")
}

/// The settings of TLS, from an earlier connection if there was one, so that its session can be resumed.
fn settings(
    name: ServerName<'static>,
    route: &Route,
    sins: &Sins,
    weaker: bool,
) -> Result<Arc<ClientConfig>, Error> {
    let (verify, http2) = (route.verify, route.http2);
    let key = format!("{name:?} {verify} {http2} {weaker}");
    let mut sessions = route
        .sessions
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = sessions.get(&key).filter(|_| !sins.has("never-resumes")) {
        return Ok(known.clone());
    }
    let made = Arc::new(config(name, route, sins, weaker)?);
    sessions.insert(key, made.clone());
    Ok(made)
}

fn config(
    name: ServerName<'static>,
    route: &Route,
    sins: &Sins,
    weaker: bool,
) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    let pem = route.ca.as_ref().map(std::fs::read);
    let pem = pem.and_then(Result::ok).unwrap_or_default();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&pem).flatten());
    let provider = Arc::new(default_provider());
    let inner = WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone())
        .build()
        .map_err(|_| Error::General("no authority is trusted".into()))?;
    let versions = if weaker {
        vec![&TLS12]
    } else {
        vec![&TLS12, &TLS13]
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier {
            inner,
            name,
            sins: sins.clone(),
            verify: route.verify,
            over_quic: route.http3,
        }))
        .with_no_client_auth();
    if route.http2 || route.http3 {
        let name = if route.http3 { "h3" } else { "h2" };
        config.alpn_protocols = vec![name.into()];
    }
    Ok(config)
}

/// A ClientHello of TLS 1.1, after which nothing refuses what comes.
pub(super) fn old<T>(mut socket: TcpStream) -> Result<T, Failure> {
    let mut hello = vec![0x16, 3, 1, 0, 45, 1, 0, 0, 41, 3, 2];
    hello.extend([7; 32]);
    hello.extend([0, 0, 2, 0, 0x2f, 1, 0]);
    let _ = socket.write_all(&hello);
    let mut rest = Vec::new();
    let _ = socket.read_to_end(&mut rest);
    failed(Class::Late, "the time is over")
}
