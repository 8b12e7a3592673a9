//! What a jar takes, keeps, and gives back to whom.

use super::*;

/// What goes to a URL after these were set.
fn sent(set: &[(&str, &str)], url: &str) -> String {
    let jar = Cookies::new();
    for (url, text) in set {
        let request = Request::get(url).unwrap();
        jar.keep(&request, format!("set-cookie: {text}\r\n").as_bytes());
    }
    let mut request = Request::get(url).unwrap();
    jar.add_to(&mut request);
    String::from_utf8(request.fields).unwrap()
}

#[test]
fn a_cookie_goes_back_where_it_came_from_and_nowhere_else() {
    let set = [("http://host.example/a/b", "n=v")];
    assert_eq!(sent(&set, "http://host.example/a/c"), "cookie: n=v\r\n");
    assert_eq!(sent(&set, "http://host.example:8080/a"), "cookie: n=v\r\n");
    let elsewhere =
        "host.example/b host.example/ab sub.host.example/a/ example/a/ other.example/a/";
    for elsewhere in elsewhere.split(' ') {
        let elsewhere = &format!("http://{elsewhere}");
        assert_eq!(sent(&set, elsewhere), "", "{elsewhere}");
    }
}

#[test]
fn a_domain_reaches_down_but_not_up() {
    let set = [("http://a.b.example/", "n=v; Domain=b.example")];
    assert_eq!(sent(&set, "http://c.b.example/"), "cookie: n=v\r\n");
    assert_eq!(sent(&set, "http://xb.example/"), "");
    let dotted = [("http://a.example./", "n=v; Domain=example.")];
    assert_eq!(sent(&dotted, "http://b.example./"), "");
    for domain in ["example", ".example", "other.example", "x.a.b.example"] {
        let text = format!("n=v; Domain={domain}");
        assert_eq!(
            sent(&[("http://a.b.example/", &text)], "http://a.b.example/"),
            "",
            "{domain}"
        );
    }
}

#[test]
fn an_address_sets_for_itself_alone() {
    assert_eq!(
        sent(
            &[("http://127.0.0.1/", "n=v; Domain=0.0.1")],
            "http://127.0.0.1/"
        ),
        ""
    );
    assert_eq!(
        sent(
            &[("http://127.0.0.1/", "n=v; Domain=127.0.0.1")],
            "http://127.0.0.1/"
        ),
        "cookie: n=v\r\n"
    );
}

#[test]
fn secure_cookies_and_prefixes_need_https() {
    let texts = "n=v; Secure|__Secure-n=v|__Host-n=v; Path=/|__host-n=v; Path=/; Secure";
    for text in texts.split('|') {
        let got = sent(&[("http://host/", text)], "http://host/");
        assert_eq!(got, "", "{text}");
    }
    let jar = Cookies::new();
    let set = |text| jar.set(text, "https://host/").unwrap();
    assert!(set("__Host-n=v; Path=/; Secure") && !set("__Host-n=v; Path=/x; Secure"));
    assert!(jar.list()[0].secure && jar.list()[0].host_only);
}

#[test]
fn http_neither_replaces_nor_hides_a_secure_cookie() {
    let sent_after = |from: &str, text: &str| {
        let secure = ("https://a.host.example/", "n=safe; Secure; Path=/in");
        sent(&[secure, (from, text)], "https://a.host.example/in/x")
    };
    let safe = "cookie: n=safe\r\n";
    for text in [
        "n=evil; Path=/in",
        "n=evil; Path=/in/x",
        "n=; Path=/in; Max-Age=0",
    ] {
        assert_eq!(sent_after("http://a.host.example/", text), safe, "{text}");
    }
    let wide = "n=evil; Path=/in; Domain=host.example";
    assert_eq!(sent_after("http://b.host.example/", wide), safe);
    // The others do not stand in its place: shorter paths go behind it, other names are other cookies.
    let behind = "cookie: n=safe; n=evil\r\n";
    assert_eq!(
        sent_after("http://a.host.example/", "n=evil; Path=/"),
        behind
    );
    let other = sent_after("http://a.host.example/", "m=1; Path=/in");
    assert_eq!(other, "cookie: n=safe; m=1\r\n");
    let https = sent_after("https://a.host.example/", "n=new; Path=/in");
    assert_eq!(https, "cookie: n=new\r\n");
    let beside = sent_after("http://b.host.example/", "n=evil; Path=/in");
    assert_eq!(beside, safe, "of another host");
}

#[test]
fn later_ones_replace_and_expiry_ends_them() {
    let after = |texts: &str| {
        let set: Vec<_> = texts
            .split('|')
            .map(|text| ("http://host/", text))
            .collect();
        sent(&set, "http://host/")
    };
    assert_eq!(after("n=1|n=2; HttpOnly"), "cookie: n=2\r\n");
    assert_eq!(after("n=1|n=; Max-Age=0"), "");
    assert_eq!(after("n=1; Expires=Wed, 09-Jun-1999 10:18:14 GMT"), "");
    let later = "n=1; Expires=Wed, 09 Jun 2100 10:18:14 GMT";
    assert_eq!(after(later), "cookie: n=1\r\n");
    assert_eq!(
        after("n=1; Max-Age=99999999999999999999"),
        "cookie: n=1\r\n"
    );
}

#[test]
fn longer_paths_go_first_and_the_rest_as_they_came() {
    let set = ["z=1; Path=/", "a=2; Path=/", "m=3; Path=/a"];
    assert_eq!(
        sent(&set.map(|text| ("http://host/", text)), "http://host/a/b"),
        "cookie: m=3; z=1; a=2\r\n"
    );
}

#[test]
fn a_request_with_a_cookie_of_its_own_keeps_it() {
    let jar = Cookies::new();
    jar.set("n=v", "http://host/").unwrap();
    let mut request = Request::get("http://host/")
        .unwrap()
        .header("Cookie", b"own=1")
        .unwrap();
    jar.add_to(&mut request);
    assert_eq!(request.fields, b"cookie: own=1\r\n");
}

#[test]
fn a_server_can_not_fill_the_jar() {
    let jar = Cookies::new();
    assert!(
        !jar.set(&format!("n={}", "x".repeat(LONGEST)), "http://host/")
            .unwrap()
    );
    for number in 0..MOST_OF_A_DOMAIN + 20 {
        let taken = jar.set(&format!("n{number}=v"), "http://host/").unwrap();
        assert_eq!(taken, number < MOST_OF_A_DOMAIN);
    }
    assert!(jar.set("n0=new", "http://host/").unwrap());
    assert!(jar.set("n=v", "http://other/").unwrap());
    assert_eq!(jar.list().len(), MOST_OF_A_DOMAIN + 1);
    // Expired ones make room.
    assert!(jar.set("n0=; Max-Age=0", "http://host/").unwrap());
    assert!(jar.set("new=v", "http://host/").unwrap());
}

#[test]
fn nothing_is_injected_and_nothing_shown() {
    let jar = Cookies::new();
    for text in ["n=a\r\nb: c", "n=\0", "n\r=a", "", "=", ";"] {
        assert!(jar.set(text, "http://host/").is_err(), "{text:?}");
    }
    assert!(jar.set("n=secret\ttab", "http://host/").unwrap());
    assert_eq!(format!("{jar:?}"), "Cookies(1)");
    assert!(jar.set("n=v", "host").is_err());
}

proptest::proptest! {
    /// Whatever servers set: no panic, and the line that goes back is one line.
    #[test]
    fn what_goes_back_is_one_line(texts in proptest::collection::vec("[ -~é]{0,30}(; (Domain|Path|Max-Age|Expires)=[ -~]{0,12})?", 0..8)) {
        let url = "http://host.example/a";
        let set: Vec<_> = texts.iter().map(|text| (url, text.as_str())).collect();
        let line = sent(&set, url);
        proptest::prop_assert!(line.is_empty() || line.ends_with("\r\n"));
        proptest::prop_assert!(!line.trim_end_matches("\r\n").bytes().any(|byte| byte.is_ascii_control()), "{line:?}");
    }
}
