//! A request, checked when it is made: nothing ambiguous reaches the wire.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use http::header::{
    AUTHORIZATION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use http::uri::PathAndQuery;

use crate::message::address::{self, Destination, InvalidUrl};
use crate::message::announced_framing::Announced;
use crate::message::body::{Body, Source};
use crate::message::digest::{Digest, Login};
use crate::message::failure::InvalidRequest;
use crate::message::fields::Fields;
use crate::message::origin::Origin;
use crate::message::public_headers::is_public;
use crate::message::redirect::Redirect;
use crate::message::request_flags::RequestFlags;
use crate::message::request_options::RequestOptions;
use crate::message::retry::Retry;
use crate::message::template::{Template, Whose};

/// One request, ready to be sent.
#[derive(Clone, Debug)]
pub struct Request {
    pub(crate) origin: Arc<Origin>,
    pub(crate) method: Method,
    pub(crate) target: PathAndQuery,
    /// The `Host` header.
    pub(crate) host: Bytes,
    /// The other headers as they go on the wire, `name: value\r\n`, names as the program wrote them.
    pub(crate) fields: Vec<u8>,
    /// How many bytes at the beginning of `fields` come from the client's `template`.
    pub(crate) inherited_bytes: usize,
    pub(crate) template: Option<Arc<Template>>,
    /// Whether the field after these bytes is an `Authorization` from the URL's user and password.
    has_login: bool,
    /// The meaning of `fields` for the client itself.
    pub(crate) flags: RequestFlags,
    pub(crate) body: Body,
    pub(crate) timeout: Option<Duration>,
    /// The redirects that led to this request.
    pub(crate) redirected: Vec<Redirect>,
    pub(crate) options: Option<Box<RequestOptions>>,
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

    /// A request with a URL that is not copied.
    pub fn with_url(method: &str, url: Bytes) -> Result<Request, InvalidRequest> {
        let request = Request::to(address::read(url, false)?);
        request.method(method)
    }

    /// A request with a URL; `strict` refuses one that needs encoding.
    pub(crate) fn read(url: Bytes, strict: bool) -> Result<Request, InvalidUrl> {
        Ok(Request::to(address::read(url, strict)?))
    }

    /// A GET.
    fn to(destination: Destination) -> Request {
        let mut request = Request {
            origin: destination.origin,
            method: Method::GET,
            target: destination.target,
            host: destination.host,
            fields: Vec::new(),
            inherited_bytes: 0,
            template: None,
            has_login: false,
            flags: RequestFlags::default(),
            body: Body::default(),
            timeout: None,
            redirected: Vec::new(),
            options: None,
        };
        if let Some(login) = destination.login {
            request.write_field("Authorization", login.as_bytes());
            request.has_login = true;
        }
        request
    }

    /// Sets the method.
    pub fn method(mut self, method: &str) -> Result<Request, InvalidRequest> {
        self.method = parse_method(method)?;
        Ok(self)
    }

    /// Adds a header; repeats stay. Over HTTP/1.1 its name is sent as it is written here, over HTTP/2 in lower case. It
    /// replaces the client's headers of that name; an `Authorization` also replaces the URL's user and password.
    /// `Content-Length` and `Transfer-Encoding` are written from the body: a header that agrees is accepted, and
    /// [`checked`](Request::checked) refuses any other. `Host` replaces the URL's. `Proxy-Authorization` is sent only
    /// to a proxy that forwards the request.
    pub fn header(mut self, name: &str, value: &[u8]) -> Result<Request, InvalidRequest> {
        let refused = |what: &str| InvalidRequest(format!("header {name:?} {what}"));
        let key = header_name(name)?;
        HeaderValue::from_bytes(value)
            .map_err(|_| refused("has a value with a line break or another control character"))?;
        if matches!(key, CONTENT_LENGTH | TRANSFER_ENCODING) {
            let announced = Announced::read(&key, value).map_err(|why| refused(&why))?;
            let known = &mut self.options.get_or_insert_default().announced;
            if known.is_some_and(|known| known != announced) {
                return Err(refused("disagrees with another such header of the request"));
            }
            *known = Some(announced);
            return Ok(self);
        }
        if self.inherited_bytes > 0 || self.has_login || self.options.is_some() {
            self.drop_inherited(&key);
        }
        if key == HOST {
            self.host = Bytes::copy_from_slice(value);
        } else {
            self.flags.note(key.as_str(), value);
            self.write_field(name, value);
        }
        Ok(self)
    }

    /// Leaves out a header that the request has from its client or its URL.
    pub fn without(mut self, name: &str) -> Result<Request, InvalidRequest> {
        let key = header_name(name)?;
        self.drop_inherited(&key);
        if key == HOST && self.template.is_some() {
            self.host = Bytes::from(self.origin.host_header());
        }
        Ok(self)
    }

    /// Adds the headers of the client, before all others.
    pub(crate) fn inherit(&mut self, from: &Arc<Template>) {
        // Redirects need the template even if no header of it is used.
        self.template = Some(from.clone());
        let Some(inherited) = from.for_origin(&self.origin) else {
            return;
        };
        self.fields.splice(0..0, inherited.fields.iter().copied());
        self.inherited_bytes = inherited.fields.len();
        self.flags.add(inherited.flags);
        if let Some(host) = &inherited.host {
            self.host = host.clone();
        }
        if self.has_login {
            self.retain(|name, whose| whose == Whose::Request || name != AUTHORIZATION.as_str());
        }
    }

    /// Uses digest authentication with the client's login, unless the URL has a user or the headers have an
    /// `Authorization`.
    pub(crate) fn inherit_digest(&mut self, login: &Arc<Login>) {
        if Fields(&self.fields).get(AUTHORIZATION.as_str()).is_none() {
            self.options.get_or_insert_default().digest = Some(Digest::new(login.clone()));
        }
    }

    /// The `Authorization` made of the URL's user and password.
    pub(crate) fn login(&self) -> Option<&[u8]> {
        let of_url = &self.fields[self.inherited_bytes..];
        Fields(of_url)
            .get(AUTHORIZATION.as_str())
            .filter(|_| self.has_login)
    }

    /// Drops everything that may not go to another origin.
    pub(crate) fn leave_origin(&mut self) {
        let template = self.template.clone();
        let named = Template::public_names(template.as_deref());
        self.retain(|name, _| is_public(named, name));
        self.has_login = false;
        self.drop_digest();
    }

    fn drop_digest(&mut self) {
        if let Some(options) = &mut self.options {
            options.digest = None;
        }
    }

    fn drop_inherited(&mut self, key: &HeaderName) {
        if *key == AUTHORIZATION {
            self.drop_digest();
        }
        let login = self.has_login && key == AUTHORIZATION;
        self.has_login &= !login;
        if !login
            && Fields(&self.fields[..self.inherited_bytes])
                .get(key.as_str())
                .is_none()
        {
            return;
        }
        self.retain(|name, whose| name != key.as_str() || (whose == Whose::Request && !login));
    }

    /// Drops the fields that `keep` refuses, and their flags. `keep` gets each name in lower case.
    pub(crate) fn retain(&mut self, keep: impl Fn(&str, Whose) -> bool) {
        let fields = std::mem::take(&mut self.fields);
        let (theirs, own) = fields.split_at(self.inherited_bytes);
        self.flags = RequestFlags::default();
        for (part, whose) in [(theirs, Whose::Client), (own, Whose::Request)] {
            for (name, value) in Fields(part).iter() {
                let key = name.to_ascii_lowercase();
                if keep(&key, whose) {
                    self.flags.note(&key, value);
                    self.write_field(name, value);
                }
            }
            if whose == Whose::Client {
                self.inherited_bytes = self.fields.len();
            }
        }
    }

    fn write_field(&mut self, name: &str, value: &[u8]) {
        for part in [name.as_bytes(), b": ", value, b"\r\n"] {
            self.fields.extend_from_slice(part);
        }
    }

    /// Sets the body, sent with its `Content-Length`.
    pub fn body(mut self, body: impl Into<Bytes>) -> Request {
        self.body = Body::Whole(body.into());
        self
    }

    /// Sets the body to what `source` gives. With a `length` it is sent with that `Content-Length`, and a
    /// source that gives more or less fails the request; without one it is sent in chunks (RFC 9112
    /// §7.1). Clones of the request share the source. A `Content-Length` among the headers is the length of a source
    /// that knows none.
    pub fn body_from(mut self, source: impl Source + 'static, length: Option<u64>) -> Request {
        let announced = match self.announced() {
            Some(Announced::Length(length)) => Some(length),
            _ => None,
        };
        self.body = Body::new(source, length.or(announced));
        self
    }

    /// The request, if its headers agree with its body. To be called when it has both.
    pub fn checked(self) -> Result<Request, InvalidRequest> {
        if let Some(announced) = self.announced() {
            announced.check(&self.body).map_err(InvalidRequest)?;
        }
        Ok(self)
    }

    /// The framing of the body that the headers announce.
    pub(crate) fn announced(&self) -> Option<Announced> {
        self.options.as_ref().and_then(|options| options.announced)
    }

    /// Forgets the framing that the headers announce, for a request that continues without its body.
    pub(crate) fn forget_announced(&mut self) {
        if let Some(options) = &mut self.options {
            options.announced = None;
        }
    }

    /// Sets the total deadline of this request instead of the client's.
    pub fn timeout(mut self, timeout: Duration) -> Request {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how many redirects of this request are followed, instead of the client's `redirects`.
    pub fn redirects(mut self, most: u32) -> Request {
        self.options.get_or_insert_default().redirects = Some(most);
        self
    }

    /// Authenticates by digest (RFC 7616), instead of as the client and the URL say. When the server sends a challenge
    /// (401), the request is sent again with the response to it, and up to twice more if the server says that the nonce
    /// is stale. Later requests with the same login to the same protection space carry the response at once. All
    /// attempts are listed, and share the one deadline. If the body can be read only once, the challenge is an error of
    /// kind [`Body`](crate::Kind::Body). The login does not follow a redirect to another origin. An `Authorization`
    /// that is added later replaces it.
    pub fn digest_auth(mut self, login: Login) -> Request {
        self.drop_inherited(&AUTHORIZATION);
        self.options.get_or_insert_default().digest = Some(Digest::new(login.into()));
        self
    }

    /// Sets when this request is sent again, instead of the client's `retry`; none for never.
    pub fn retry(mut self, retry: Option<Retry>) -> Request {
        self.options.get_or_insert_default().retry = Some(retry);
        self
    }

    /// Lets the retry predicate decide whether the request is sent again, if the client has hooks
    /// ([`Client::with_hooks`](crate::Client::with_hooks)) and the request has retries. The predicate gets this number.
    /// The retries' `max`, `interval`, `backoff` and `jitter` still apply.
    pub fn call_retry_predicate(mut self, number: usize) -> Request {
        self.options.get_or_insert_default().predicate_number = Some(number);
        self
    }

    /// Calls [`Hooks::before_attempt`](crate::Hooks::before_attempt) with this number before each attempt, if the
    /// client has hooks.
    pub fn call_before_attempt(mut self, number: usize) -> Request {
        self.options.get_or_insert_default().before_attempt_number = Some(number);
        self
    }

    /// Calls [`Hooks::respond`](crate::Hooks::respond) with this number before each attempt, if the client has hooks.
    pub fn intercepted(mut self, number: usize) -> Request {
        self.options.get_or_insert_default().intercepted_as = Some(number);
        self
    }

    /// The URL with its query; after redirects the last one.
    pub(crate) fn url(&self) -> String {
        self.origin.url(&self.target)
    }

    /// The URL as other machines know it: without the zone of its address.
    pub(crate) fn url_without_zone(&self) -> String {
        let (scheme, host) = (self.origin.scheme.name(), self.origin.host_header());
        format!("{scheme}://{host}{}", self.target)
    }

    /// Takes the zone of another request's address, because both have the same address.
    pub(crate) fn stay_in_zone_of(&mut self, other: &Request) {
        if self.origin.host != other.origin.host {
            self.origin = Arc::new(Origin {
                host: other.origin.host.clone(),
                ..Origin::clone(&self.origin)
            });
        }
    }

    /// Where the request goes.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }
}

fn header_name(name: &str) -> Result<HeaderName, InvalidRequest> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
        let what = "is not a valid name: use letters, digits and hyphens";
        InvalidRequest(format!("header {name:?} {what}"))
    })
}

fn parse_method(method: &str) -> Result<Method, InvalidRequest> {
    if method == "CONNECT" {
        // After its response the connection is a tunnel: there is no body, and no next request can be sent on it.
        let why = "method \"CONNECT\" opens a tunnel, which is not supported";
        return Err(InvalidRequest(why.into()));
    }
    Method::from_bytes(method.as_bytes()).map_err(|_| {
        InvalidRequest(format!(
            "method {method:?} is not valid: use a word such as GET or POST"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_can_not_be_injected() {
        let request = || Request::get("http://host/").unwrap();
        assert!(request().header("x-a", b"1\r\nx-b: 2").is_err());
        assert!(request().header("x-a", b"1\0").is_err());
        assert!(request().header("x a", b"1").is_err());
        assert!(request().header("", b"1").is_err());
        assert!(Request::new("GE T", "http://host/").is_err());
        assert!(Request::new("", "http://host/").is_err());
    }

    #[test]
    fn a_tunnel_is_refused() {
        let error = Request::new("CONNECT", "http://host/").unwrap_err();
        assert!(error.to_string().contains("tunnel"), "{error}");
    }
}
