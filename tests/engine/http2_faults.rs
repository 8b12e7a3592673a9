//! HTTP/2 servers that refuse streams, end connections or break the rules: only unprocessed requests are re-sent.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use hecaton::{Batch, Ending, Error, Kind, Outcome, Reactor, Request};
use hecaton_test_server::ClosedPort;

use crate::http2::{World2, client};
use crate::http2_peer::{
    DATA, END_HEADERS, END_STREAM, HEADERS, NO_ERROR, PADDED, Raw, SETTINGS, frame,
};

pub fn endings(outcome: &Outcome) -> Vec<Ending> {
    let attempts = match outcome {
        Ok(response) => response.attempts(),
        Err(error) => error.attempts(),
    };
    attempts
        .iter()
        .map(|attempt| attempt.ending.clone())
        .collect()
}

#[test]
fn a_refused_stream_is_resent_on_a_new_connection_whatever_the_method() {
    let world = World2::new();
    assert!(world.get("/").is_ok());
    let outcome = world.send(world.request("POST", "/refuse-once").body("abc"));
    assert_eq!(endings(&outcome), [Ending::Resent, Ending::Status(200)]);
    let response = outcome.unwrap();
    let [refused, success] = response.attempts() else {
        panic!("two attempts")
    };
    assert!(refused.sent && success.sent);
    assert_ne!(refused.connection, success.connection);
    assert_eq!(world.peer.seen(|seen| seen.connections), 2);
}

#[test]
fn a_server_that_refuses_every_stream_gets_no_endless_requests() {
    let world = World2::new();
    let mut attempts = 0;
    // A request that is not idempotent is re-sent once.
    for (method, resends) in [("GET", 4), ("POST", 1)] {
        let outcome = world.send(world.request(method, "/refuse"));
        let mut expected = vec![Ending::Resent; resends];
        expected.push(Ending::Failed);
        assert_eq!(endings(&outcome), expected);
        assert_eq!(outcome.unwrap_err().kind(), Kind::Protocol);
        attempts += expected.len();
        let seen = world.peer.seen(|seen| seen.requests.len());
        assert_eq!(seen, attempts, "each attempt arrived");
    }
}

#[test]
fn a_reset_of_another_kind_is_an_error_and_no_reason_to_send_again() {
    let world = World2::new();
    let error = world.get("/reset").unwrap_err();
    assert_eq!(
        (error.kind(), error.sent()),
        (Kind::Protocol, true),
        "{error}"
    );
    assert!(error.detail().contains("INTERNAL_ERROR"), "{error}");
    assert_eq!(error.attempts().len(), 1);
    assert!(world.get("/").is_ok());
    assert_eq!(
        world
            .peer
            .seen(|seen| (seen.requests.len(), seen.connections)),
        (2, 1)
    );
}

#[test]
fn a_connection_that_allows_no_streams_any_more_is_followed_by_another() {
    let url = Raw::serve(|mut raw, number| {
        while let Some(stream) = raw.request() {
            // SETTINGS_MAX_CONCURRENT_STREAMS.
            raw.frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 0]);
            match number {
                0 => raw.head(stream, 0, &[]),
                _ => raw.respond(stream),
            }
        }
    });
    let (client, reactor) = client(|config| config.timeout = Duration::from_secs(20));
    let request = || Request::get(&url).unwrap();
    let unread = reactor.block_on(client.open(request())).unwrap();
    // The first connection still carries a stream, and the second none.
    for opened in [2, 3] {
        assert!(reactor.block_on(client.send(request())).is_ok());
        assert_eq!(client.stats().opened, opened);
    }
    assert_eq!(client.idle_connections(), 0);
    drop(unread);
}

/// The limit falls to 0 after the connection was chosen for these requests, and before they leave.
#[test]
fn requests_leave_a_connection_that_allows_no_streams_any_more() {
    let (responded, lowered) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let barriers = (responded.clone(), lowered.clone());
    let url = Raw::serve(move |mut raw, number| {
        while let Some(stream) = raw.request() {
            raw.respond(stream);
            if (number, stream) == (0, 1) {
                barriers.0.wait();
                raw.frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 0]);
                barriers.1.wait();
            }
        }
    });
    let (client, reactor) = client(|config| config.timeout = Duration::from_secs(20));
    let request = |method: &str| Request::get(&url).unwrap().method(method).unwrap();
    reactor.block_on(client.send(request("GET"))).unwrap();
    // Nobody drives the connection meanwhile, so it is looked at before it is used.
    responded.wait();
    lowered.wait();
    thread::sleep(Duration::from_millis(20));
    let mut batch = Batch::new(client.clone(), 20);
    (0..20).for_each(|tag| batch.push(tag, request(["GET", "POST"][tag % 2])));
    all_succeed(&reactor, &mut batch);
    assert_eq!(client.stats().opened, 2);
}

/// Whatever their methods are, and without a request that is sent twice.
#[test]
fn requests_leave_connections_whose_limit_falls_under_load() {
    let arrived = Arc::new(AtomicUsize::new(0));
    let count = arrived.clone();
    let url = Raw::serve(move |mut raw, _| {
        let mut served = 0;
        while let Some(stream) = raw.request() {
            served += 1;
            count.fetch_add(1, Ordering::Relaxed);
            raw.respond(stream);
            if served == 30 {
                raw.frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 0]);
            }
        }
    });
    let (client, reactor) = client(|config| config.timeout = Duration::from_secs(20));
    let request = |method: &str| Request::get(&url).unwrap().method(method).unwrap();
    let mut batch = Batch::new(client, 20);
    (0..2000).for_each(|tag| batch.push(tag, request(["GET", "POST"][tag % 2])));
    all_succeed(&reactor, &mut batch);
    assert_eq!(arrived.load(Ordering::Relaxed), 2000);
}

fn all_succeed(reactor: &Reactor, batch: &mut Batch<usize>) {
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        reactor.block_on(batch.wait(&mut outcomes));
    }
    for (_, outcome) in outcomes {
        outcome.unwrap();
    }
}

#[test]
fn a_connection_that_ends_gracefully_is_followed_by_another() {
    let world = World2::new();
    for _ in 0..3 {
        assert!(world.get("/last").is_ok());
        assert!(world.get("/").is_ok());
    }
    let seen = world
        .peer
        .seen(|seen| (seen.connections, seen.requests.len()));
    assert_eq!(seen, (4, 6));
}

/// The failure of one request to a server that reads it and then runs `fault`.
fn failure(fault: impl Fn(&mut Raw, u32) + Send + Sync + 'static) -> Error {
    let url = Raw::serve(move |mut raw, _| {
        while let Some(stream) = raw.request() {
            fault(&mut raw, stream);
        }
    });
    let (client, reactor) = client(|_| {});
    let outcome = reactor.block_on(client.send(Request::get(&url).unwrap()));
    outcome.expect_err("an error")
}

#[test]
fn frames_against_the_rules_are_errors_and_do_not_show_what_they_hold() {
    // Literal fields without indexing (RFC 7541 §6.2.2).
    let field = |name: &[u8], value: &[u8]| {
        let lengths = |text: &[u8]| text.len() as u8;
        [&[0, lengths(name)], name, &[lengths(value)], value].concat()
    };
    let connection = field(b"connection", b"close");
    let upper = field(b"X-Upper", b"secret");
    let injected = field(b"x-a", b"1\r\nsecret: 2");
    for block in [connection, upper, injected] {
        let error = failure(move |raw, stream| raw.head(stream, END_STREAM, &block));
        assert_eq!(
            (error.kind(), error.sent()),
            (Kind::Protocol, true),
            "{error}"
        );
        assert!(!error.to_string().contains("secret"), "{error}");
        assert_eq!(error.attempts().len(), 1);
    }
    let no_status = failure(|raw, stream| raw.frame(HEADERS, 5, stream, &[]));
    let data_first = failure(|raw, stream| raw.frame(DATA, 1, stream, b"secret"));
    let garbage = failure(|raw, _| raw.write(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
    for error in [no_status, data_first, garbage] {
        assert_eq!(
            (error.kind(), error.sent()),
            (Kind::Protocol, true),
            "{error}"
        );
    }
}

#[test]
fn a_response_behind_data_of_a_stream_without_a_request_is_an_error() {
    for stray in [0, 2, 99] {
        for bytes in [&b""[..], b"stray", &[b'x'; 600]] {
            let error = failure(move |raw, stream| {
                let response = [
                    frame(HEADERS, END_HEADERS, stream, &[0x88]),
                    frame(DATA, END_STREAM, stream, b"whole"),
                ];
                raw.write(&[frame(DATA, 0, stray, bytes), response.concat()].concat());
            });
            assert_eq!(error.kind(), Kind::Protocol, "{stray}: {error}");
        }
    }
}

#[test]
fn padding_that_fills_its_frame_ends_no_body() {
    for (first, payload) in [
        (&b"abc"[..], &[255, b'd'][..]),
        (b"", &[2, b'd']),
        (b"abc", &[]),
    ] {
        let error = failure(move |raw, stream| {
            let frames = [
                frame(HEADERS, END_HEADERS, stream, &[0x88]),
                frame(DATA, 0, stream, first),
                frame(DATA, PADDED | END_STREAM, stream, payload),
            ];
            raw.write(&frames.concat());
        });
        assert_eq!(error.kind(), Kind::Body, "{payload:?}: {error}");
    }
}

#[test]
fn whatever_frames_a_server_sends_a_request_ends_once_and_the_client_stays_usable() {
    let (client, reactor) = client(|config| config.timeout = Duration::from_secs(1));
    let mut batch = Batch::new(client.clone(), 100);
    for seed in 1..=100_u64 {
        let url = Raw::serve(move |mut raw, number| {
            let mut state = seed * 1000 + number as u64;
            // Knuth's generator; its upper bits are good enough.
            let mut next = move |below: u64| {
                state = state
                    .wrapping_mul(6364136223846793005)
                    .wrapping_add(1442695040888963407);
                (state >> 33) % below
            };
            let stream = raw.request().unwrap_or(1);
            for _ in 0..next(20) {
                let payload: Vec<u8> = (0..next(40)).map(|_| next(256) as u8).collect();
                let to = [stream, stream, 0, stream + 1][next(4) as usize];
                raw.frame(next(11) as u8, next(256) as u8, to, &payload);
            }
        });
        batch.push(seed, Request::new("POST", &url).unwrap().body("abc"));
    }
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        reactor.block_on(batch.wait(&mut outcomes));
    }
    assert_eq!(outcomes.len(), 100);
    for (seed, outcome) in &outcomes {
        if let Err(error) = outcome {
            let known = [Kind::Protocol, Kind::Body, Kind::Timeout].contains(&error.kind());
            assert!(known && error.attempts().len() <= 5, "{seed}: {error}");
        }
    }
    let world = World2::new();
    let request = world.request("GET", "/").timeout(Duration::from_secs(60));
    assert!(reactor.block_on(client.send(request)).is_ok());
}

#[test]
fn a_head_beyond_the_cap_is_an_error() {
    let error = failure(|raw, stream| {
        // One field of 4,000 bytes, a hundred times: literal with indexing, then by its index.
        let mut block = vec![0x88, 0x40, 1, b'a', 0x7f, 0xa1, 0x1e];
        block.extend(vec![b'x'; 4000]);
        block.extend(vec![0xbe; 100]);
        raw.frame(HEADERS, 5, stream, &block);
    });
    assert_eq!(
        (error.kind(), error.sent()),
        (Kind::Protocol, true),
        "{error}"
    );
}

#[test]
fn a_connection_closed_while_nobody_drove_is_noticed_before_it_is_used() {
    for say_so in [true, false] {
        let connections = Arc::new(AtomicUsize::new(0));
        let count = connections.clone();
        let (report, closed) = channel();
        let (resume, resumed) = channel();
        let resumed = Mutex::new(resumed);
        let url = Raw::serve(move |mut raw, _| {
            count.fetch_add(1, Ordering::SeqCst);
            let stream = raw.request().unwrap();
            raw.respond(stream);
            resumed.lock().unwrap().recv().unwrap();
            if say_so {
                raw.go_away(stream, NO_ERROR);
            }
            drop(raw);
            report.send(()).unwrap();
        });
        let (client, reactor) = client(|_| {});
        for _ in 0..4 {
            let request = Request::new("POST", &url).unwrap().body("abc");
            let response = reactor.block_on(client.send(request)).unwrap();
            assert_eq!(response.attempts().len(), 1);
            resume.send(()).unwrap();
            // The client's kernel knows it then, and the client trusts a connection for a moment after it was driven.
            closed.recv().unwrap();
            thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(connections.load(Ordering::SeqCst), 4);
    }
}

#[test]
fn a_connection_that_fell_silent_is_not_used_again_unless_it_responds() {
    let connections = Arc::new(AtomicUsize::new(0));
    let count = connections.clone();
    let url = Raw::serve(move |mut raw, number| {
        count.fetch_add(1, Ordering::SeqCst);
        while let Some(stream) = raw.request() {
            raw.respond(stream);
            if number == 0 {
                return raw.wait_for_end(); // Reads, and sends nothing more: no response to a ping either.
            }
        }
    });
    let (client, reactor) = client(|_| {});
    let send = |limit| {
        let request = Request::get(&url).unwrap().timeout(limit);
        reactor.block_on(client.send(request))
    };
    assert!(send(Duration::from_secs(60)).is_ok());
    let late = send(Duration::from_millis(200)).unwrap_err();
    assert_eq!(late.kind(), Kind::Timeout);
    let third = send(Duration::from_secs(60)).unwrap();
    assert_eq!(connections.load(Ordering::SeqCst), 2);
    let attempt = &third.attempts()[0];
    // No other phase contains the time in which the silent connection was probed.
    let others = [
        attempt.resolve_time,
        attempt.connect_time,
        attempt.send_time,
        attempt.first_byte_time,
        attempt.read_time,
    ];
    let others: Duration = others.into_iter().flatten().sum();
    let queued = attempt.queue_time.unwrap_or_default();
    assert!(queued > Duration::from_millis(900), "{attempt:?}");
    assert!(queued + others <= third.elapsed(), "{attempt:?}");
}

#[test]
fn a_connection_that_fell_silent_is_given_up_however_short_the_limits_are() {
    let url = Raw::serve(|mut raw, number| {
        while let Some(stream) = raw.request() {
            raw.respond(stream);
            if number == 0 {
                return raw.wait_for_end();
            }
        }
    });
    let (client, reactor) = client(|_| {});
    let send = |limit| {
        let request = Request::get(&url).unwrap();
        reactor.block_on(client.send(request.timeout(limit)))
    };
    assert!(send(Duration::from_secs(60)).is_ok());
    // Each request gives up before the silence is long enough to be noticed within that request alone.
    let succeeded = (0..20).any(|_| send(Duration::from_millis(300)).is_ok());
    assert!(
        succeeded,
        "20 requests in a row waited for a silent connection"
    );
}

#[test]
fn interim_responses_without_end_do_not_hold_up_the_deadline() {
    let url = Raw::serve(|mut raw, _| {
        let stream = raw.request().unwrap();
        // `:status: 103`, literal; 10,000 frames a write.
        let frame = [
            &[0, 0, 5, HEADERS, 4][..],
            &stream.to_be_bytes(),
            &[8, 3, b'1', b'0', b'3'],
        ];
        let flood = frame.concat().repeat(10_000);
        let begun = std::time::Instant::now();
        while begun.elapsed() < Duration::from_secs(30) && raw.try_write(&flood) {}
    });
    let (client, reactor) = client(|_| {});
    let request = Request::get(&url)
        .unwrap()
        .timeout(Duration::from_millis(300));
    let error = reactor.block_on(client.send(request)).unwrap_err();
    assert!(error.elapsed() < Duration::from_secs(20), "{error}");
}

#[test]
fn a_refused_connection_is_reported_at_once_to_all_waiting_requests() {
    let (client, reactor) = client(|_| {});
    let closed = ClosedPort::take().unwrap();
    let address = closed.address();
    let mut batch = Batch::new(client, 10);
    let request = || Request::get(&format!("http://{address}/")).unwrap();
    (0..10).for_each(|tag| batch.push(tag, request()));
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        reactor.block_on(batch.wait(&mut outcomes));
    }
    for (_, outcome) in outcomes {
        let error = outcome.unwrap_err();
        assert_eq!(
            (error.kind(), error.sent()),
            (Kind::Connect, false),
            "{error}"
        );
    }
}
