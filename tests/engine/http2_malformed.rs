//! Responses that RFC 9113 forbids: each fails its own request, once, and no other request of its connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hecaton::{Batch, Config, Error, Kind, Outcome, Request, Retry};
use hecaton_e2e::peer::Peer;

use crate::http2::client;
use crate::http2_faults::endings;
use crate::http2_peer::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PRIORITY, Raw, SETTINGS, WINDOW_UPDATE,
    frame,
};

/// A field without indexing (RFC 7541 §6.2.2), or one with indexing (§6.2.1).
fn field(first: u8, name: &[u8], value: &[u8]) -> Vec<u8> {
    let length = |text: &[u8]| text.len() as u8;
    [&[first, length(name)], name, &[length(value)], value].concat()
}

fn status(code: &[u8; 3]) -> Vec<u8> {
    [&[8, 3], &code[..]].concat()
}

/// Frames on stream 3 that are no valid response, each with its reason.
fn malformed() -> Vec<(&'static str, Vec<u8>)> {
    let head = |flags, block: &[u8]| frame(HEADERS, END_HEADERS | flags, 3, block);
    let whole = |block: &[u8]| head(END_STREAM, block);
    let with = |first, name: &[u8], value: &[u8]| {
        whole(&[&[0x88][..], &field(first, name, value)].concat())
    };
    let data = |flags, bytes: &[u8]| frame(DATA, flags, 3, bytes);
    let trailers = |block: &[u8]| [head(0, &[0x88]), data(0, b"body"), whole(block)].concat();
    let mut all = vec![
        (
            "before its head",
            [head(0, &status(b"103")), data(END_STREAM, b"early")].concat(),
        ),
        ("before its head", data(0, b"early")),
        ("no :status", whole(&field(0, b"x-a", b"1"))),
        ("no :status", whole(&[])),
        ("pseudo-header", with(0, b":path", b"/")),
        ("pseudo-header", whole(&[0x88, 0x84])),
        ("pseudo-header", with(0, b":nobody-knows", b"/")),
        ("two :status", whole(&[0x88, 0x89])),
        (
            "behind other fields",
            whole(&[field(0, b"x", b"1"), vec![0x88]].concat()),
        ),
        ("three digits", whole(&[8, 2, b'2', b'0'])),
        ("three digits", whole(&status(b"2x0"))),
        ("101", whole(&status(b"101"))),
        ("101", head(0, &status(b"101"))),
        ("ends the stream", whole(&status(b"103"))),
        ("interim", head(0, &status(b"103")).repeat(101)),
        ("capital", with(0, b"X-Upper", b"1")),
        ("capital", with(0x40, b"X-Upper", b"1")),
        ("capital", with(0, b"x y", b"1")),
        ("value", with(0x40, b"x-a", b"1\r\nx: 2")),
        ("HTTP/1.1's", with(0, b"connection", b"close")),
        ("HTTP/1.1's", with(0x40, b"transfer-encoding", b"chunked")),
        ("HTTP/1.1's", with(0, b"te", b"gzip")),
        (
            "has a body",
            [head(0, &[0x89]), data(END_STREAM, b"body")].concat(),
        ),
        (
            "has a body",
            [head(0, &[0x8b]), data(END_STREAM, b"body")].concat(),
        ),
        ("its trailers contain a :status", trailers(&[0x88])),
        ("pseudo-header", trailers(&[0x84])),
        ("HTTP/1.1's", trailers(&field(0, b"connection", b"close"))),
        ("capital", trailers(&field(0x40, b"X-A", b"1"))),
        (
            "do not end",
            [head(0, &[0x88]), head(0, &field(0, b"x-a", b"1"))].concat(),
        ),
        (
            "too many empty DATA frames",
            [head(0, &[0x88]), data(0, b"").repeat(10_001)].concat(),
        ),
        ("WINDOW_UPDATE", frame(WINDOW_UPDATE, 0, 3, &[0; 4])),
        ("PRIORITY", frame(PRIORITY, 0, 3, &[0; 4])),
    ];
    // A header block in two frames; the first frame already has the bad field.
    let split = [
        frame(
            HEADERS,
            END_STREAM,
            3,
            &[vec![0x88], field(0, b"connection", b"close")].concat(),
        ),
        frame(CONTINUATION, END_HEADERS, 3, &field(0, b"x-a", b"1")),
    ];
    all.push(("HTTP/1.1's", split.concat()));
    all
}

/// A server with two requests on its first connection. It sends these bytes in the middle of the first response, and
/// reports what it sees.
fn around(bytes: Vec<u8>, connections: Arc<AtomicUsize>) -> String {
    Raw::serve(move |mut raw, number| {
        connections.fetch_add(1, Ordering::SeqCst);
        let first = raw.request();
        if number > 0 || raw.request().is_none() {
            return;
        }
        // An entry of the table, which the other streams continue to use.
        let entry = [vec![0x88], field(0x40, b"x-indexed", b"yes")].concat();
        let mut all = frame(HEADERS, END_HEADERS, 1, &entry);
        all.extend(frame(DATA, 0, 1, &[b'a'; 1000]));
        all.extend(&bytes);
        all.extend(frame(DATA, END_STREAM, 1, &[b'b'; 1000]));
        raw.write(&all);
        let mut next = raw.request();
        while let Some(stream) = next {
            // The index is 62 if the table got no other entry, and else 63.
            let index = if bytes.contains(&0x40) { 0xbf } else { 0xbe };
            raw.head(stream, END_STREAM, &[index]);
            next = raw.request();
        }
        let _ = first;
    })
}

fn batch(config: impl FnOnce(&mut Config), requests: Vec<Request>) -> Vec<Outcome> {
    let (client, reactor) = client(config);
    let mut batch = Batch::new(client, requests.len().min(50));
    let all = requests.into_iter().enumerate();
    all.for_each(|(tag, request)| batch.push(tag, request));
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        reactor.block_on(batch.wait(&mut outcomes));
    }
    outcomes.sort_by_key(|(tag, _)| *tag);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

fn check(name: &str, error: &Error) {
    assert!(
        matches!(error.kind(), Kind::Protocol | Kind::Body) && error.sent(),
        "{name}: {error}"
    );
    assert!(error.detail().contains("malformed"), "{name}: {error}");
    assert!(error.detail().contains(name), "{name}: {error}");
    assert_eq!(error.attempts().len(), 1, "{name}: {error}");
}

#[test]
fn a_malformed_response_fails_alone_and_is_not_sent_again() {
    for (name, bytes) in malformed() {
        let connections = Arc::new(AtomicUsize::new(0));
        let url = around(bytes, connections.clone());
        let (client, reactor) = client(|config| {
            config.retry = Some(Retry::default());
        });
        let mut batch = Batch::new(client.clone(), 2);
        (0..2).for_each(|tag| batch.push(tag, Request::get(&url).unwrap()));
        let mut outcomes = Vec::new();
        while !batch.is_empty() {
            reactor.block_on(batch.wait(&mut outcomes));
        }
        outcomes.sort_by_key(|(tag, _)| *tag);
        let neighbour = outcomes[0].1.as_ref();
        let neighbour = neighbour.unwrap_or_else(|error| panic!("{name}: the neighbour: {error}"));
        assert_eq!(neighbour.body().len(), 2000, "{name}");
        let error = outcomes[1].1.as_ref().expect_err(name);
        check(name, error);
        // The connection continues, and its table is in step.
        let third = reactor.block_on(client.send(Request::get(&url).unwrap()));
        let third = third.unwrap_or_else(|error| panic!("{name}: the next: {error}"));
        assert_eq!(third.header("x-indexed"), Some(&b"yes"[..]), "{name}");
        assert_eq!(connections.load(Ordering::SeqCst), 1, "{name}");
    }
}

#[test]
fn frames_behind_a_whole_response_take_nothing_from_it() {
    for surplus in [
        frame(DATA, 0, 1, b"more"),
        frame(DATA, END_STREAM, 1, b"more"),
        frame(HEADERS, END_HEADERS, 1, &[0x88]),
        frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0x88]),
        frame(
            HEADERS,
            END_HEADERS | END_STREAM,
            1,
            &field(0x40, b"X-A", b"1"),
        ),
        frame(WINDOW_UPDATE, 0, 1, &[0; 4]),
    ] {
        for uploads in [false, true] {
            let surplus = surplus.clone();
            let url = Raw::serve(move |mut raw, number| {
                if number > 0 || raw.request().is_none() || raw.request().is_none() {
                    return;
                }
                let mut all = frame(HEADERS, END_HEADERS, 1, &[0x88]);
                all.extend(frame(DATA, END_STREAM, 1, b"whole"));
                all.extend(&surplus);
                all.extend(frame(HEADERS, END_HEADERS, 3, &[0x88]));
                all.extend(frame(DATA, END_STREAM, 3, b"whole"));
                raw.write(&all);
                raw.wait_for_end();
            });
            let body = vec![b'x'; if uploads { 1 << 20 } else { 0 }];
            let request = || Request::new("POST", &url).unwrap().body(body.clone());
            for outcome in batch(|_| {}, vec![request(), request()]) {
                assert_eq!(&outcome.expect("a response").body()[..], b"whole");
            }
        }
    }
}

#[test]
fn interim_responses_up_to_the_limit_are_skipped() {
    let url = Raw::serve(|mut raw, _| {
        let stream = raw.request().unwrap();
        for _ in 0..100 {
            raw.frame(HEADERS, END_HEADERS, stream, &status(b"103"));
        }
        raw.respond(stream);
        raw.wait_for_end();
    });
    let (client, reactor) = client(|_| {});
    let response = reactor.block_on(client.send(Request::get(&url).unwrap()));
    assert_eq!(response.expect("a response").status(), 200);
}

/// `h2` would end the connection for a hundred of them.
#[test]
fn empty_frames_up_to_the_limit_are_skipped() {
    let url = Raw::serve(|mut raw, _| {
        let stream = raw.request().unwrap();
        raw.head(stream, 0, &[]);
        let empty = frame(DATA, 0, stream, b"");
        let body = frame(DATA, END_STREAM, stream, b"ok");
        raw.write(&[empty.repeat(10_000), body].concat());
        raw.wait_for_end();
    });
    let (client, reactor) = client(|_| {});
    let response = reactor.block_on(client.send(Request::get(&url).unwrap()));
    assert_eq!(&response.expect("a response").body()[..], b"ok");
}

#[test]
fn a_server_that_does_not_begin_with_its_settings_is_refused() {
    // `Raw` sends SETTINGS first; this server decides itself what it sends first.
    use std::io::{Read, Write};
    let mut pushes = frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100, 0, 2, 0, 0, 0, 1]);
    pushes.extend(frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0x88]));
    for (words, begin) in [
        (
            "first frame",
            frame(HEADERS, END_HEADERS | END_STREAM, 1, &[0x88]),
        ),
        ("first frame", frame(SETTINGS, 1, 0, &[])),
        ("first frame", b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()),
        ("push", pushes),
    ] {
        let peer = Peer::playing(move |mut stream, _| {
            let _ = stream.read_exact(&mut [0; 24]);
            let _ = stream.write_all(&begin);
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let url = peer.url("/");
        let (client, reactor) = client(|config| config.retry = Some(Retry::default()));
        let outcome = reactor.block_on(client.send(Request::get(&url).unwrap()));
        assert_eq!(endings(&outcome).len(), 1, "{words}: {outcome:?}");
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), Kind::Protocol, "{words}: {error}");
        assert!(error.detail().contains(words), "{words}: {error}");
    }
}

#[test]
fn a_length_that_is_not_that_of_the_body_says_both() {
    // `content-length: 100`.
    let announced = [0x0f, 0x0d, 3, b'1', b'0', b'0'];
    for (pieces, words) in [
        (vec![50], "received 50 of 100 announced bytes"),
        (vec![50, 20], "received 70 of 100 announced bytes"),
        (vec![60, 60], "longer than the 100 bytes"),
    ] {
        let url = Raw::serve(move |mut raw, _| {
            while let Some(stream) = raw.request() {
                raw.head(stream, 0, &announced);
                for (index, piece) in pieces.iter().enumerate() {
                    let last = if index + 1 == pieces.len() {
                        END_STREAM
                    } else {
                        0
                    };
                    raw.frame(DATA, last, stream, &vec![b'x'; *piece]);
                }
            }
        });
        let (client, reactor) = client(|_| {});
        let error = reactor.block_on(client.send(Request::get(&url).unwrap()));
        let error = error.unwrap_err();
        assert_eq!(error.kind(), Kind::Body, "{error}");
        assert!(error.detail().contains(words), "{words}: {error}");
    }
}

#[test]
fn a_response_to_head_has_no_body() {
    for (bytes, fails) in [(&b""[..], false), (b"body", true)] {
        let url = Raw::serve(move |mut raw, _| {
            let stream = raw.request().unwrap();
            raw.head(stream, 0, &[0x0f, 0x0d, 1, b'4']);
            raw.frame(DATA, END_STREAM, stream, bytes);
            raw.wait_for_end();
        });
        let (client, reactor) = client(|_| {});
        let outcome = reactor.block_on(client.send(Request::new("HEAD", &url).unwrap()));
        assert_eq!(outcome.is_err(), fails, "{outcome:?}");
    }
}

#[test]
fn a_connection_of_many_malformed_responses_is_replaced_before_it_ends() {
    let url = Raw::serve(|mut raw, _| {
        while let Some(stream) = raw.request() {
            match (stream / 2) % 2 {
                0 => raw.frame(DATA, 0, stream, b"early"),
                _ => raw.respond(stream),
            }
        }
    });
    let requests = (0..3000).map(|_| Request::get(&url).unwrap()).collect();
    let outcomes = batch(|_| {}, requests);
    let fine = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    for error in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        check("before its head", error);
    }
    assert!((1400..=1600).contains(&fine), "{fine} of 3,000");
}
