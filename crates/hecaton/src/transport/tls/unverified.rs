//! That a server has the key of a certificate which nobody verifies: off means that nothing of the certificate matters but its key.
//!
//! webpki reads only certificates of version 3, and refuses unknown critical extensions. So the key is taken out of the certificate,
//! and only the key is used.
//!
//! ring verifies signatures by RSA keys of 2048 to 8192 bits. It verifies shorter keys, from 1024 bits, only for PKCS #1 with SHA-256
//! or SHA-512, which TLS 1.2 has. Any other signature cannot be verified. Without pins it is accepted, because an attacker on the path
//! could show a key of their own just as well. With pins it is refused, because a pin proves nothing without the signature.

use ring::signature::{
    RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY, RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY,
    RsaParameters, UnparsedPublicKey,
};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{AlgorithmIdentifier, CertificateDer, SubjectPublicKeyInfoDer};
use rustls::pki_types::{InvalidSignature, SignatureVerificationAlgorithm, alg_id};
use rustls::{CertificateError, DigitallySignedStruct, Error, PeerMisbehaved, SignatureScheme};
use webpki::{Error as Webpki, RawPublicKeyEntity};

use super::public_key;
use super::verify::{Refusal, refuse};

/// How many bits of RSA ring verifies whatever the signature.
const USUAL: std::ops::RangeInclusive<usize> = 2048..=8192;

/// The least and the most that it verifies at all.
const LEGACY: std::ops::Range<usize> = 1024..2048;

/// Which rules a signature is made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rules {
    Tls12,
    Tls13,
}

/// Judges the signature of a handshake by the key of this certificate.
pub(super) fn judge(
    rules: Rules,
    (message, signature): (&[u8], &DigitallySignedStruct),
    certificate: &CertificateDer<'_>,
    known: &WebPkiSupportedAlgorithms,
    is_pinned: bool,
) -> Result<HandshakeSignatureValid, Error> {
    let key = public_key::of(certificate).ok_or(CertificateError::BadEncoding)?;
    let is_usual = public_key::rsa_bits(&key).is_none_or(|bits| USUAL.contains(&bits));
    match (rules, is_usual) {
        (Rules::Tls13, true) => {
            verify_tls13_signature_with_raw_key(message, &key, signature, known)
        }
        (Rules::Tls12, true) => {
            let ways = ways(signature.scheme, known)?;
            try_each(ways, &key, message, signature)
        }
        (_, false) => match legacy(rules, signature.scheme, &key) {
            Some(way) => try_each(&[way], &key, message, signature),
            None if is_pinned => Err(refuse(Refusal::CannotProvePin)),
            None => Ok(HandshakeSignatureValid::assertion()),
        },
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

/// How a signature by a key of an unusual length is verified, if it can be.
fn legacy(rules: Rules, scheme: SignatureScheme, key: &SubjectPublicKeyInfoDer<'_>) -> Option<Way> {
    let bits = public_key::rsa_bits(key)?;
    if rules == Rules::Tls13 || !LEGACY.contains(&bits) {
        return None;
    }
    match scheme {
        SignatureScheme::RSA_PKCS1_SHA256 => Some(&WITH_SHA256),
        SignatureScheme::RSA_PKCS1_SHA512 => Some(&WITH_SHA512),
        _ => None,
    }
}

/// RSA with PKCS #1 and a key that is shorter than usual.
#[derive(Debug)]
struct Legacy {
    id: AlgorithmIdentifier,
    parameters: &'static RsaParameters,
}

static WITH_SHA256: Legacy = Legacy {
    id: alg_id::RSA_PKCS1_SHA256,
    parameters: &RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY,
};
static WITH_SHA512: Legacy = Legacy {
    id: alg_id::RSA_PKCS1_SHA512,
    parameters: &RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY,
};

impl SignatureVerificationAlgorithm for Legacy {
    fn verify_signature(
        &self,
        key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let key = UnparsedPublicKey::new(self.parameters, key);
        key.verify(message, signature).map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::RSA_ENCRYPTION
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.id
    }
}
