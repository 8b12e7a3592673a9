//! How streams and connections of HTTP/2 end. A body that was cut is never a success. Unprocessed requests are re-sent
//! as long as each connection processes some. If a connection ends for an error, its requests fail at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hecaton::{Batch, Ending, Kind, Outcome, Phase, Request};

use crate::http2::client;
use crate::http2_faults::endings;
use crate::http2_peer::{DATA, END_HEADERS, END_STREAM, HEADERS, NO_ERROR, Raw};

/// `content-length: 100`: a literal by its name's index (RFC 7541 appendix A).
const LENGTH_100: &[u8] = &[0x0f, 0x0d, 3, b'1', b'0', b'0'];

const ENHANCE_YOUR_CALM: u32 = 11;

/// How a server ends a stream after the head and 50 bytes.
type Cut = fn(&mut Raw, u32);

fn reset(raw: &mut Raw, stream: u32) {
    raw.reset(stream, NO_ERROR);
}

fn end_early(raw: &mut Raw, stream: u32) {
    raw.frame(DATA, END_STREAM, stream, &[]);
}

fn cutting(fields: &'static [u8], cut: Cut) -> String {
    Raw::serve(move |mut raw, _| {
        while let Some(stream) = raw.request() {
            raw.head(stream, 0, fields);
            raw.frame(DATA, 0, stream, &[b'x'; 50]);
            cut(&mut raw, stream);
        }
    })
}

#[test]
fn a_body_whose_stream_was_reset_without_an_error_is_cut_short() {
    for (fields, cut) in [
        (LENGTH_100, reset as Cut),
        (&[], reset),
        (LENGTH_100, end_early),
    ] {
        let url = cutting(fields, cut);
        let (client, reactor) = client(|_| {});
        let request = || Request::get(&url).unwrap();
        let error = reactor.block_on(client.send(request())).unwrap_err();
        assert_eq!(
            (error.kind(), error.phase()),
            (Kind::Body, Phase::Read),
            "{error}"
        );
        assert!(error.detail().contains("cut short"), "{error}");
        assert_eq!(error.status(), Some(200), "{error}");
        let error = reactor.block_on(async {
            let mut stream = client.open(request()).await.expect("a head");
            loop {
                match stream.chunk().await {
                    Ok(Some(_)) => {}
                    Ok(None) => panic!("the stream ended as if it were whole"),
                    Err(error) => return error,
                }
            }
        });
        assert_eq!(error.kind(), Kind::Body, "{error}");
    }
}

#[test]
fn a_body_that_was_cut_is_a_failure_in_a_batch_too() {
    let url = cutting(LENGTH_100, reset);
    let (client, reactor) = client(|_| {});
    let mut batch = Batch::new(client, 5);
    (0..5).for_each(|tag| batch.push(tag, Request::get(&url).unwrap()));
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        reactor.block_on(batch.wait(&mut outcomes));
    }
    let kinds: Vec<_> = outcomes
        .iter()
        .map(|(_, o)| o.as_ref().map_err(|e| e.kind()))
        .collect();
    assert!(
        kinds.iter().all(|kind| matches!(kind, Err(Kind::Body))),
        "{kinds:?}"
    );
}

#[test]
fn a_whole_response_stands_though_the_rest_of_the_request_is_not_wanted() {
    // RFC 9113 §8.1: END_STREAM, then RST_STREAM with NO_ERROR, while the request is still going out.
    let url = Raw::serve(|mut raw, _| {
        while let Some(stream) = raw.request() {
            raw.respond(stream);
            raw.reset(stream, NO_ERROR);
        }
    });
    let (client, reactor) = client(|_| {});
    let request = Request::new("POST", &url)
        .unwrap()
        .body(vec![b'x'; 1 << 20]);
    let response = reactor.block_on(client.send(request)).unwrap();
    assert_eq!((response.status(), &response.body()[..]), (200, &b"ok"[..]));
}

#[test]
fn unprocessed_requests_are_resent_as_long_as_each_connection_processes_some() {
    // Ten responses a connection, for some forty requests at once.
    let connections = Arc::new(AtomicUsize::new(0));
    let (count, responses) = (connections.clone(), Arc::new(AtomicUsize::new(0)));
    let done = responses.clone();
    let url = Raw::serve(move |mut raw, _| {
        count.fetch_add(1, Ordering::SeqCst);
        let mut taken = Vec::new();
        while taken.len() < 10 {
            let Some(stream) = raw.request() else { return };
            taken.push(stream);
        }
        raw.go_away(taken[9], NO_ERROR);
        for stream in taken {
            raw.respond(stream);
            done.fetch_add(1, Ordering::SeqCst);
        }
        raw.wait_for_end();
    });
    let (client, reactor) = client(|_| {});
    let mut batch = Batch::new(client, 100);
    (0..100).for_each(|tag| batch.push(tag, Request::new("POST", &url).unwrap()));
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        reactor.block_on(batch.wait(&mut outcomes));
    }
    let failed: Vec<_> = outcomes
        .iter()
        .filter_map(|(_, o)| o.as_ref().err())
        .collect();
    assert!(failed.is_empty(), "{} of 100: {}", failed.len(), failed[0]);
    let most = outcomes.iter().map(|(_, o)| endings(o).len()).max();
    assert!(
        most > Some(5),
        "none was re-sent more than four times: {most:?}"
    );
    assert_eq!(responses.load(Ordering::SeqCst), 100, "each once");
    assert_eq!(connections.load(Ordering::SeqCst), 10);
}

#[test]
fn a_server_that_processes_nothing_gets_no_endless_requests() {
    let connections = Arc::new(AtomicUsize::new(0));
    let count = connections.clone();
    let url = Raw::serve(move |mut raw, _| {
        count.fetch_add(1, Ordering::SeqCst);
        if raw.request().is_some() {
            raw.go_away(0, NO_ERROR);
            raw.wait_for_end();
        }
    });
    let (client, reactor) = client(|_| {});
    let outcome = reactor.block_on(client.send(Request::get(&url).unwrap()));
    let mut expected = vec![Ending::Resent; 4];
    expected.push(Ending::Failed);
    assert_eq!(endings(&outcome), expected);
    assert_eq!(connections.load(Ordering::SeqCst), 5);
}

/// Requests to a server that accepts all of them and then ends its first connection for an error, without hanging up.
fn after_an_error(count: usize) -> Vec<Outcome> {
    let url = Raw::serve(move |mut raw, _| {
        let mut last = 0;
        for _ in 0..count {
            last = raw.request().unwrap_or(last);
        }
        raw.go_away(last, ENHANCE_YOUR_CALM);
        raw.wait_for_end();
    });
    let (client, reactor) = client(|_| {});
    let mut batch = Batch::new(client, count);
    (0..count).for_each(|tag| batch.push(tag, Request::get(&url).unwrap()));
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        reactor.block_on(batch.wait(&mut outcomes));
    }
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

#[test]
fn a_connection_that_ends_for_an_error_fails_its_requests_at_once_and_by_name() {
    for outcome in after_an_error(5) {
        let error = outcome.unwrap_err();
        // The error of a deadline has another kind.
        assert_eq!(
            (error.kind(), error.sent()),
            (Kind::Protocol, true),
            "{error}"
        );
        assert!(error.detail().contains("ENHANCE_YOUR_CALM"), "{error}");
        assert_eq!(error.attempts().len(), 1);
    }
}

#[test]
fn a_body_whose_connection_ends_for_an_error_fails_by_name_too() {
    let url = cutting(LENGTH_100, |raw, stream| {
        raw.go_away(stream, ENHANCE_YOUR_CALM)
    });
    let (client, reactor) = client(|_| {});
    let error = reactor
        .block_on(client.send(Request::get(&url).unwrap()))
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Body, "{error}");
    assert!(error.detail().contains("ENHANCE_YOUR_CALM"), "{error}");
}

#[test]
fn an_idempotent_request_is_resent_from_a_connection_that_just_ended() {
    let url = Raw::serve(|mut raw, number| {
        let stream = raw.request().unwrap();
        raw.respond(stream);
        if number == 0 {
            let _ = raw.request(); // Read, without a response.
            return;
        }
        while let Some(stream) = raw.request() {
            raw.respond(stream);
        }
    });
    let (client, reactor) = client(|_| {});
    let send = |method| reactor.block_on(client.send(Request::new(method, &url).unwrap()));
    assert!(send("GET").is_ok());
    assert_eq!(endings(&send("GET")), [Ending::Resent, Ending::Status(200)]);
}

/// The action of a server after an early response to an upload whose rest it has not read.
type Farewell = fn(&mut Raw, u32);

#[test]
fn a_whole_response_stands_though_the_connection_ends_before_the_request_is_out() {
    let farewells: [Farewell; 3] = [
        |_, _| {},
        |raw, stream| raw.go_away(stream, ENHANCE_YOUR_CALM),
        |raw, stream| raw.reset(stream, NO_ERROR),
    ];
    for farewell in farewells {
        for with_length in [true, false] {
            let url = Raw::serve(move |mut raw, _| {
                let stream = raw.request().unwrap();
                // `content-length: 2`
                let fields: &[u8] = if with_length {
                    &[0x0f, 0x0d, 1, b'2']
                } else {
                    &[]
                };
                raw.head(stream, 0, fields);
                raw.frame(DATA, END_STREAM, stream, b"no");
                farewell(&mut raw, stream);
            });
            let (client, reactor) = client(|_| {});
            let body = vec![b'x'; 8 << 20];
            let request = Request::new("POST", &url).unwrap().body(body);
            let response = reactor
                .block_on(client.send(request))
                .expect("the response");
            assert_eq!((response.status(), &response.body()[..]), (200, &b"no"[..]));
        }
    }
}

#[test]
fn a_goaway_for_an_error_that_comes_in_pieces_keeps_its_guarantee() {
    let url = Raw::serve(|mut raw, number| {
        let stream = raw.request().unwrap();
        if number > 0 {
            raw.respond(stream);
            return raw.wait_for_end();
        }
        // Nothing was processed: its last stream is 0. Sixteen bytes of debug data follow, after a while.
        raw.write(&[
            0, 0, 24, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11, b'x', b'x', b'x',
        ]);
        std::thread::sleep(std::time::Duration::from_millis(100));
        raw.write(&[b'x'; 13]);
        raw.wait_for_end();
    });
    let (client, reactor) = client(|_| {});
    let outcome = reactor.block_on(client.send(Request::new("POST", &url).unwrap()));
    assert_eq!(endings(&outcome), [Ending::Resent, Ending::Status(200)]);
}

/// The end of a connection after its first request, whose stream is given.
type End = fn(Raw, u32);

/// Ends without a response: closed or reset, with and without a GOAWAY that names no error.
const SILENT_ENDS: [End; 4] = [
    |raw, _| raw.hang_up(),
    |raw, _| raw.break_off(),
    |mut raw, stream| {
        raw.go_away(stream, NO_ERROR);
        raw.hang_up();
    },
    |mut raw, stream| {
        raw.go_away(stream, NO_ERROR);
        raw.break_off();
    },
];

/// The outcome of a request whose new connection ends after the server has read it, and how many requests arrived.
fn ended_when_new(end: End, method: &str, again: bool, reconnect: bool) -> (Outcome, usize) {
    let arrived = Arc::new(AtomicUsize::new(0));
    let count = arrived.clone();
    let url = Raw::serve(move |mut raw, connection| {
        while let Some(stream) = raw.request() {
            count.fetch_add(1, Ordering::SeqCst);
            if connection == 0 || again {
                return end(raw, stream);
            }
            raw.respond(stream);
        }
    });
    let (client, reactor) = client(|config| config.reconnect = reconnect);
    let outcome = reactor.block_on(client.send(Request::new(method, &url).unwrap()));
    (outcome, arrived.load(Ordering::SeqCst))
}

#[test]
fn an_idempotent_request_is_sent_once_more_if_its_new_connection_ended() {
    let resent = [Ending::Resent, Ending::Status(200)];
    let twice = [Ending::Resent, Ending::Failed];
    for end in SILENT_ENDS {
        let (outcome, arrived) = ended_when_new(end, "GET", false, true);
        assert_eq!((&endings(&outcome)[..], arrived), (&resent[..], 2));
        let (outcome, arrived) = ended_when_new(end, "GET", true, true);
        assert_eq!((&endings(&outcome)[..], arrived), (&twice[..], 2));
    }
}

#[test]
fn a_request_that_may_have_been_processed_is_not_sent_again_unless_it_is_idempotent() {
    for end in SILENT_ENDS {
        for (method, reconnect) in [("POST", true), ("GET", false)] {
            let (outcome, arrived) = ended_when_new(end, method, false, reconnect);
            let error = outcome.unwrap_err();
            assert_eq!(
                (error.kind(), error.sent(), error.attempts().len(), arrived),
                (Kind::Protocol, true, 1, 1),
                "{error}"
            );
        }
    }
}

#[test]
fn no_request_is_sent_again_after_an_interim_response_or_an_error_of_the_server() {
    // `:status: 103`: a literal by its name's index (RFC 7541 appendix A).
    let early_hints: End = |mut raw, stream| {
        raw.frame(HEADERS, END_HEADERS, stream, &[0x08, 3, b'1', b'0', b'3']);
        raw.hang_up();
    };
    let error: End = |mut raw, stream| {
        raw.go_away(stream, ENHANCE_YOUR_CALM);
        raw.hang_up();
    };
    let not_http2: End = |mut raw, _| {
        raw.write(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        raw.hang_up();
    };
    for end in [early_hints, error, not_http2] {
        let (outcome, arrived) = ended_when_new(end, "GET", false, true);
        assert_eq!((endings(&outcome), arrived), (vec![Ending::Failed], 1));
    }
}

#[test]
fn an_interim_response_is_a_part_of_the_response_on_a_reused_connection_too() {
    let arrived = Arc::new(AtomicUsize::new(0));
    let count = arrived.clone();
    let url = Raw::serve(move |mut raw, _| {
        let stream = raw.request().unwrap();
        count.fetch_add(1, Ordering::SeqCst);
        raw.respond(stream);
        let stream = raw.request().unwrap();
        count.fetch_add(1, Ordering::SeqCst);
        raw.frame(HEADERS, END_HEADERS, stream, &[0x08, 3, b'1', b'0', b'3']);
        raw.hang_up();
    });
    let (client, reactor) = client(|_| {});
    let get = || reactor.block_on(client.send(Request::get(&url).unwrap()));
    assert!(get().is_ok());
    assert_eq!(endings(&get()), [Ending::Failed]);
    assert_eq!(arrived.load(Ordering::SeqCst), 2);
}
