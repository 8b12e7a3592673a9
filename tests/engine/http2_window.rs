//! How much of a body a server may send over HTTP/2 before its reader takes it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hecaton::{Client, Reactor, Request, Streaming};

use crate::http2::client;
use crate::http2_peer::{DATA, HEADERS, Raw, SETTINGS, WINDOW_UPDATE};

const MIB: usize = 1 << 20;

/// The windows that a server received, and the bytes that it sent.
#[derive(Default)]
struct Seen {
    /// Each SETTINGS_INITIAL_WINDOW_SIZE, in MiB.
    windows: Vec<usize>,
    sent: usize,
}

/// A server whose first response is an endless body, as far as the client's windows allow; all others are "ok".
struct Pouring {
    seen: Arc<Mutex<Seen>>,
    url: String,
}

/// The bytes left in the windows of the body and of the connection.
struct Capacity {
    body: i64,
    all: i64,
}

impl Pouring {
    fn start() -> Pouring {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let windows = seen.clone();
        let url = Raw::serve(move |raw, _| pour(raw, &windows));
        Pouring { seen, url }
    }

    fn seen<T>(&self, look: impl FnOnce(&Seen) -> T) -> T {
        look(&self.seen.lock().unwrap())
    }

    /// Afterwards, everything that the windows allow has come: the server responds to this request only then.
    fn settle(&self, client: &Client, reactor: &Reactor) {
        let request = Request::get(&self.url).unwrap();
        let response = reactor.block_on(client.send(request)).unwrap();
        assert_eq!(response.body().as_ref(), b"ok");
    }

    fn open(&self, client: &Client, reactor: &Reactor) -> Streaming {
        let request = Request::get(&self.url).unwrap();
        reactor.block_on(client.open(request)).unwrap()
    }
}

fn pour(mut raw: Raw, seen: &Mutex<Seen>) {
    let mut capacity = Capacity {
        body: 65_535,
        all: 65_535,
    };
    let mut first = None;
    let piece = [b'x'; 16_384];
    loop {
        while let (Some(stream), 1..) = (first, capacity.body.min(capacity.all)) {
            let length = piece.len().min(capacity.body.min(capacity.all) as usize);
            capacity.body -= length as i64;
            capacity.all -= length as i64;
            seen.lock().unwrap().sent += length;
            raw.frame(DATA, 0, stream, &piece[..length]);
        }
        let Some((kind, stream, payload)) = raw.next_whole() else {
            return;
        };
        match (kind, stream) {
            (HEADERS, _) if first.is_none() => {
                first = Some(stream);
                raw.head(stream, 0, &[]);
            }
            (HEADERS, _) => raw.respond(stream),
            (SETTINGS, _) => capacity.body += set(&payload, seen),
            (WINDOW_UPDATE, 0) => capacity.all += number(&payload),
            (WINDOW_UPDATE, _) if first == Some(stream) => capacity.body += number(&payload),
            _ => {}
        }
    }
}

/// By how much a SETTINGS frame widens the window of a body.
fn set(payload: &[u8], seen: &Mutex<Seen>) -> i64 {
    const INITIAL_WINDOW_SIZE: [u8; 2] = [0, 4];
    let mut windows = payload.chunks(6).filter(|s| s[..2] == INITIAL_WINDOW_SIZE);
    let Some(window) = windows.next().map(|setting| number(&setting[2..])) else {
        return 0;
    };
    let known = &mut seen.lock().unwrap().windows;
    let before = known.last().map_or(65_535, |last| (last * MIB) as i64);
    known.push(window as usize / MIB);
    window - before
}

fn number(bytes: &[u8]) -> i64 {
    u32::from_be_bytes(bytes.try_into().unwrap()).into()
}

fn patient() -> (Client, Reactor) {
    client(|config| config.timeout = Duration::from_secs(60))
}

#[test]
fn a_window_grows_with_what_its_reader_takes_and_has_an_end() {
    let server = Pouring::start();
    let (client, reactor) = patient();
    let mut stream = server.open(&client, &reactor);
    let mut read = 0;
    let mut take = |most: usize, enough: &dyn Fn(&Seen) -> bool| {
        let mut taken = 0;
        while taken < most && !server.seen(enough) {
            taken += reactor.block_on(stream.chunk()).unwrap().unwrap().len();
        }
        read += taken;
        read
    };
    // More than it takes to widen the window, because the server learns of it some pieces later.
    take(64 * MIB, &|seen| seen.windows.last() == Some(&16));
    let windows = server.seen(|seen| seen.windows.clone());
    assert_eq!((windows[0], windows.last()), (1, Some(&16)), "{windows:?}");
    assert!(windows.is_sorted_by(|a, b| a < b), "{windows:?}");
    let read = take(40 * MIB, &|_| false);
    assert_eq!(server.seen(|seen| seen.windows.clone()), windows, "its end");
    server.settle(&client, &reactor);
    let ahead = server.seen(|seen| seen.sent) - read;
    assert!((4 * MIB..=16 * MIB).contains(&ahead), "{ahead} bytes ahead");
}

#[test]
fn a_reader_that_takes_nothing_holds_a_mebibyte_whatever_others_do() {
    let server = Pouring::start();
    let (client, reactor) = patient();
    let _stream = server.open(&client, &reactor);
    for _ in 0..100 {
        server.settle(&client, &reactor);
    }
    server.seen(|seen| assert_eq!((seen.sent, &seen.windows[..]), (MIB, &[1][..])));
}
