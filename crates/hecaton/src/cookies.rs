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

/// RFC 6265 §5.3, and of its successor's draft (RFC 6265bis §5.7): secure cookies are set by https alone, http does
/// not replace them, and the prefixes `__Secure-` and `__Host-` hold what they promise.
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
    if url.scheme() != "https" && hides_a_secure_one(store, &cookie) {
        return false;
    }
    let domain = String::from(&cookie.domain);
    let is_new = !store.contains(&domain, &cookie.path, cookie.name());
    if is_new && is_full(store, &domain) {
        return false;
    }
    store.insert(cookie.into_owned(), url).is_ok()
}

/// Whether a request could meet this cookie, which came without https, in place of a secure one or beside it.
fn hides_a_secure_one(store: &CookieStore, cookie: &Stored<'_>) -> bool {
    let domain = String::from(&cookie.domain);
    store.iter_unexpired().any(|kept| {
        let other = String::from(&kept.domain);
        kept.secure() == Some(true)
            && kept.name() == cookie.name()
            && (is_within(&domain, &other) || is_within(&other, &domain))
            && is_below(&cookie.path, &kept.path)
    })
}

/// Whether a host is this domain or below it.
fn is_within(host: &str, domain: &str) -> bool {
    let rest = host.strip_suffix(domain);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Whether a path is this one or below it (RFC 6265 §5.1.4).
fn is_below(path: &str, above: &str) -> bool {
    let rest = path.strip_prefix(above);
    rest.is_some_and(|rest| rest.is_empty() || above.ends_with('/') || rest.starts_with('/'))
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
mod tests;
