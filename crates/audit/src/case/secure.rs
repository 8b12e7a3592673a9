//! How the server of a case does TLS and HTTP/2.

use hecaton_test_server::Flaw;
use serde::Deserialize;

use super::Step;

/// How the server does TLS, for cases with the URL `{tls}`, or a tunnel.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tls {
    /// The certificate that is shown. Default: a good one.
    pub certificate: Shown,
    /// Steps that replace the handshake, once the ClientHello is there. Default: none.
    pub hello: Vec<Step>,
}

/// The certificate that is shown, as `expired` or, if it is the fault, `!expired`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Shown {
    /// Whether this is what the case is about.
    pub fault: bool,
    /// The certificate's flaw.
    pub flaw: Flaw,
}

impl Default for Shown {
    fn default() -> Shown {
        Shown {
            fault: false,
            flaw: Flaw::None,
        }
    }
}

impl TryFrom<String> for Shown {
    type Error = String;

    fn try_from(text: String) -> Result<Shown, String> {
        let (fault, word) = match text.strip_prefix('!') {
            Some(word) => (true, word),
            None => (false, text.as_str()),
        };
        let flaw = match word {
            "valid" => Flaw::None,
            "expired" => Flaw::Expired,
            "not-yet-valid" => Flaw::NotYetValid,
            "wrong-host" => Flaw::WrongHost,
            "self-signed" => Flaw::SelfSigned,
            "untrusted-authority" => Flaw::UntrustedAuthority,
            "for-clients" => Flaw::ForClients,
            "common-name" => Flaw::CommonName,
            _ => return Err(format!("`{text}` is not a certificate")),
        };
        Ok(Shown { fault, flaw })
    }
}

/// How the server does HTTP/2, which it chooses in the handshake of TLS.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Http2 {
    /// The settings that it sends: identifiers and values.
    pub settings: Vec<(u16, u32)>,
    /// Whether these settings are what the case is about.
    pub fault: bool,
}
