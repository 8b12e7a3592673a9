//! Checks that a server has the key of its certificate when verification is off. Then nothing but the key of the
//! certificate matters.
//!
//! webpki reads only certificates of version 3, and refuses unknown critical extensions. So the key is taken out of the
//! certificate, and only the key is used.
//!
//! ring verifies signatures by RSA keys of 2048 to 8192 bits, and `rsa` those by other ones.

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer};
use rustls::{CertificateError, DigitallySignedStruct, Error, PeerMisbehaved, SignatureScheme};
use webpki::{Error as Webpki, RawPublicKeyEntity};

use super::verify::{Refusal, refuse};
use super::{public_key, rsa};

/// How many bits of RSA ring verifies.
const USUAL: std::ops::RangeInclusive<usize> = 2048..=8192;

/// The rules by which a signature is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    Tls12,
    Tls13,
}

/// Checks the signature of a handshake with the key of this certificate.
pub(super) fn check_signature(
    rules: Rules,
    message: &[u8],
    signature: &DigitallySignedStruct,
    certificate: &CertificateDer<'_>,
    known: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, Error> {
    let key = public_key::of(certificate).ok_or(CertificateError::BadEncoding)?;
    let unusual = public_key::rsa(&key).filter(|key| !USUAL.contains(&key.bits()));
    let checked = match (unusual, rules) {
        (Some(key), _) => check_rsa(rules, &key, message, signature),
        (None, Rules::Tls13) => {
            verify_tls13_signature_with_raw_key(message, &key, signature, known)
        }
        (None, Rules::Tls12) => {
            let ways = ways(signature.scheme, known)?;
            try_each(ways, &key, message, signature)
        }
    };
    checked.map_err(|error| match error {
        Error::InvalidCertificate(CertificateError::BadSignature) => refuse(Refusal::NotItsKey),
        error => error,
    })
}

fn check_rsa(
    rules: Rules,
    key: &rsa::PublicKey<'_>,
    message: &[u8],
    signature: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, Error> {
    let scheme = signature.scheme;
    if rules == Rules::Tls13 && !rsa::is_pss(scheme) {
        return Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into());
    }
    match key.verifies(scheme, message, signature.signature()) {
        true => Ok(HandshakeSignatureValid::assertion()),
        false => Err(CertificateError::BadSignature.into()),
    }
}

type Way = &'static dyn SignatureVerificationAlgorithm;

fn ways(
    scheme: SignatureScheme,
    known: &WebPkiSupportedAlgorithms,
) -> Result<&'static [Way], Error> {
    let mut mapping = known.mapping.iter();
    let found = mapping.find(|(offered, _)| *offered == scheme);
    let (_, ways) = found.ok_or(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme)?;
    Ok(ways)
}

/// TLS 1.2 leaves open which curve a key is on: each is tried.
fn try_each(
    ways: &[Way],
    key: &SubjectPublicKeyInfoDer<'_>,
    message: &[u8],
    signature: &DigitallySignedStruct,
) -> Result<HandshakeSignatureValid, Error> {
    let key = RawPublicKeyEntity::try_from(key).map_err(|_| CertificateError::BadEncoding)?;
    for way in ways {
        match key.verify_signature(*way, message, signature.signature()) {
            Ok(()) => return Ok(HandshakeSignatureValid::assertion()),
            Err(Webpki::UnsupportedSignatureAlgorithmForPublicKeyContext(_)) => {}
            Err(_) => break,
        }
    }
    Err(CertificateError::BadSignature.into())
}
