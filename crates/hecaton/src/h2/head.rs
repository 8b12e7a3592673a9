//! Heads in HTTP/2 and HTTP/3: a request's fields → what `h2` sends, and what `h2` read → a block of fields.

use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, HeaderName, HeaderValue, PROXY_AUTHORIZATION, TE,
    TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http::uri::{Authority, Scheme, Uri};
use http::{HeaderMap, Version};

use crate::config::Config;
use crate::content::ACCEPTED;
use crate::h1::encode::{expects_in_vain, writes_length};
use crate::message::fields::Fields;
use crate::message::head::BadHead;
use crate::message::request::Request;
use crate::message::request_flags::is_left_out;

/// Fields about one HTTP/1.1 connection, which are forbidden in HTTP/2 (RFC 9113 §8.2.2) and HTTP/3 (RFC 9114 §4.2). So are `Connection`, the
/// fields that it names, and `TE` unless it is `trailers`.
const OF_A_CONNECTION: [HeaderName; 5] = [
    // HTTP/2 passes proxies in tunnels.
    PROXY_AUTHORIZATION,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// The head of `request` as `h2` takes it, or why it cannot be put into HTTP/2.
pub(crate) fn request_head(
    request: &Request,
    config: &Config,
) -> Result<http::Request<()>, String> {
    // A program's own `Host` replaces the URL's (RFC 9113 §8.3.1).
    let authority = Authority::try_from(request.host.as_ref()).map_err(|_| {
        "the Host header is not a host and port, which HTTP/2 and HTTP/3 require".to_owned()
    })?;
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(match request.origin.scheme {
        crate::message::origin::Scheme::Http => Scheme::HTTP,
        crate::message::origin::Scheme::Https => Scheme::HTTPS,
    });
    parts.authority = Some(authority);
    parts.path_and_query = Some(request.target.clone());
    let uri = Uri::from_parts(parts).map_err(|error| error.to_string())?;
    let mut head = http::Request::new(());
    *head.method_mut() = request.method.clone();
    *head.uri_mut() = uri;
    *head.version_mut() = Version::HTTP_2;
    *head.headers_mut() = request_fields(request, config)?;
    Ok(head)
}

fn request_fields(request: &Request, config: &Config) -> Result<HeaderMap, String> {
    let mut map = HeaderMap::with_capacity(8);
    let value = |bytes: &[u8]| HeaderValue::from_bytes(bytes).map_err(|error| error.to_string());
    if !request.flags.has_user_agent {
        map.append(USER_AGENT, value(config.user_agent.as_bytes())?);
    }
    if !request.flags.has_accept {
        map.append(http::header::ACCEPT, HeaderValue::from_static("*/*"));
    }
    if config.offers_codings(request.flags) {
        map.append(ACCEPT_ENCODING, HeaderValue::from_static(ACCEPTED));
    }
    let fields = Fields(&request.fields);
    let digest = request
        .options
        .as_ref()
        .and_then(|options| options.digest.as_ref());
    let digest = Fields(digest.map_or(&[], |digest| &digest.field));
    for (name, bytes) in fields.iter().chain(digest.iter()) {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|error| error.to_string())?;
        let vain = name == http::header::EXPECT && expects_in_vain(request);
        let none = request.flags.has_empty && is_left_out(name.as_str(), bytes);
        if !vain && !none && !belongs_to_a_connection(&name, bytes, fields) {
            map.append(name, value(bytes)?);
        }
    }
    if let Some(length) = request.body.length() {
        if writes_length(request) {
            map.insert(CONTENT_LENGTH, HeaderValue::from(length));
        }
    }
    Ok(map)
}

fn belongs_to_a_connection(name: &HeaderName, value: &[u8], fields: Fields<'_>) -> bool {
    if *name == TE {
        return !value.trim_ascii().eq_ignore_ascii_case(b"trailers");
    }
    let named = || {
        let lists = fields.iter();
        let lists = lists.filter(|(key, _)| key.eq_ignore_ascii_case(CONNECTION.as_str()));
        let mut options = lists.flat_map(|(_, list)| list.split(|byte| *byte == b','));
        options.any(|option| {
            option
                .trim_ascii()
                .eq_ignore_ascii_case(name.as_str().as_bytes())
        })
    };
    *name == CONNECTION || OF_A_CONNECTION.contains(name) || named()
}

/// The fields of a response as `name: value\r\n`, or why there are too many.
pub(super) fn response_fields(headers: &HeaderMap, config: &Config) -> Result<Vec<u8>, BadHead> {
    if headers.len() > config.max_header_fields {
        return Err(BadHead::TooManyFields(config.max_header_fields));
    }
    let mut block = Vec::with_capacity(160);
    for (name, value) in headers {
        let room = config.max_header_bytes.saturating_sub(block.len());
        if name.as_str().len() + value.len() + 4 > room {
            return Err(BadHead::TooManyBytes(config.max_header_bytes));
        }
        for part in [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"] {
            block.extend_from_slice(part);
        }
    }
    Ok(block)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn config() -> Config {
        let mut config = Config::new(Duration::from_secs(1));
        config.user_agent = "test/1".into();
        config
    }

    fn head(request: Request) -> http::Request<()> {
        request_head(&request, &config()).unwrap()
    }

    #[test]
    fn a_plain_get() {
        let head = head(Request::get("http://host:8080/a?b").unwrap());
        assert_eq!(head.uri(), "http://host:8080/a?b");
        let block = response_fields(head.headers(), &config()).unwrap();
        assert_eq!(
            block,
            b"user-agent: test/1\r\naccept: */*\r\naccept-encoding: gzip, deflate, br, zstd\r\n"
        );
    }

    #[test]
    fn headers_of_a_connection_are_left_out() {
        let mut request = Request::new("POST", "http://host/").unwrap();
        for (name, value) in [
            ("Connection", "close, X-Hop"),
            ("Keep-Alive", "5"),
            ("Upgrade", "h2c"),
            ("Proxy-Connection", "close"),
            ("X-Hop", "1"),
            ("TE", "gzip"),
            ("X-Other", "1"),
            ("Host", "other:81"),
            ("TE", "trailers"),
        ] {
            request = request.header(name, value.as_bytes()).unwrap();
        }
        let head = head(request.body("abc"));
        assert_eq!(head.uri().authority().unwrap(), "other:81");
        let block = String::from_utf8(response_fields(head.headers(), &config()).unwrap()).unwrap();
        let expected = "user-agent: test/1\r\naccept: */*\r\naccept-encoding: gzip, deflate, br, zstd\r\nx-other: 1\r\nte: trailers\r\ncontent-length: 3\r\n";
        assert_eq!(block, expected);
    }

    #[test]
    fn a_request_without_a_body_expects_nothing() {
        let request = Request::get("http://host/").unwrap();
        let request = request.header("Expect", b"100-continue").unwrap();
        assert!(!head(request).headers().contains_key("expect"));
    }

    #[test]
    fn a_host_that_is_none_is_refused_before_anything_is_sent() {
        let request = Request::get("http://host/").unwrap();
        let request = request.header("host", b"a b/c").unwrap();
        let why = request_head(&request, &config()).unwrap_err();
        assert!(why.contains("Host header"), "{why}");
    }
}
