//! HTTP/2 on the test server, checked with the server's log: by ALPN and with prior knowledge.

use std::time::Duration;

use hecaton::{
    Batch, Client, Config, Ending, Kind, Outcome, Phase, Protocol, Reactor, Request, Version,
};
use hecaton_test_server::{Http2, Options, RoundSpec, TestServer, Tls};

use crate::sharing::derived;
use crate::until;

struct World {
    server: TestServer,
    client: Client,
    reactor: Reactor,
}

impl World {
    /// A test server with TLS that supports HTTP/2 in this way, or not at all, and a client that trusts it.
    fn secure(http2: Option<Http2>, change: impl FnOnce(&mut Config)) -> World {
        let options = Options {
            tls: Some(Tls::default()),
            http2,
            ..Options::default()
        };
        World::new(options, change)
    }

    /// A test server without TLS, and a client with prior knowledge.
    fn plaintext(http2: Http2, change: impl FnOnce(&mut Config)) -> World {
        let options = Options {
            http2: Some(http2),
            ..Options::default()
        };
        World::new(options, |config| {
            config.http = Protocol::Http2;
            change(config);
        })
    }

    fn new(options: Options, change: impl FnOnce(&mut Config)) -> World {
        let server = TestServer::start(options).unwrap();
        let mut config = Config::new(Duration::from_secs(60));
        config.ca = server.ca_pem().map(|pem| pem.into());
        change(&mut config);
        World {
            server,
            client: Client::try_new(config).unwrap(),
            reactor: Reactor::new().unwrap(),
        }
    }

    fn request(&self, path: &str) -> Request {
        Request::get(&format!("{}{path}", self.server.base_url())).unwrap()
    }

    fn get(&self, path: &str) -> Outcome {
        self.reactor.block_on(self.client.send(self.request(path)))
    }

    /// `/r/1` to `/r/count`, this many at once.
    fn batch(&self, count: usize, concurrency: usize) -> Vec<Outcome> {
        let mut batch = Batch::new(self.client.clone(), concurrency);
        (1..=count).for_each(|id| batch.push(id, self.request(&format!("/r/{id}"))));
        let mut outcomes = Vec::new();
        while !batch.is_empty() {
            self.reactor.block_on(batch.wait(&mut outcomes));
        }
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }
}

fn version(outcome: &Outcome) -> Option<Version> {
    outcome.as_ref().unwrap().attempts().last().unwrap().version
}

/// How many attempts ended in this way.
fn count(outcomes: &[Outcome], so: impl Fn(&Ending) -> bool) -> u64 {
    let attempts = outcomes.iter().flat_map(|o| o.as_ref().unwrap().attempts());
    attempts.filter(|attempt| so(&attempt.ending)).count() as u64
}

#[test]
fn over_tls_the_server_chooses_http2_and_all_requests_share_its_connection() {
    let world = World::secure(Some(Http2::default()), |_| {});
    let outcomes = world.batch(200, 50);
    assert!(
        outcomes
            .iter()
            .all(|outcome| version(outcome) == Some(Version::Http2))
    );
    let summary = world.server.summary();
    assert_eq!(
        (
            summary.requests,
            summary.connections,
            summary.tls_handshakes
        ),
        (200, 1, 1)
    );
    std::thread::sleep(Duration::from_millis(100));
    let response = world.get("/r/1").unwrap();
    assert!(response.attempts().len() == 1 && response.attempts()[0].reused);
    assert_eq!(world.server.stop().connections, 1);
}

#[test]
fn over_tls_a_server_that_supports_http1_alone_gets_one_request() {
    let world = World::secure(None, |config| config.per_origin = Some(4));
    let outcomes = world.batch(100, 20);
    assert!(
        outcomes
            .iter()
            .all(|outcome| version(outcome) == Some(Version::Http1))
    );
    assert!(
        outcomes
            .iter()
            .all(|outcome| outcome.as_ref().unwrap().attempts().len() == 1)
    );
    let summary = world.server.stop();
    assert_eq!(
        (summary.requests, summary.tls_handshakes, summary.tls_failed),
        (100, 4, 0)
    );
}

#[test]
fn http1_alone_is_used_when_set() {
    let world = World::secure(Some(Http2::default()), |c| c.http = Protocol::Http1);
    assert_eq!(version(&world.get("/r/1")), Some(Version::Http1));
    assert_eq!(world.server.stop().http2_connections, 0);
}

#[test]
fn http2_alone_is_an_error_where_it_is_not_supported() {
    let world = World::secure(None, |config| config.http = Protocol::Http2);
    let error = world.get("/r/1").unwrap_err();
    assert_eq!(
        (error.kind(), error.phase(), error.sent()),
        (Kind::Tls, Phase::Tls, false)
    );
    assert!(error.to_string().contains("version of HTTP"), "{error}");
}

#[test]
fn a_refused_certificate_is_reported_to_all_who_wait() {
    let world = World::secure(Some(Http2::default()), |config| config.ca = None);
    let mut batch = Batch::new(world.client.clone(), 10);
    (0..10).for_each(|tag| batch.push(tag, world.request("/r/1")));
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        world.reactor.block_on(batch.wait(&mut outcomes));
    }
    for (_, outcome) in outcomes {
        assert_eq!(outcome.unwrap_err().kind(), Kind::Tls);
    }
    // The server notices the refusal a little later.
    until(|| world.server.summary().tls_failed > 0);
    assert_eq!(world.server.stop().tls_failed, 1);
}

#[test]
fn a_gate_sees_all_requests_of_a_batch_at_once_on_one_connection() {
    let world = World::plaintext(Http2::default(), |_| {});
    let round = RoundSpec {
        first: 1,
        count: 200,
        body_bytes: 13_801,
        gate: Some(50),
        ..RoundSpec::default()
    };
    world.server.open_round(round);
    assert!(world.batch(200, 50).iter().all(Result::is_ok));
    let page = world.server.close_round();
    assert_eq!(
        (page.distinct, page.peak_in_flight, page.connections_opened),
        (200, 50, 1)
    );
}

#[test]
fn requests_left_out_by_a_goaway_or_a_refusal_are_processed_once_as_the_servers_log_confirms() {
    let ending = Http2 {
        goaway_after: Some(10),
        ..Http2::default()
    };
    let refusing = Http2 {
        refuse_first: true,
        ..Http2::default()
    };
    for http2 in [ending, refusing] {
        let refuses = http2.refuse_first;
        let world = World::plaintext(http2, |_| {});
        let outcomes = world.batch(100, 20);
        let failed: Vec<_> = outcomes.iter().filter_map(|o| o.as_ref().err()).collect();
        assert!(
            failed.is_empty(),
            "{} failed, as: {}",
            failed.len(),
            failed[0]
        );
        let summary = world.server.stop();
        let succeeded = count(&outcomes, |ending| *ending == Ending::Status(200));
        let resent = count(&outcomes, |ending| *ending == Ending::Resent);
        assert_eq!(
            (succeeded, summary.requests, summary.distinct),
            (100, 100, 100)
        );
        assert!(
            summary.connections > 1,
            "{} connections",
            summary.connections
        );
        if refuses {
            // The server's log has each id twice: refused, and re-sent.
            assert_eq!((resent, summary.duplicates), (100, 100));
        } else {
            // Some re-sent requests had not been sent before, and some may have waited for the next connection.
            let unprocessed = summary.http2_unprocessed;
            assert!(
                resent >= unprocessed,
                "{resent} re-sent, {unprocessed} unprocessed"
            );
            assert_eq!(summary.duplicates, 0);
        }
    }
}

#[test]
fn faults_end_as_over_http1() {
    type Limit = fn(&mut Config);
    let first_byte: Limit = |config| config.first_byte_timeout = Some(Duration::from_millis(200));
    let read: Limit = |config| config.read_timeout = Some(Duration::from_millis(200));
    let none: Limit = |_| {};
    for (path, limit, kind, phase) in [
        ("/fault/truncate", none, Kind::Body, Phase::Read),
        ("/fault/reset", none, Kind::Protocol, Phase::FirstByte),
        (
            "/fault/stall-head",
            first_byte,
            Kind::Timeout,
            Phase::FirstByte,
        ),
        ("/fault/stall-body", read, Kind::Timeout, Phase::Read),
    ] {
        let world = World::plaintext(Http2::default(), limit);
        let error = world.get(path).unwrap_err();
        assert_eq!(
            (error.kind(), error.phase(), error.sent()),
            (kind, phase, true),
            "{path}: {error}"
        );
        assert_eq!(error.attempts().len(), 1, "{path}");
        let patient = derived(&world.client, |config| {
            (config.first_byte_timeout, config.read_timeout) = (None, None);
        });
        let next = world.reactor.block_on(patient.send(world.request("/r/1")));
        let next = next.unwrap();
        assert!(next.attempts()[0].reused, "{path}");
    }
}

/// A server may send bodies in frames of a few bytes, faster than their readers take them. `h2` would end the connection
/// for too many frames that wait.
#[test]
fn bodies_of_many_small_frames_share_a_connection() {
    let world = World::plaintext(Http2::default(), |_| {});
    let request = || world.request("/chunked/5000");
    let whole = world.get("/chunked/5000").unwrap().body().len();
    world.reactor.block_on(async {
        let mut streams = Vec::new();
        for _ in 0..20 {
            streams.push(world.client.open(request()).await.unwrap());
        }
        // Nobody reads the last of them while the first is read.
        for stream in &mut streams {
            let mut read = 0;
            while let Some(piece) = stream.chunk().await.unwrap() {
                read += piece.len();
            }
            assert_eq!(read, whole);
        }
    });
    assert_eq!(world.server.stop().connections, 1);
}
