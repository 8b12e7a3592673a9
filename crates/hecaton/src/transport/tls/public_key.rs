//! Reads the key of a certificate and nothing else, because version and extensions of an unverified certificate do not
//! matter.

use rustls::pki_types::{CertificateDer, SubjectPublicKeyInfoDer};

use super::rsa::PublicKey;

/// Tags of DER.
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OBJECT: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

/// rsaEncryption (RFC 8017 §A.1).
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];

/// The SubjectPublicKeyInfo of a certificate of any version (RFC 5280 §4.1); none if it is no certificate.
pub(super) fn of<'a>(certificate: &'a CertificateDer<'_>) -> Option<SubjectPublicKeyInfoDer<'a>> {
    let certificate = Der(certificate).only(SEQUENCE)?;
    let mut fields = Der(Der(certificate).next(SEQUENCE)?.content);
    // Version 1 has no such field.
    if fields.0.first() == Some(&VERSION) {
        fields.next(VERSION)?;
    }
    fields.next(INTEGER)?; // The serial number.
    for _ in ["signature", "issuer", "validity", "subject"] {
        fields.next(SEQUENCE)?;
    }
    Some(fields.next(SEQUENCE)?.whole.into())
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

/// The unread rest.
struct Der<'a>(&'a [u8]);

struct Value<'a> {
    /// With tag and length.
    whole: &'a [u8],
    content: &'a [u8],
}

impl<'a> Der<'a> {
    /// The next value, which must be of this kind.
    fn next(&mut self, tag: u8) -> Option<Value<'a>> {
        let (&[found, first], rest) = self.0.split_first_chunk()?;
        if found != tag {
            return None;
        }
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81..=0x83 => {
                let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                let digits = digits.iter();
                (
                    digits.fold(0, |sum, digit| sum << 8 | usize::from(*digit)),
                    rest,
                )
            }
            _ => return None,
        };
        let (content, behind) = rest.split_at_checked(length)?;
        let (whole, _) = self.0.split_at(self.0.len() - behind.len());
        self.0 = behind;
        Some(Value { whole, content })
    }

    /// The next value, which must be a number above zero, without its leading zeros.
    fn number(&mut self) -> Option<&'a [u8]> {
        let bytes = self.next(INTEGER)?.content;
        let from = bytes.iter().position(|byte| *byte != 0)?;
        Some(&bytes[from..])
    }

    /// The content of the next value; none if anything follows that value.
    fn only(mut self, tag: u8) -> Option<&'a [u8]> {
        let value = self.next(tag)?;
        self.0.is_empty().then_some(value.content)
    }
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
