//! Which texts are URLs, how they are read, and why others are refused.

use super::*;
use crate::message::origin::display_url;
use crate::message::request::Request;

fn refusal(url: &str) -> String {
    Request::get(url).unwrap_err().to_string()
}

#[test]
fn urls_are_taken_apart() {
    let request = Request::get("http://Example.org:8080/a/b?c=d#e").unwrap();
    assert_eq!(
        *request.origin,
        Origin {
            scheme: Scheme::Http,
            host: "example.org".into(),
            port: 8080
        }
    );
    assert_eq!(request.target.as_str(), "/a/b?c=d");
    assert_eq!(request.host, "example.org:8080");
    assert_eq!(
        display_url(&request.origin, &request.target),
        "http://example.org:8080/a/b"
    );
}

#[test]
fn defaults_of_a_url() {
    let request = Request::get("http://[::1]?x").unwrap();
    assert_eq!(
        *request.origin,
        Origin {
            scheme: Scheme::Http,
            host: "::1".into(),
            port: 80
        }
    );
    assert_eq!(request.target.as_str(), "/?x");
    assert_eq!(request.host, "[::1]");
    let request = Request::get("https://example.org").unwrap();
    assert_eq!(request.origin.port, 443);
    assert_eq!(request.host, "example.org");
    let same_host = Request::get("http://example.org").unwrap();
    assert_eq!(same_host.origin.scheme, Scheme::Http);
    assert_eq!(Request::get("https://a:80/").unwrap().host, "a:80");
}

#[test]
fn bad_urls_are_refused_with_the_reason_and_without_secrets() {
    assert!(refusal("http://host/\r\nX: 1").contains("0x0d"));
    assert!(refusal("http://ho\tst/").contains("0x09: percent-encode"));
    assert!(refusal("http://host/é\0").contains("percent-encode"));
    for url in [
        "/only/path",
        "host/path",
        "host:80/x",
        "//host/",
        "user@host",
    ] {
        assert!(refusal(url).contains("no scheme"), "{}", refusal(url));
    }
    assert!(refusal("").contains("is empty"), "{}", refusal(""));
    assert!(refusal("ftp://host/").contains("scheme \"ftp\""));
    assert!(refusal("http://host:99999/").contains("port"));
    assert!(refusal("http://host:0/").contains("port 0"));
    assert!(refusal("http://:80/").contains("no host"));
    assert!(refusal("http://ho^st/").contains("cannot be read: invalid"));
    for url in ["http:host/", "http:///host/", "http://\\host/", "http://"] {
        assert!(Request::get(url).is_err(), "{url}");
    }
    for url in [
        "http://user:secret@host:0/?token=hidden",
        "http://user:secret@?hidden@/",
        "http://us%3Aer:secret@host/",
        "http://user:sec%0Aret@host/",
        "http://user:secret@host:port/",
    ] {
        let message = refusal(url);
        let shows = ["secret", "hidden", "ret@"].map(|secret| message.contains(secret));
        assert_eq!(shows, [false; 3], "{message}");
    }
    assert!(refusal(&format!("http://{}:0/", "a".repeat(9000))).len() < 1000);
}

#[test]
fn characters_are_encoded_as_browsers_do() {
    for (url, wire) in [
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("http://host/a b?c d#e f", "http://host/a%20b?c%20d"),
        ("http://host/é?ü=ß", "http://host/%C3%A9?%C3%BC=%C3%9F"),
        (" http://host/x ", "http://host/x"),
        (
            "HTTP://日本.example:80/%7e",
            "http://xn--wgv71a.example/%7e",
        ),
        ("http://host/<x>", "http://host/%3Cx%3E"),
    ] {
        assert_eq!(Request::get(url).unwrap().url(), wire, "{url}");
    }
    assert!(refusal("http://host/\u{0}").contains("0x00"));
}

#[test]
fn encoded_characters_stay_as_they_are() {
    for url in [
        "http://host/a/../b/./%7e%7E",
        "http://host/a//b",
        "http://host/a\\b^c|d`e",
        "http://host/{x}?q='\"&&",
        "http://0x7f.1/",
        "http://1/",
    ] {
        if let Ok(destination) = parse(&Bytes::from(url)) {
            let read = Request::get(url).unwrap();
            assert_eq!(read.target, destination.target);
            assert_eq!(read.url(), url);
        }
    }
    assert_eq!(Request::get("http://h/a/../b").unwrap().target, "/a/../b");
}

#[test]
fn user_and_password_become_basic_authentication() {
    for (url, pair) in [
        ("http://user:pass@host/x", "user:pass"),
        ("http://user@host/x", "user:"),
        ("http://:pass@host/x", ":pass"),
        ("http://us%20er:p%3A%40ss:x@host/x", "us er:p:@ss:x"),
        ("http://a@b:c@host/x", "a@b:c"),
        ("http://é:ü@host/x", "é:ü"),
    ] {
        let request = Request::get(url).unwrap();
        let expected = format!("Basic {}", BASE64_STANDARD.encode(pair));
        assert_eq!(request.login(), Some(expected.as_bytes()), "{url}");
        assert_eq!(request.url(), "http://host/x");
        assert_eq!(request.host, "host");
    }
    for url in ["http://@host/", "http://:@host/"] {
        assert_eq!(Request::get(url).unwrap().login(), None, "{url}");
    }
    // The credentials of one URL are not another's.
    let _ = Request::get("http://user:pass@host/").unwrap();
    assert_eq!(Request::get("http://host/").unwrap().login(), None);
}

proptest::proptest! {
    /// Whatever a URL contains, the target and the host that reach the wire are clean.
    #[test]
    fn no_url_puts_control_characters_on_the_wire(url in "\\PC*|http://[a-z.:@\\[\\]]{0,9}[\\x00-\\x7f]{0,20}") {
        if let Ok(request) = Request::get(&url) {
            let wire = format!("{}{:?}", request.target, request.host);
            proptest::prop_assert!(wire.bytes().all(|byte| byte.is_ascii_graphic()), "{wire:?}");
            proptest::prop_assert!(request.target.as_str().starts_with('/') || request.target.as_str() == "*");
            proptest::prop_assert!(request.origin.port > 0 && !request.origin.host.is_empty());
        }
    }

    /// The endpoint of the URL before makes no difference to the result for this one.
    #[test]
    fn the_short_way_leads_to_where_the_long_one_does(rest in "[/?#@:]?[/?#@:.a-c0-9%]{0,6}\\PC{0,3}") {
        let alone = parse(&Bytes::from(format!("http://host:81{rest}")));
        for before in ["http://host:81/", "http://host:8/", "https://host:81/", "http://user@host:81/"] {
            let _ = Request::get(before);
            let behind = read(Bytes::from(format!("http://host:81{rest}")), true);
            proptest::prop_assert_eq!(format!("{alone:?}"), format!("{behind:?}"));
        }
    }
}

#[test]
fn a_url_of_the_last_endpoint_has_the_usual_limit() {
    let _ = Request::get("http://host/").unwrap();
    let long = |bytes: usize| Request::get(&format!("http://host/{}", "a".repeat(bytes - 12)));
    assert_eq!(long(LONGEST).unwrap().target.as_str().len(), LONGEST - 11);
    assert!(long(LONGEST + 1).is_err());
}

#[test]
fn a_backslash_before_the_query_is_refused() {
    for url in [
        r"http://127.0.0.1:80\@good.example/",
        r"http://good.example\x",
    ] {
        assert!(
            read(Bytes::from_static(url.as_bytes()), false).is_err(),
            "{url}"
        );
    }
    assert!(read(Bytes::from_static(br"http://a/b?c\d"), false).is_ok());
}
