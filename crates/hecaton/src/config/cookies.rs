//! A cookie jar (RFC 6265 and its successor's draft, RFC 6265bis). Only for clients that set one.
//!
//! Mozilla's list of public suffixes (`psl`) says which domains a host may set cookies for. `parse` reads a
//! `Set-Cookie`, and `date` its dates; `octets` is for bytes that are not UTF-8. This file decides which cookies are
//! accepted. `store` holds them, and decides which are sent.

mod date;
pub mod octets;
mod parse;
mod store;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use psl::Psl;
use url::{Host, Url};

use self::parse::Raw;
use self::store::Store;
use crate::message::failure::InvalidRequest;
use crate::message::fields::Fields;
use crate::message::origin::is_within;
use crate::message::request::Request;

/// At most this many cookies of one response are accepted; the rest is ignored.
const MOST_OF_A_RESPONSE: usize = 50;
/// The lifetime of a cookie whose end cannot be expressed as a time.
const FAR_AWAY: Duration = Duration::from_secs(400 * 24 * 3600);

/// A stored cookie.
#[derive(Clone, Debug, PartialEq)]
pub struct Cookie {
    /// Its name.
    pub name: String,
    /// Its value, as it was set: quotes belong to it. Bytes that are not UTF-8 are [`octets`] in it.
    pub value: String,
    /// The host that it is for.
    pub domain: String,
    /// Whether it is only for that host, and not for those below it.
    pub host_only: bool,
    /// The path that it is for, and all below.
    pub path: String,
    /// Whether it is only for https.
    pub secure: bool,
    /// Whether scripts must not read it; stored for programs that save the jar.
    pub http_only: bool,
    /// When the cookie expires; none if it ends with the jar.
    pub expires: Option<SystemTime>,
}

/// Cookies, shared by all clients that are given the jar, and by its clones.
///
/// A server of `a.co.uk` may set a cookie for `a.co.uk` and all names below it, but none for all of `co.uk`. The list
/// of public suffixes that the engine was built with decides. A server whose host is an address may set cookies only
/// for itself.
///
/// A jar holds at most 3000 cookies, and 180 of a registrable domain (`a.co.uk`). Name and value of a cookie have at
/// most 4 KiB together. At most 50 cookies of a response are accepted. When the jar is full, expired cookies are
/// removed first, then those used longest ago, from domains with many cookies before others.
#[derive(Clone, Default)]
pub struct Cookies(Arc<Mutex<Store>>);

impl Cookies {
    /// An empty jar.
    pub fn new() -> Cookies {
        Cookies::default()
    }

    /// An empty jar that sends its cookies beside those of a request's own `Cookie`, as libcurl does.
    pub fn joining() -> Cookies {
        let jar = Cookies::default();
        jar.lock().joins = true;
        jar
    }

    /// The cookies that have not expired, in the order they came.
    pub fn list(&self) -> Vec<Cookie> {
        self.lock().list()
    }

    /// Forgets all of them.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Takes a cookie as a response of this URL would set it: `text` is the value of a `Set-Cookie`. Returns whether it
    /// was taken: false if the URL's host may not set it.
    ///
    /// # Errors
    /// When `url` is no URL, and when the text contains control characters other than tabs or is no cookie.
    pub fn set(&self, text: &str, url: &str) -> Result<bool, InvalidRequest> {
        let refused = |why: &str| InvalidRequest(format!("cookie {why}"));
        let url = Url::parse(url).map_err(|_| refused("is for a URL that is not absolute"))?;
        // Tabs may be in a response's field, and so in a jar that was saved.
        if text.bytes().any(|b| b.is_ascii_control() && b != b'\t') {
            return Err(refused(
                "contains a line break or another control character",
            ));
        }
        Raw::read(text).ok_or_else(|| refused("is not of the form name=value"))?;
        Ok(insert(&mut self.lock(), text, &url))
    }

    /// A jar of its own with the same cookies, for a process that forked; empty if another thread was changing
    /// them at that moment.
    pub fn copy(&self) -> Cookies {
        let store = match self.0.try_lock() {
            Ok(store) => store.clone(),
            Err(_) => Store::default(),
        };
        Cookies(Arc::new(Mutex::new(store)))
    }

    /// Stores the cookies of a response.
    pub(crate) fn keep(&self, request: &Request, fields: &[u8]) {
        let mut texts = Fields(fields)
            .iter()
            .filter(|(name, _)| *name == "set-cookie")
            .map(|(_, value)| octets::to_text(value))
            .take(MOST_OF_A_RESPONSE)
            .peekable();
        if texts.peek().is_none() {
            return;
        }
        let Ok(url) = Url::parse(&request.url()) else {
            return;
        };
        let mut store = self.lock();
        for text in texts {
            insert(&mut store, &text, &url);
        }
    }

    /// Adds the `Cookie` field to a request, unless there are none for its URL, or it has one of its own. A jar that
    /// joins replaces that one: the request's own cookies follow the jar's, and the fields and the number of inherited
    /// bytes are returned as they were. Otherwise the field comes last, and truncating the fields removes it.
    pub(crate) fn add_to(&self, request: &mut Request) -> Option<(Vec<u8>, usize)> {
        let fields = Fields(&request.fields);
        let own = fields
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("cookie"));
        let own: Vec<&[u8]> = own.map(|(_, value)| value).collect();
        if !own.is_empty() && !self.lock().joins {
            return None;
        }
        let url = Url::parse(&request.url()).ok()?;
        let secure = url.scheme() == "https";
        let host = url.host_str().unwrap_or_default();
        let pairs = self.lock().pairs_for(host, url.path(), secure);
        if pairs.is_empty() {
            return None;
        }
        let mut line = [b"Cookie: ", &*octets::of_text(&pairs)].concat();
        for value in &own {
            line.extend_from_slice(b"; ");
            line.extend_from_slice(value);
        }
        line.extend_from_slice(b"\r\n");
        let before = (!own.is_empty()).then(|| (request.fields.clone(), request.inherited_bytes));
        if before.is_some() {
            request.retain(|name, _| name != "cookie");
        }
        request.fields.extend_from_slice(&line);
        before
    }

    fn lock(&self) -> MutexGuard<'_, Store> {
        // A panic can only have left one cookie more or less.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Two values are equal if they are handles of one jar.
impl PartialEq for Cookies {
    fn eq(&self, other: &Cookies) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Shows the number of cookies, and none of their content.
impl std::fmt::Debug for Cookies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cookies({})", self.lock().list().len())
    }
}

/// Stores a cookie if the URL's host may set it (RFC 6265bis §5.7): only https sets secure cookies, http does not
/// replace them, and the prefixes `__Secure-` and `__Host-` are enforced.
fn insert(store: &mut Store, text: &str, url: &Url) -> bool {
    let Some(raw) = Raw::read(text) else {
        return false;
    };
    let https = url.scheme() == "https";
    if raw.is_too_long() || (raw.secure && !https) || !keeps_its_promise(&raw) {
        return false;
    }
    let Some((domain, host_only)) = domain(&raw, url.host_str().unwrap_or_default()) else {
        return false;
    };
    let path = raw.path.filter(|path| path.starts_with('/'));
    let cookie = Cookie {
        name: raw.name.to_owned(),
        value: raw.value.to_owned(),
        domain,
        host_only,
        path: path.unwrap_or_else(|| default_path(url.path())).to_owned(),
        secure: raw.secure,
        http_only: raw.http_only,
        expires: raw.end(SystemTime::now(), FAR_AWAY),
    };
    store.insert(cookie, https)
}

/// The domain that a cookie is for, and whether it is only for that host; none if the host may not set it.
fn domain(raw: &Raw<'_>, host: &str) -> Option<(String, bool)> {
    let differs = |domain: &&str| !domain.eq_ignore_ascii_case(host);
    let Some(named) = raw.domain.filter(differs) else {
        let for_host = raw.domain.is_none() || is_address(host) || is_public_suffix(host);
        return Some((host.to_owned(), for_host));
    };
    let Ok(Host::Domain(domain)) = Host::parse(named) else {
        return None;
    };
    let may = !is_address(host) && is_within(host, &domain) && !is_public_suffix(&domain);
    may.then_some((domain, false))
}

fn is_address(host: &str) -> bool {
    host.starts_with('[') || host.parse::<IpAddr>().is_ok()
}

/// Whether anyone may have a name under this one. A single label always is one.
fn is_public_suffix(domain: &str) -> bool {
    let suffix = psl::List.suffix(domain.as_bytes());
    suffix.is_none_or(|suffix| suffix.as_bytes().len() == domain.len())
}

/// The path of a cookie that names none (RFC 6265 §5.1.4): that of the URL up to its last slash.
fn default_path(path: &str) -> &str {
    &path[..path.rfind('/').unwrap_or_default().max(1)]
}

/// Whether a path is this one or below it (RFC 6265 §5.1.4).
fn is_below(path: &str, above: &str) -> bool {
    let rest = path.strip_prefix(above);
    rest.is_some_and(|rest| rest.is_empty() || above.ends_with('/') || rest.starts_with('/'))
}

/// Whether a cookie is what its prefix says, if it has one.
fn keeps_its_promise(raw: &Raw<'_>) -> bool {
    let for_host = raw.secure && raw.domain.is_none() && raw.path == Some("/");
    match raw.name {
        name if starts_with(name, "__secure-") => raw.secure,
        name if starts_with(name, "__host-") => for_host,
        _ => true,
    }
}

/// Compares without regard to case, because servers do so too.
fn starts_with(name: &str, prefix: &str) -> bool {
    name.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

#[cfg(test)]
mod tests;
