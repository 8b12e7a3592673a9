//! A TLS server of a few lines and its certificates, for tests of TLS.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType, IsCa, Issuer,
    KeyIdMethod, KeyPair, PublicKeyData, RevokedCertParams, SerialNumber, date_time_ymd,
};
use rustls::crypto::{ActiveKeyExchange, SupportedKxGroup};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    HandshakeKind, NamedGroup, RootCertStore, ServerConfig, ServerConnection, StreamOwned,
};

/// An authority, which signs certificates.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub pem: String,
    pub pin: String,
    der: CertificateDer<'static>,
}

/// A certificate and its key.
pub struct Identity {
    pub certificate: CertificateDer<'static>,
    pub pem: String,
    pub key: PrivateKeyDer<'static>,
    pub key_pem: String,
    /// The pin of this certificate, in the form of the setting `pins`.
    pub pin: String,
}

impl Authority {
    pub fn new() -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        // Verifiers compare the names of authorities before their keys.
        let name = format!("authority {}", key_name(&key));
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.self_signed(&key).unwrap();
        let pin = pin(&key);
        Authority {
            issuer: Issuer::new(params, key),
            pem: certificate.pem(),
            pin,
            der: certificate.der().clone(),
        }
    }

    /// A certificate for these names or addresses.
    pub fn sign(&self, names: &[&str]) -> Identity {
        self.sign_with(names, |_| {})
    }

    pub fn sign_with(
        &self,
        names: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> Identity {
        let key = KeyPair::generate().unwrap();
        let mut params = params(names);
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        identity(&certificate, &key)
    }

    /// A revocation list, in PEM, of the certificates with these numbers, valid until this year.
    pub fn revoke(&self, numbers: &[u64], until: i32) -> String {
        let revoked = |number: &u64| RevokedCertParams {
            serial_number: SerialNumber::from(*number),
            revocation_time: date_time_ymd(2000, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let params = CertificateRevocationListParams {
            this_update: date_time_ymd(2000, 1, 1),
            next_update: date_time_ymd(until, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: numbers.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        params.signed_by(&self.issuer).unwrap().pem().unwrap()
    }

    fn roots(&self) -> Arc<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).unwrap();
        Arc::new(roots)
    }
}

impl Identity {
    /// A self-signed certificate.
    pub fn self_signed(names: &[&str]) -> Identity {
        Identity::self_signed_with(names, |_| {})
    }

    pub fn self_signed_with(
        names: &[&str],
        change: impl FnOnce(&mut CertificateParams),
    ) -> Identity {
        let key = KeyPair::generate().unwrap();
        let mut params = params(names);
        change(&mut params);
        let certificate = params.self_signed(&key).unwrap();
        identity(&certificate, &key)
    }

    /// The settings of a server with this certificate, whose only curve no client supports.
    pub fn server_of_no_curve(
        &self,
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> ServerConfig {
        let mut provider = rustls::crypto::ring::default_provider();
        provider.kx_groups = vec![&NoCurve];
        ServerConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())
            .unwrap()
    }

    /// The settings of a server with this certificate and these versions, which demands no client certificate.
    pub fn server(&self, versions: &[&'static rustls::SupportedProtocolVersion]) -> ServerConfig {
        builder(versions)
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())
            .unwrap()
    }

    /// The settings of a server with this certificate but without its key: the server signs with another key.
    pub fn server_with_key_of(
        &self,
        other: &Identity,
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> ServerConfig {
        let key = rustls::crypto::ring::sign::any_supported_type(&other.key).unwrap();
        let shown = CertifiedKey::new(vec![self.certificate.clone()], key);
        builder(versions)
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(shown)))
    }

    /// The settings of a server with this certificate, in any version, which demands no client certificate.
    pub fn server_any(&self) -> ServerConfig {
        self.server(&[&rustls::version::TLS12, &rustls::version::TLS13])
    }

    /// The settings of a server with this certificate, which demands a client certificate of this authority.
    pub fn server_for(
        &self,
        authority: &Authority,
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier =
            WebPkiClientVerifier::builder_with_provider(authority.roots(), provider).build();
        builder(versions)
            .with_client_cert_verifier(verifier.unwrap())
            .with_single_cert(vec![self.certificate.clone()], self.key.clone_key())
            .unwrap()
    }
}

/// The key exchange that no client supports.
#[derive(Debug)]
struct NoCurve;

impl SupportedKxGroup for NoCurve {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, rustls::Error> {
        Err(rustls::Error::General("nobody knows this curve".into()))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X448
    }
}

fn builder(
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> rustls::ConfigBuilder<ServerConfig, rustls::WantsVerifier> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .unwrap()
}

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
    CertificateParams::new(names).unwrap()
}

fn identity(certificate: &rcgen::Certificate, key: &KeyPair) -> Identity {
    Identity {
        certificate: certificate.der().clone(),
        pem: certificate.pem(),
        key: PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        key_pem: key.serialize_pem(),
        pin: pin(key),
    }
}

fn key_name(key: &KeyPair) -> String {
    pin(key)
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect()
}

fn pin(key: &KeyPair) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, &key.subject_public_key_info());
    format!("sha256/{}", BASE64_STANDARD.encode(digest))
}

pub type Session = StreamOwned<ServerConnection, TcpStream>;

/// The handshake, as the server saw it.
#[derive(Debug)]
pub struct Seen {
    pub name: Option<String>,
    pub kind: Option<HandshakeKind>,
}

/// Accepts connections on a free port until the test's process ends, each in a thread of its own.
pub struct Server {
    pub port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    pub fn start(config: ServerConfig, serve: fn(&mut Session)) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let config = Arc::new(config);
        let server = Server {
            port,
            seen: seen.clone(),
        };
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (config, seen) = (config.clone(), seen.clone());
                thread::spawn(move || accept(stream, config, &seen, serve));
            }
        });
        server
    }

    pub fn url(&self) -> String {
        format!("https://localhost:{}/", self.port)
    }

    /// The handshakes that succeeded so far, in order.
    pub fn seen(&self) -> std::sync::MutexGuard<'_, Vec<Seen>> {
        self.seen.lock().unwrap()
    }
}

fn accept(
    mut stream: TcpStream,
    config: Arc<ServerConfig>,
    seen: &Mutex<Vec<Seen>>,
    serve: fn(&mut Session),
) {
    let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
    let mut connection = ServerConnection::new(config).unwrap();
    while connection.is_handshaking() {
        if connection.complete_io(&mut stream).is_err() {
            return;
        }
    }
    seen.lock().unwrap().push(Seen {
        name: connection.server_name().map(str::to_owned),
        kind: connection.handshake_kind(),
    });
    serve(&mut StreamOwned::new(connection, stream));
}

/// Reads up to the end of a head, and returns whether there was one.
pub fn read_head(session: &mut Session) -> bool {
    !read_whole_head(session).is_empty()
}

/// The head, empty if there was none.
pub fn read_whole_head(session: &mut Session) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match session.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return String::new(),
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// Responds `ok` to every request.
pub fn keep_alive(session: &mut Session) {
    while read_head(session) {
        let response = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        if session
            .write_all(response)
            .and_then(|()| session.flush())
            .is_err()
        {
            return;
        }
    }
}
