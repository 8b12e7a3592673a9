//! Frames on a stream whose request has ended harm no other request of the connection.

use std::sync::Mutex;
use std::sync::mpsc::channel;

use hecaton::{Batch, Outcome, Request};

use crate::http2::client;
use crate::http2_peer::{
    DATA, END_HEADERS, END_STREAM, HEADERS, PRIORITY, RST_STREAM, Raw, WINDOW_UPDATE, frame,
};

type End = fn(&mut Raw);

/// The ways in which the request on stream 3 ends.
const ENDS: [(&str, End); 3] = [
    ("the server resets it", |raw| raw.reset(3, 2)),
    ("its response is whole", |raw| raw.respond(3)),
    ("the client resets it", |raw| {
        raw.head(3, 0, b"\x0f\x0d\x03999")
    }),
];

fn late() -> Vec<(&'static str, Vec<u8>)> {
    let data = || frame(DATA, 0, 3, b"late");
    let end = || frame(DATA, END_STREAM, 3, b"late");
    let head = || frame(HEADERS, END_HEADERS, 3, b"\x88");
    let trailers = || frame(HEADERS, END_HEADERS | END_STREAM, 3, b"\x00\x01x\x011");
    let reset = || frame(RST_STREAM, 0, 3, &[0, 0, 0, 2]);
    let many = |frames: &[Vec<u8>]| frames.concat();
    vec![
        ("a body", many(&[data(), data(), end(), data()])),
        ("a reset", many(&[reset(), reset()])),
        ("a body and a reset", many(&[data(), reset()])),
        ("a reset and a body", many(&[reset(), data()])),
        (
            "resets and bodies",
            many(&[data(), reset(), data(), reset(), end(), data()]),
        ),
        ("a head", many(&[head(), head(), trailers(), trailers()])),
        (
            "resets and heads",
            many(&[
                head(),
                reset(),
                head(),
                data(),
                trailers(),
                reset(),
                trailers(),
            ]),
        ),
        (
            "a window",
            many(&[
                frame(WINDOW_UPDATE, 0, 3, &[0, 0, 0, 1]),
                reset(),
                frame(WINDOW_UPDATE, 0, 3, &[0; 4]),
                data(),
            ]),
        ),
        (
            "a priority",
            many(&[frame(PRIORITY, 0, 3, &[0, 0, 0, 3, 0]), reset(), data()]),
        ),
    ]
}

/// The outcomes of two requests on one connection. The request on stream 3 ends first. Then the server sends the late
/// frames, and responds to the other request.
fn around(
    end: impl Fn(&mut Raw) + Send + Sync + 'static,
    late: Vec<u8>,
    uploads: bool,
) -> [Outcome; 2] {
    let (ended, first) = channel();
    let first = Mutex::new(first);
    let url = Raw::serve(move |mut raw, _| {
        let streams = [raw.request(), raw.request()];
        if streams != [Some(1), Some(3)] {
            return;
        }
        end(&mut raw);
        let _ = first.lock().unwrap().recv();
        raw.write(&late);
        raw.respond(1);
        raw.wait_for_end();
    });
    let (client, reactor) = client(|config| config.max_body = 100);
    let mut batch = Batch::new(client, 2);
    for tag in 0..2 {
        // The upload never ends: it is longer than the server's windows allow.
        let body = vec![b'x'; if uploads { 1 << 20 } else { 0 }];
        batch.push(tag, Request::new("POST", &url).unwrap().body(body));
    }
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        reactor.block_on(batch.wait(&mut outcomes));
        let _ = ended.send(());
    }
    let outcomes: Vec<Outcome> = outcomes.into_iter().map(|(_, outcome)| outcome).collect();
    outcomes.try_into().expect("two outcomes")
}

#[test]
fn late_frames_of_a_stream_take_nothing_from_its_neighbour() {
    for (how, end) in ENDS {
        for (what, late) in late() {
            for uploads in [false, true] {
                let [_, neighbour] = around(end, late.clone(), uploads);
                let case = format!("{how}, {what}, uploads: {uploads}");
                let response = neighbour.unwrap_or_else(|error| panic!("{case}: {error}"));
                assert_eq!(&response.body()[..], b"ok", "{case}");
            }
        }
    }
}

#[test]
fn frames_that_come_together_with_the_reset_of_their_stream_take_nothing_either() {
    for (what, late) in late() {
        for uploads in [false, true] {
            // In one write, so that the request still exists when the frames behind the reset are read.
            let together = [frame(RST_STREAM, 0, 3, &[0, 0, 0, 2]), late.clone()].concat();
            let end = move |raw: &mut Raw| raw.write(&together);
            let [_, neighbour] = around(end, Vec::new(), uploads);
            let response = neighbour.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(&response.body()[..], b"ok", "{what}, uploads: {uploads}");
        }
    }
}
