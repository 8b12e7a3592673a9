//! How much of a body a server may send over HTTP/2 before its reader takes it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use hecaton::{Client, Reactor, Request, Streaming};

use crate::http2::client;
use crate::http2_peer::{DATA, HEADERS, Raw, SETTINGS, WINDOW_UPDATE};

/// The flag of an acknowledgement.
const ACK: u8 = 1;

const MIB: usize = 1 << 20;

/// The windows that a server received, and the bytes that it sent.
#[derive(Default)]
struct Seen {
    /// Each SETTINGS_INITIAL_WINDOW_SIZE.
    windows: Vec<usize>,
    sent: usize,
}

/// What a server does.
#[derive(Clone, Copy)]
struct Script {
    /// How many responses are endless bodies.
    endless: usize,
    /// How many bytes of the first body come before the last of these requests.
    ahead: usize,
    /// Whether the server uses a new window before it acknowledges it, which it does with the next request.
    acknowledges_late: bool,
}

impl Script {
    /// This many endless bodies.
    fn new(endless: usize) -> Script {
        Script {
            endless,
            ahead: usize::MAX,
            acknowledges_late: false,
        }
    }
}

/// A server whose first responses are endless bodies, as far as the client's windows allow; all others are "ok".
struct Pouring {
    seen: Arc<Mutex<Seen>>,
    url: String,
}

/// The bytes left in the windows of the endless bodies, of a further body, and of the connection.
struct Capacity {
    bodies: BTreeMap<u32, i64>,
    next: i64,
    all: i64,
}

impl Pouring {
    /// A server with one endless body.
    fn start() -> Pouring {
        Pouring::with(Script::new(1))
    }

    fn with(script: Script) -> Pouring {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let windows = seen.clone();
        let url = Raw::serve(move |raw, _| pour(raw, script, &windows));
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

fn pour(mut raw: Raw, script: Script, seen: &Mutex<Seen>) {
    let mut capacity = Capacity {
        bodies: BTreeMap::new(),
        next: 65_535,
        all: 65_535,
    };
    let piece = [b'x'; 16_384];
    let mut acknowledges = false;
    loop {
        while let Some((stream, length)) = capacity.take(script, seen) {
            raw.frame(DATA, 0, stream, &piece[..length]);
        }
        let Some((kind, flags, stream, payload)) = raw.read() else {
            return;
        };
        acknowledges |= kind == SETTINGS && flags & ACK == 0;
        if acknowledges && (kind == HEADERS || !script.acknowledges_late) {
            raw.frame(SETTINGS, ACK, 0, &[]);
            acknowledges = false;
        }
        match (kind, stream) {
            (HEADERS, _) if capacity.bodies.len() < script.endless => {
                capacity.bodies.insert(stream, capacity.next);
                raw.head(stream, 0, &[]);
            }
            (HEADERS, _) => raw.respond(stream),
            (SETTINGS, _) => capacity.set(&payload, seen),
            (WINDOW_UPDATE, 0) => capacity.all += number(&payload),
            (WINDOW_UPDATE, _) => {
                let body = capacity.bodies.get_mut(&stream);
                body.into_iter().for_each(|body| *body += number(&payload));
            }
            _ => {}
        }
    }
}

impl Capacity {
    /// The stream of the next piece, and its length; none if the windows or the script allow none.
    fn take(&mut self, script: Script, seen: &Mutex<Seen>) -> Option<(u32, usize)> {
        let mut seen = seen.lock().unwrap();
        let most = match self.bodies.len() < script.endless {
            true => script.ahead.saturating_sub(seen.sent),
            false => usize::MAX,
        };
        let most = self.all.min(most.min(16_384) as i64);
        let mut bodies = self.bodies.iter_mut();
        let (stream, body) = bodies.find(|(_, body)| most.min(**body) > 0)?;
        let length = most.min(*body);
        *body -= length;
        self.all -= length;
        seen.sent += length as usize;
        Some((*stream, length as usize))
    }

    /// A SETTINGS frame changes the windows of bodies.
    fn set(&mut self, payload: &[u8], seen: &Mutex<Seen>) {
        const INITIAL_WINDOW_SIZE: [u8; 2] = [0, 4];
        let mut windows = payload.chunks(6).filter(|s| s[..2] == INITIAL_WINDOW_SIZE);
        let Some(window) = windows.next().map(|setting| number(&setting[2..])) else {
            return;
        };
        let change = window - self.next;
        self.bodies.values_mut().for_each(|body| *body += change);
        self.next = window;
        seen.lock().unwrap().windows.push(window as usize);
    }
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
    take(64 * MIB, &|seen| seen.windows.last() == Some(&(16 * MIB)));
    let windows = server.seen(|seen| seen.windows.clone());
    assert_eq!(
        (windows[0], windows.last()),
        (MIB, Some(&(16 * MIB))),
        "{windows:?}"
    );
    assert!(windows.is_sorted_by(|a, b| a < b), "{windows:?}");
    let read = take(40 * MIB, &|_| false);
    assert_eq!(server.seen(|seen| seen.windows.clone()), windows, "its end");
    server.settle(&client, &reactor);
    let ahead = server.seen(|seen| seen.sent) - read;
    assert!((4 * MIB..=16 * MIB).contains(&ahead), "{ahead} bytes ahead");
}

/// A server applies settings before it acknowledges them, and may send in between. Varnish does.
#[test]
fn a_server_may_use_a_wider_window_before_it_acknowledges_it() {
    let server = Pouring::with(Script {
        acknowledges_late: true,
        ..Script::new(1)
    });
    let (client, reactor) = patient();
    let mut stream = server.open(&client, &reactor);
    let mut take = |enough: usize| {
        let mut taken = 0;
        while taken < enough {
            taken += reactor.block_on(stream.chunk()).unwrap().unwrap().len();
        }
    };
    // Each step widens the window. The server uses all of it before the reader goes on.
    for window in [1, 2, 4, 8].map(|window| window * MIB) {
        take(window);
        while server.seen(|seen| seen.windows.last() < Some(&(2 * window))) {
            take(1);
            server.settle(&client, &reactor);
        }
        server.settle(&client, &reactor);
    }
    take(40 * MIB);
}

#[test]
fn a_reader_that_takes_nothing_holds_a_mebibyte_whatever_others_do() {
    let server = Pouring::start();
    let (client, reactor) = patient();
    let _stream = server.open(&client, &reactor);
    for _ in 0..100 {
        server.settle(&client, &reactor);
    }
    server.seen(|seen| assert_eq!((seen.sent, &seen.windows[..]), (MIB, &[MIB][..])));
}

#[test]
fn readers_that_take_nothing_hold_little_together() {
    const STREAMS: usize = 64;
    let server = Pouring::with(Script::new(STREAMS));
    let (client, reactor) = client(|config| {
        config.timeout = Duration::from_secs(60);
        config.max_buffered = Some(4 * MIB);
    });
    let streams = [(); STREAMS].map(|_| server.open(&client, &reactor));
    server.settle(&client, &reactor);
    // 4 MiB of the first four, and 2 MiB each time that the streams have doubled. A window that has not shrunk in time
    // may add some.
    let sent = server.seen(|seen| seen.sent);
    assert!((8 * MIB..16 * MIB).contains(&sent), "{sent}");
    let windows = server.seen(|seen| seen.windows.clone());
    assert_eq!(windows.last(), Some(&(64 << 10)), "{windows:?}");
    drop(streams);
}

/// Before the windows shrank, what this reader had taken was too little for a WINDOW_UPDATE. Afterwards the server may
/// send nothing without one.
#[test]
fn a_body_goes_on_when_the_windows_shrink_below_what_has_come() {
    const AHEAD: usize = 300 << 10;
    const STREAMS: usize = 20;
    let server = Pouring::with(Script {
        ahead: AHEAD,
        ..Script::new(STREAMS)
    });
    let (client, reactor) = client(|config| {
        config.timeout = Duration::from_secs(60);
        config.max_buffered = Some(MIB);
    });
    let mut first = server.open(&client, &reactor);
    let mut read = 0;
    let mut take = |enough: usize| {
        while read < enough {
            read += reactor.block_on(first.chunk()).unwrap().unwrap().len();
        }
    };
    take(AHEAD);
    thread::scope(|scope| {
        let reader = scope.spawn(move || take(4 * MIB));
        let others = [(); STREAMS - 1].map(|_| server.open(&client, &reactor));
        reader.join().unwrap();
        drop(others);
    });
}
