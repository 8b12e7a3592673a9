//! The headers that a client adds to its requests.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use url::Url;

use crate::message::address::InvalidUrl;
use crate::message::digest::Login;
use crate::message::failure::InvalidRequest;
use crate::message::origin::Origin;
use crate::message::public_headers::{is_public, public_names};
use crate::message::reference;
use crate::message::request::Request;
use crate::message::request_flags::RequestFlags;

/// The defaults of a client's requests. Plain data: change the fields you need.
#[derive(Clone, Default, PartialEq)]
pub struct Defaults {
    /// The base of relative URLs (RFC 3986 §5). Ruby adds the slash at its end where it is missing. Default none: URLs
    /// are absolute. A user and a password in it become the `Authorization` of all requests, unless `headers` have one.
    pub base_url: Option<String>,
    /// Headers of every request, in order; repeats stay. Default none. A request's own headers replace those of the
    /// same name. With a `base_url` they are sent only to its origin, except public ones. Without a `base_url` they are
    /// sent wherever a request is sent first, and headers that are not public do not follow a redirect to another
    /// origin.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Names of headers that may go anywhere: the client's to other origins than its base's, and the client's and a
    /// request's own along with a redirect to another origin. Default none. These always may: `accept`,
    /// `accept-charset`, `accept-encoding`, `accept-language`, `cache-control`, `connection`, `content-digest`,
    /// `content-disposition`, `content-encoding`, `content-language`, `content-md5`, `content-range`, `content-type`,
    /// `digest`, `expect`, `if-match`, `if-modified-since`, `if-none-match`, `if-range`, `if-unmodified-since`,
    /// `pragma`, `prefer`, `priority`, `range`, `repr-digest`, `te` and `user-agent`.
    pub public_headers: Vec<String>,
    /// User and password, Ruby's `[user, password]`, for digest authentication (RFC 7616) of every request, instead of
    /// a user and a password in `base_url`. Default none. They go where `headers` do, and a request with an
    /// `Authorization` of its own is sent without them.
    pub digest_auth: Option<Login>,
    /// Whether a URL that is not percent-encoded as it must be is refused, instead of encoded as browsers do. Default
    /// false.
    pub strict_urls: bool,
}

/// Leaves out the values of headers, which may be secret, and the base's credentials.
impl fmt::Debug for Defaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Defaults")
            .field("base_url", &self.base_url.as_ref().map(|_| ".."))
            .field("headers", &names)
            .field("public_headers", &self.public_headers)
            .field("digest_auth", &self.digest_auth)
            .field("strict_urls", &self.strict_urls)
            .finish()
    }
}

/// The owner of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whose {
    /// A header of the client.
    Client,
    /// A header that was given with the request.
    Request,
}

/// Makes the requests of a client, from its checked [`Defaults`].
pub struct Template {
    base: Option<Base>,
    public: Vec<String>,
    strict: bool,
    digest: Option<Arc<Login>>,
    /// All headers of the client, and those that are public; none if there are none.
    all: Option<Inherited>,
    public_alone: Option<Inherited>,
}

/// Leaves out the headers, which may be secret.
impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template").finish_non_exhaustive()
    }
}

struct Base {
    url: Url,
    origin: Arc<Origin>,
}

/// Headers as requests take them over.
pub(crate) struct Inherited {
    pub fields: Vec<u8>,
    pub host: Option<Bytes>,
    pub flags: RequestFlags,
}

impl Template {
    /// Checks the defaults.
    pub fn new(defaults: &Defaults) -> Result<Template, InvalidRequest> {
        let mut headers = defaults.headers.clone();
        let base = match &defaults.base_url {
            Some(url) => Some(base(url, &mut headers, defaults)?),
            None => None,
        };
        let public = public_names(&defaults.public_headers)?;
        let is_public = |name: &str| is_public(&public, name);
        let all = inherited(headers.iter())?;
        let public_alone = inherited(headers.iter().filter(|(name, _)| is_public(name)))?;
        Ok(Template {
            base,
            strict: defaults.strict_urls,
            digest: defaults.digest_auth.clone().map(Arc::new),
            all,
            public_alone,
            public,
        })
    }

    /// A GET of a URL, which may be relative to the base.
    pub fn get(self: &Arc<Self>, url: Bytes) -> Result<Request, InvalidUrl> {
        let mut request = match &self.base {
            None => Request::read(url, self.strict)?,
            Some(base) => {
                let absolute = reference::beside(&base.url, &url, self.strict)?;
                Request::read(absolute.into(), self.strict)?
            }
        };
        // Without headers of the client, this still says which of the request's own headers are public.
        if self.all.is_some() || !self.public.is_empty() {
            request.inherit(self);
        }
        if let Some(login) = &self.digest {
            if self.is_own(&request.origin) {
                request.inherit_digest(login);
            }
        }
        Ok(request)
    }

    /// Whether a header of this name contains no credentials, so that it may go anywhere.
    pub fn is_public(&self, name: &str) -> bool {
        is_public(&self.public, name)
    }

    /// The headers that go to an origin.
    pub(crate) fn for_origin(&self, origin: &Origin) -> Option<&Inherited> {
        match self.is_own(origin) {
            true => self.all.as_ref(),
            false => self.public_alone.as_ref(),
        }
    }

    /// Whether credentials may be sent to this origin.
    fn is_own(&self, origin: &Origin) -> bool {
        self.base
            .as_ref()
            .is_none_or(|base| *base.origin == *origin)
    }

    /// Names of headers that the client says are public, in lower case.
    pub(crate) fn public_names(template: Option<&Template>) -> &[String] {
        template.map_or(&[], |own| &own.public)
    }
}

/// The base, without its user and password, which become a header.
fn base(
    url: &str,
    headers: &mut Vec<(String, Vec<u8>)>,
    defaults: &Defaults,
) -> Result<Base, InvalidRequest> {
    let strict = defaults.strict_urls;
    let mut url = reference::parse_base(url, strict)?;
    let base_request = Request::read(String::from(url.clone()).into(), strict)
        .map_err(|error| InvalidRequest(format!("base {error}")))?;
    let _ = (url.set_username(""), url.set_password(None));
    let is_named = |(name, _): &(String, _)| name.eq_ignore_ascii_case("authorization");
    let is_said = defaults.digest_auth.is_some() || headers.iter().any(is_named);
    if let (Some(login), false) = (base_request.login(), is_said) {
        headers.push(("Authorization".into(), login.to_vec()));
    }
    Ok(Base {
        url,
        origin: base_request.origin,
    })
}

/// Checks headers and writes them as requests take them over; none if there are none.
fn inherited<'a>(
    headers: impl Iterator<Item = &'a (String, Vec<u8>)>,
) -> Result<Option<Inherited>, InvalidRequest> {
    let anywhere = Request::get("http://anywhere/")?;
    let own_host = anywhere.host.clone();
    let mut request = anywhere;
    for (name, value) in headers {
        request = request.header(name, value)?;
        if request.announced().is_some() {
            let why =
                "describes the body of one request: give it with that request, or leave it out";
            return Err(InvalidRequest(format!("header {name:?} {why}")));
        }
    }
    let host = Some(request.host).filter(|host| *host != own_host);
    if request.fields.is_empty() && host.is_none() {
        return Ok(None);
    }
    Ok(Some(Inherited {
        fields: request.fields,
        host,
        flags: request.flags,
    }))
}

#[cfg(test)]
mod tests;
