//! Signatures that OpenSSL made, and what others would take for them.

use super::*;

const SCHEMES: [(&str, SignatureScheme); 6] = [
    ("pss_sha256", SignatureScheme::RSA_PSS_SHA256),
    ("pss_sha384", SignatureScheme::RSA_PSS_SHA384),
    ("pss_sha512", SignatureScheme::RSA_PSS_SHA512),
    ("pkcs1_sha256", SignatureScheme::RSA_PKCS1_SHA256),
    ("pkcs1_sha384", SignatureScheme::RSA_PKCS1_SHA384),
    ("pkcs1_sha512", SignatureScheme::RSA_PKCS1_SHA512),
];

const MESSAGE: &[u8] = b"hecaton";

struct Signed {
    scheme: SignatureScheme,
    modulus: Vec<u8>,
    exponent: Vec<u8>,
    signature: Vec<u8>,
}

impl Signed {
    fn key(&self) -> PublicKey<'_> {
        PublicKey {
            modulus: &self.modulus,
            exponent: &self.exponent,
        }
    }
}

fn bytes(digits: &str) -> Vec<u8> {
    let even = format!("{}{digits}", if digits.len() % 2 == 1 { "0" } else { "" });
    let pairs = even.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    let bytes: Vec<u8> = pairs.map(byte).collect();
    bytes.into_iter().skip_while(|byte| *byte == 0).collect()
}

fn known() -> Vec<Signed> {
    let lines = include_str!("../testdata/rsa.txt").lines().skip(1);
    let signed = lines.map(|line| {
        let parts: Vec<&str> = line.split(' ').collect();
        let modulus = bytes(parts[1]);
        let mut signature = bytes(parts[3]);
        let missing = modulus.len() - signature.len();
        signature.splice(0..0, vec![0; missing]);
        Signed {
            scheme: SCHEMES
                .iter()
                .find(|(name, _)| *name == parts[0])
                .unwrap()
                .1,
            exponent: bytes(parts[2]),
            modulus,
            signature,
        }
    });
    signed.collect()
}

#[test]
fn signatures_of_any_length_are_those_of_their_key_message_and_way_alone() {
    let known = known();
    assert_eq!(known.len(), 22);
    for signed in &known {
        let key = signed.key();
        let why = (key.bits(), signed.scheme);
        assert!(
            key.verifies(signed.scheme, MESSAGE, &signed.signature),
            "{why:?}"
        );
        assert!(
            !key.verifies(signed.scheme, b"other", &signed.signature),
            "{why:?}"
        );
        for (_, scheme) in SCHEMES {
            let verifies = key.verifies(scheme, MESSAGE, &signed.signature);
            assert_eq!(verifies, scheme == signed.scheme, "{why:?} {scheme:?}");
        }
        for other in known.iter().filter(|other| other.modulus != signed.modulus) {
            assert!(
                !other
                    .key()
                    .verifies(signed.scheme, MESSAGE, &signed.signature)
            );
        }
    }
}

#[test]
fn a_changed_or_shortened_signature_is_refused() {
    for signed in known() {
        let verifies = |bytes: &[u8]| signed.key().verifies(signed.scheme, MESSAGE, bytes);
        for at in (0..signed.signature.len()).step_by(7) {
            let mut changed = signed.signature.clone();
            changed[at] ^= 1 << (at % 8);
            assert!(!verifies(&changed));
        }
        assert!(!verifies(&signed.signature[1..]));
        assert!(!verifies(&[&[0], &*signed.signature].concat()));
        assert!(!verifies(&[]));
        assert!(!verifies(&signed.modulus), "not below the modulus");
    }
}

#[test]
fn invalid_keys_verify_nothing() {
    let signed = &known()[0];
    let numbers: [&[u8]; 6] = [&[], &[1], &[2], &[3], &[0xff; 2049], &[0xfe; 64]];
    for modulus in numbers {
        for exponent in [&[][..], &[1], &[3], &[0xff; 9]] {
            let key = PublicKey { modulus, exponent };
            for (_, scheme) in SCHEMES {
                let signatures = [
                    vec![0; modulus.len()],
                    vec![1; modulus.len()],
                    signed.signature.clone(),
                ];
                for signature in signatures {
                    assert!(!key.verifies(scheme, MESSAGE, &signature));
                }
            }
        }
    }
    assert!(
        !signed
            .key()
            .verifies(SignatureScheme::ED25519, MESSAGE, &signed.signature)
    );
}

proptest::proptest! {
    /// Whatever a server shows and signs.
    #[test]
    fn no_key_is_too_strange(
        modulus in proptest::collection::vec(1..=255_u8, 0..80),
        exponent in proptest::collection::vec(1..=255_u8, 0..10),
        signature in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..80),
    ) {
        let key = PublicKey { modulus: &modulus, exponent: &exponent };
        for (_, scheme) in SCHEMES {
            proptest::prop_assert!(!key.verifies(scheme, MESSAGE, &signature));
        }
    }
}
