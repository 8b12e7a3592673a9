//! TLS inside QUIC: the same certificates and the same errors as over TCP.

use std::sync::{Arc, Mutex};

use quinn::ConnectionError;
use quinn::crypto::rustls::{HandshakeData, QuicClientConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{AlertDescription, ClientConfig, DigitallySignedStruct, Error, SignatureScheme};

use super::explain::{Explanation, Received, explain_of};
use super::verify::Verifier;
use super::{Tls, refused};
use crate::message::connection_facts::TlsFacts;
use crate::message::failure::Failure;
use crate::runtime::lock::lock;

/// The codes of QUIC that stand for alerts of TLS (RFC 9001 §4.8).
const ALERTS: std::ops::Range<u64> = 0x100..0x200;

/// The TLS side of QUIC connections to one host.
pub(crate) struct QuicTls {
    config: Arc<ClientConfig>,
    verifier: Arc<Verifier>,
}

/// Why a certificate was refused; `quinn` keeps only the text of it.
pub(crate) type Refusal = Arc<Mutex<Option<Error>>>;

impl QuicTls {
    pub(super) fn new(config: &Arc<ClientConfig>, verifier: &Arc<Verifier>) -> QuicTls {
        QuicTls {
            config: config.clone(),
            verifier: verifier.clone(),
        }
    }

    /// The settings of one connection, and where its verifier says why it refuses.
    pub fn settings(&self) -> Result<(quinn::ClientConfig, Refusal), Failure> {
        let refusal = Refusal::default();
        let mut config = ClientConfig::clone(&self.config);
        let verifier = Noting {
            verifier: self.verifier.clone(),
            refusal: refusal.clone(),
        };
        config
            .dangerous()
            .set_certificate_verifier(Arc::new(verifier));
        let crypto = QuicClientConfig::try_from(config);
        let crypto = crypto.map_err(|error| refused("QUIC", &error.to_string()))?;
        Ok((quinn::ClientConfig::new(Arc::new(crypto)), refusal))
    }
}

/// The alert of TLS by which the server closed the connection. With TLS 1.3 it may come after the handshake, because the
/// client has ended its part when the server looks at the client's certificate.
pub(crate) fn alert(error: &ConnectionError) -> Option<Explanation> {
    let ConnectionError::ConnectionClosed(close) = error else {
        return None;
    };
    let code = u64::from(close.error_code);
    let alert = ALERTS.contains(&code).then_some(code as u8)?;
    let alert = AlertDescription::from(alert);
    Some(explain_of(Received::More, &Error::AlertReceived(alert)))
}

/// The failure of a handshake, if TLS is the cause.
pub(crate) fn failure(host: &str, error: &ConnectionError, refusal: &Refusal) -> Option<Failure> {
    let why = match (lock(refusal).take(), error) {
        (Some(error), _) => explain_of(Received::More, &error),
        (None, ConnectionError::ConnectionClosed(_)) => alert(error)?,
        (None, ConnectionError::TransportError(error)) => {
            ALERTS.contains(&u64::from(error.code)).then_some(())?;
            return Some(refused(host, &error.reason));
        }
        (None, ConnectionError::VersionMismatch) => {
            return Some(refused(
                host,
                "the server supports no version of QUIC that is offered",
            ));
        }
        _ => return None,
    };
    Some(refused(host, &why.text).for_reason(why.reason))
}

impl Tls {
    /// The TLS side of QUIC connections to `host`.
    pub async fn quic(&self, host: &str) -> Result<&QuicTls, Failure> {
        Ok(&self.loaded(host).await?.quic)
    }

    /// The facts that the handshake agreed on. `quinn` does not say which cipher suite.
    pub fn quic_facts(&self, connection: &quinn::Connection) -> TlsFacts {
        let data = connection.handshake_data();
        let data = data.and_then(|data| data.downcast::<HandshakeData>().ok());
        let alpn = data.and_then(|data| data.protocol);
        let identity = connection.peer_identity();
        let chain = identity.and_then(|all| all.downcast::<Vec<CertificateDer<'static>>>().ok());
        TlsFacts {
            version: "1.3",
            cipher: String::new(),
            alpn: alpn.map(|name| String::from_utf8_lossy(&name).into_owned()),
            certificates: self.certificates(chain.as_deref().map_or(&[], Vec::as_slice)),
        }
    }
}

/// Notes why the verifier refuses a certificate.
#[derive(Debug)]
struct Noting {
    verifier: Arc<Verifier>,
    refusal: Refusal,
}

impl Noting {
    fn noted<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        result.inspect_err(|error| *lock(&self.refusal) = Some(error.clone()))
    }
}

impl ServerCertVerifier for Noting {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verifier = &self.verifier;
        self.noted(verifier.verify_server_cert(end_entity, intermediates, name, ocsp, now))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let verifier = &self.verifier;
        self.noted(verifier.verify_tls12_signature(message, certificate, signature))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let verifier = &self.verifier;
        self.noted(verifier.verify_tls13_signature(message, certificate, signature))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}
