//! Large heads of responses, and heads above the limits, with equal errors over both protocols. Responses 100 and 101.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use hecaton::{Batch, Config, Error, Kind, Outcome, Request};
use hecaton_e2e::peer::{Peer, Requests};

use crate::World;
use crate::http2::client;
use crate::http2_peer::{DATA, END_STREAM, Raw};
use crate::scripted::{Scripted, response_text};

/// One response with this many fields, and their bytes, over HTTP/1.1.
fn over_http1(fields: usize, bytes: usize, change: impl FnOnce(&mut Config)) -> Outcome {
    let lines = "x: y\r\n".repeat(fields - 2);
    let long = format!("{lines}x: {}\r\n", "y".repeat(bytes - lines.len()));
    let server = Scripted::new(|_| vec![("/", response_text(200, &long, "ok"))]);
    let world = World::with(change);
    world.send(Request::get(&format!("{}/", server.url)).unwrap())
}

fn refused(outcome: Outcome) -> Error {
    let error = outcome.expect_err("the head is too large");
    assert_eq!(
        (error.kind(), error.sent()),
        (Kind::Protocol, true),
        "{error}"
    );
    error
}

#[test]
fn two_thousand_fields_are_allowed_and_the_limits_are_settings() {
    assert!(over_http1(2000, 20_000, |_| {}).is_ok());
    let error = refused(over_http1(2001, 20_000, |_| {}));
    assert!(
        error
            .detail()
            .contains("2000 fields, which is max_header_fields"),
        "{error}"
    );
    assert!(over_http1(2001, 20_000, |config| config.max_header_fields = 2001).is_ok());
    let error = refused(over_http1(10, 300_000, |_| {}));
    assert!(
        error
            .detail()
            .contains("262144 bytes, which is max_header_bytes"),
        "{error}"
    );
    assert!(over_http1(10, 300_000, |config| config.max_header_bytes = 400_000).is_ok());
}

/// 21 requests at once; the response of one has a field of this many bytes.
fn with_neighbours(bytes: usize, change: impl FnOnce(&mut Config)) -> (Vec<Outcome>, usize) {
    let connections = Arc::new(AtomicUsize::new(0));
    let count = connections.clone();
    let url = Raw::serve(move |mut raw, _| {
        count.fetch_add(1, Ordering::SeqCst);
        let streams: Vec<_> = (0..21).map_while(|_| raw.request()).collect();
        for (index, stream) in streams.into_iter().enumerate() {
            match index {
                10 => {
                    raw.long_head(stream, 0, bytes);
                    raw.frame(DATA, END_STREAM, stream, b"ok");
                }
                _ => raw.respond(stream),
            }
        }
        raw.wait_for_end();
    });
    let (client, reactor) = client(change);
    let mut batch = Batch::new(client, 21);
    (0..21).for_each(|tag| batch.push(tag, Request::get(&url).unwrap()));
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        reactor.block_on(batch.wait(&mut outcomes));
    }
    let outcomes = outcomes.into_iter().map(|(_, outcome)| outcome).collect();
    (outcomes, connections.load(Ordering::SeqCst))
}

#[test]
fn over_http2_a_head_that_is_too_large_ends_its_stream_and_not_its_neighbours() {
    for bytes in [300_000, 700_000, 1_000_000] {
        let (outcomes, connections) = with_neighbours(bytes, |_| {});
        let errors: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
        let [error] = &errors[..] else {
            panic!("{bytes}: one error and not {}: {errors:?}", errors.len())
        };
        assert_eq!(
            (error.kind(), connections),
            (Kind::Protocol, 1),
            "{bytes}: {error}"
        );
        let words = "262144 bytes, which is max_header_bytes";
        assert!(error.detail().contains(words), "{bytes}: {error}");
    }
    let allowed = |config: &mut Config| config.max_header_bytes = 1 << 20;
    let (outcomes, connections) = with_neighbours(1_000_000, allowed);
    assert!(outcomes.iter().all(Result::is_ok) && connections == 1);
}

#[test]
fn over_http2_fields_are_counted_too() {
    let url = Raw::serve(|mut raw, _| {
        while let Some(stream) = raw.request() {
            // `accept-ranges: ` with an empty value, from the static table.
            raw.head(stream, END_STREAM, &[0x92; 2001]);
        }
    });
    let get = |change: fn(&mut Config)| {
        let (client, reactor) = client(change);
        reactor.block_on(client.send(Request::get(&url).unwrap()))
    };
    let error = refused(get(|_| {}));
    assert!(
        error
            .detail()
            .contains("2000 fields, which is max_header_fields"),
        "{error}"
    );
    assert!(get(|config| config.max_header_fields = 2001).is_ok());
}

/// A server that reads heads and runs the script. Returns the bytes that came after the head, and the number of
/// connections.
fn seen_by_server(
    script: impl Fn(&mut &TcpStream) + Send + Sync + 'static,
) -> (Peer, Receiver<Vec<u8>>) {
    let (report, reports) = channel();
    let peer = Peer::playing(move |mut stream, _| {
        if stream.head().is_some() {
            script(&mut stream);
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest);
            let _ = report.send(rest);
        }
    });
    (peer, reports)
}

fn expecting(url: &str) -> Request {
    let request = Request::new("PUT", url).unwrap().body("the body");
    request.header("Expect", b"100-Continue").unwrap()
}

/// Longer than any test runs.
fn patient(config: &mut Config) {
    config.timeout = Duration::from_secs(60);
    config.expect_timeout = Duration::from_secs(50);
}

#[test]
fn a_body_that_waits_is_sent_when_the_server_sends_100_continue() {
    let (peer, reports) = seen_by_server(|stream| {
        let interim = b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n";
        stream.write_all(interim).unwrap();
        let mut body = [0; 8];
        stream.read_exact(&mut body).unwrap();
        assert_eq!(&body, b"the body");
        let _ = stream.write_all(response_text(200, "connection: close\r\n", "ok").as_bytes());
    });
    let world = World::with(patient);
    let response = world.send(expecting(&peer.url("/"))).unwrap();
    assert_eq!((response.status(), response.attempts().len()), (200, 1));
    assert_eq!(reports.recv().unwrap(), b"");
}

#[test]
fn a_body_is_not_sent_after_a_final_response_and_the_connection_is_closed() {
    for source in [false, true] {
        let (peer, reports) = seen_by_server(|stream| {
            let _ = stream.write_all(response_text(417, "", "no").as_bytes());
        });
        let world = World::with(patient);
        let mut request = expecting(&peer.url("/"));
        if source {
            request = request.body_from(Once(false), None);
        }
        let response = world.send(request).unwrap();
        assert_eq!((response.status(), &response.body()[..]), (417, &b"no"[..]));
        // The server sees the end of the connection, and no byte before it.
        assert_eq!(reports.recv().unwrap(), b"", "{source}");
        assert_eq!(world.client.idle_connections(), 0);
    }
}

struct Once(bool);

impl hecaton::Source for Once {
    fn poll_piece(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<std::io::Result<bytes::Bytes>>> {
        let piece = (!std::mem::replace(&mut self.0, true)).then(|| Ok("piece".into()));
        std::task::Poll::Ready(piece)
    }
}

#[test]
fn a_body_is_sent_after_a_while_without_100_continue() {
    for limit in [0, 50] {
        let (peer, reports) = seen_by_server(|stream| {
            let mut body = [0; 8];
            stream.read_exact(&mut body).unwrap();
            let _ = stream.write_all(response_text(200, "connection: close\r\n", "ok").as_bytes());
        });
        let world = World::with(|config| config.expect_timeout = Duration::from_millis(limit));
        let response = world.send(expecting(&peer.url("/"))).unwrap();
        assert_eq!((response.status(), reports.recv().unwrap()), (200, vec![]));
        let send = response.attempts()[0].send_time;
        assert!(send >= Some(Duration::from_millis(limit)), "{send:?}");
    }
}

#[test]
fn over_http2_a_body_waits_too() {
    for continues in [true, false] {
        let (report, reports) = channel();
        let url = Raw::serve(move |mut raw, _| {
            let stream = raw.request().unwrap();
            if !continues {
                // `:status: 417`, literal.
                raw.frame(1, 5, stream, &[8, 3, b'4', b'1', b'7']);
            } else {
                raw.frame(1, 4, stream, &[8, 3, b'1', b'0', b'0']);
            }
            let mut data = false;
            while let Some((kind, _)) = raw.next() {
                const RST_STREAM: u8 = 3;
                if kind == DATA || kind == RST_STREAM {
                    data = kind == DATA;
                    break;
                }
            }
            let _ = report.send(data);
            if continues {
                raw.respond(stream);
            }
            raw.wait_for_end();
        });
        let (client, reactor) = client(patient);
        let response = reactor.block_on(client.send(expecting(&url))).unwrap();
        assert_eq!(response.status(), if continues { 200 } else { 417 });
        drop((client, reactor));
        assert_eq!(reports.recv().unwrap(), continues);
    }
}

#[test]
fn a_requested_switch_to_another_protocol_is_a_response_and_ends_the_connection() {
    let (peer, reports) = seen_by_server(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nits own bytes");
    });
    let world = World::new();
    let request = Request::get(&peer.url("/")).unwrap();
    let request = request.header("Connection", b"upgrade").unwrap();
    let response = world
        .send(request.header("Upgrade", b"x").unwrap())
        .unwrap();
    assert_eq!((response.status(), &response.body()[..]), (101, &b""[..]));
    assert_eq!(response.header("upgrade"), Some(&b"x"[..]));
    reports.recv().unwrap(); // The end of the connection.
    let error = world
        .send(Request::get(&peer.url("/")).unwrap())
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Protocol, "{error}");
    assert!(error.detail().contains("not requested"), "{error}");
}

#[test]
fn harmless_violations_are_accepted_by_a_setting() {
    let fields = "transfer-encoding: identity\r\nx y: 1\r\nx-a : 1\r\n";
    let head = format!("HTTP/1.1  200  OK\r\n{fields}content-length: 2\r\n\r\nok");
    let chunks = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\nok\n0\n\n";
    for (response, kind) in [(head, Kind::Protocol), (chunks.to_owned(), Kind::Body)] {
        let server = Scripted::responding(move |_| response.clone());
        let get = |world: &World| world.send(Request::get(&server.url).unwrap());
        let error = get(&World::new()).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.detail().contains("the setting lenient"), "{error}");
        let lenient = World::with(|config| config.lenient = true);
        for _ in 0..2 {
            assert_eq!(get(&lenient).unwrap().body(), "ok");
        }
        let opened = lenient.client.stats().opened;
        assert_eq!(opened, 2, "another reader may have seen another end");
    }
}
