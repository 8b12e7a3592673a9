//! Splits a URL into the parts that say where a request goes. Ambiguous URLs are refused. Other invalid URLs are
//! encoded as browsers do.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::{Buf, Bytes};
use http::uri::{Authority, PathAndQuery, Uri};
use memchr::memchr;
use percent_encoding::percent_decode_str;
use url::Url;

use crate::message::failure::InvalidRequest;
use crate::message::origin::{Origin, Scheme};
use crate::message::reason::Reason;
use crate::message::words::{MOST_OF_A_URL, shortened};
use crate::message::zone;

/// A URL that no request can be sent to; nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidUrl {
    url: String,
    why: String,
    reason: Option<Reason>,
}

impl InvalidUrl {
    /// The reason, with as much of the URL as messages may show.
    pub(crate) fn new(url: &[u8], why: impl Into<String>) -> InvalidUrl {
        InvalidUrl {
            url: shown(&String::from_utf8_lossy(url)),
            why: why.into(),
            reason: None,
        }
    }

    /// The error for a request that has no URL at all.
    pub fn nothing(why: &str) -> InvalidUrl {
        InvalidUrl::new(b"", why)
    }

    /// A finer reason, if one is known.
    pub fn reason(&self) -> Option<Reason> {
        self.reason
    }

    /// The URL, without what may be secret: query and fragment, and all of it if there are credentials in it.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl fmt::Display for InvalidUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.url.as_str() {
            "" => write!(f, "URL {}", self.why),
            url => write!(f, "URL {url:?} {}", self.why),
        }
    }
}

impl std::error::Error for InvalidUrl {}

impl From<InvalidUrl> for InvalidRequest {
    fn from(invalid: InvalidUrl) -> InvalidRequest {
        InvalidRequest(invalid.to_string())
    }
}

/// The parts of a URL.
#[derive(Debug)]
pub(crate) struct Destination {
    pub origin: Arc<Origin>,
    /// The `Host` header.
    pub host: Bytes,
    pub target: PathAndQuery,
    /// The `Authorization` for its user and password (RFC 7617).
    pub login: Option<String>,
}

/// Splits a URL. A valid URL goes on the wire unchanged. Others are encoded as browsers do, or refused if `strict`.
pub(crate) fn read(mut url: Bytes, strict: bool) -> Result<Destination, InvalidUrl> {
    if let Some((begin, endpoint)) = at_last_endpoint(&url) {
        url.advance(begin); // A slice would be one more reference to count.
        let target = PathAndQuery::from_maybe_shared(url)
            .map_err(|error| InvalidUrl::new(b"", format!("cannot be read: {error}")))?;
        return Ok(endpoint.with(target));
    }
    match parse(&url) {
        Err(refusal) if !strict => match encoded(&url) {
            Some(encoded) => parse(&encoded).map_err(|_| refusal),
            None => Err(refusal),
        },
        parsed => parsed,
    }
}

/// The URL as browsers send it (WHATWG's URL standard): punycode for the host, percent-encoded UTF-8 after it. None if
/// browsers would silently repair a mistake or an attack: control characters, backslashes, and too few or too many
/// slashes before the host.
fn encoded(url: &[u8]) -> Option<Bytes> {
    let text = std::str::from_utf8(url).ok()?.trim_matches(' ');
    let (scheme, rest) = text.split_once("://")?;
    let is = |known: &str| scheme.eq_ignore_ascii_case(known);
    if !(is("http") || is("https")) || rest.starts_with(['/', '\\']) {
        return None;
    }
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return None;
    }
    // Browsers read a backslash as a slash. Other programs take the text after it for the host.
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    if path.contains('\\') {
        return None;
    }
    Url::parse(text).ok().map(|url| String::from(url).into())
}

/// Splits a URL that is already encoded.
fn parse(url: &Bytes) -> Result<Destination, InvalidUrl> {
    if let Some(bad) = url.iter().find(|byte| !byte.is_ascii_graphic()) {
        let why = format!("contains the byte 0x{bad:02x}: percent-encode it");
        return Err(InvalidUrl::new(url, why));
    }
    let whole = url.slice(..memchr(b'#', url).unwrap_or(url.len()));
    let parts = Uri::from_maybe_shared(whole)
        .map_err(|error| refused_by_parser(url, &format!("cannot be read: {error}")))?
        .into_parts();
    let scheme = match parts.scheme.as_ref().map(http::uri::Scheme::as_str) {
        Some("http") => Scheme::Http,
        Some("https") => Scheme::Https,
        Some(other) => {
            let why = format!("has the scheme {other:?}: use http or https");
            return Err(InvalidUrl {
                reason: Some(Reason::SchemeUnsupported),
                ..InvalidUrl::new(url, why)
            });
        }
        None => return Err(refused_by_parser(url, "has no host")),
    };
    let authority = parts
        .authority
        .ok_or_else(|| InvalidUrl::new(url, "has no host"))?;
    let target = parts
        .path_and_query
        .unwrap_or(PathAndQuery::from_static("/"));
    let target = match target.as_str().starts_with('?') {
        true => format!("/{}", target.as_str())
            .parse()
            .map_err(|_| InvalidUrl::new(url, "has an invalid query"))?,
        false => target,
    };
    destination(scheme, authority, target, url)
}

/// Names what is missing, because most URLs that the parser refuses lack a scheme or a host and the parser does not say so.
fn refused_by_parser(url: &[u8], why: &str) -> InvalidUrl {
    let colon = memchr(b':', url).unwrap_or(url.len());
    let (scheme, rest) = url.split_at(colon);
    let is_http = scheme.eq_ignore_ascii_case(b"http") || scheme.eq_ignore_ascii_case(b"https");
    let says = match rest {
        _ if url.is_empty() => "is empty: begin it with http:// or https://",
        _ if rest.starts_with(b"://") => why,
        [b':', ..] if is_http => "has no host: write // and the host after the scheme",
        _ => "has no scheme: begin it with http:// or https://",
    };
    InvalidUrl::new(url, says)
}

/// The origin and `Host` header of a URL without user and password.
#[derive(Clone)]
struct Endpoint {
    origin: Arc<Origin>,
    host: Bytes,
}

impl Endpoint {
    fn with(self, target: PathAndQuery) -> Destination {
        Destination {
            origin: self.origin,
            host: self.host,
            target,
            login: None,
        }
    }
}

thread_local! {
    /// The last endpoint and how its URLs begin, `http://host:port`: programs tend to use one host again and again.
    static LAST: RefCell<Option<(String, Endpoint)>> = const { RefCell::new(None) };
}

/// The longest URL that `http` reads.
const LONGEST: usize = u16::MAX as usize - 1;

/// The last endpoint, and where the path begins, if this URL has the same beginning and nothing in it needs encoding.
/// Most URLs take this short way. Its result is the same as that of `parse`.
fn at_last_endpoint(url: &[u8]) -> Option<(usize, Endpoint)> {
    LAST.with_borrow(|last| {
        let (begin, endpoint) = last.as_ref()?;
        let path = url.strip_prefix(begin.as_bytes())?;
        let is_plain = path.starts_with(b"/") && path.iter().all(is_plain);
        (is_plain && url.len() <= LONGEST).then(|| (begin.len(), endpoint.clone()))
    })
}

/// Whether all programs read this byte of a path or a query alike (RFC 3986 §3.3, without the quote).
fn is_plain(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/?&=%.-_~+,:;@!$*".contains(byte)
}

/// The origin and the `Host` header of an authority.
fn destination(
    scheme: Scheme,
    authority: Authority,
    target: PathAndQuery,
    url: &[u8],
) -> Result<Destination, InvalidUrl> {
    let begin = format!("{}://{authority}", scheme.name());
    let known = LAST.with_borrow(|last| {
        let (_, endpoint) = last.as_ref().filter(|(known, _)| *known == begin)?;
        Some(endpoint.clone())
    });
    if let Some(known) = known {
        return Ok(known.with(target));
    }
    if let Some((login, endpoint)) = authority.as_str().rsplit_once('@') {
        let login = authorization(login, url)?;
        let endpoint = endpoint
            .parse()
            .map_err(|_| InvalidUrl::new(url, "has no host"))?;
        let destination = destination(scheme, endpoint, target, url)?;
        return Ok(Destination {
            login,
            ..destination
        });
    }
    let origin = Arc::new(parse_origin(scheme, &authority, url)?);
    let host = Bytes::from(origin.host_header());
    let endpoint = Endpoint { origin, host };
    LAST.set(Some((begin, endpoint.clone())));
    Ok(endpoint.with(target))
}

/// The `Authorization` of `user:password`, both percent-encoded; none if both are empty.
fn authorization(login: &str, url: &[u8]) -> Result<Option<String>, InvalidUrl> {
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let decoded = |text| percent_decode_str(text).collect::<Vec<u8>>();
    let (user, password) = (decoded(user), decoded(password));
    if user.is_empty() && password.is_empty() {
        return Ok(None);
    }
    if user.contains(&b':') {
        let why = "has a user name with a colon in it, which basic authentication cannot send";
        return Err(InvalidUrl::new(url, why));
    }
    let pair = [&user[..], b":", &password].concat();
    if pair.iter().any(u8::is_ascii_control) {
        let why = "has a control character in its user name or password";
        return Err(InvalidUrl::new(url, why));
    }
    Ok(Some(format!("Basic {}", BASE64_STANDARD.encode(pair))))
}

fn parse_origin(scheme: Scheme, authority: &Authority, url: &[u8]) -> Result<Origin, InvalidUrl> {
    let host = authority
        .host()
        .trim_start_matches('[')
        .trim_end_matches(']');
    if host.is_empty() {
        return Err(InvalidUrl::new(url, "has no host"));
    }
    let host = match host.contains('%') {
        false => host.to_ascii_lowercase(),
        true => zone::read(host).ok_or_else(|| {
            let why = "has a % in its host, which may only begin the zone of an IPv6 address: write [fe80::1%25eth0]";
            InvalidUrl::new(url, why)
        })?,
    };
    let port = match (authority.port_u16(), authority.as_str().rsplit_once(':')) {
        (Some(0), _) => return Err(InvalidUrl::new(url, "has port 0: use 1 to 65535")),
        (Some(port), _) => port,
        (None, Some((_, digits))) if !digits.ends_with(']') && !digits.is_empty() => {
            let why = "has a port that is not a number from 1 to 65535";
            return Err(InvalidUrl::new(url, why));
        }
        (None, _) => scheme.default_port(),
    };
    Ok(Origin { scheme, host, port })
}

/// A URL as messages may show it: without query and fragment. If it may contain credentials, nothing of it is shown,
/// because an invalid URL does not show where they end.
fn shown(url: &str) -> String {
    if url.contains('@') {
        return "(with credentials)".into();
    }
    let url = url.split(['?', '#']).next().unwrap_or_default();
    shortened(url, MOST_OF_A_URL).into_owned()
}

#[cfg(test)]
mod tests;
