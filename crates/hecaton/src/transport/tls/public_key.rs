//! Reads the key of a certificate and nothing else, because version and extensions of an unverified certificate do not
//! matter.

use rustls::pki_types::{CertificateDer, SubjectPublicKeyInfoDer};

use super::der::{BIT_STRING, Der, INTEGER, OBJECT, SEQUENCE, VERSION};
use super::rsa::PublicKey;

/// rsaEncryption (RFC 8017 §A.1).
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];

/// The SubjectPublicKeyInfo of a certificate of any version (RFC 5280 §4.1); none if it is no certificate.
pub(super) fn of<'a>(certificate: &'a CertificateDer<'_>) -> Option<SubjectPublicKeyInfoDer<'a>> {
    Some(from_key(certificate)?.next(SEQUENCE)?.whole.into())
}

/// The fields of a certificate from its key on.
pub(super) fn from_key<'a>(certificate: &'a CertificateDer<'_>) -> Option<Der<'a>> {
    let certificate = Der(certificate).only(SEQUENCE)?;
    let mut fields = Der(Der(certificate).next(SEQUENCE)?.content);
    // Version 1 has no such field.
    if fields.is_next(VERSION) {
        fields.next(VERSION)?;
    }
    fields.next(INTEGER)?; // The serial number.
    for _ in ["signature", "issuer", "validity", "subject"] {
        fields.next(SEQUENCE)?;
    }
    Some(fields)
}

/// The numbers of an RSA key; none for a key of another kind.
pub(super) fn rsa<'a>(key: &'a SubjectPublicKeyInfoDer<'_>) -> Option<PublicKey<'a>> {
    let mut info = Der(Der(key).only(SEQUENCE)?);
    let algorithm = info.next(SEQUENCE)?.content;
    if Der(algorithm).next(OBJECT)?.content != RSA {
        return None;
    }
    // The first byte says how many bits of the last are unused: none (RFC 8017 §A.1.1).
    let key = info.next(BIT_STRING)?.content.strip_prefix(&[0])?;
    let mut numbers = Der(Der(key).only(SEQUENCE)?);
    Some(PublicKey {
        modulus: numbers.number()?,
        exponent: numbers.number()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value of DER.
    fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let content = parts.concat();
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        [&[tag, 0x82][..], &length, &content].concat()
    }

    fn of_rsa(modulus: &[u8]) -> Vec<u8> {
        let algorithm = der(SEQUENCE, &[&der(OBJECT, &[RSA]), &[5, 0]]);
        let number = der(INTEGER, &[modulus]);
        let pair = der(SEQUENCE, &[&number, &[INTEGER, 3, 1, 0, 1]]);
        der(SEQUENCE, &[&algorithm, &der(BIT_STRING, &[&[0], &pair])])
    }

    fn certificate(version: &[u8], key: &[u8]) -> Vec<u8> {
        let empty = der(SEQUENCE, &[]);
        let serial = der(INTEGER, &[&[1]]);
        let begin = [version, &serial, &empty, &empty, &empty, &empty].concat();
        der(SEQUENCE, &[&der(SEQUENCE, &[&begin, key, b"more"]), &empty])
    }

    #[test]
    fn the_key_is_found_in_certificates_of_any_version() {
        let key = of_rsa(&[0, 0x80, 1]);
        let third = der(VERSION, &[&[INTEGER, 1, 2]]);
        for version in [&[][..], &third] {
            let certificate = CertificateDer::from(certificate(version, &key));
            assert_eq!(of(&certificate).unwrap().as_ref(), key);
        }
    }

    #[test]
    fn bits_are_those_of_the_number() {
        let bits = |modulus: &[u8]| Some(rsa(&of_rsa(modulus).into())?.bits());
        let long = [&[0, 0xff][..], &[0; 127]].concat();
        assert_eq!(bits(&long), Some(1024));
        assert_eq!(bits(&[0x7f, 0, 0]), Some(23));
        assert_eq!(bits(&[0]), None);
        let mut other = of_rsa(&[1]);
        let at = other
            .windows(RSA.len())
            .position(|part| part == RSA)
            .unwrap();
        other[at] ^= 1;
        assert!(rsa(&other.into()).is_none());
    }

    proptest::proptest! {
        /// Whatever a server sends as a certificate: no panic, and the result is a part of it.
        #[test]
        fn no_certificate_is_too_strange(
            cut in 0..200usize, at in 0..200usize, byte in proptest::prelude::any::<u8>()
        ) {
            let mut text = certificate(&[], &of_rsa(&[1; 40]));
            text.truncate(cut);
            if let Some(changed) = text.get_mut(at) {
                *changed = byte;
            }
            let certificate = CertificateDer::from(text);
            if let Some(key) = of(&certificate) {
                let key = key.as_ref();
                proptest::prop_assert!(certificate.windows(key.len()).any(|part| part == key));
                rsa(&key.into());
            }
        }
    }
}
