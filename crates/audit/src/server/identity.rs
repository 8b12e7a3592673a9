//! The certificates of a server, and the protocols that it chooses from.

use std::sync::Arc;

use anyhow::{Context, Result};
use hecaton_test_server::{Flaw, make_certificates};
use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::case::Case;

/// The address of a server where TLS has no fault: a client that fails there too does not fail because of the fault.
pub(super) const GOOD: &str = "other port";

/// The name and the addresses of the certificate.
const NAMES: [&str; 4] = ["localhost", "audit.test", "127.0.0.1", "127.0.0.2"];

/// Most bytes of early data.
const MOST_EARLY: u32 = 16 << 10;

/// The certificates of a server, with the protocols that it chooses from.
pub(super) struct Identity {
    /// The authorities of both certificates.
    pub(super) ca: String,
    config: Arc<ServerConfig>,
    /// The same without a fault.
    good: Arc<ServerConfig>,
}

impl Identity {
    /// The identity for a case; none if there is more than one, which may need different ones, or if it has no TLS.
    pub(super) fn of(cases: &[Case]) -> Result<Option<Identity>> {
        let [case] = cases else {
            return Ok(None);
        };
        let needs = case.all_needs();
        if !needs.iter().any(|need| need == "tls") {
            return Ok(None);
        }
        let (ca, config) = config(case, case.tls.certificate.flaw)?;
        let (good_ca, good) = self::config(case, Flaw::None)?;
        Ok(Some(Identity {
            ca: ca + &good_ca,
            config,
            good,
        }))
    }
}

impl Identity {
    /// The settings of TLS at one of the server's addresses.
    pub(super) fn at(&self, at: &str) -> &Arc<ServerConfig> {
        if at == GOOD { &self.good } else { &self.config }
    }
}

/// A certificate with that flaw: its authority, and what a handshake with it needs.
fn config(case: &Case, flaw: Flaw) -> Result<(String, Arc<ServerConfig>)> {
    let names = NAMES.map(str::to_owned);
    let made = make_certificates(&names, flaw).context("no certificate can be made")?;
    let chain = CertificateDer::pem_slice_iter(made.chain.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(made.key.as_bytes())?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain.collect::<Result<_, _>>()?, key)?;
    let protocols: &[&str] = match case.h2 {
        _ if case.h3 => &["h3", "http/1.1"],
        Some(_) => &["h2", "http/1.1"],
        None => &["http/1.1"],
    };
    let protocols = protocols.iter().map(|name| name.as_bytes().to_vec());
    config.alpn_protocols = protocols.collect();
    // The server accepts early data over TCP, so that a client that may send some does.
    config.max_early_data_size = if case.h3 { 0 } else { MOST_EARLY };
    Ok((made.ca, Arc::new(config)))
}
