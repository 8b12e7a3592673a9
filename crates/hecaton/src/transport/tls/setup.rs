//! The settings of TLS → rustls's configuration.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    ClientConfig, Error, InconsistentKeys, RootCertStore, SupportedProtocolVersion, version,
};
use webpki::BorrowedCertRevocationList;

use super::der::{Der, GENERALIZED_TIME, INTEGER, SEQUENCE, UTC_TIME};
use super::p521;
use super::verify::{Authority, Pin, Verifier, fingerprint};
use crate::config::{Config, TlsVersion};
use crate::message::failure::InvalidRequest;

const BOTH: &[&SupportedProtocolVersion] = &[&version::TLS13, &version::TLS12];
const NEWEST: &[&SupportedProtocolVersion] = &[&version::TLS13];

const UNREADABLE: &str = "a certificate that cannot be read: it is not valid DER";

/// Settings that have been checked.
pub(super) struct Setup {
    provider: Arc<CryptoProvider>,
    versions: &'static [&'static SupportedProtocolVersion],
    /// The authorities of `ca`; none for the system's.
    roots: Option<Trusted>,
    lists: Vec<CertificateRevocationListDer<'static>>,
    identity: Option<Arc<SingleCertAndKey>>,
    pins: Vec<Pin>,
    verify: bool,
    verify_hostname: bool,
}

/// The protocols that a handshake offers; the server chooses one (ALPN, RFC 7301).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    Http1,
    Http2,
    /// HTTP/2 rather than HTTP/1.1.
    Both,
}

/// The configurations of connections, one for each offer.
pub(super) struct Loaded {
    http1: Arc<ClientConfig>,
    http2: Arc<ClientConfig>,
    both: Arc<ClientConfig>,
    /// For proxies, which have names and keys of their own: the pins and the client's certificate are not for them.
    pub proxy: Arc<ClientConfig>,
    #[cfg(feature = "http3")]
    pub http3: Arc<ClientConfig>,
    /// The verifier of servers' certificates.
    #[cfg(feature = "http3")]
    pub verifier: Arc<Verifier>,
}

impl Loaded {
    pub fn of(&self, offer: Offer) -> &Arc<ClientConfig> {
        match offer {
            Offer::Http1 => &self.http1,
            Offer::Http2 => &self.http2,
            Offer::Both => &self.both,
        }
    }
}

impl Setup {
    pub fn new(config: &Config) -> Result<Setup, InvalidRequest> {
        let provider = Arc::new(p521::with_ring());
        Ok(Setup {
            versions: match config.tls_min {
                TlsVersion::Tls12 => BOTH,
                TlsVersion::Tls13 => NEWEST,
            },
            roots: roots(config)?,
            lists: lists(config)?,
            identity: identity(config, &provider)?,
            pins: config
                .pins
                .iter()
                .map(|pin| parse_pin(pin))
                .collect::<Result<_, _>>()?,
            verify: config.verify,
            verify_hostname: config.verify_hostname,
            provider,
        })
    }

    /// The configurations of all connections, or a sentence that says why there are none.
    pub fn load(&self) -> Result<Loaded, String> {
        let authority = self.authority()?;
        let verifier = |authority, pins: &[Pin]| {
            Arc::new(Verifier::new(authority, &self.provider, pins.to_vec()))
        };
        let of_servers = verifier(authority.clone(), &self.pins);
        let server = self.config(of_servers.clone(), self.identity.as_ref())?;
        let proxy = self.config(verifier(authority, &[]), None)?;
        Ok(Loaded {
            http1: offering(&server, &["http/1.1"]),
            http2: offering(&server, &["h2"]),
            both: offering(&server, &["h2", "http/1.1"]),
            proxy: offering(&proxy, &["http/1.1"]),
            #[cfg(feature = "http3")]
            http3: offering(&server, &["h3"]),
            #[cfg(feature = "http3")]
            verifier: of_servers,
        })
    }

    fn config(
        &self,
        verifier: Arc<Verifier>,
        identity: Option<&Arc<SingleCertAndKey>>,
    ) -> Result<ClientConfig, String> {
        let builder = ClientConfig::builder_with_provider(self.provider.clone())
            .with_protocol_versions(self.versions)
            .map_err(|error| error.to_string())?;
        let builder = builder
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        Ok(match identity {
            Some(identity) => builder.with_client_cert_resolver(identity.clone()),
            None => builder.with_no_client_auth(),
        })
    }

    /// The verifier of certificates; none when verification is off.
    fn authority(&self) -> Result<Option<Authority>, String> {
        if !self.verify {
            return Ok(None);
        }
        let Trusted { roots, sums } = match &self.roots {
            Some(trusted) => trusted.clone(),
            None => of_the_system()?,
        };
        let mut chains = WebPkiServerVerifier::builder_with_provider(roots, self.provider.clone());
        if !self.lists.is_empty() {
            chains = chains
                .with_crls(self.lists.clone())
                .enforce_revocation_expiration();
        }
        let chains = chains.build();
        Ok(Some(Authority {
            chains: chains.map_err(|error| error.to_string())?,
            trusted: sums,
            names: self.verify_hostname,
        }))
    }
}

fn offering(config: &ClientConfig, protocols: &[&str]) -> Arc<ClientConfig> {
    let mut config = config.clone();
    let protocols = protocols.iter().map(|name| name.as_bytes().to_vec());
    config.alpn_protocols = protocols.collect();
    Arc::new(config)
}

/// Trusted certificates: as authorities, and by their SHA-256 for themselves.
#[derive(Clone)]
struct Trusted {
    roots: Arc<RootCertStore>,
    sums: Arc<HashSet<[u8; 32]>>,
}

impl Trusted {
    fn new(roots: RootCertStore, certificates: &[CertificateDer<'_>]) -> Trusted {
        Trusted {
            roots: Arc::new(roots),
            sums: Arc::new(certificates.iter().map(fingerprint).collect()),
        }
    }
}

/// The system's authorities, or those of `SSL_CERT_FILE` and `SSL_CERT_DIR` if set.
fn of_the_system() -> Result<Trusted, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs.iter().cloned());
    if !roots.is_empty() {
        return Ok(Trusted::new(roots, &found.certs));
    }
    let why = found.errors.first().map_or_else(
        || "the system has none".to_owned(),
        |error| error.to_string(),
    );
    Err(format!(
        "there are no trusted certificates to verify with ({why}): install the system's \
         (ca-certificates), set SSL_CERT_FILE, or give `ca`"
    ))
}

fn roots(config: &Config) -> Result<Option<Trusted>, InvalidRequest> {
    let Some(ca) = &config.ca else {
        return Ok(None);
    };
    let invalid = |why: String| InvalidRequest(format!("ca: {why}"));
    let mut roots = RootCertStore::empty();
    let certificates = ca.certificates().map_err(invalid)?;
    for certificate in &certificates {
        let added = roots.add(certificate.clone());
        added.map_err(|_| invalid(ca.has(UNREADABLE)))?;
    }
    Ok(Some(Trusted::new(roots, &certificates)))
}

/// The lists of revoked certificates. They are read here too, so that a broken one is refused at once.
fn lists(config: &Config) -> Result<Vec<CertificateRevocationListDer<'static>>, InvalidRequest> {
    let Some(crl) = &config.crl else {
        return Ok(Vec::new());
    };
    let invalid = |why: String| InvalidRequest(format!("crl: {why}"));
    let mut lists = crl.lists().map_err(invalid)?;
    // The verifier takes the first list that is for a certificate.
    lists.sort_by_cached_key(|list| Reverse(begin(list)));
    for list in &lists {
        BorrowedCertRevocationList::from_der(list).map_err(|error| {
            let why = match error {
                webpki::Error::BadDer
                | webpki::Error::BadDerTime
                | webpki::Error::TrailingData(_) => "it is not valid DER".to_owned(),
                other => format!("{other:?}"),
            };
            invalid(crl.has(&format!(
                "a list of revoked certificates that cannot be read: {why}"
            )))
        })?;
    }
    Ok(lists)
}

/// When a list was made (RFC 5280 §5.1.2.4), as "YYYYMMDDhhmmssZ"; none if it cannot be read.
fn begin(list: &CertificateRevocationListDer<'_>) -> Option<Vec<u8>> {
    let mut fields = Der(Der(Der(list).only(SEQUENCE)?).next(SEQUENCE)?.content);
    if fields.is_next(INTEGER) {
        fields.next(INTEGER)?; // The version.
    }
    for _ in ["signature", "issuer"] {
        fields.next(SEQUENCE)?;
    }
    if fields.is_next(GENERALIZED_TIME) {
        return Some(fields.next(GENERALIZED_TIME)?.content.to_vec());
    }
    let time = fields.next(UTC_TIME)?.content;
    let century: &[u8] = match time.first()? {
        b'0'..=b'4' => b"20",
        _ => b"19",
    };
    Some([century, time].concat())
}

fn identity(
    config: &Config,
    provider: &CryptoProvider,
) -> Result<Option<Arc<SingleCertAndKey>>, InvalidRequest> {
    let (certificate, key) = match (&config.client_cert, &config.client_key) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => (certificate, key),
        // One file may hold both.
        (Some(both), None) => (both, both),
        (None, Some(_)) => {
            let why = "client_key is given without client_cert: give both";
            return Err(InvalidRequest(why.into()));
        }
    };
    let of_certificate = |why: String| InvalidRequest(format!("client_cert: {why}"));
    let of_key = |why: String| match config.client_key {
        Some(_) => InvalidRequest(format!("client_key: {why}")),
        None => InvalidRequest(format!("client_cert: {why}, and there is no client_key")),
    };
    let chain = certificate.certificates().map_err(of_certificate)?;
    let der = key.key().map_err(of_key)?;
    let loaded = provider.key_provider.load_private_key(der);
    let loaded = loaded.map_err(|_| {
        of_key(key.has("a private key that cannot be read: it must be of RSA, ECDSA or Ed25519"))
    })?;
    let pair = CertifiedKey::new(chain, loaded);
    match pair.keys_match() {
        Err(Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
            let why = "client_key is not the key of the first certificate in client_cert";
            return Err(InvalidRequest(why.into()));
        }
        // A key that does not show its public half cannot be compared with the certificate.
        Ok(()) | Err(Error::InconsistentKeys(_)) => {}
        Err(_) => return Err(of_certificate(certificate.has(UNREADABLE))),
    }
    Ok(Some(Arc::new(SingleCertAndKey::from(pair))))
}

fn parse_pin(pin: &str) -> Result<Pin, InvalidRequest> {
    let digest = pin
        .strip_prefix("sha256/")
        .and_then(|text| BASE64_STANDARD.decode(text).ok())
        .and_then(|bytes| Pin::try_from(bytes).ok());
    digest.ok_or_else(|| {
        let form = "\"sha256/\" and the base64 of a key's SHA-256 (32 bytes)";
        InvalidRequest(format!("pins: {pin:?} is not {form}"))
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn refusal(change: impl FnOnce(&mut Config)) -> String {
        let mut config = Config::new(Duration::from_secs(1));
        change(&mut config);
        let result = config.read_files().and_then(|()| Setup::new(&config));
        let refused = result.err();
        refused.expect("the settings are refused").to_string()
    }

    #[test]
    fn invalid_settings_are_refused_by_name_and_without_secrets() {
        let message = refusal(|config| config.ca = Some("/no/such/file".into()));
        assert!(message.starts_with("ca: cannot read"), "{message}");
        let message = refusal(|config| config.ca = Some("-----BEGIN NOTHING-----".into()));
        assert!(message.starts_with("ca: the text has"), "{message}");
        let message = refusal(|config| config.client_key = Some("-----BEGIN SECRET".into()));
        assert!(message.contains("without client_cert"), "{message}");
        assert!(!message.contains("SECRET"), "{message}");
        for pin in ["sha1/AAAA", "sha256/AAAA", "sha256/%", ""] {
            let message = refusal(|config| config.pins = vec![pin.into()]);
            assert!(message.starts_with("pins: "), "{message}");
        }
    }
}
