//! Certificates and keys as users give them: the path of a PEM file, or its text.

use std::fmt;
use std::fs;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// PEM (RFC 7468): text that contains `-----BEGIN`, or else the path of a file. Files are read once, when
/// the client is made.
#[derive(Clone, PartialEq, Eq)]
pub struct Pem(String);

impl<T: Into<String>> From<T> for Pem {
    fn from(text_or_path: T) -> Pem {
        Pem(text_or_path.into())
    }
}

impl fmt::Debug for Pem {
    /// Never the text, which may be a private key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_text() {
            true => f.write_str("Pem(text)"),
            false => write!(f, "Pem({:?})", self.0),
        }
    }
}

impl Pem {
    fn is_text(&self) -> bool {
        self.0.contains("-----BEGIN")
    }

    /// Every certificate in it, at least one.
    pub(crate) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, String> {
        let certificates: Result<Vec<_>, _> =
            CertificateDer::pem_slice_iter(&self.bytes()?).collect();
        match certificates {
            Ok(certificates) if certificates.is_empty() => Err(self.holds("no certificate in PEM")),
            Ok(certificates) => Ok(certificates),
            Err(error) => Err(self.holds(&format!("broken PEM: {error}"))),
        }
    }

    /// The first private key in it.
    pub(crate) fn key(&self) -> Result<PrivateKeyDer<'static>, String> {
        let why = "no private key in PEM (one with a passphrase can not be read: decrypt it first)";
        PrivateKeyDer::from_pem_slice(&self.bytes()?).map_err(|_| self.holds(why))
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        match self.is_text() {
            true => Ok(self.0.clone().into_bytes()),
            false => {
                fs::read(&self.0).map_err(|error| format!("can not read {:?}: {error}", self.0))
            }
        }
    }

    fn holds(&self, what: &str) -> String {
        match self.is_text() {
            true => format!("the text has {what}"),
            false => format!("{:?} has {what}", self.0),
        }
    }
}
