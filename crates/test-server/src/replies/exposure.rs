//! Rules of a test server that strangers may reach: deadlines, limits by address, and paths that it refuses.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use crate::request::Request;
use crate::request::detail::Detail;
use crate::request::route::{Route, Special};
use crate::wire::timer::Timer;

/// How long a TLS handshake may take, and the head of a request from its first byte to its last.
pub(crate) const TO_BEGIN: Duration = seconds(10);
/// How long a connection may be idle.
pub(crate) const IDLE: Duration = seconds(30);
/// How long a connection may live. Without this limit a slow reader could hold memory without end.
pub(crate) const LIFE: Duration = seconds(300);
/// Most connections of one address.
const MOST_OF_ADDRESS: usize = 256;
/// Most bytes of a response, and the longest that it is delayed.
const MOST_BYTES: u64 = 64 << 20;
const LONGEST_DELAY: Duration = Duration::from_secs(10);

/// This many seconds; a hundredth of that in this crate's own tests.
const fn seconds(count: u64) -> Duration {
    Duration::from_millis(count * if cfg!(test) { 10 } else { 1000 })
}

/// The connected addresses.
#[derive(Clone, Default)]
pub(crate) struct Guests(Rc<RefCell<HashMap<IpAddr, usize>>>);

/// A connection that counts for its address until it is dropped.
pub(crate) struct Guest {
    guests: Guests,
    address: IpAddr,
}

impl Guests {
    /// None if the address has reached the limit of connections.
    pub(crate) fn admit(&self, address: IpAddr) -> Option<Guest> {
        let mut all = self.0.borrow_mut();
        let count = all.entry(address).or_default();
        if *count >= MOST_OF_ADDRESS {
            return None;
        }
        *count += 1;
        let guests = self.clone();
        Some(Guest { guests, address })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut all = self.guests.0.borrow_mut();
        if let Some(count) = all.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.address);
            }
        }
    }
}

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

/// The result of the future, or none if it is not done at `deadline`; without a deadline it has all the time.
pub(crate) async fn within<T>(
    timer: &Timer,
    deadline: Option<Instant>,
    future: impl Future<Output = T>,
) -> Option<T> {
    let mut future = pin!(future);
    let mut timer_is_set = false;
    poll_fn(|context| {
        if let Poll::Ready(done) = future.as_mut().poll(context) {
            return Poll::Ready(Some(done));
        }
        match deadline {
            Some(deadline) if Instant::now() >= deadline => return Poll::Ready(None),
            Some(deadline) if !std::mem::replace(&mut timer_is_set, true) => {
                timer.wake_at(deadline, context.waker().clone());
            }
            _ => {}
        }
        Poll::Pending
    })
    .await
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

    #[test]
    fn an_address_has_a_limit_of_connections_and_gets_closed_ones_back() {
        let guests = Guests::default();
        let (one, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let mut all: Vec<Guest> = (0..MOST_OF_ADDRESS)
            .map_while(|_| guests.admit(one))
            .collect();
        assert_eq!(all.len(), MOST_OF_ADDRESS);
        assert!(guests.admit(one).is_none() && guests.admit(other).is_some());
        all.pop();
        assert!(guests.admit(one).is_some());
        drop(all);
        assert!(guests.0.borrow().is_empty());
    }
}
