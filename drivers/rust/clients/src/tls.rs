//! The authorities that clients trust over https, unless they have a file of their own.

use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::Job;

impl Job {
    /// The certificates to trust instead of the usual ones, as PEM; none when those of the system.
    pub fn ca_pem(&self) -> Option<Vec<u8>> {
        self.ca
            .as_ref()
            .map(|file| std::fs::read(file).expect("the harness wrote it"))
    }

    /// A configuration of rustls that trusts them, or the system's; nothing is read unless the URL is https.
    pub fn tls(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        match self.ca_pem() {
            Some(pem) => roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&pem).flatten()),
            None if self.url.starts_with("https:") => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)
            }
            None => (0, 0),
        };
        ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider supports TLS 1.2 and 1.3")
            .with_root_certificates(roots)
            .with_no_client_auth()
    }
}
