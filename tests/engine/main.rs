//! The engine against the real test server: one file per promise.

mod addresses;
mod allowed;
mod attempt_connection;
mod batch;
mod batch_limits;
mod batch_parts;
mod buffered;
mod cookies;
mod decoding;
mod digest;
mod early_responses;
mod failures;
mod forked;
mod heads;
mod http2;
mod http2_ends;
mod http2_faults;
mod http2_goaway;
mod http2_late;
mod http2_malformed;
mod http2_peer;
mod http2_required;
mod http2_script;
mod http2_sent;
mod http2_streams;
mod http2_test_server;
mod http2_whole;
mod http2_window;
mod http3;
mod http3_announced;
mod http3_ends;
mod http3_goaway;
mod http3_lossy;
mod http3_malformed;
mod http3_packets;
mod http3_peer;
mod http3_script;
mod http3_sent;
mod http3_tls;
mod http3_whole;
mod idle;
mod intercepted;
mod limits;
mod local_address;
mod lossy;
mod phases;
mod pool;
mod proxies;
mod proxy_kinds;
mod proxy_server;
mod redirect_bodies;
mod redirects;
mod requests;
mod retries;
mod retry_predicate;
mod revocation;
mod scripted;
mod sharing;
mod stale;
mod streams;
mod tls;
mod tls_ends;
mod tls_refusals;
mod tls_server;
mod trailers;
mod two_streams;
mod unix_socket;
mod unsolicited;
mod uploads;

use std::future::Future;
use std::time::{Duration, Instant};

use hecaton::{Client, Config, Proxy, Reactor, Request, Response};
use hecaton_test_server::{Options, TestServer};

/// A test server, a client and a reactor of their own for each test.
struct World {
    server: TestServer,
    reactor: Reactor,
    client: Client,
}

impl World {
    fn new() -> World {
        World::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Config)) -> World {
        let server =
            TestServer::start(Options::default()).expect("a test server starts on a free port");
        let mut config = Config::new(Duration::from_secs(60));
        // A proxy of the environment could not reach the test server.
        config.proxy = Proxy::Off;
        change(&mut config);
        let reactor = Reactor::new().expect("a reactor starts");
        World {
            server,
            reactor,
            client: Client::new(config),
        }
    }

    fn request(&self, path: &str) -> Request {
        Request::get(&format!("{}{path}", self.server.base_url())).expect("the URL is good")
    }

    fn send(&self, request: Request) -> hecaton::Outcome {
        self.run(self.client.send(request))
    }

    fn get(&self, path: &str) -> Response {
        self.send(self.request(path)).expect("a response")
    }

    fn run<F: Future>(&self, future: F) -> F::Output {
        self.reactor.block_on(future)
    }
}

/// Tries with this limit first. A try that came too late says nothing, and the next one has twice the limit: a machine
/// that stands still for a while lets any limit pass.
fn with_growing<T>(limit: Duration, mut attempt: impl FnMut(Duration) -> Option<T>) -> T {
    let limits = std::iter::successors(Some(limit), |limit| Some(2 * *limit));
    let said = limits.take(8).find_map(&mut attempt);
    said.expect("it came too late each time")
}

/// Waits until it is so.
fn until(mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(120), "it never came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn json(response: &Response) -> serde_json::Value {
    serde_json::from_slice(response.body()).expect("the echo is JSON")
}
