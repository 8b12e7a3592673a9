//! A request, checked when it is made: nothing that could be misread on the wire gets past here.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, RANGE,
    TRANSFER_ENCODING, USER_AGENT,
};
use http::uri::{Authority, PathAndQuery, Uri};
use memchr::memchr;

use crate::body::{Body, Source};
use crate::error::InvalidRequest;
use crate::origin::{Origin, Scheme};
use crate::redirect::Redirect;

/// One request, ready to be sent.
#[derive(Clone, Debug)]
pub struct Request {
    pub(crate) origin: Arc<Origin>,
    pub(crate) method: Method,
    pub(crate) target: PathAndQuery,
    /// The `Host` header.
    pub(crate) host: Bytes,
    /// The other headers as they go on the wire, `name: value\r\n`.
    pub(crate) fields: Vec<u8>,
    pub(crate) has_user_agent: bool,
    pub(crate) has_accept: bool,
    /// Whether its headers say which content codings it takes, or ask for a part of a coded body: then
    /// the body is left as it comes.
    pub(crate) has_coding: bool,
    /// Whether its headers say that it is the last one on its connection.
    pub(crate) closes: bool,
    pub(crate) body: Body,
    pub(crate) timeout: Option<Duration>,
    /// Most redirects instead of the client's.
    pub(crate) redirects: Option<u32>,
    /// The redirects that made it what it is now.
    pub(crate) redirected: Vec<Redirect>,
}

impl Request {
    /// A GET of an absolute `http` or `https` URL.
    pub fn get(url: &str) -> Result<Request, InvalidRequest> {
        Request::new("GET", url)
    }

    /// A request with a method (case as on the wire, RFC 9110 §9.1) and an absolute `http` or
    /// `https` URL.
    pub fn new(method: &str, url: &str) -> Result<Request, InvalidRequest> {
        Request::with_url(method, Bytes::copy_from_slice(url.as_bytes()))
    }

    /// The same with a URL that is not copied.
    pub fn with_url(method: &str, url: Bytes) -> Result<Request, InvalidRequest> {
        let (scheme, authority, target) = parse_url(&url)?;
        let (origin, host) = destination(scheme, &authority, &url)?;
        Ok(Request {
            origin,
            method: parse_method(method)?,
            target,
            host,
            fields: Vec::new(),
            has_user_agent: false,
            has_accept: false,
            has_coding: false,
            closes: false,
            body: Body::default(),
            timeout: None,
            redirects: None,
            redirected: Vec::new(),
        })
    }

    /// Adds a header; repeats are kept. `Content-Length` and `Transfer-Encoding` are the engine's
    /// own business and refused; `Host` replaces the one taken from the URL.
    pub fn header(mut self, name: &str, value: &[u8]) -> Result<Request, InvalidRequest> {
        let refused = |what: &str| InvalidRequest(format!("header {name:?} {what}"));
        let key = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| refused("is not a valid name: use letters, digits and hyphens"))?;
        HeaderValue::from_bytes(value)
            .map_err(|_| refused("has a value with a line break or another control character"))?;
        match key {
            CONTENT_LENGTH | TRANSFER_ENCODING => {
                return Err(refused(
                    "is set by the client itself from the body: leave it out",
                ));
            }
            HOST => {
                self.host = Bytes::copy_from_slice(value);
                return Ok(self);
            }
            USER_AGENT => self.has_user_agent = true,
            ACCEPT => self.has_accept = true,
            ACCEPT_ENCODING | RANGE => self.has_coding = true,
            CONNECTION => self.closes |= says_close(value),
            _ => {}
        }
        for part in [key.as_str().as_bytes(), b": ", value, b"\r\n"] {
            self.fields.extend_from_slice(part);
        }
        Ok(self)
    }

    /// Sets the body, sent with its `Content-Length`.
    pub fn body(mut self, body: impl Into<Bytes>) -> Request {
        self.body = Body::Whole(body.into());
        self
    }

    /// Sets the body to what `source` gives. With a `length` it is sent with that `Content-Length`, and a
    /// source that gives more or less fails the request; without one it is sent in chunks (RFC 9112
    /// §7.1). Clones of the request share the source.
    pub fn body_from(mut self, source: impl Source + 'static, length: Option<u64>) -> Request {
        self.body = Body::new(source, length);
        self
    }

    /// Sets the total deadline of this request instead of the client's.
    pub fn timeout(mut self, timeout: Duration) -> Request {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how many redirects of this request are followed, instead of the client's `redirects`.
    pub fn redirects(mut self, most: u32) -> Request {
        self.redirects = Some(most);
        self
    }

    /// The URL with its query; after redirects the last one.
    pub(crate) fn url(&self) -> String {
        let mut url = Vec::new();
        self.write_url(&mut url);
        String::from_utf8_lossy(&url).into_owned()
    }

    /// The same, appended to `out`.
    pub(crate) fn write_url(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.origin.scheme.name().as_bytes());
        out.extend_from_slice(b"://");
        self.origin.write_authority(out);
        out.extend_from_slice(self.target.as_str().as_bytes());
    }

    /// Where the request goes.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}

/// The URL without credentials and query, for messages.
pub(crate) fn display_url(origin: &Origin, target: &PathAndQuery) -> String {
    format!(
        "{}://{}{}",
        origin.scheme.name(),
        origin.authority(),
        target.path()
    )
}

/// Whether `close` is among the options of a `Connection` header.
fn says_close(value: &[u8]) -> bool {
    value
        .split(|byte| *byte == b',')
        .any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close"))
}

fn parse_method(method: &str) -> Result<Method, InvalidRequest> {
    if method == "CONNECT" {
        // What follows its answer is a tunnel: no body, and no connection for the next request.
        let why = "method \"CONNECT\" opens a tunnel, which is not supported";
        return Err(InvalidRequest(why.into()));
    }
    Method::from_bytes(method.as_bytes()).map_err(|_| {
        InvalidRequest(format!(
            "method {method:?} is not valid: use a word such as GET or POST"
        ))
    })
}

/// Takes a URL apart and refuses what could be misread; the authority is not looked into yet.
fn parse_url(url: &Bytes) -> Result<(Scheme, Authority, PathAndQuery), InvalidRequest> {
    if let Some(bad) = url.iter().find(|byte| !byte.is_ascii_graphic()) {
        return Err(refused(
            url,
            &format!("contains the byte 0x{bad:02x}: percent-encode it"),
        ));
    }
    let whole = url.slice(..memchr(b'#', url).unwrap_or(url.len()));
    let parts = Uri::from_maybe_shared(whole)
        .map_err(|error| refused(url, &error.to_string()))?
        .into_parts();
    let scheme = match parts.scheme.as_ref().map(http::uri::Scheme::as_str) {
        Some("http") => Scheme::Http,
        Some("https") => Scheme::Https,
        Some(other) => {
            let why = format!("has the scheme {other:?}: use http or https");
            return Err(refused(url, &why));
        }
        None => {
            return Err(refused(
                url,
                "has no scheme: begin it with http:// or https://",
            ));
        }
    };
    let authority = parts.authority.ok_or_else(|| refused(url, "has no host"))?;
    let target = parts
        .path_and_query
        .unwrap_or(PathAndQuery::from_static("/"));
    let target = match target.as_str().starts_with('?') {
        true => format!("/{}", target.as_str())
            .parse()
            .map_err(|_| refused(url, "has an invalid query"))?,
        false => target,
    };
    Ok((scheme, authority, target))
}

/// The origin and the `Host` header of an authority. Programs tend to ask the same host again, so
/// each thread keeps the last.
fn destination(
    scheme: Scheme,
    authority: &Authority,
    url: &[u8],
) -> Result<(Arc<Origin>, Bytes), InvalidRequest> {
    thread_local! {
        static LAST: RefCell<Option<(Authority, Arc<Origin>, Bytes)>> = const { RefCell::new(None) };
    }
    LAST.with_borrow_mut(|last| {
        if let Some((known, origin, host)) = last.as_ref() {
            if known.as_str() == authority.as_str() && origin.scheme == scheme {
                return Ok((origin.clone(), host.clone()));
            }
        }
        let origin = Arc::new(parse_origin(scheme, authority, url)?);
        let host = Bytes::from(origin.authority());
        *last = Some((authority.clone(), origin.clone(), host.clone()));
        Ok((origin, host))
    })
}

fn parse_origin(
    scheme: Scheme,
    authority: &Authority,
    url: &[u8],
) -> Result<Origin, InvalidRequest> {
    if authority.as_str().contains('@') {
        let why = "has credentials in it: send an Authorization header instead";
        return Err(refused(url, why));
    }
    let host = authority
        .host()
        .trim_start_matches('[')
        .trim_end_matches(']');
    if host.is_empty() {
        return Err(refused(url, "has no host"));
    }
    let port = match (authority.port_u16(), authority.as_str().rsplit_once(':')) {
        (Some(0), _) => return Err(refused(url, "has port 0: use 1 to 65535")),
        (Some(port), _) => port,
        (None, Some((_, digits))) if !digits.ends_with(']') && !digits.is_empty() => {
            return Err(refused(
                url,
                "has a port that is not a number from 1 to 65535",
            ));
        }
        (None, _) => scheme.default_port(),
    };
    Ok(Origin {
        scheme,
        host: host.to_ascii_lowercase(),
        port,
    })
}

fn refused(url: &[u8], why: &str) -> InvalidRequest {
    InvalidRequest(format!(
        "URL {:?} {why}",
        shown(&String::from_utf8_lossy(url))
    ))
}

/// A URL as messages may show it: without query and fragment, and without anything if there may be
/// credentials in it, for where they end is not sure in a URL that is wrong.
fn shown(url: &str) -> &str {
    if url.contains('@') {
        return "(with credentials)";
    }
    url.split(['?', '#']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(refusal("http://host/a b").contains("0x20: percent-encode"));
        assert!(refusal("http://host/\r\nX: 1").contains("0x0d"));
        assert!(refusal("http://host/é").contains("percent-encode"));
        assert!(refusal("/only/path").contains("no scheme"));
        assert!(refusal("ftp://host/").contains("scheme \"ftp\""));
        assert!(refusal("http://host:99999/").contains("port"));
        assert!(refusal("http://host:0/").contains("port 0"));
        assert!(
            refusal("http://:80/").contains("no host"),
            "{}",
            refusal("http://:80/")
        );
        for url in [
            "http://user:secret@host/?token=hidden",
            "http://user:secret?hidden@host/",
        ] {
            let message = refusal(url);
            assert!(message.contains("credentials"), "{message}");
            assert!(
                !message.contains("secret") && !message.contains("hidden"),
                "{message}"
            );
        }
    }

    #[test]
    fn headers_can_not_be_injected() {
        let request = || Request::get("http://host/").unwrap();
        assert!(request().header("x-a", b"1\r\nx-b: 2").is_err());
        assert!(request().header("x-a", b"1\0").is_err());
        assert!(request().header("x a", b"1").is_err());
        assert!(request().header("", b"1").is_err());
        assert!(request().header("content-length", b"5").is_err());
        assert!(Request::new("GE T", "http://host/").is_err());
        assert!(Request::new("", "http://host/").is_err());
    }

    #[test]
    fn a_tunnel_is_refused() {
        let error = Request::new("CONNECT", "http://host/").unwrap_err();
        assert!(error.to_string().contains("tunnel"), "{error}");
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
    }
}
