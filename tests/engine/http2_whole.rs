//! A body over HTTP/2 is whole or an error, whatever else the server sends on its connection.

use hecaton::{Batch, Client, Error, Outcome, Reactor, Request};

use crate::http2::client;
use crate::http2_peer::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PADDED, PING, PUSH_PROMISE,
    RST_STREAM, Raw, SETTINGS, WINDOW_UPDATE, frame,
};
use crate::http2_script::{Script, run};

/// Frames that end a stream or the connection, of a server that has two requests on streams 1 and 3.
fn faults() -> Vec<(&'static str, Vec<u8>)> {
    let head = |block: &[u8]| frame(HEADERS, END_HEADERS | END_STREAM, 3, block);
    vec![
        ("a name in capitals", head(b"\x88\x00\x03X-A\x011")),
        (
            "a connection's field",
            head(b"\x88\x00\x0aconnection\x05close"),
        ),
        ("a bad index", head(&[0x88, 0xff, 0xff, 0x0f])),
        ("an index of nothing", head(&[0x88, 0xfe])),
        ("DATA before a head", frame(DATA, 0, 3, b"early")),
        ("a short PING", frame(PING, 0, 0, b"1234")),
        ("a PING on a stream", frame(PING, 0, 1, b"12345678")),
        ("a short SETTINGS", frame(SETTINGS, 0, 0, b"12345")),
        ("a SETTINGS ack with more", frame(SETTINGS, 1, 0, b"123456")),
        ("a WINDOW_UPDATE of 0", frame(WINDOW_UPDATE, 0, 0, &[0; 4])),
        (
            "a WINDOW_UPDATE of 0 on a stream",
            frame(WINDOW_UPDATE, 0, 3, &[0; 4]),
        ),
        (
            "a WINDOW_UPDATE of 0 on this stream",
            frame(WINDOW_UPDATE, 0, 1, &[0; 4]),
        ),
        ("a short WINDOW_UPDATE", frame(WINDOW_UPDATE, 0, 1, &[0; 3])),
        ("too much padding", frame(DATA, PADDED, 1, &[9, 1, 2])),
        (
            "a push",
            frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2, 0x82]),
        ),
        ("a short reset", frame(RST_STREAM, 0, 3, &[0; 3])),
        ("a reset of nothing", frame(RST_STREAM, 0, 99, &[0; 4])),
        ("a reset", frame(RST_STREAM, 0, 1, &[0; 4])),
        (
            "a reset with an error",
            frame(RST_STREAM, 0, 1, &[0, 0, 0, 2]),
        ),
        (
            "a lone CONTINUATION",
            frame(CONTINUATION, END_HEADERS, 1, b""),
        ),
        ("a head without its end", frame(HEADERS, 0, 3, b"\x88")),
        ("a second head", frame(HEADERS, END_HEADERS, 1, b"\x88")),
        (
            "a GOAWAY with an error",
            frame(GOAWAY, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 2]),
        ),
        ("a short GOAWAY", frame(GOAWAY, 0, 0, &[0; 7])),
        ("DATA of no stream", frame(DATA, 0, 0, b"x")),
        ("DATA of a stream of the server", frame(DATA, 0, 2, b"x")),
        (
            "a head of a stream to come",
            frame(HEADERS, END_HEADERS, 99, b"\x88"),
        ),
        ("a frame too large", frame(0xb, 0, 1, &[0; 20_000])),
    ]
}

/// A server that reads two requests, and then writes all of this at once.
fn responding(bytes: Vec<u8>) -> String {
    Raw::serve(move |mut raw, number| {
        if number > 0 || raw.request().is_none() || raw.request().is_none() {
            return;
        }
        raw.write(&bytes);
        raw.wait_for_end();
    })
}

/// Stream 1's response: 1,000 bytes, then this, then 1,000 more and its end. Stream 3 is reset at last.
fn around(fault: &[u8]) -> Vec<u8> {
    let mut bytes = frame(HEADERS, END_HEADERS, 1, &[0x88]);
    bytes.extend(frame(DATA, 0, 1, &[b'a'; 1000]));
    bytes.extend(fault);
    bytes.extend(frame(DATA, END_STREAM, 1, &[b'b'; 1000]));
    bytes.extend(frame(RST_STREAM, 0, 3, &[0, 0, 0, 8]));
    bytes
}

/// Two requests: with a body that is unfinished when their responses come, or without one.
fn two(client: &Client, reactor: &Reactor, url: &str, uploads: bool) -> Vec<Outcome> {
    let mut batch = Batch::new(client.clone(), 2);
    for tag in 0..2 {
        let request = Request::new(if uploads { "POST" } else { "GET" }, url).unwrap();
        // More than the server's windows grant, so the upload never ends.
        let body = vec![b'x'; if uploads { 1 << 20 } else { 0 }];
        batch.push(tag, request.body(body));
    }
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        reactor.block_on(batch.wait(&mut outcomes));
    }
    outcomes.sort_by_key(|(tag, _)| *tag);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Whether the outcome is a success, which has all bytes.
fn is_whole(name: &str, outcome: &Outcome) -> bool {
    let Ok(response) = outcome else { return false };
    let body = response.body();
    assert_eq!(
        body.len(),
        2000,
        "{name}: {} bytes of 2000 were handed over as a whole body",
        body.len()
    );
    true
}

#[test]
fn a_body_that_was_cut_by_a_fault_in_the_same_read_is_no_success() {
    for (name, fault) in faults() {
        for uploads in [false, true] {
            let url = responding(around(&fault));
            let (client, reactor) = client(|_| {});
            let outcomes = two(&client, &reactor, &url, uploads);
            is_whole(name, &outcomes[0]);
        }
    }
}

#[test]
fn fields_behind_a_body_are_not_lost_in_a_success() {
    for (name, fault) in faults() {
        for uploads in [false, true] {
            let mut bytes = frame(HEADERS, END_HEADERS, 1, &[0x88]);
            bytes.extend(frame(DATA, 0, 1, b"body"));
            bytes.extend(&fault);
            let trailers = b"\x00\x09x-trailer\x011";
            bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, 1, trailers));
            bytes.extend(frame(RST_STREAM, 0, 3, &[0, 0, 0, 8]));
            let url = responding(bytes);
            let (client, reactor) = client(|_| {});
            if let Ok(response) = &two(&client, &reactor, &url, uploads)[0] {
                let has_it = response.trailers().any(|(name, _)| name == "x-trailer");
                assert!(has_it, "{name}: the trailers were lost");
            }
        }
    }
}

#[test]
fn a_stream_is_cut_too() {
    for (name, fault) in faults() {
        let url = responding(around(&fault));
        let (client, reactor) = client(|_| {});
        let request = || Request::get(&url).unwrap();
        let read = async |request| -> Result<usize, Error> {
            let mut stream = client.open(request).await?;
            let mut count = 0;
            while let Some(piece) = stream.chunk().await? {
                count += piece.len();
            }
            Ok(count)
        };
        let both = async { tokio::join!(read(request()), read(request())) };
        let (first, second) = reactor.block_on(both);
        for count in [first, second].into_iter().flatten() {
            assert!(count == 2000 || count == 0, "{name}: {count} bytes of 2000");
        }
    }
}

/// Runs so many random scripts, the same each time.
pub fn random_scripts(count: usize, run: impl Fn(&[u8])) {
    let mut state = 1_u64;
    // Knuth's generator; its upper bits are good enough.
    let mut next = move || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    for _ in 0..count {
        let length = 1 + 2 * usize::from(next() % 16);
        let bytes: Vec<u8> = (0..length).map(|_| next()).collect();
        println!("{bytes:?}"); // Shown if it fails.
        run(&bytes);
    }
}

#[test]
fn the_bytes_handed_over_are_the_bytes_sent() {
    random_scripts(400, |bytes| run(Script::new(bytes)));
}

#[test]
fn scripts_that_were_found_by_fuzzing() {
    // 5,100 bytes of stream 1, a fault, and the rest of it; with and without an upload under way.
    for fault in [
        &[0x8d, 0][..],
        &[0x8d, 1],
        &[0x8d, 2],
        &[14, 0],
        &[14, 3],
        &[15, 0],
    ] {
        for uploads in [0, 1] {
            let script = [&[uploads, 0, 0, 3, 255], fault, &[7, 255]].concat();
            run(Script::new(&script));
        }
    }
    // DATA behind the server's own reset of a stream that had been reset for a fault, and of one that had not.
    run(Script::new(&[
        143, 137, 19, 176, 230, 140, 227, 42, 198, 255, 218, 217, 96, 74, 250, 92, 131, 34, 58,
        122, 77, 68, 179,
    ]));
    for behind in [3, 7, 2, 11, 10] {
        for uploads in [0, 1] {
            let script = [
                uploads,
                0,
                0,
                128,
                0,
                143,
                8,
                128 + behind,
                9,
                12,
                0,
                131,
                9,
                7,
                255,
            ];
            run(Script::new(&script));
        }
    }
    let seeds = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../crates/hecaton/fuzz/seeds/two_streams"
    );
    for seed in std::fs::read_dir(seeds).unwrap() {
        run(Script::new(&std::fs::read(seed.unwrap().path()).unwrap()));
    }
}
