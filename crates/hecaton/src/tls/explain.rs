//! What TLS says when it fails → a sentence that says what is wrong and what to do.

use std::io;
use std::time::{Duration, SystemTime};

use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error, OtherError};

use super::verify::Refusal;

/// Most names of a certificate that a message lists.
const MOST_NAMES: usize = 3;

/// The reason if it is one of TLS, none if the connection under it failed.
pub(crate) fn explain(error: &io::Error) -> Option<String> {
    let error = error.get_ref()?.downcast_ref::<Error>()?;
    Some(match error {
        Error::InvalidCertificate(why) => format!("the certificate {}", certificate(why)),
        Error::AlertReceived(alert) => alert_received(*alert),
        Error::PeerIncompatible(_) => {
            format!("there is no version or cipher that both sides accept ({error}): see `tls_min`")
        }
        Error::InvalidMessage(_) => {
            "what the server speaks is not TLS: is it a port for plain HTTP?".into()
        }
        Error::NoCertificatesPresented => "the server has no certificate".into(),
        _ => error.to_string(),
    })
}

fn certificate(error: &CertificateError) -> String {
    use CertificateError as C;
    match error {
        C::Expired => "has expired".into(),
        C::ExpiredContext { not_after, .. } => format!("has expired ({})", date(*not_after)),
        C::NotValidYet => "is not valid yet".into(),
        C::NotValidYetContext { not_before, .. } => {
            format!("is not valid yet (from {} on)", date(*not_before))
        }
        C::UnknownIssuer => {
            "has an unknown issuer: if you trust the authority that signed it, give it as `ca`"
                .into()
        }
        C::NotValidForName => "is for another host".into(),
        C::NotValidForNameContext { presented, .. } => {
            format!("is for another host ({})", names(presented))
        }
        C::Revoked => "has been revoked".into(),
        C::BadSignature => "has a wrong signature".into(),
        C::BadEncoding => "can not be read".into(),
        C::InvalidPurpose | C::InvalidPurposeContext { .. } => "is not one for servers".into(),
        C::Other(OtherError(reason)) => match reason.downcast_ref::<Refusal>() {
            Some(Refusal::SelfSigned) => "is self-signed, and nobody vouches for it".into(),
            Some(Refusal::NotPinned) => "has a key that is not among the `pins`".into(),
            None if is_authoritys(reason.as_ref()) => {
                "is that of an authority: a server needs one of its own, signed by it".into()
            }
            None => format!("can not be accepted: {reason}"),
        },
        _ => format!("can not be accepted: {error}"),
    }
}

fn is_authoritys(reason: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    matches!(
        reason.downcast_ref::<webpki::Error>(),
        Some(webpki::Error::CaUsedAsEndEntity)
    )
}

fn alert_received(alert: AlertDescription) -> String {
    use AlertDescription as A;
    match alert {
        A::CertificateRequired => "the server demands a client certificate: give `client_cert` and `client_key`".into(),
        A::BadCertificate | A::UnsupportedCertificate | A::CertificateRevoked
        | A::CertificateExpired | A::CertificateUnknown | A::UnknownCA | A::AccessDenied => {
            format!("the server refused the client certificate ({alert:?}): see `client_cert`")
        }
        A::ProtocolVersion => "the server refused the protocol versions offered: see `tls_min`".into(),
        A::NoApplicationProtocol => "the server speaks no version of HTTP that was offered (ALPN): see `http`".into(),
        A::UnrecognisedName => "the server does not know this host (UnrecognisedName)".into(),
        A::HandshakeFailure => {
            "the server refused the handshake (HandshakeFailure): it may demand a client certificate, or a \
             cipher that is not offered".into()
        }
        _ => format!("the server ended the handshake with the alert {alert:?}"),
    }
}

/// The names as they may be shown: a hostile server wrote them.
fn names(presented: &[String]) -> String {
    let clean = |name: &String| {
        let inner = name.split('"').nth(1).unwrap_or(name);
        let kept = inner.chars().filter(char::is_ascii_graphic).take(80);
        kept.collect::<String>()
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
    fn no_date_is_beyond_the_formatter() {
        for seconds in [0, 253_402_300_799, 253_402_300_800, u64::MAX] {
            let date = date(UnixTime::since_unix_epoch(Duration::from_secs(seconds)));
            assert!(!date.is_empty());
        }
    }
}
