//! The paths that a test server refuses if strangers may reach it, or if it serves rounds alone.

use std::time::Duration;

use crate::request::Request;
use crate::request::detail::Detail;
use crate::request::route::{Route, Special};

/// Most bytes of a response, and the longest that it is delayed.
const MOST_BYTES: u64 = 64 << 20;
const LONGEST_DELAY: Duration = Duration::from_secs(10);

/// Whether strangers get no such response, because it harms its reader, has no end, or occupies a connection for long.
pub(crate) fn withholds(request: &Request) -> bool {
    match request.route {
        Route::Fault(_) | Route::Special(Special::Bomb | Special::Pieces | Special::Encoded) => {
            true
        }
        Route::Special(Special::Redirect | Special::Status(_) | Special::Headers) => {
            request.detail.as_deref().is_some_and(leads_away)
        }
        Route::Bytes(count) => count > MOST_BYTES,
        Route::Chunked(count) => count > MOST_BYTES / 1024,
        Route::Delay(delay) => delay > LONGEST_DELAY,
        _ => false,
    }
}

/// Whether the response would send a browser to another server, which could then pose as this one.
fn leads_away(detail: &Detail) -> bool {
    let leads = |name: &str| {
        let names = ["to", "location", "refresh"];
        names.iter().any(|known| name.eq_ignore_ascii_case(known))
    };
    let own = |to: &str| to.starts_with('/') && !to[1..].starts_with(['/', '\\']);
    detail.pairs().any(|(name, to)| leads(&name) && !own(&to))
}

/// Whether it is a path of rounds.
pub(crate) fn is_of_rounds(request: &Request) -> bool {
    match request.route {
        Route::Item(..) | Route::Ledger => true,
        Route::Bytes(count) => count <= MOST_BYTES,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};
    use std::net::TcpStream;

    use super::*;
    use crate::{Options, TestServer};

    /// The bytes that such a server sends after it received `sent`, until the connection ends.
    fn response_to(address: std::net::SocketAddr, sent: &str, again: bool) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        stream.write_all(sent.as_bytes()).unwrap();
        let (mut text, mut part) = (String::new(), [0; 4096]);
        loop {
            match stream.read(&mut part) {
                Ok(0) => return text,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return text,
                read => text += &String::from_utf8_lossy(&part[..read.unwrap()]),
            }
            if again {
                let _ = stream.write_all(sent.as_bytes());
            }
        }
    }

    #[test]
    fn strangers_that_send_nothing_or_never_end_are_disconnected() {
        let start = |exposed| {
            let options = Options {
                exposed,
                ..Options::default()
            };
            TestServer::start(options).unwrap()
        };
        let (exposed, own) = (start(true), start(false));
        let mut open = TcpStream::connect(own.address()).unwrap();
        open.write_all(b"GET /r/1 HT").unwrap();
        let address = exposed.address();
        assert_eq!(response_to(address, "", false), "");
        assert_eq!(response_to(address, "GET /r/1 HT", false), "");
        let request = "GET /r/1 HTTP/1.1\r\nHost: x\r\n\r\n";
        assert_eq!(
            response_to(address, request, false)
                .matches("200 OK")
                .count(),
            1
        );
        assert!(
            response_to(address, request, true)
                .matches("200 OK")
                .count()
                > 1
        );
        open.write_all(b"TP/1.1\r\nHost: x\r\n\r\n").unwrap();
        open.read_exact(&mut [0; 15]).unwrap();
    }

    #[test]
    fn strangers_are_not_sent_to_other_servers() {
        let server = TestServer::start(Options {
            exposed: true,
            ..Options::default()
        });
        let server = server.unwrap();
        let status = |path: &str| {
            let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
            response_to(server.address(), &request, false)[9..12].to_string()
        };
        for path in [
            "/redirect/302/1?to=http://example.com/",
            "/redirect/302/1?to=//example.com",
            "/redirect/302/1?to=/%5Cexample.com",
            "/redirect/302/2?to=https%3A%2F%2Fexample.com",
            "/status/301?Location=http://example.com",
            "/headers?refresh=0%3Burl%3Dhttp://example.com",
        ] {
            assert_eq!(status(path), "403", "{path}");
        }
        assert_eq!(status("/redirect/302/1?to=/r/1"), "302");
        assert_eq!(status("/redirect/307/1"), "307");
        assert_eq!(status("/status/503?Retry-After=1"), "503");
    }
}
