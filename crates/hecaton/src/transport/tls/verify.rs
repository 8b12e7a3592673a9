//! Verifies a server's certificate: the chain and the name, then the pins; or only the pins.

use std::collections::HashSet;
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, OtherError, SignatureScheme};
use webpki::EndEntityCert;

use super::key_usage::may_sign;
use super::public_key;
use super::unverified::{Rules, check_signature};

/// The SHA-256 of a SubjectPublicKeyInfo (as in RFC 7469 §2.4).
pub(super) type Pin = [u8; 32];

/// Reasons of our own to refuse a certificate.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("self-signed")]
    SelfSigned,
    #[error("of another key than the pinned")]
    NotPinned,
    #[error("of a key that the server does not have")]
    NotItsKey,
}

/// Trusted certificates, and which checks are on.
#[derive(Clone, Debug)]
pub(super) struct Authority {
    pub chains: Arc<WebPkiServerVerifier>,
    /// The SHA-256 of each certificate that is trusted.
    pub trusted: Arc<HashSet<[u8; 32]>>,
    /// Whether a certificate must be for the name of the host.
    pub names: bool,
}

impl Authority {
    /// Whether exactly this certificate is trusted.
    fn knows(&self, certificate: &CertificateDer<'_>) -> bool {
        self.trusted.contains(&fingerprint(certificate))
    }
}

/// The SHA-256 of a certificate.
pub(super) fn fingerprint(certificate: &CertificateDer<'_>) -> [u8; 32] {
    let mut sum = [0; 32];
    sum.copy_from_slice(digest(&SHA256, certificate).as_ref());
    sum
}

#[derive(Debug)]
pub(super) struct Verifier {
    authority: Option<Authority>,
    algorithms: WebPkiSupportedAlgorithms,
    pins: Vec<Pin>,
}

impl Verifier {
    /// Without an authority, a certificate is accepted if its key is pinned, or if there are no pins.
    pub fn new(
        authority: Option<Authority>,
        provider: &CryptoProvider,
        pins: Vec<Pin>,
    ) -> Verifier {
        Verifier {
            authority,
            algorithms: provider.signature_verification_algorithms,
            pins,
        }
    }

    /// Only the key of the server's own certificate is compared. Any server can send other certificates along, so an
    /// authority's key among it proves nothing.
    fn check_pins(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        if self.pins.is_empty() {
            return Ok(());
        }
        let key = public_key::of(certificate).ok_or(CertificateError::BadEncoding)?;
        let found = digest(&SHA256, &key);
        match self.pins.iter().any(|pin| pin == found.as_ref()) {
            true => Ok(()),
            false => Err(refuse(Refusal::NotPinned)),
        }
    }

    /// Verified even when the certificate is not, as OpenSSL does: without this a pin would prove nothing.
    fn check_signature(
        &self,
        rules: Rules,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.algorithms;
        match (&self.authority, rules) {
            (None, _) => check_signature(rules, message, signature, certificate, known),
            (_, Rules::Tls12) => verify_tls12_signature(message, certificate, signature, known),
            (_, Rules::Tls13) => verify_tls13_signature(message, certificate, signature, known),
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(authority) = &self.authority {
            let intermediates: Vec<_> = intermediates
                .iter()
                .filter(|certificate| may_sign(certificate))
                .cloned()
                .collect();
            let verified =
                authority
                    .chains
                    .verify_server_cert(end_entity, &intermediates, name, ocsp, now);
            match verified {
                Ok(_) => {}
                // The name is checked last.
                Err(Error::InvalidCertificate(why)) if !authority.names && is_names(&why) => {}
                // It is valid now, which was checked first, and a certificate that is trusted as an authority is also
                // trusted for itself.
                Err(Error::InvalidCertificate(why))
                    if is_authoritys(&why) && authority.knows(end_entity) =>
                {
                    if authority.names {
                        verify_server_name(&ParsedCertificate::try_from(end_entity)?, name)?;
                    }
                }
                // A certificate with the name of a trusted one, but another key, has a wrong signature.
                Err(Error::InvalidCertificate(
                    CertificateError::UnknownIssuer | CertificateError::BadSignature,
                )) if is_self_signed(end_entity) => return Err(refuse(Refusal::SelfSigned)),
                Err(error) => return Err(error),
            }
        }
        self.check_pins(end_entity)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(Rules::Tls12, message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(Rules::Tls13, message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

pub(super) fn refuse(refusal: Refusal) -> Error {
    CertificateError::Other(OtherError(Arc::new(refusal))).into()
}

/// Whether the only reason is that the certificate is one of an authority.
pub(super) fn is_authoritys(error: &CertificateError) -> bool {
    let CertificateError::Other(OtherError(reason)) = error else {
        return false;
    };
    matches!(
        reason.downcast_ref::<webpki::Error>(),
        Some(webpki::Error::CaUsedAsEndEntity)
    )
}

/// Whether the only reason is that the certificate is for other names.
fn is_names(error: &CertificateError) -> bool {
    use CertificateError::{NotValidForName, NotValidForNameContext};
    matches!(error, NotValidForName | NotValidForNameContext { .. })
}

/// Whether a certificate names itself as its issuer.
fn is_self_signed(certificate: &CertificateDer<'_>) -> bool {
    EndEntityCert::try_from(certificate)
        .is_ok_and(|certificate| certificate.issuer() == certificate.subject())
}
