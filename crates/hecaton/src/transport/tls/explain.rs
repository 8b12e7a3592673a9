//! An error of TLS → a sentence that says what is wrong and what to do.

use std::io;
use std::time::{Duration, SystemTime};

use rustls::pki_types::UnixTime;
use rustls::{
    AlertDescription, CertificateError, Error, OtherError, PeerIncompatible, PeerMisbehaved,
};

use super::verify::{Refusal, is_authoritys};
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::reason::Reason;

/// A message lists at most this many names of a certificate.
const MOST_NAMES: usize = 3;

/// The server's messages before a handshake failed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Received {
    /// The server had sent only its refusal of what was offered.
    NothingElse,
    /// The server had also sent another step of the handshake, or that is unknown.
    More,
}

/// Why TLS failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Explanation {
    /// The sentence.
    pub text: String,
    /// The reason, if it is one of the table.
    pub reason: Option<Reason>,
}

impl Explanation {
    /// The failure of a request in this phase.
    pub fn failure(&self, phase: Phase) -> Failure {
        Failure::new(Kind::Tls, phase, self.text.as_str()).for_reason(self.reason)
    }
}

/// Why a connection failed after its handshake, if TLS was the cause; none if the connection under it failed.
pub(crate) fn explain(error: &io::Error) -> Option<Explanation> {
    match of_tls(error)? {
        Error::InvalidMessage(_) => Some(Explanation {
            text: "what came behind the handshake is not TLS".into(),
            reason: None,
        }),
        _ => explain_after(Received::More, error),
    }
}

fn of_tls(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

/// Why a handshake failed, if TLS was the cause.
pub(super) fn explain_after(received: Received, error: &io::Error) -> Option<Explanation> {
    Some(explain_of(received, of_tls(error)?))
}

pub(super) fn explain_of(received: Received, cause: &Error) -> Explanation {
    Explanation {
        text: text(received, cause),
        reason: reason(received, cause),
    }
}

fn text(received: Received, error: &Error) -> String {
    match error {
        Error::InvalidCertificate(why) => format!("the certificate {}", certificate(why)),
        Error::AlertReceived(AlertDescription::HandshakeFailure)
            if received == Received::NothingElse =>
        {
            NOTHING_IN_COMMON.into()
        }
        Error::AlertReceived(alert) => alert_received(*alert),
        Error::PeerIncompatible(why) => incompatible(why),
        Error::PeerMisbehaved(why) => misbehaved(why),
        Error::InvalidMessage(_) => {
            "what the server sends is not TLS: is it a port for plain HTTP?".into()
        }
        Error::NoCertificatesPresented => "the server has no certificate".into(),
        _ => error.to_string(),
    }
}

fn reason(received: Received, error: &Error) -> Option<Reason> {
    use AlertDescription as A;
    Some(match error {
        Error::InvalidCertificate(why) => reason_of_certificate(why),
        Error::NoCertificatesPresented
        | Error::PeerIncompatible(PeerIncompatible::NoSignatureSchemesInCommon) => {
            Reason::CertificateMissing
        }
        Error::AlertReceived(A::HandshakeFailure) if received == Received::NothingElse => {
            Reason::HandshakeRefused
        }
        Error::AlertReceived(
            A::CertificateRequired
            | A::BadCertificate
            | A::UnsupportedCertificate
            | A::CertificateRevoked
            | A::CertificateExpired
            | A::CertificateUnknown
            | A::UnknownCA
            | A::AccessDenied
            | A::HandshakeFailure,
        ) => Reason::ClientCertificateRefused,
        _ => return None,
    })
}

fn reason_of_certificate(error: &CertificateError) -> Reason {
    use CertificateError as C;
    match error {
        C::Expired | C::ExpiredContext { .. } => Reason::CertificateExpired,
        C::NotValidYet | C::NotValidYetContext { .. } => Reason::CertificateNotYetValid,
        C::UnknownIssuer => Reason::CertificateUntrusted,
        C::NotValidForName | C::NotValidForNameContext { .. } => Reason::CertificateWrongHost,
        C::Revoked
        | C::UnknownRevocationStatus
        | C::ExpiredRevocationList
        | C::ExpiredRevocationListContext { .. } => Reason::CertificateRevoked,
        C::Other(OtherError(reason)) => match reason.downcast_ref::<Refusal>() {
            Some(Refusal::SelfSigned) => Reason::CertificateUntrusted,
            Some(Refusal::NotPinned) => Reason::CertificateNotPinned,
            Some(Refusal::NotItsKey) | None => Reason::CertificateInvalid,
        },
        _ => Reason::CertificateInvalid,
    }
}

/// One alert has all these causes, and servers do not say which.
const NOTHING_IN_COMMON: &str = "the server accepts nothing of what was offered (HandshakeFailure), be it the protocol \
    (TLS 1.2 and 1.3: see `tls_min`), the ciphers (AES-GCM or ChaCha20-Poly1305, in TLS 1.2 with ECDHE), the curves \
    (X25519, P-256, P-384, P-521), or that its certificate has a key of none of the kinds offered (RSA, ECDSA on these curves, \
    Ed25519)";

fn incompatible(why: &PeerIncompatible) -> String {
    use PeerIncompatible as P;
    match why {
        P::ServerDoesNotSupportTls12Or13 | P::SupportedVersionsExtensionRequired => {
            "the protocol is too old: the server supports no version of TLS from 1.2 on".into()
        }
        P::ServerTlsVersionIsDisabledByOurConfig
        | P::Tls12NotOffered
        | P::Tls12NotOfferedOrEnabled => {
            "the protocol is too old: the server supports no version of TLS that `tls_min` allows"
                .into()
        }
        P::NoCipherSuitesInCommon => "the server chose no cipher that was offered".into(),
        P::NoKxGroupsInCommon
        | P::NamedGroupsExtensionRequired
        | P::KeyShareExtensionRequired
        | P::NoEcPointFormatsInCommon
        | P::EcPointsExtensionRequired
        | P::UncompressedEcPointsRequired => {
            "there is no curve that both sides accept (here X25519, P-256, P-384 and P-521)".into()
        }
        P::NoSignatureSchemesInCommon => {
            "the server's certificate has a key of a kind, or on a curve, that is not supported"
                .into()
        }
        P::NoCertificateRequestSignatureSchemesInCommon => {
            "the server accepts no client certificate with a key of this kind: see `client_cert`"
                .into()
        }
        _ => format!("the two sides have no protocol in common ({why:?})"),
    }
}

fn misbehaved(why: &PeerMisbehaved) -> String {
    use PeerMisbehaved as P;
    let what = match why {
        P::SelectedUnofferedCipherSuite
        | P::SelectedUnusableCipherSuiteForVersion
        | P::IllegalHelloRetryRequestWithUnofferedCipherSuite => {
            "chose a cipher that was not offered"
        }
        P::SelectedUnofferedKxGroup
        | P::WrongGroupForKeyShare
        | P::IllegalHelloRetryRequestWithUnofferedNamedGroup => {
            "chose a curve that was not offered"
        }
        P::SignedHandshakeWithUnadvertisedSigScheme | P::SignedKxWithWrongAlgorithm => {
            "signed with its certificate's key in a way that was not offered"
        }
        P::IllegalHelloRetryRequestWithUnsupportedVersion
        | P::SelectedTls12UsingTls13VersionExtension => {
            "chose a version of the protocol that was not offered"
        }
        _ => "does not keep to the protocol",
    };
    format!("the server {what} ({why:?})")
}

fn certificate(error: &CertificateError) -> String {
    use CertificateError as C;
    match error {
        C::UnknownIssuer => {
            "has an unknown issuer: if you trust the authority that signed it, give it as `ca`"
                .into()
        }
        C::NotValidForName => "is for another host".into(),
        C::NotValidForNameContext { presented, .. } => {
            format!("is for another host ({})", names(presented))
        }
        C::Revoked => "has been revoked".into(),
        C::UnknownRevocationStatus => {
            "may have been revoked, or its authority: no list of `crl` is about it".into()
        }
        C::ExpiredRevocationList | C::ExpiredRevocationListContext { .. } => {
            "may have been revoked meanwhile: the list of `crl` about it is out of date".into()
        }
        C::Other(OtherError(reason)) => match reason.downcast_ref::<Refusal>() {
            Some(Refusal::SelfSigned) => "is self-signed, and nobody vouches for it".into(),
            Some(Refusal::NotPinned) => "has a key that is not among the `pins`".into(),
            Some(Refusal::NotItsKey) => {
                "has a key that the server does not have: its signature of the handshake is by another one".into()
            }
            None if is_authoritys(error) => {
                "is that of an authority: a server needs one of its own, signed by it, or give exactly this one as `ca`"
                    .into()
            }
            None => format!("cannot be accepted: {reason}"),
        },
        _ => by_itself(error),
    }
}

/// A fault of the certificate itself, which does not depend on its issuer or its host.
fn by_itself(error: &CertificateError) -> String {
    use CertificateError as C;
    match error {
        C::Expired => "has expired".into(),
        C::ExpiredContext { not_after, .. } => format!("has expired ({})", date(*not_after)),
        C::NotValidYet => "is not valid yet".into(),
        C::NotValidYetContext { not_before, .. } => {
            format!("is not valid yet (from {} on)", date(*not_before))
        }
        C::BadSignature => {
            "has a wrong signature, or one by an RSA key of less than 2048 bits".into()
        }
        C::UnsupportedSignatureAlgorithmContext {
            signature_algorithm_id,
            ..
        } => format!(
            "is signed by an algorithm that is not supported{}",
            algorithm(signature_algorithm_id)
        ),
        C::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "has a key of a kind, or on a curve, that is not supported".into()
        }
        C::BadEncoding => "cannot be read".into(),
        C::InvalidPurpose | C::InvalidPurposeContext { .. } => "is not one for servers".into(),
        _ => format!("cannot be accepted: {error}"),
    }
}

/// Names of algorithms that servers still use (by the OID in DER).
fn algorithm(id: &[u8]) -> &'static str {
    const RSA: &[u8] = &[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1];
    const ECDSA: &[u8] = &[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4];
    match (id.strip_prefix(RSA), id.strip_prefix(ECDSA)) {
        (Some([4, ..]), _) => " (RSA with MD5)",
        (Some([5, ..]), _) => " (RSA with SHA-1)",
        (_, Some([1, ..])) => " (ECDSA with SHA-1)",
        _ if id.starts_with(&[6, 3, 0x2b, 0x65, 0x71]) => " (Ed448)",
        _ => "",
    }
}

fn alert_received(alert: AlertDescription) -> String {
    use AlertDescription as A;
    match alert {
        A::CertificateRequired => "the server demands a client certificate: give `client_cert` and `client_key`".into(),
        A::BadCertificate | A::UnsupportedCertificate | A::CertificateRevoked
        | A::CertificateExpired | A::CertificateUnknown | A::UnknownCA | A::AccessDenied => {
            format!("the server refused the client certificate ({alert:?}): see `client_cert`")
        }
        A::ProtocolVersion => "the server refused the versions of the protocol that were offered (TLS 1.2 and 1.3): see `tls_min`".into(),
        A::NoApplicationProtocol => "the server supports no version of HTTP that was offered (ALPN): see `http`".into(),
        A::UnrecognisedName => "the server does not know this host (UnrecognisedName)".into(),
        A::HandshakeFailure => {
            "the server demands a client certificate, or refused the one that was shown (HandshakeFailure): see \
             `client_cert`".into()
        }
        A::InsufficientSecurity => "the ciphers and curves that were offered are too weak for the server (InsufficientSecurity)".into(),
        _ => format!("the server ended the handshake with the alert {alert:?}"),
    }
}

/// The names without control characters and at a limited length, because a hostile server may have written them.
fn names(presented: &[String]) -> String {
    let clean = |name: &String| {
        let inner = name.split('"').nth(1).unwrap_or(name);
        let printable = inner.chars().filter(char::is_ascii_graphic).take(80);
        printable.collect::<String>()
    };
    let mut names: Vec<_> = presented.iter().take(MOST_NAMES).map(clean).collect();
    match presented.len() {
        0 => return "it names none".into(),
        count if count > MOST_NAMES => names.push(format!("and {} more", count - MOST_NAMES)),
        _ => {}
    }
    format!("it names {}", names.join(", "))
}

fn date(time: UnixTime) -> String {
    let moment = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(time.as_secs()));
    match moment {
        // The formatter knows years up to 9999.
        Some(moment) if time.as_secs() < 253_402_300_800 => httpdate::fmt_http_date(moment),
        _ => "in a year beyond 9999".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_certificate_are_few_short_and_clean() {
        let many: Vec<_> = (0..9)
            .map(|n| format!("DnsName(\"a{n}.example\")"))
            .collect();
        assert_eq!(
            names(&many),
            "it names a0.example, a1.example, a2.example, and 6 more"
        );
        assert_eq!(names(&["DnsName(\"a\r\nb\")".into()]), "it names ab");
        assert!(names(&["x".repeat(1000)]).len() < 100);
        assert_eq!(names(&[]), "it names none");
    }

    #[test]
    fn a_refusal_says_which_of_protocol_cipher_curve_or_certificate() {
        use {PeerIncompatible as P, PeerMisbehaved as M};
        let alert = Error::AlertReceived;
        let unsupported = CertificateError::UnsupportedSignatureAlgorithmContext {
            signature_algorithm_id: b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05\x05\x00"
                .to_vec(),
            supported_algorithms: Vec::new(),
        };
        let kind = CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext {
            signature_algorithm_id: Vec::new(),
            public_key_algorithm_id: Vec::new(),
        };
        for (error, words) in [
            (
                P::ServerDoesNotSupportTls12Or13.into(),
                "protocol is too old",
            ),
            (P::ServerTlsVersionIsDisabledByOurConfig.into(), "`tls_min`"),
            (
                alert(AlertDescription::ProtocolVersion),
                "versions of the protocol",
            ),
            (P::NoCipherSuitesInCommon.into(), "cipher"),
            (M::SelectedUnofferedCipherSuite.into(), "cipher"),
            (P::NoKxGroupsInCommon.into(), "curve"),
            (M::SelectedUnofferedKxGroup.into(), "curve"),
            (
                P::NoSignatureSchemesInCommon.into(),
                "certificate has a key",
            ),
            (
                M::SignedHandshakeWithUnadvertisedSigScheme.into(),
                "certificate's key",
            ),
            (
                unsupported.into(),
                "the certificate is signed by an algorithm that is not supported (RSA with SHA-1)",
            ),
            (
                kind.into(),
                "the certificate has a key of a kind, or on a curve",
            ),
            (
                alert(AlertDescription::HandshakeFailure),
                "client certificate",
            ),
        ] {
            let said = explain(&io::Error::other(error)).unwrap().text;
            assert!(said.contains(words), "no {words:?} in: {said}");
        }
        let refused = io::Error::other(alert(AlertDescription::HandshakeFailure));
        let said = explain_after(Received::NothingElse, &refused).unwrap().text;
        for word in ["protocol", "ciphers", "curves", "certificate"] {
            assert!(said.contains(word), "no {word:?} in: {said}");
        }
        assert!(!said.contains("client certificate"), "{said}");
    }

    #[test]
    fn each_refusal_has_its_reason() {
        use {AlertDescription as A, CertificateError as C};
        let of = |received, error| explain_after(received, &io::Error::other(error)).unwrap();
        let pinned = |refusal: Refusal| C::Other(OtherError(std::sync::Arc::new(refusal)));
        for (why, expected) in [
            (C::Expired, Reason::CertificateExpired),
            (C::NotValidYet, Reason::CertificateNotYetValid),
            (C::UnknownIssuer, Reason::CertificateUntrusted),
            (pinned(Refusal::SelfSigned), Reason::CertificateUntrusted),
            (pinned(Refusal::NotPinned), Reason::CertificateNotPinned),
            (pinned(Refusal::NotItsKey), Reason::CertificateInvalid),
            (C::NotValidForName, Reason::CertificateWrongHost),
            (C::Revoked, Reason::CertificateRevoked),
            (C::UnknownRevocationStatus, Reason::CertificateRevoked),
            (C::BadSignature, Reason::CertificateInvalid),
        ] {
            let found = of(Received::More, Error::InvalidCertificate(why.clone()));
            assert_eq!(found.reason, Some(expected), "{why:?}");
            assert!(found.text.starts_with("the certificate "), "{found:?}");
        }
        let (only, more) = (Received::NothingElse, Received::More);
        for (received, error, expected) in [
            (
                more,
                Error::NoCertificatesPresented,
                Some(Reason::CertificateMissing),
            ),
            (
                more,
                PeerIncompatible::NoSignatureSchemesInCommon.into(),
                Some(Reason::CertificateMissing),
            ),
            (
                only,
                Error::AlertReceived(A::HandshakeFailure),
                Some(Reason::HandshakeRefused),
            ),
            (
                more,
                Error::AlertReceived(A::HandshakeFailure),
                Some(Reason::ClientCertificateRefused),
            ),
            (
                more,
                Error::AlertReceived(A::CertificateRequired),
                Some(Reason::ClientCertificateRefused),
            ),
            (more, Error::AlertReceived(A::ProtocolVersion), None),
            (more, PeerIncompatible::NoCipherSuitesInCommon.into(), None),
        ] {
            assert_eq!(of(received, error.clone()).reason, expected, "{error:?}");
        }
    }

    #[test]
    fn no_date_is_beyond_the_formatter() {
        for seconds in [0, 253_402_300_799, 253_402_300_800, u64::MAX] {
            let date = date(UnixTime::since_unix_epoch(Duration::from_secs(seconds)));
            assert!(!date.is_empty());
        }
    }
}
