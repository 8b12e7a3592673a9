//! Names that are one host, and whose they are.

use proptest::prelude::*;

use super::*;

fn host(url: &str) -> String {
    Host::of(url).unwrap().into_owned()
}

#[test]
fn the_many_ways_to_write_a_host_are_one() {
    for (url, expected) in [
        ("http://example.com/a", "example.com"),
        ("https://example.com", "example.com"),
        ("HTTP://EXAMPLE.com./a", "example.com"),
        ("http://example.com:80?x", "example.com"),
        ("https://example.com:443#x", "example.com"),
        ("https://example.com:080/", "example.com:80"),
        ("http://example.com:8080/", "example.com:8080"),
        ("http://example.com:65535/", "example.com:65535"),
        ("http://user:secret@example.com/", "example.com"),
        ("http://b\u{fc}cher.example/", "xn--bcher-kva.example"),
        ("http://XN--BCHER-KVA.example/", "xn--bcher-kva.example"),
        ("http://ex%61mple.com/", "example.com"),
        ("http://127.0.0.1/", "127.0.0.1"),
        ("http://2130706433/", "127.0.0.1"),
        ("http://0x7f.1/", "127.0.0.1"),
        ("http://0177.0.0.01/", "127.0.0.1"),
        ("http://127.1:81/", "127.0.0.1:81"),
        ("http://[::1]:8080/", "[::1]:8080"),
        ("http://[0:0:0:0:0:0:0:1]/", "[::1]"),
        ("http://[::FFFF:127.0.0.1]/", "[::ffff:7f00:1]"),
    ] {
        assert_eq!(host(url), expected, "{url}");
    }
}

#[test]
fn what_names_no_host_says_so() {
    for url in [
        "",
        "example.com",
        "ftp://example.com/",
        "http://",
        "http:///a",
        "http://a b/",
        "http://.",
        "mailto:a@b",
        "http://a:99999/",
        "http://1.2.3.999/",
        "http://[::1/",
    ] {
        let found = Host::of(url);
        // Browsers take a third slash for a mistake.
        assert!(found.is_err() || url == "http:///a", "{url}: {found:?}");
    }
    for url in ["example.com", "localhost:3000/x"] {
        let why = Host::of(url).unwrap_err().0;
        assert!(why.contains("does not begin with https://"), "{url}: {why}");
    }
}

#[test]
fn the_name_is_without_the_port() {
    for (url, name) in [
        ("http://a.b:81/", "a.b"),
        ("http://[::1]:81/", "::1"),
        ("http://[::1]/", "::1"),
        ("http://127.1/", "127.0.0.1"),
    ] {
        assert_eq!(Host::of(url).unwrap().name(), name);
    }
}

#[test]
fn whose_a_host_is() {
    for (url, whose) in [
        ("http://localhost:3000/", Whose::Loopback),
        ("http://a.localhost/", Whose::Loopback),
        ("http://127.9.9.9/", Whose::Loopback),
        ("http://[::1]/", Whose::Loopback),
        ("http://[::ffff:127.0.0.1]/", Whose::Loopback),
        ("http://0/", Whose::Loopback),
        ("http://10.1.2.3/", Whose::Private),
        ("http://100.64.0.1/", Whose::Private),
        ("http://[fd00::1]/", Whose::Private),
        ("http://intranet/", Whose::Private),
        ("http://a.internal/", Whose::Private),
        ("http://printer.local/", Whose::Private),
        ("http://notlocal.example.com/", Whose::Foreign),
        ("http://mylocalhost.com/", Whose::Foreign),
        ("http://internal.com/", Whose::Foreign),
        ("http://8.8.8.8/", Whose::Foreign),
        ("http://169.254.169.254/", Whose::Foreign),
        ("http://[fd00:ec2::254]/", Whose::Foreign),
        ("http://169.254.1.1/", Whose::Private),
        ("http://example.com/", Whose::Foreign),
    ] {
        assert_eq!(Host::of(url).unwrap().whose(), whose, "{url}");
    }
    let addresses = |list: &[&str]| Whose::addresses(list.iter().map(|it| it.parse().unwrap()));
    assert_eq!(addresses(&["127.0.0.1", "::1"]), Whose::Loopback);
    assert_eq!(addresses(&["127.0.0.1", "10.0.0.1"]), Whose::Private);
    assert_eq!(addresses(&["127.0.0.1", "8.8.8.8"]), Whose::Foreign);
    assert_eq!(addresses(&[]), Whose::Foreign);
}

proptest! {
    #[test]
    fn the_fast_way_finds_what_the_slow_one_does(url in "https?://[a-cx0-3n.:-]{0,12}([/?#][a:/@]{0,4})?") {
        if let Some(fast) = plain_host(&url) {
            prop_assert_eq!(Ok(fast.to_owned()), slow(&url));
        }
    }

    #[test]
    fn a_host_is_its_own_canonical_form(url in "https?://[a-zA-Z0-9\u{e9}.]{1,12}(:[0-9]{1,5})?/") {
        if let Ok(host) = Host::of(&url) {
            // Port 80 is unusual for https.
            let again = format!("{}://{host}/", url.split(':').next().unwrap());
            prop_assert_eq!(Host::of(&again).unwrap(), host.clone());
            host.whose();
        }
    }

    #[test]
    fn nothing_makes_it_panic(url in any::<String>()) {
        let _ = Host::of(&url).map(|host| host.whose());
    }
}
