//! Certificates and keys as users give them: the path of a PEM file, or its text.

use std::fmt;
use std::fs;

use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};

/// A key of Ed25519 has 64 bytes in base64.
const SHORTEST_KEY: usize = 40;

/// Longer paths are not shown.
const LONGEST_PATH: usize = 200;

/// PEM (RFC 7468): text that contains `-----BEGIN`, or else the path of a file. Files are read once, when
/// the client is made; its [`config`](crate::Client::config) holds what was in them.
#[derive(Clone, PartialEq, Eq)]
pub struct Pem {
    /// None if the text was given.
    path: Option<String>,
    /// None if the file has not been read.
    text: Option<String>,
}

impl<T: Into<String>> From<T> for Pem {
    fn from(text_or_path: T) -> Pem {
        let given = text_or_path.into();
        match given.contains("-----BEGIN") {
            true => Pem {
                path: None,
                text: Some(given),
            },
            false => Pem {
                path: Some(given),
                text: None,
            },
        }
    }
}

impl fmt::Debug for Pem {
    /// Never shows the text, which may be a private key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "Pem({})", shown(path)),
            None => f.write_str("Pem(text)"),
        }
    }
}

impl Pem {
    /// Reads the file, if there is one that has not been read.
    pub(crate) fn read(&mut self) -> Result<(), String> {
        if let (Some(path), None) = (&self.path, &self.text) {
            let text =
                fs::read(path).map_err(|error| format!("cannot read {}: {error}", shown(path)))?;
            self.text = Some(String::from_utf8_lossy(&text).into_owned());
        }
        Ok(())
    }

    /// Every certificate in it, at least one.
    pub(crate) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, String> {
        self.all("no certificate in PEM")
    }

    /// Every list of revoked certificates in it, at least one.
    pub(crate) fn lists(&self) -> Result<Vec<CertificateRevocationListDer<'static>>, String> {
        self.all("no list of revoked certificates in PEM")
    }

    /// Every item of a kind in it; `none` is what to say if there is none.
    fn all<T: PemObject>(&self, none: &str) -> Result<Vec<T>, String> {
        let all: Result<Vec<_>, _> = T::pem_slice_iter(self.bytes()).collect();
        match all {
            Ok(all) if all.is_empty() => Err(self.has(none)),
            Ok(all) => Ok(all),
            Err(error) => Err(self.has(&broken(&error))),
        }
    }

    /// The first private key in it.
    pub(crate) fn key(&self) -> Result<PrivateKeyDer<'static>, String> {
        PrivateKeyDer::from_pem_slice(self.bytes()).map_err(|error| {
            let text = self.text.as_deref().unwrap_or_default();
            match error {
                pem::Error::NoItemsFound if is_locked(text) => self.has(
                    "a private key with a passphrase: give client_key_password (in Ruby), or decrypt it first",
                ),
                pem::Error::NoItemsFound => self.has("no private key in PEM"),
                error => self.has(&broken(&error)),
            }
        })
    }

    fn bytes(&self) -> &[u8] {
        self.text.as_deref().unwrap_or_default().as_bytes()
    }

    /// "The file has this", for messages.
    pub(crate) fn has(&self, what: &str) -> String {
        match &self.path {
            Some(path) => format!("{} has {what}", shown(path)),
            None => format!("the text has {what}"),
        }
    }
}

/// Whether a text has a private key with a passphrase (RFC 7468 §11).
fn is_locked(text: &str) -> bool {
    let label = "-----BEGIN ENCRYPTED PRIVATE KEY-----";
    text.lines().any(|line| line.trim() == label)
}

/// A path for messages. Text without its `-----BEGIN` counts as a path, too, and may be a private key. It is not shown
/// if it has several lines, or may be base64.
fn shown(path: &str) -> String {
    let of_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
    let may_be_a_key = path.len() > LONGEST_PATH
        || (path.len() >= SHORTEST_KEY && path.bytes().all(of_base64))
        || path.contains(['\r', '\n']);
    match may_be_a_key {
        true => "what is neither the path of a file nor PEM with its -----BEGIN line".into(),
        false => format!("{path:?}"),
    }
}

/// The fault in the form of a text.
fn broken(error: &pem::Error) -> String {
    let why = match error {
        pem::Error::MissingSectionEnd { end_marker } => {
            let name = String::from_utf8_lossy(end_marker);
            format!("\"-----BEGIN {name}-----\" has no \"-----END {name}-----\"")
        }
        pem::Error::IllegalSectionStart { .. } => {
            "a line that begins \"-----BEGIN\" is cut off".to_owned()
        }
        other => other.to_string(),
    };
    format!("broken PEM: {why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_with_a_passphrase_is_known_by_its_label() {
        let of = |name: &str| format!("-----BEGIN {name}-----\nAAAA\n-----END {name}-----\n");
        for (text, is_locked) in [
            (of("ENCRYPTED PRIVATE KEY"), true),
            (of("CERTIFICATE") + &of("ENCRYPTED PRIVATE KEY"), true),
            (format!("NOT ENCRYPTED\n{}", of("CERTIFICATE")), false),
        ] {
            let message = Pem::from(text.as_str()).key().unwrap_err();
            assert_eq!(message.contains("passphrase"), is_locked, "{text}");
        }
    }

    #[test]
    fn what_may_be_a_key_is_not_shown() {
        let key = "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g";
        let end = "-----END PRIVATE KEY-----";
        for (given, is_shown) in [
            ("/etc/ssl/private/server.example.org/privkey.pem", true),
            ("key", true),
            (key, false),
            (&format!("{key}\n{end}\n"), false),
            (&format!("a-b.c/{}", "d".repeat(200)), false),
        ] {
            let mut pem = Pem::from(given);
            for message in [
                pem.read().unwrap_err(),
                pem.has("nothing"),
                format!("{pem:?}"),
            ] {
                assert_eq!(message.contains(given), is_shown, "{message}");
            }
        }
    }
}
