//! HTTP proxies: requests that they forward, and tunnels (RFC 9110 §9.3.6).

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::BytesMut;
use http::Method;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::refused::Refused;
use crate::message::fields::Fields;
use crate::message::head::{BadHead, HeadReader, HeadRules};
use crate::message::origin::Origin;
use crate::message::request::Request;
use crate::message::zone;

/// A proxy's response to CONNECT may have at most this many bytes. Usual ones have some hundred.
const MOST_BYTES: usize = 64 << 10;
const MOST_FIELDS: usize = 256;

/// The proxy headers of a request that an HTTP proxy forwards.
pub(crate) struct Forward {
    /// The field with its line end, empty without credentials.
    authorization: Vec<u8>,
}

impl fmt::Debug for Forward {
    /// Leaves out the credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Forward")
    }
}

impl Forward {
    /// The headers for this user and password, if there are any (RFC 7617).
    pub fn new(credentials: Option<(Vec<u8>, Vec<u8>)>) -> Forward {
        let field = |(user, password): (Vec<u8>, Vec<u8>)| {
            let pair = [user, password].join(&b':');
            let encoded = BASE64_STANDARD.encode(pair);
            format!("Proxy-Authorization: Basic {encoded}\r\n").into_bytes()
        };
        Forward {
            authorization: credentials.map(field).unwrap_or_default(),
        }
    }

    /// Writes the target in absolute form, which names the origin (RFC 9112 §3.2.2).
    pub fn write_target(&self, request: &Request, out: &mut Vec<u8>) {
        let origin = request.origin();
        out.extend_from_slice(origin.scheme.name().as_bytes());
        out.extend_from_slice(b"://");
        out.extend_from_slice(origin.host_header().as_bytes());
        // `OPTIONS *` has no path there (RFC 9112 §3.2.4).
        if request.target.as_str() != "*" {
            out.extend_from_slice(request.target.as_str().as_bytes());
        }
    }

    /// Writes the credentials, unless the request has its own.
    pub fn write_authorization(&self, fields: &[u8], out: &mut Vec<u8>) {
        if Fields(fields).get("proxy-authorization").is_none() {
            out.extend_from_slice(&self.authorization);
        }
    }
}

/// Makes `stream`, which is connected to the proxy, a tunnel to `origin`.
pub(crate) async fn tunnel<S: AsyncRead + AsyncWrite + Unpin>(
    stream: &mut S,
    forward: &Forward,
    origin: &Origin,
    user_agent: &str,
) -> Result<(), Refused> {
    let failed = |error: std::io::Error| Refused::from(error.to_string());
    let request = connect_request(forward, origin, user_agent);
    stream.write_all(&request).await.map_err(failed)?;
    let mut input = BytesMut::new();
    let mut reader = HeadReader::default();
    let mut read = 0;
    loop {
        let count = stream.read_buf(&mut input).await.map_err(failed)?;
        read += count;
        let rules = HeadRules {
            method: &Method::CONNECT,
            upgrades: false,
            most_fields: MOST_FIELDS,
            most_bytes: usize::MAX,
            lenient: false,
        };
        if let Some(head) = reader.take(rules, &mut input).map_err(unreadable)? {
            return check_tunnel(head.status, !forward.authorization.is_empty(), &input);
        }
        if count == 0 {
            return Err("it closed the connection without a response".into());
        }
        if read > MOST_BYTES {
            return Err(format!("its response is longer than {MOST_BYTES} bytes").into());
        }
    }
}

fn unreadable(bad: BadHead) -> Refused {
    Refused {
        why: match bad {
            BadHead::Malformed(why) => format!("its response is not HTTP: {why}"),
            BadHead::TooManyInterim => bad.to_string(),
            _ => format!("its response has more than {MOST_FIELDS} fields"),
        },
        by_status: false,
        for_good: true,
    }
}

fn connect_request(forward: &Forward, origin: &Origin, user_agent: &str) -> Vec<u8> {
    let (host, port) = (zone::without(&origin.host), origin.port);
    let authority = match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    };
    let head = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
    let agent = format!("User-Agent: {user_agent}\r\n\r\n");
    [head.as_bytes(), &forward.authorization, agent.as_bytes()].concat()
}

/// Whether the tunnel is there. Nothing may have come through it yet, because the client sends first.
fn check_tunnel(status: u16, had_credentials: bool, behind: &[u8]) -> Result<(), Refused> {
    let unauthorized = |why: &str| Refused {
        why: format!("status 407: it {why}"),
        by_status: true,
        for_good: true,
    };
    match status {
        200..=299 if behind.is_empty() => Ok(()),
        200..=299 => Err("it sent more than its response".into()),
        407 if had_credentials => {
            let why = "does not accept the user and password of its URL";
            Err(unauthorized(why))
        }
        407 => {
            let why = "demands a user and a password, which its URL may have";
            Err(unauthorized(why))
        }
        _ => Err(Refused {
            why: format!("status {status}"),
            by_status: true,
            for_good: false,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reactor;

    fn origin(url: &str) -> Origin {
        Request::get(url).unwrap().origin().clone()
    }

    /// The result of a response that arrives in pieces.
    fn outcome(response: &[u8], piece: usize) -> Result<(), String> {
        let forward = Forward::new(None);
        Reactor::new().unwrap().block_on(async {
            let (mut client, mut proxy) = tokio::io::duplex(1 << 20);
            let responding = async move {
                let mut head = [0; 9];
                proxy.read_exact(&mut head).await.unwrap();
                assert_eq!(&head, b"CONNECT h");
                for piece in response.chunks(piece) {
                    // The client hangs up on a response that it refuses.
                    if proxy.write_all(piece).await.is_err() {
                        break;
                    }
                    tokio::task::yield_now().await;
                }
            };
            let origin = origin("https://host");
            let requesting = async {
                let result = tunnel(&mut client, &forward, &origin, "test/1").await;
                drop(client);
                result.map_err(|refused| refused.why)
            };
            tokio::join!(requesting, responding).0
        })
    }

    #[test]
    fn a_tunnel_is_requested_with_host_port_and_credentials() {
        let forward = Forward::new(Some((b"Aladdin".to_vec(), b"open sesame".to_vec())));
        let head = String::from_utf8(connect_request(
            &forward,
            &origin("https://[::1]/"),
            "test/1",
        ))
        .unwrap();
        let expected = "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\
            Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\nUser-Agent: test/1\r\n\r\n";
        assert_eq!(head, expected);
        assert_eq!(format!("{forward:?}"), "Forward");
    }

    #[test]
    fn only_success_makes_a_tunnel() {
        assert_eq!(
            outcome(b"HTTP/1.1 200 Connection established\r\n\r\n", 1),
            Ok(())
        );
        let with_length = b"HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\n";
        assert_eq!(
            outcome(with_length, 100),
            Ok(()),
            "a length means nothing (RFC 9110 §9.3.6)"
        );
        for (response, word) in [
            (&b"HTTP/1.1 407 Authenticate\r\n\r\n"[..], "demands a user"),
            (b"HTTP/1.1 502 Bad Gateway\r\n\r\n", "status 502"),
            (b"HTTP/1.1 200 OK\r\n\r\nmore", "more than its response"),
            (b"SSH-2.0-OpenSSH\r\n\r\n", "not HTTP"),
            (b"HTTP/1.1 200", "closed"),
        ] {
            let why = outcome(response, 1000).unwrap_err();
            assert!(why.contains(word), "no {word:?} in: {why}");
        }
    }

    #[test]
    fn a_response_without_end_is_cut_off() {
        let long = format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(1 << 18));
        assert!(
            outcome(long.as_bytes(), 4096)
                .unwrap_err()
                .contains("longer")
        );
        let interim = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(10_000);
        let why = outcome(&interim, 4096).unwrap_err();
        assert!(why.contains("interim responses"), "{why}");
    }

    proptest::proptest! {
        #![proptest_config(proptest::test_runner::Config::with_cases(64))]

        #[test]
        fn no_response_panics_and_none_but_success_is_taken(response: Vec<u8>, status in 100..999_u16, piece in 1..40_usize) {
            proptest::prop_assert!(outcome(&response, piece).is_err());
            let head = format!("HTTP/1.1 {status} x\r\nvia: y\r\n\r\n");
            let good = outcome(head.as_bytes(), piece).is_ok();
            proptest::prop_assert_eq!(good, (200..300).contains(&status));
        }
    }
}
