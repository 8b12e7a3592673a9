//! Verifies signatures of handshakes by RSA keys of lengths that ring does not verify (RFC 8017 §8.1.2 and §8.2.2).
//!
//! All numbers here are public, so the time of a computation may depend on them. webpki still verifies chains only with
//! ring. So a key that is too short for a chain proves only that the server has the key of its certificate.

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd};
use ring::digest::{Algorithm, Context, SHA256, SHA384, SHA512, digest};
use rustls::SignatureScheme;

/// Longest modulus and longest exponent in bits, as in OpenSSL. Longer ones would cost too much time.
const LONGEST: usize = 16384;
const LONGEST_EXPONENT: usize = 64;

/// The public numbers, most significant byte first, without leading zeros.
pub(super) struct PublicKey<'a> {
    pub modulus: &'a [u8],
    pub exponent: &'a [u8],
}

/// How the hash of a message is padded before it is signed.
#[derive(Clone, Copy)]
enum Padding {
    Pss,
    /// With these bytes before the hash (RFC 8017 §9.2, note 1).
    Pkcs1(&'static [u8]),
}

const DIGEST_INFO_SHA256: &[u8] =
    b"\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20";
const DIGEST_INFO_SHA384: &[u8] =
    b"\x30\x41\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x02\x05\x00\x04\x30";
const DIGEST_INFO_SHA512: &[u8] =
    b"\x30\x51\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x03\x05\x00\x04\x40";

impl PublicKey<'_> {
    /// How many bits the modulus has.
    pub fn bits(&self) -> usize {
        bits(self.modulus)
    }

    /// Whether this is a signature of the message by this key, with this scheme.
    pub fn verifies(&self, scheme: SignatureScheme, message: &[u8], signature: &[u8]) -> bool {
        let Some((padding, hash)) = way(scheme) else {
            return false;
        };
        let hashed = digest(hash, message);
        self.opened(signature).is_some_and(|encoded| match padding {
            Padding::Pss => fits_pss(&encoded, self.bits() - 1, hash, hashed.as_ref()),
            Padding::Pkcs1(info) => fits_pkcs1(&encoded, &[info, hashed.as_ref()].concat()),
        })
    }

    /// The signature to the power of the exponent, in as many bytes as the modulus has.
    fn opened(&self, signature: &[u8]) -> Option<Vec<u8>> {
        let length = self.modulus.len();
        let odd = self.modulus.last()? & 1 == 1;
        let usable = odd && self.bits() <= LONGEST && bits(self.exponent) <= LONGEST_EXPONENT;
        // The signature must be a number below the modulus.
        if !usable || signature.len() != length || signature >= self.modulus {
            return None;
        }
        let precision = u32::try_from(length * 8).ok()?;
        let number = |bytes: &[u8]| BoxedUint::from_be_slice(bytes, precision).ok();
        let modulus = Odd::new(number(self.modulus)?).into_option()?;
        let exponent = BoxedUint::from_be_slice_vartime(self.exponent);
        let parameters = BoxedMontyParams::new_vartime(modulus);
        let signature = BoxedMontyForm::new(number(signature)?, &parameters);
        let opened = signature.pow(&exponent).retrieve().to_be_bytes();
        Some(opened[opened.len() - length..].to_vec())
    }
}

/// Whether a scheme is RSA-PSS, the only kind of RSA that TLS 1.3 allows in handshakes (RFC 8446 §4.2.3).
pub(super) fn is_pss(scheme: SignatureScheme) -> bool {
    matches!(way(scheme), Some((Padding::Pss, _)))
}

fn way(scheme: SignatureScheme) -> Option<(Padding, &'static Algorithm)> {
    Some(match scheme {
        SignatureScheme::RSA_PSS_SHA256 => (Padding::Pss, &SHA256),
        SignatureScheme::RSA_PSS_SHA384 => (Padding::Pss, &SHA384),
        SignatureScheme::RSA_PSS_SHA512 => (Padding::Pss, &SHA512),
        SignatureScheme::RSA_PKCS1_SHA256 => (Padding::Pkcs1(DIGEST_INFO_SHA256), &SHA256),
        SignatureScheme::RSA_PKCS1_SHA384 => (Padding::Pkcs1(DIGEST_INFO_SHA384), &SHA384),
        SignatureScheme::RSA_PKCS1_SHA512 => (Padding::Pkcs1(DIGEST_INFO_SHA512), &SHA512),
        _ => return None,
    })
}

/// How many bits a number without leading zero bytes has.
fn bits(number: &[u8]) -> usize {
    let leading = number
        .first()
        .map_or(0, |byte| byte.leading_zeros() as usize);
    number.len() * 8 - leading
}

/// `00 01 ff … ff 00`, at least eight times `ff`, and what was signed. The whole is compared, and nothing in it is
/// parsed.
fn fits_pkcs1(encoded: &[u8], signed: &[u8]) -> bool {
    let Some(padding) = encoded.len().checked_sub(signed.len() + 3) else {
        return false;
    };
    let expected = [b"\0\x01", &*vec![0xff; padding], b"\0", signed].concat();
    padding >= 8 && encoded == expected
}

/// Verifies by RFC 8017 §9.1.2, with a salt as long as the hash (RFC 8446 §4.2.3). `bits` is one less than the modulus
/// has.
fn fits_pss(encoded: &[u8], bits: usize, hash: &'static Algorithm, hashed: &[u8]) -> bool {
    let (length, of_hash) = (bits.div_ceil(8), hash.output_len());
    let Some(at) = length.checked_sub(of_hash + 1).filter(|at| *at > of_hash) else {
        return false;
    };
    // The modulus is one byte longer than `length` if its first bit is alone in its byte.
    let (above, encoded) = encoded.split_at(encoded.len() - length);
    let (masked, rest) = encoded.split_at(at);
    let (sum, end) = rest.split_at(of_hash);
    let unused = 0xff_u8
        .checked_shl(8 - (8 * length - bits) as u32)
        .unwrap_or(0);
    if above.iter().any(|byte| *byte != 0) || end != [0xbc] || masked[0] & unused != 0 {
        return false;
    }
    let mut block: Vec<u8> = mask(sum, at, hash)
        .zip(masked)
        .map(|(mask, byte)| mask ^ byte)
        .collect();
    block[0] &= !unused;
    let (zeros, salt) = block.split_at(at - of_hash);
    let Some((1, zeros)) = zeros.split_last() else {
        return false;
    };
    let mut context = Context::new(hash);
    for part in [&[0; 8], hashed, salt] {
        context.update(part);
    }
    zeros.iter().all(|byte| *byte == 0) && context.finish().as_ref() == sum
}

/// MGF1 (RFC 8017 §B.2.1).
fn mask(seed: &[u8], length: usize, hash: &'static Algorithm) -> impl Iterator<Item = u8> {
    let blocks = (0_u32..).flat_map(move |count| {
        digest(hash, &[seed, &count.to_be_bytes()].concat())
            .as_ref()
            .to_vec()
    });
    blocks.take(length)
}

#[cfg(test)]
mod tests;
