//! A request → its bytes.

use bytes::BufMut;
use http::Method;
use http::header::{EXPECT, PROXY_AUTHORIZATION};

use crate::config::Config;
use crate::content::ACCEPTED;
use crate::message::body::Body;
use crate::message::fields::Fields;
use crate::message::request::Request;
use crate::message::request_flags::is_left_out;
use crate::transport::proxy::Forward;

/// Bodies up to this size are sent together with the head in one write.
const SMALL_BODY: usize = 16 << 10;

/// Bytes that this client adds to a head: the names of its own fields, and their usual values without the user agent.
const OWN_BYTES: usize = 128;

/// As many bytes as most heads of this request take. A buffer that grows piece by piece would be moved six times, and
/// be up to twice as large.
pub(crate) fn estimate(request: &Request, config: &Config) -> usize {
    let given = request.target.as_str().len() + request.host.len() + request.fields.len();
    OWN_BYTES + config.user_agent.len() + given
}

/// Writes the head, and a small body that need not wait, into `out`, for the origin or for a proxy. Returns whether the
/// body is in it.
pub(crate) fn encode(
    request: &Request,
    config: &Config,
    forward: Option<&Forward>,
    out: &mut Vec<u8>,
) -> bool {
    put_request_line(request, forward, out);
    put_default_fields(request, config, out);
    let origin = request.flags.has_proxy_authorization && forward.is_none();
    match origin || request.flags.has_empty || expects_in_vain(request) {
        false => out.put_slice(&request.fields),
        true => put_some(request, origin, out),
    }
    if let Some(forward) = forward {
        forward.write_authorization(&request.fields, out);
    }
    if let Some(options) = &request.options {
        out.put_slice(options.digest.as_ref().map_or(&[], |digest| &digest.field));
    }
    put_framing(request, out);
    out.put_slice(b"\r\n");
    match &request.body {
        Body::Whole(bytes) if bytes.len() <= SMALL_BODY && !waits_to_send(request, config) => {
            out.put_slice(bytes);
            true
        }
        _ => false,
    }
}

/// Writes the method, the target as the origin or the proxy takes it, and the host.
#[inline]
fn put_request_line(request: &Request, forward: Option<&Forward>, out: &mut Vec<u8>) {
    out.put_slice(request.method.as_str().as_bytes());
    out.put_slice(b" ");
    match forward {
        None => out.put_slice(request.target.as_str().as_bytes()),
        Some(forward) => forward.write_target(request, out),
    }
    out.put_slice(b" HTTP/1.1\r\nHost: ");
    out.put_slice(&request.host);
}

/// Ends the line of the host, and writes the fields that a request has unless it names others.
#[inline]
fn put_default_fields(request: &Request, config: &Config, out: &mut Vec<u8>) {
    if !request.flags.has_user_agent {
        out.put_slice(b"\r\nUser-Agent: ");
        out.put_slice(config.user_agent.as_bytes());
    }
    out.put_slice(if request.flags.has_accept {
        b"\r\n"
    } else {
        b"\r\nAccept: */*\r\n"
    });
    if config.offers_codings(request.flags) {
        for part in ["Accept-Encoding: ", ACCEPTED, "\r\n"] {
            out.put_slice(part.as_bytes());
        }
    }
}

/// Writes how long the body is, or that it comes in chunks.
#[inline]
fn put_framing(request: &Request, out: &mut Vec<u8>) {
    match request.body.length() {
        None => out.put_slice(b"Transfer-Encoding: chunked\r\n"),
        Some(length) if writes_length(request) => {
            out.put_slice(b"Content-Length: ");
            out.put_slice(itoa::Buffer::new().format(length).as_bytes());
            out.put_slice(b"\r\n");
        }
        Some(_) => {}
    }
}

/// Whether the body is held until the server sends `100 Continue`.
pub(crate) fn waits_to_send(request: &Request, config: &Config) -> bool {
    request.flags.expects && !request.body.is_empty() && !config.expect_timeout.is_zero()
}

/// Whether the request expects `100 Continue` although it has no body (RFC 9110 §10.1.1), as after a redirect with 303.
pub(crate) fn expects_in_vain(request: &Request) -> bool {
    request.flags.expects && request.body.is_empty()
}

/// All fields but an expectation in vain, those that mean none, and but the credentials for a proxy (RFC 9110 §11.7.2), when there is none,
/// or a tunnel through it.
fn put_some(request: &Request, origin: bool, out: &mut Vec<u8>) {
    let vain = expects_in_vain(request);
    let left_out = |name: &str| match vain && name.eq_ignore_ascii_case(EXPECT.as_str()) {
        true => true,
        false => origin && name.eq_ignore_ascii_case(PROXY_AUTHORIZATION.as_str()),
    };
    let fields = Fields(&request.fields);
    let sent = fields.iter();
    let sent = sent.filter(|(name, value)| !left_out(name) && !is_left_out(name, value));
    for (name, value) in sent {
        for part in [name.as_bytes(), b": ", value, b"\r\n"] {
            out.put_slice(part);
        }
    }
}

/// Whether a request sends its length: if it has a body or may have one, or if the program says that it has none.
pub(crate) fn writes_length(request: &Request) -> bool {
    !request.body.is_empty() || expects_content(&request.method) || request.announced().is_some()
}

/// Methods whose requests send their length even when it is 0 (RFC 9110 §8.6).
fn expects_content(method: &Method) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn encoded(request: Request) -> String {
        let mut out = Vec::new();
        let mut config = Config::new(Duration::from_secs(1));
        config.user_agent = "test/1".into();
        let whole = encode(&request, &config, None, &mut out);
        assert_eq!(whole, request.body.length() <= Some(SMALL_BODY as u64));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_plain_get() {
        let request = Request::get("http://host:8080/a?b").unwrap();
        let expected = "GET /a?b HTTP/1.1\r\nHost: host:8080\r\nUser-Agent: test/1\r\nAccept: */*\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n\r\n";
        assert_eq!(encoded(request), expected);
    }

    #[test]
    fn a_proxy_gets_the_whole_url_and_its_credentials() {
        let forward = Forward::new(Some((b"u".to_vec(), b"p".to_vec())));
        let encoded = |request: Request| {
            let mut out = Vec::new();
            let mut config = Config::new(Duration::from_secs(1));
            config.user_agent = "test/1".into();
            config.decode = false;
            encode(&request, &config, Some(&forward), &mut out);
            String::from_utf8(out).unwrap()
        };
        let request = Request::get("http://host:8080/a?b").unwrap();
        let expected = "GET http://host:8080/a?b HTTP/1.1\r\nHost: host:8080\r\nUser-Agent: test/1\r\nAccept: */*\r\n\
            Proxy-Authorization: Basic dTpw\r\n\r\n";
        assert_eq!(encoded(request.clone()), expected);
        let own = request.header("Proxy-Authorization", b"Bearer x").unwrap();
        assert!(!encoded(own).contains("Basic"));
    }

    #[test]
    fn credentials_for_a_proxy_are_for_a_proxy_alone() {
        let request = Request::get("http://host/").unwrap();
        let request = request.header("X-A", b"1").unwrap();
        let request = request
            .header("proxy-authorization", b"Basic dTpw")
            .unwrap();
        let encoded = encoded(request.header("X-B", b"2").unwrap());
        assert!(
            !encoded.contains("dTpw") && !encoded.to_lowercase().contains("proxy"),
            "{encoded}"
        );
        assert!(
            encoded.ends_with("\r\nX-A: 1\r\nX-B: 2\r\n\r\n"),
            "{encoded}"
        );
    }

    #[test]
    fn a_requests_own_headers_replace_the_default_ones() {
        let request = Request::new("POST", "http://host/").unwrap();
        let request = request.header("User-Agent", b"mine").unwrap();
        let request = request
            .header("accept", b"a")
            .unwrap()
            .header("Host", b"other")
            .unwrap()
            .header("accept-encoding", b"br")
            .unwrap();
        let expected = "POST / HTTP/1.1\r\nHost: other\r\nUser-Agent: mine\r\naccept: a\r\naccept-encoding: br\r\nContent-Length: 3\r\n\r\nabc";
        assert_eq!(encoded(request.body("abc")), expected);
    }

    #[test]
    fn an_empty_post_has_a_length_and_a_large_body_is_left_to_the_caller() {
        assert!(
            encoded(Request::new("PUT", "http://h/").unwrap())
                .ends_with("Content-Length: 0\r\n\r\n")
        );
        assert!(!encoded(Request::new("DELETE", "http://h/").unwrap()).contains("Content-Length"));
        let large = Request::new("POST", "http://h/")
            .unwrap()
            .body(vec![b'x'; SMALL_BODY + 1]);
        assert!(encoded(large).ends_with("Content-Length: 16385\r\n\r\n"));
    }
}
