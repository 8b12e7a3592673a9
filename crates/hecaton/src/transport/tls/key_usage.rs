//! Whether a certificate may sign others. The verifier of chains does not look at it.

use rustls::pki_types::CertificateDer;

use super::der::{
    BIT_STRING, BOOLEAN, Der, EXTENSIONS, ISSUER_ID, OBJECT, OCTET_STRING, SEQUENCE, SUBJECT_ID,
};
use super::public_key::from_key;

/// id-ce-keyUsage (RFC 5280 §4.2.1.3).
const KEY_USAGE: &[u8] = &[0x55, 0x1d, 0x0f];

/// keyCertSign in the first byte of its bits.
const SIGNS_CERTIFICATES: u8 = 0x04;

/// Whether the certificate may sign others: its Key Usage says so, or it has none (RFC 5280 §6.1.4 (n)). A certificate
/// that cannot be read may; the verifier refuses it for that.
pub(super) fn may_sign(certificate: &CertificateDer<'_>) -> bool {
    bits(certificate).is_none_or(|bits| {
        bits.first()
            .is_some_and(|byte| byte & SIGNS_CERTIFICATES != 0)
    })
}

/// The bits of its Key Usage.
fn bits<'a>(certificate: &'a CertificateDer<'_>) -> Option<&'a [u8]> {
    let mut fields = from_key(certificate)?;
    fields.next(SEQUENCE)?; // The key.
    for id in [ISSUER_ID, SUBJECT_ID] {
        if fields.is_next(id) {
            fields.next(id)?;
        }
    }
    let mut extensions = Der(Der(fields.next(EXTENSIONS)?.content).only(SEQUENCE)?);
    while let Some(extension) = extensions.next(SEQUENCE) {
        let mut extension = Der(extension.content);
        if extension.next(OBJECT)?.content != KEY_USAGE {
            continue;
        }
        if extension.is_next(BOOLEAN) {
            extension.next(BOOLEAN)?;
        }
        let value = extension.next(OCTET_STRING)?.content;
        // The first byte says how many bits of the last are unused.
        return Der(value).only(BIT_STRING)?.get(1..);
    }
    None
}
