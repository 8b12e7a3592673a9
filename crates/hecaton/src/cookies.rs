//! A cookie jar (RFC 6265): what servers set, and what goes back to them. Only for clients that ask for one.
//!
//! Storage and matching are the `cookie_store` crate's. Here is what it leaves open: how much a server may fill,
//! what one host may set for others, and the order of the header.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use cookie_store::{Cookie as Stored, CookieExpiration, CookieStore, RawCookie};
use url::Url;

use crate::error::InvalidRequest;
use crate::h1::Fields;
use crate::request::Request;

/// Longest cookie, name, value and attributes together (RFC 6265 §6.1 asks for at least as much).
const LONGEST: usize = 4096;
/// Most cookies of one domain; what comes beyond is ignored, as below.
const MOST_OF_A_DOMAIN: usize = 180;
/// Most cookies of a jar.
const MOST: usize = 3000;

/// A cookie as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Cookie {
    /// Its name.
    pub name: String,
    /// Its value, as it was set: quotes belong to it.
    pub value: String,
    /// The host that it is for.
    pub domain: String,
    /// Whether it is for that host alone, and not for those below it.
    pub host_only: bool,
    /// The path that it is for, and all below.
    pub path: String,
    /// Whether it is for https alone.
    pub secure: bool,
    /// Whether it is not meant for scripts; kept for those who save it.
    pub http_only: bool,
    /// When it ends; none for one that ends with the jar.
    pub expires: Option<SystemTime>,
}

/// Cookies, shared by all clients that are given the jar, and by its clones.
///
/// A jar has no list of public suffixes: a server of `a.co.uk` may set a cookie for all of `co.uk`, but none for
/// all of `uk`, nor for an address. It holds at most 3000 cookies, 180 of a domain and of 4 KiB each.
#[derive(Clone, Default)]
pub struct Cookies(Arc<Mutex<CookieStore>>);

impl Cookies {
    /// An empty jar.
    pub fn new() -> Cookies {
        Cookies::default()
    }

    /// The cookies that have not expired, in the order they came.
    pub fn list(&self) -> Vec<Cookie> {
        self.lock().iter_unexpired().map(listed).collect()
    }

    /// Forgets all of them.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Takes a cookie as a response of this URL would set it: `text` is the value of a `Set-Cookie`. Returns
    /// whether it was taken; not when the URL's host may not set it, or there are too many.
    ///
    /// # Errors
    /// When the URL is none, or the text contains control characters (but tabs) or is no cookie at all.
    pub fn set(&self, text: &str, url: &str) -> Result<bool, InvalidRequest> {
        let refused = |why: &str| InvalidRequest(format!("cookie {why}"));
        let url = Url::parse(url).map_err(|_| refused("is for a URL that is not absolute"))?;
        // Tabs may be in a response's field, and so in a jar that was saved.
        if text.bytes().any(|b| b.is_ascii_control() && b != b'\t') {
            return Err(refused(
                "contains a line break or another control character",
            ));
        }
        RawCookie::parse(text).map_err(|_| refused("is not of the form name=value"))?;
        Ok(insert(&mut self.lock(), text, &url))
    }

    /// A jar of its own with the same cookies, for a process that forked; empty if another thread was changing
    /// them at that moment.
    pub fn copy(&self) -> Cookies {
        let store = match self.0.try_lock() {
            Ok(store) => store.clone(),
            Err(_) => CookieStore::default(),
        };
        Cookies(Arc::new(Mutex::new(store)))
    }

    /// Keeps what an answer sets.
    pub(crate) fn keep(&self, request: &Request, fields: &[u8]) {
        let mut texts = Fields(fields)
            .iter()
            .filter(|(name, _)| *name == "set-cookie")
            .filter_map(|(_, value)| std::str::from_utf8(value).ok())
            .peekable();
        if texts.peek().is_none() {
            return;
        }
        let Ok(url) = Url::parse(&request.url()) else {
            return;
        };
        let mut store = self.lock();
        for text in texts {
            insert(&mut store, text, &url);
        }
    }

    /// Adds the `Cookie` field to a request, unless there are none for its URL, or it has one of its own.
    pub(crate) fn add_to(&self, request: &mut Request) {
        if Fields(&request.fields).get("cookie").is_some() {
            return;
        }
        let Ok(url) = Url::parse(&request.url()) else {
            return;
        };
        let store = self.lock();
        let mut cookies = store.matches(&url);
        if cookies.is_empty() {
            return;
        }
        // RFC 6265 §5.4: longer paths first, those of equal length in the order they came.
        cookies.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs: Vec<String> = cookies
            .iter()
            .map(|cookie| format!("{}={}", cookie.name(), cookie.value()))
            .collect();
        let line = format!("cookie: {}\r\n", pairs.join("; "));
        request.fields.extend_from_slice(line.as_bytes());
    }

    fn lock(&self) -> MutexGuard<'_, CookieStore> {
        // What a panic could leave is a cookie more or less.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Two are equal when they are the same jar.
impl PartialEq for Cookies {
    fn eq(&self, other: &Cookies) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Names the number of cookies, and nothing of what is in them.
impl std::fmt::Debug for Cookies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cookies({})", self.lock().iter_unexpired().count())
    }
}

/// RFC 6265 §5.3, and of its successor's draft: secure cookies are set by https alone, and the prefixes
/// `__Secure-` and `__Host-` hold what they promise.
fn insert(store: &mut CookieStore, text: &str, url: &Url) -> bool {
    if text.len() > LONGEST {
        return false;
    }
    let Ok(raw) = RawCookie::parse(text) else {
        return false;
    };
    if !may_set(&raw, url) {
        return false;
    }
    let Ok(cookie) = Stored::try_from_raw_cookie(&raw, url) else {
        return false;
    };
    let domain = String::from(&cookie.domain);
    let is_new = !store.contains(&domain, &cookie.path, cookie.name());
    if is_new && is_full(store, &domain) {
        return false;
    }
    store.insert(cookie.into_owned(), url).is_ok()
}

fn may_set(raw: &RawCookie<'_>, url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    if let Some(domain) = raw.domain() {
        let domain = domain.trim_matches('.');
        let is_wide = !domain.contains('.') || domain.parse::<IpAddr>().is_ok();
        if is_wide && !domain.eq_ignore_ascii_case(host) {
            return false;
        }
    }
    let secure = raw.secure() == Some(true);
    if secure && url.scheme() != "https" {
        return false;
    }
    let for_host = secure && raw.domain().is_none() && raw.path() == Some("/");
    match raw.name() {
        name if starts_with(name, "__secure-") => secure,
        name if starts_with(name, "__host-") => for_host,
        _ => true,
    }
}

/// Without regard to case, because servers have none either.
fn starts_with(name: &str, prefix: &str) -> bool {
    name.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// Whether there is no room for another cookie of this domain. What has expired is thrown out first.
fn is_full(store: &mut CookieStore, domain: &str) -> bool {
    let too_many = |store: &CookieStore| {
        let of_it = |cookie: &&Stored<'static>| cookie.domain.as_cow().as_deref() == Some(domain);
        store.iter_any().count() >= MOST
            || store.iter_any().filter(of_it).count() >= MOST_OF_A_DOMAIN
    };
    if too_many(store) {
        let fresh: Vec<_> = store.iter_unexpired().cloned().map(Ok::<_, ()>).collect();
        *store = CookieStore::from_cookies(fresh, false).unwrap_or_default();
    }
    too_many(store)
}

fn listed(cookie: &Stored<'static>) -> Cookie {
    Cookie {
        name: cookie.name().to_owned(),
        value: cookie.value().to_owned(),
        domain: String::from(&cookie.domain),
        host_only: matches!(cookie.domain, cookie_store::CookieDomain::HostOnly(_)),
        path: String::from(&cookie.path),
        secure: cookie.secure() == Some(true),
        http_only: cookie.http_only() == Some(true),
        expires: match cookie.expires {
            CookieExpiration::AtUtc(time) => Some(time.into()),
            CookieExpiration::SessionEnd => None,
        },
    }
}

#[cfg(test)]
mod tests {
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
}
