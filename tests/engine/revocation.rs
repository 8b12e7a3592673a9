//! Revocation lists: which servers' certificates they refuse, and what each error says.

use std::time::Duration;

use hecaton::{Client, Config};
use rcgen::SerialNumber;

use crate::tls::{Trusting, serve};
use crate::tls_server::Authority;

const ONE: u64 = 4242;

fn with(authority: &Authority, crl: &str) -> Trusting {
    Trusting::with(authority, |config| config.crl = Some(crl.into()))
}

#[test]
fn a_revoked_certificate_is_refused_and_others_of_the_authority_are_not() {
    let authority = Authority::new();
    let revoked = authority.sign_with(&["localhost"], |params| {
        params.serial_number = Some(SerialNumber::from(ONE));
    });
    let (revoked, good) = (serve(&revoked), serve(&authority.sign(&["localhost"])));
    let crl = authority.revoke(&[ONE], 2100);
    let trusting = with(&authority, &crl);
    assert_eq!(trusting.get(&good.url()).unwrap().status(), 200);
    trusting.refuses(&revoked.url(), &["has been revoked"]);
    assert_eq!(
        with(&authority, &authority.revoke(&[], 2100))
            .get(&revoked.url())
            .unwrap()
            .status(),
        200
    );
    assert_eq!(
        Trusting::new(&authority)
            .get(&revoked.url())
            .unwrap()
            .status(),
        200
    );
}

#[test]
fn a_list_that_is_missing_out_of_date_or_of_another_authority_refuses_all() {
    let authority = Authority::new();
    let server = serve(&authority.sign(&["localhost"]));
    let strangers = Authority::new().revoke(&[], 2100);
    with(&authority, &strangers).refuses(&server.url(), &["no list of `crl`"]);
    let old = authority.revoke(&[], 2001);
    with(&authority, &old).refuses(&server.url(), &["out of date"]);
}

#[test]
fn a_file_that_is_no_list_is_refused_when_the_client_is_made() {
    let broken = "-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n";
    for (crl, word) in [
        ("/no/such/file", "cannot read"),
        ("-----BEGIN NOTHING-----", "broken PEM"),
        (broken, "cannot be read"),
    ] {
        let mut config = Config::new(Duration::from_secs(1));
        config.crl = Some(crl.into());
        let why = Client::try_new(config)
            .err()
            .expect("a refusal")
            .to_string();
        assert!(why.starts_with("crl: ") && why.contains(word), "{why}");
    }
}
