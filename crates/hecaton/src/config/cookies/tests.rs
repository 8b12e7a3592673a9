//! Which cookies a jar accepts, keeps, and sends to which URL.

use super::store::{FAIR, MOST, MOST_OF_A_SITE};
use super::*;

/// The `Cookie` header for a URL after these were set.
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
    assert_eq!(sent(&set, "http://host.example/a/c"), "Cookie: n=v\r\n");
    assert_eq!(sent(&set, "http://host.example:8080/a"), "Cookie: n=v\r\n");
    let elsewhere =
        "host.example/b host.example/ab sub.host.example/a/ example/a/ other.example/a/";
    for elsewhere in elsewhere.split(' ') {
        let elsewhere = &format!("http://{elsewhere}");
        assert_eq!(sent(&set, elsewhere), "", "{elsewhere}");
    }
}

#[test]
fn a_domain_covers_its_subdomains_alone() {
    let set = [("http://a.b.example/", "n=v; Domain=b.example")];
    assert_eq!(sent(&set, "http://c.b.example/"), "Cookie: n=v\r\n");
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
fn an_address_sets_cookies_for_itself_alone() {
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
        "Cookie: n=v\r\n"
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
    let safe = "Cookie: n=safe\r\n";
    for text in [
        "n=evil; Path=/in",
        "n=evil; Path=/in/x",
        "n=; Path=/in; Max-Age=0",
    ] {
        assert_eq!(sent_after("http://a.host.example/", text), safe, "{text}");
    }
    let wide = "n=evil; Path=/in; Domain=host.example";
    assert_eq!(sent_after("http://b.host.example/", wide), safe);
    // The others do not replace it: shorter paths go after it, and other names are other cookies.
    let behind = "Cookie: n=safe; n=evil\r\n";
    assert_eq!(
        sent_after("http://a.host.example/", "n=evil; Path=/"),
        behind
    );
    let other = sent_after("http://a.host.example/", "m=1; Path=/in");
    assert_eq!(other, "Cookie: n=safe; m=1\r\n");
    let https = sent_after("https://a.host.example/", "n=new; Path=/in");
    assert_eq!(https, "Cookie: n=new\r\n");
    let beside = sent_after("http://b.host.example/", "n=evil; Path=/in");
    assert_eq!(beside, safe, "of another host");
}

#[test]
fn later_cookies_replace_earlier_ones_and_expiry_removes_them() {
    let after = |texts: &str| {
        let set: Vec<_> = texts
            .split('|')
            .map(|text| ("http://host/", text))
            .collect();
        sent(&set, "http://host/")
    };
    assert_eq!(after("n=1|n=2; HttpOnly"), "Cookie: n=2\r\n");
    assert_eq!(after("n=1|n=; Max-Age=0"), "");
    assert_eq!(after("n=1; Expires=Wed, 09-Jun-1999 10:18:14 GMT"), "");
    for past in [
        "Thu, 1 Jan 1970 00:00:00 GMT",
        "Thu, 01 Jan 1970 00:00:00",
        "Thu, 01 Jan 1970 00:00:00 UTC",
        "thu, 01 jan 1970 00:00:00 gmt",
        "Thu, 01 Jan 1970 0:00:00 GMT",
        "Thu, 01-Jan-99 00:00:00 GMT",
    ] {
        assert_eq!(after(&format!("n=1|n=; Expires={past}")), "", "{past}");
        let empty = format!("n=1|n=; Expires={past}; Max-Age=");
        assert_eq!(after(&empty), "", "{past}");
    }
    let unread = "n=1; Max-Age=-; Expires=nonsense; Max-Age=1x";
    assert_eq!(after(unread), "Cookie: n=1\r\n");
    let later = "n=1; Expires=Wed, 09 Jun 2100 10:18:14 GMT";
    assert_eq!(after(later), "Cookie: n=1\r\n");
    assert_eq!(
        after("n=1; Max-Age=99999999999999999999"),
        "Cookie: n=1\r\n"
    );
}

#[test]
fn longer_paths_go_first_and_the_rest_as_they_came() {
    let set = ["z=1; Path=/", "a=2; Path=/", "m=3; Path=/a"];
    assert_eq!(
        sent(&set.map(|text| ("http://host/", text)), "http://host/a/b"),
        "Cookie: m=3; z=1; a=2\r\n"
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
    assert_eq!(request.fields, b"Cookie: own=1\r\n");
}

#[test]
fn name_and_value_are_counted_and_attributes_each_for_themselves() {
    let jar = Cookies::new();
    let set = |text: String| jar.set(&text, "http://host/").is_ok_and(|taken| taken);
    let most = "v".repeat(4095);
    let attributes = "; Path=/; HttpOnly; SameSite=Lax; Expires=Wed, 09 Jun 2100 10:18:14 GMT";
    assert!(set(format!("n={most}{attributes}")));
    assert!(!set(format!("nn={most}")));
    let long = "x".repeat(1025);
    assert!(set(format!("p=1; Path=/{long}; Domain={long}.example")));
    let stored = jar.list();
    let lengths: Vec<_> = stored.iter().map(|cookie| cookie.value.len()).collect();
    assert_eq!(lengths, [4095, 1]);
    assert_eq!((&*stored[1].path, &*stored[1].domain), ("/", "host"));
}

fn names(jar: &Cookies) -> Vec<String> {
    jar.list().into_iter().map(|cookie| cookie.name).collect()
}

#[test]
fn a_site_with_too_many_cookies_loses_the_least_recently_used() {
    let jar = Cookies::new();
    let long = format!("n={}", "x".repeat(4096));
    assert!(!jar.set(&long, "http://host/").unwrap());
    assert!(jar.set("other=v", "http://other/").unwrap());
    for number in 0..MOST_OF_A_SITE {
        let text = format!("n{number}=v; Path=/{number}");
        assert!(jar.set(&text, "http://host/").unwrap());
    }
    // The first site was used last.
    jar.add_to(&mut Request::get("http://host/0").unwrap());
    assert!(jar.set("new=v", "http://host/").unwrap());
    let left = names(&jar);
    assert!(left.len() < MOST_OF_A_SITE, "{}", left.len());
    for (name, is_left) in [("other", true), ("n0", true), ("n1", false), ("new", true)] {
        assert_eq!(left.iter().any(|left| left == name), is_left, "{name}");
    }
}

#[test]
fn sites_with_many_cookies_lose_some_first_and_subdomains_are_one_site() {
    let jar = Cookies::new();
    for site in 0..FAIR {
        let url = format!("http://small{site}.example/");
        (0..10).for_each(|number| assert!(jar.set(&format!("n{number}=v"), &url).unwrap()));
    }
    // Far more than the jar holds, of many hosts of few sites.
    for number in 0..2 * MOST {
        let url = format!("http://sub{number}.many{}.example/", number % 20);
        assert!(jar.set("n=v", &url).unwrap(), "the newest is taken");
    }
    let small = jar.list();
    let small = small
        .iter()
        .filter(|cookie| cookie.domain.starts_with("small"));
    assert_eq!(small.count(), FAIR * 10);
    assert!(jar.list().len() <= MOST);
}

#[test]
fn a_jar_full_of_small_sites_loses_the_least_recently_used_cookies() {
    let jar = Cookies::new();
    for site in 0..MOST {
        let url = format!("http://site{site}.example/");
        assert!(jar.set("n=v", &url).unwrap());
    }
    jar.add_to(&mut Request::get("http://site0.example/").unwrap());
    assert!(jar.set("n=v", "http://new.example/").unwrap());
    let domains: Vec<_> = jar.list().into_iter().map(|cookie| cookie.domain).collect();
    let has = |domain: &str| domains.iter().any(|known| known == domain);
    assert!(has("site0.example") && has("new.example") && !has("site1.example"));
}

#[test]
fn one_response_sets_at_most_fifty_cookies() {
    let jar = Cookies::new();
    let lines: String = (0..60).map(|n| format!("set-cookie: n{n}=v\r\n")).collect();
    jar.keep(&Request::get("http://host/").unwrap(), lines.as_bytes());
    assert_eq!(jar.list().len(), MOST_OF_A_RESPONSE);
}

#[test]
fn no_cookie_is_set_for_a_public_suffix() {
    for (host, suffix) in [
        ("a.co.uk", "co.uk"),
        ("a.github.io", "github.io"),
        ("a.xn--55qx5d.cn", "xn--55qx5d.cn"),
        ("a.xn--55qx5d.cn", "公司.cn"),
        ("a.b.unknown_command-of", "unknown_command-of"),
    ] {
        let (url, text) = (format!("http://{host}/"), format!("n=v; Domain={suffix}"));
        let jar = Cookies::new();
        assert!(!jar.set(&text, &url).unwrap(), "{host} {suffix}");
        let own = format!("n=v; Domain={host}");
        assert!(jar.set(&own, &url).unwrap() && !jar.list()[0].host_only);
    }
    // The suffix itself has cookies of its own, only for itself.
    let jar = Cookies::new();
    assert!(
        jar.set("n=v; Domain=github.io", "http://github.io/")
            .unwrap()
    );
    assert!(jar.list()[0].host_only);
}

#[test]
fn control_characters_are_refused_and_cookies_not_shown() {
    let jar = Cookies::new();
    for text in ["n=a\r\nb: c", "n=\0", "n\r=a", "", "=", ";"] {
        assert!(jar.set(text, "http://host/").is_err(), "{text:?}");
    }
    assert!(jar.set("n=secret\ttab", "http://host/").unwrap());
    assert_eq!(format!("{jar:?}"), "Cookies(1)");
    assert!(jar.set("n=v", "host").is_err());
}

proptest::proptest! {
    /// Any `Set-Cookie` causes no panic, and the `Cookie` header stays one line.
    #[test]
    fn the_cookie_header_is_one_line(texts in proptest::collection::vec("[ -~é]{0,30}(; (Domain|Path|Max-Age|Expires)=[ -~]{0,12})?", 0..8)) {
        let url = "http://host.example/a";
        let set: Vec<_> = texts.iter().map(|text| (url, text.as_str())).collect();
        let line = sent(&set, url);
        proptest::prop_assert!(line.is_empty() || line.ends_with("\r\n"));
        proptest::prop_assert!(!line.trim_end_matches("\r\n").bytes().any(|byte| byte.is_ascii_control()), "{line:?}");
    }
}
