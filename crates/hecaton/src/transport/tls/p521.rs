//! Adds the curve P-521, which ring lacks: signatures of servers and authorities with such keys, and key exchange with
//! servers that allow no smaller curve. P-521 is last in both lists, so connections to other servers cost no more.
//!
//! Signing with P-521 is missing, so a client's own certificate must have another kind of key.

use std::fmt;
use std::sync::LazyLock;

use p521::ecdh::EphemeralSecret;
use p521::ecdsa::signature::hazmat::PrehashVerifier;
use p521::ecdsa::{Signature, VerifyingKey};
use p521::elliptic_curve::Generate;
use p521::{PublicKey, Sec1Point};
use ring::digest::{Algorithm, SHA256, SHA384, SHA512, digest};
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SharedSecret, SupportedKxGroup,
    WebPkiSupportedAlgorithms, ring as provider,
};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::pki_types::{
    AlgorithmIdentifier, InvalidSignature, SignatureVerificationAlgorithm, alg_id,
};
use rustls::{Error, NamedGroup, PeerMisbehaved, SignatureScheme};

/// The provider of ring, with this curve.
pub(super) fn with_ring() -> CryptoProvider {
    let mut provider = provider::default_provider();
    provider.kx_groups.push(&Curve);
    provider.signature_verification_algorithms = *VERIFYING;
    provider
}

type Verifying = &'static dyn SignatureVerificationAlgorithm;

static VERIFYING: LazyLock<WebPkiSupportedAlgorithms> = LazyLock::new(|| {
    let known = provider::default_provider().signature_verification_algorithms;
    let more = |scheme| match scheme {
        // In TLS 1.2 a scheme does not fix the curve.
        SignatureScheme::ECDSA_NISTP256_SHA256 => Some(&WITH_SHA256 as Verifying),
        SignatureScheme::ECDSA_NISTP384_SHA384 => Some(&WITH_SHA384 as Verifying),
        _ => None,
    };
    let list = |known: &[Verifying], more: &[Verifying]| &*[known, more].concat().leak();
    let mut mapping: Vec<_> = known
        .mapping
        .iter()
        .map(|(scheme, algorithms)| (*scheme, list(algorithms, more(*scheme).as_slice())))
        .collect();
    mapping.push((
        SignatureScheme::ECDSA_NISTP521_SHA512,
        list(&[], &[&WITH_SHA512]),
    ));
    WebPkiSupportedAlgorithms {
        all: list(known.all, &[&WITH_SHA256, &WITH_SHA384, &WITH_SHA512]),
        mapping: mapping.leak(),
    }
});

/// ECDSA on this curve, with one of the hashes.
struct Ecdsa {
    hash: &'static Algorithm,
    id: AlgorithmIdentifier,
}

static WITH_SHA256: Ecdsa = Ecdsa {
    hash: &SHA256,
    id: alg_id::ECDSA_SHA256,
};
static WITH_SHA384: Ecdsa = Ecdsa {
    hash: &SHA384,
    id: alg_id::ECDSA_SHA384,
};
static WITH_SHA512: Ecdsa = Ecdsa {
    hash: &SHA512,
    id: alg_id::ECDSA_SHA512,
};

impl fmt::Debug for Ecdsa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ECDSA P-521 {:?}", self.hash)
    }
}

impl SignatureVerificationAlgorithm for Ecdsa {
    fn verify_signature(
        &self,
        key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let key = VerifyingKey::from_sec1_bytes(key).map_err(|_| InvalidSignature)?;
        let signature = Signature::from_der(signature).map_err(|_| InvalidSignature)?;
        let hash = digest(self.hash, message);
        key.verify_prehash(hash.as_ref(), &signature)
            .map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ECDSA_P521
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.id
    }
}

/// Key exchange on this curve.
#[derive(Debug)]
struct Curve;

impl SupportedKxGroup for Curve {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let secret = EphemeralSecret::try_generate().map_err(|_| GetRandomFailed)?;
        let public = Sec1Point::from(secret.public_key());
        Ok(Box::new(Exchange { secret, public }))
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::secp521r1
    }
}

struct Exchange {
    secret: EphemeralSecret,
    /// Uncompressed (RFC 8446 §4.2.8.2).
    public: Sec1Point,
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let wrong = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);
        if peer.first() != Some(&4) {
            return Err(wrong);
        }
        // This also checks that the point is on the curve.
        let peer = PublicKey::from_sec1_bytes(peer).map_err(|_| wrong)?;
        let shared = self.secret.diffie_hellman(&peer);
        Ok(SharedSecret::from(shared.raw_secret_bytes().as_slice()))
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::secp521r1
    }

    fn pub_key(&self) -> &[u8] {
        self.public.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::thread;
    use std::time::Duration;

    use p521::SecretKey;
    use p521::ecdsa::SigningKey;
    use p521::ecdsa::signature::hazmat::PrehashSigner;
    use p521::pkcs8::DecodePrivateKey;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
    use rustls::server::{ClientHello, ResolvesServerCert};
    use rustls::sign::{CertifiedKey, Signer};
    use rustls::{
        ServerConfig, ServerConnection, SignatureAlgorithm, Stream, SupportedProtocolVersion,
        version,
    };

    use super::*;
    use crate::{Client, Config, Error, Proxy, Reactor, Request, Response};

    const KEY: &str = include_str!("testdata/p521-key.pem");

    /// Self-signed certificates of this key for localhost, made by OpenSSL: one for each hash in the signature.
    const CERTIFICATES: [&str; 3] = [
        include_str!("testdata/p521-sha256.pem"),
        include_str!("testdata/p521-sha384.pem"),
        include_str!("testdata/p521-sha512.pem"),
    ];

    fn key() -> SigningKey {
        let der = PrivatePkcs8KeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
        SecretKey::from_pkcs8_der(der.secret_pkcs8_der())
            .unwrap()
            .into()
    }

    #[derive(Clone)]
    struct Key(SigningKey, SignatureScheme);

    impl fmt::Debug for Key {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("Key")
        }
    }

    impl rustls::sign::SigningKey for Key {
        fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
            let known = [
                SignatureScheme::ECDSA_NISTP521_SHA512,
                SignatureScheme::ECDSA_NISTP384_SHA384,
            ];
            let chosen = known.into_iter().find(|scheme| offered.contains(scheme));
            Some(Box::new(Key(self.0.clone(), chosen?)))
        }

        fn algorithm(&self) -> SignatureAlgorithm {
            SignatureAlgorithm::ECDSA
        }
    }

    impl Signer for Key {
        fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rustls::Error> {
            let hash = match self.1 {
                SignatureScheme::ECDSA_NISTP521_SHA512 => &SHA512,
                _ => &SHA384,
            };
            let signature: Signature = self.0.sign_prehash(digest(hash, message).as_ref()).unwrap();
            Ok(signature.to_der().as_bytes().to_vec())
        }

        fn scheme(&self) -> SignatureScheme {
            self.1
        }
    }

    #[derive(Debug)]
    struct Shown(Arc<CertifiedKey>);

    impl ResolvesServerCert for Shown {
        fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
            Some(self.0.clone())
        }
    }

    /// A GET of a server whose key and only curve is P-521.
    fn get(
        certificate: &str,
        version: &'static SupportedProtocolVersion,
        curves: &[&'static dyn SupportedKxGroup],
        change: impl FnOnce(&mut Config),
    ) -> Result<Response, Error> {
        let der = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
        let key = key();
        let key = Arc::new(Key(key, SignatureScheme::ECDSA_NISTP521_SHA512));
        let mut provider = with_ring();
        provider.kx_groups = curves.to_vec();
        let server = ServerConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(Shown(Arc::new(CertifiedKey::new(vec![der], key)))));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!(
            "https://localhost:{}/",
            listener.local_addr().unwrap().port()
        );
        let serving = thread::spawn(move || {
            let mut tcp = listener.accept().unwrap().0;
            tcp.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let mut connection = ServerConnection::new(Arc::new(server)).unwrap();
            let mut stream = Stream::new(&mut connection, &mut tcp);
            if matches!(stream.read(&mut [0; 4096]), Ok(1..)) {
                let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
            }
        });
        let mut config = Config::new(Duration::from_secs(10));
        config.proxy = Proxy::Off;
        config.ca = Some(certificate.into());
        change(&mut config);
        let sending = Client::new(config).send(Request::get(&url).unwrap());
        let outcome = Reactor::new().unwrap().block_on(sending);
        serving.join().unwrap();
        outcome
    }

    #[test]
    fn a_server_with_a_key_on_p521_is_verified_and_may_allow_this_curve_alone() {
        for certificate in CERTIFICATES {
            for version in [&version::TLS12, &version::TLS13] {
                let response = get(certificate, version, &[&Curve], |_| {});
                assert_eq!(response.unwrap().status(), 204, "{version:?}");
            }
        }
    }

    #[test]
    fn wrong_signatures_are_refused() {
        let (right, other) = (CERTIFICATES[2], CERTIFICATES[0]);
        let error = get(right, &version::TLS13, &[&Curve], |config| {
            config.ca = Some(other.into());
        });
        assert!(error.unwrap_err().to_string().contains("self-signed"));
        let key = key();
        let point = key.verifying_key().to_sec1_point(false);
        let hash = digest(&SHA512, b"this");
        let signature: Signature = key.sign_prehash(hash.as_ref()).unwrap();
        let signature = signature.to_der().as_bytes().to_vec();
        let verify = |key: &[u8], message: &[u8], signature: &[u8]| {
            WITH_SHA512
                .verify_signature(key, message, signature)
                .is_ok()
        };
        assert!(verify(point.as_bytes(), b"this", &signature));
        assert!(!verify(point.as_bytes(), b"that", &signature));
        assert!(!verify(&point.as_bytes()[1..], b"this", &signature));
        assert!(!verify(point.as_bytes(), b"this", &signature[1..]));
    }

    #[test]
    fn an_invalid_point_is_refused() {
        let on_curve = Curve.start().unwrap().pub_key().to_vec();
        assert_eq!(on_curve.len(), 133);
        assert!(Curve.start().unwrap().complete(&on_curve).is_ok());
        let mut off_curve = on_curve.clone();
        off_curve[132] ^= 1;
        for wrong in [&off_curve[..], &on_curve[..132], &[], &[0]] {
            assert!(Curve.start().unwrap().complete(wrong).is_err());
        }
    }
}
