//! TLS that either side refuses, with the reason, over both versions of HTTP. A certificate that is trusted for itself.

use std::io::Write;

use hecaton::{Kind, Protocol};
use rcgen::date_time_ymd;
use rustls::version::{TLS12, TLS13};

use crate::tls::{Trusting, serve};
use crate::tls_server::{Authority, Identity, Server, Session, keep_alive, read_head};

#[test]
fn a_trusted_certificate_is_trusted_for_itself_even_if_it_is_an_authoritys() {
    let authoritys = |params: &mut rcgen::CertificateParams| {
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    };
    let trusting = |identity: &Identity| {
        Trusting::with(&Authority::new(), |config| {
            config.ca = Some(identity.pem.as_str().into());
        })
    };
    let own = Identity::self_signed_with(&["localhost"], authoritys);
    let server = serve(&own);
    assert_eq!(trusting(&own).get(&server.url()).unwrap().status(), 200);
    assert_eq!(trusting(&own).get(&server.url()).unwrap().status(), 200);
    // The name, the time and the pins are still checked.
    let url = format!("https://127.0.0.1:{}/", server.port);
    trusting(&own).refuses(&url, &["another host", "localhost"]);
    let old = Identity::self_signed_with(&["localhost"], |params| {
        authoritys(params);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
    });
    trusting(&old).refuses(&serve(&old).url(), &["expired"]);
    let pinned = Trusting::with(&Authority::new(), |config| {
        config.ca = Some(own.pem.as_str().into());
        config.pins = vec![old.pin.clone()];
    });
    pinned.refuses(&server.url(), &["pins"]);
    // Another certificate of the same name is refused, and the error says what would help.
    let other = Identity::self_signed_with(&["localhost"], authoritys);
    trusting(&own).refuses(&serve(&other).url(), &["that of an authority", "as `ca`"]);
    // A certificate that signed others can be trusted for itself too.
    let plain = Identity::self_signed(&["localhost"]);
    assert_eq!(
        trusting(&plain).get(&serve(&plain).url()).unwrap().status(),
        200
    );
}

#[test]
fn a_client_certificate_that_is_refused_is_an_error_of_tls_over_http2_too() {
    let authority = Authority::new();
    let identity = authority.sign(&["localhost"]);
    let wrong = Authority::new().sign(&["client"]);
    for version in [&TLS12, &TLS13] {
        let mut config = identity.server_for(&authority, &[version]);
        config.alpn_protocols = vec![b"h2".to_vec()];
        let server = Server::start(config, |_| {});
        for shown in [None, Some(&wrong)] {
            for http in [Protocol::Auto, Protocol::Http2] {
                let trusting = Trusting::with(&authority, |config| {
                    config.http = http;
                    config.client_cert = shown.map(|shown| shown.pem.as_str().into());
                    config.client_key = shown.map(|shown| shown.key_pem.as_str().into());
                });
                let words = match shown {
                    None => "client certificate",
                    Some(_) => "refused the client certificate",
                };
                let error = trusting.refuses(&server.url(), &[words]);
                assert_eq!(error.attempts().len(), 1, "{error}");
            }
        }
        assert_eq!(server.seen().len(), 0, "no handshake succeeded");
    }
}

#[test]
fn a_refusal_of_every_supported_curve_says_so() {
    let authority = Authority::new();
    let identity = authority.sign(&["localhost"]);
    for version in [&TLS12, &TLS13] {
        // A server whose only curve no client supports.
        let server = Server::start(identity.server_of_no_curve(&[version]), keep_alive);
        let words = ["protocol", "ciphers", "curves", "X25519", "certificate"];
        Trusting::new(&authority).refuses(&server.url(), &words);
    }
}

#[test]
fn a_server_must_have_the_key_of_its_certificate_even_where_nobody_verifies_that() {
    let authority = Authority::new();
    let identity = authority.sign(&["localhost"]);
    let other = authority.sign(&["localhost"]);
    for version in [&TLS12, &TLS13] {
        let config = identity.server_with_key_of(&other, &[version]);
        let server = Server::start(config, keep_alive);
        Trusting::new(&authority).refuses(&server.url(), &["a wrong signature"]);
        for pins in [vec![], vec![identity.pin.clone()]] {
            let careless = Trusting::with(&authority, |config| {
                config.verify = false;
                config.pins = pins;
            });
            careless.refuses(&server.url(), &["a key that the server does not have"]);
        }
        assert_eq!(server.seen().len(), 0, "no handshake succeeded");
    }
}

/// Responds with bytes that are not encrypted.
fn in_plaintext(session: &mut Session) {
    read_head(session);
    let _ = session
        .sock
        .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil");
    read_head(session);
}

#[test]
fn bytes_that_are_not_encrypted_are_no_response() {
    let authority = Authority::new();
    for version in [&TLS12, &TLS13] {
        let config = authority.sign(&["localhost"]).server(&[version]);
        let server = Server::start(config, in_plaintext);
        let error = Trusting::new(&authority).get(&server.url()).unwrap_err();
        assert_eq!((error.kind(), error.sent()), (Kind::Tls, true), "{error}");
        assert!(error.detail().contains("behind the handshake"), "{error}");
    }
}
