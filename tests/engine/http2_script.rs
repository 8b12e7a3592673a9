//! Two responses on one HTTP/2 connection, made from a script of bytes: a success must have every byte that was sent. A
//! test runs many scripts, and the fuzz target `two_streams` runs random ones.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use hecaton::Protocol;

use crate::two_streams::{self, Server, Stage};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

/// The response of one stream, as it was sent.
#[derive(Default)]
struct Sent {
    head: bool,
    body: Vec<u8>,
    ended: bool,
    /// Whether all of it was a well-formed response.
    broken: bool,
}

/// The bytes that a server writes, and what they mean.
pub struct Script {
    writes: Vec<Vec<u8>>,
    streams: [Sent; 2],
    /// Whether the script has an error of the whole connection.
    ends: bool,
    uploads: bool,
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

impl Script {
    pub fn new(bytes: &[u8]) -> Script {
        let mut script = Script {
            writes: vec![Vec::new()],
            streams: Default::default(),
            ends: false,
            uploads: bytes.first().is_some_and(|first| first & 1 == 1),
        };
        for pair in bytes.get(1..).unwrap_or_default().chunks_exact(2).take(100) {
            script.step(pair[0] % 16, pair[0] & 0x80 != 0, pair[1]);
        }
        // A stream without an end is reset, so that no request waits for it.
        for index in 0..2 {
            if !script.streams[index].ended {
                script.streams[index].broken = true;
                script.write(frame(RST_STREAM, 0, 1 + 2 * index as u32, &[0, 0, 0, 8]));
            }
        }
        script
    }

    fn write(&mut self, bytes: Vec<u8>) {
        let last = self.writes.last_mut().expect("there is one");
        last.extend(bytes);
    }

    fn step(&mut self, what: u8, second: bool, size: u8) {
        let stream = if second { 3 } else { 1 };
        match what {
            0 | 1 => self.head(second, &[0x88], 0),
            2 => self.head(second, &[0x88], END_STREAM),
            3..=6 => self.data(second, usize::from(size) * 20, 0, 0),
            7 | 8 => self.data(second, usize::from(size), END_STREAM, 0),
            9 => self.data(second, usize::from(size), size & END_STREAM, 1 + size / 2),
            10 => {
                // `:status: 103`, and a field that goes into the table.
                let interim = b"\x08\x03103\x40\x03x-a\x011";
                self.write(frame(HEADERS, END_HEADERS, stream, interim));
                let sent = &mut self.streams[usize::from(second)];
                sent.broken |= sent.head && !sent.ended;
            }
            11 => {
                let trailers = b"\x00\x09x-trailer\x011";
                self.write(frame(HEADERS, END_HEADERS | END_STREAM, stream, trailers));
                let sent = &mut self.streams[usize::from(second)];
                sent.broken |= !sent.head && !sent.ended;
                sent.ended |= sent.head;
            }
            12 => self.writes.push(Vec::new()),
            13 => {
                // An error of the stream, in many ways.
                let fault = match size % 5 {
                    0 => frame(HEADERS, END_HEADERS, stream, b"\x88\x40\x03X-A\x011"),
                    1 => frame(
                        HEADERS,
                        END_HEADERS,
                        stream,
                        b"\x88\x00\x0aconnection\x05close",
                    ),
                    2 => frame(8, 0, stream, &[0; 4]),
                    3 => frame(HEADERS, END_HEADERS | END_STREAM, stream, b"\x84"),
                    _ => frame(2, 0, stream, &[0; 3]),
                };
                self.write(fault);
                let sent = &mut self.streams[usize::from(second)];
                sent.broken |= !sent.ended;
            }
            14 => {
                // An error of the connection.
                let fault = match size % 6 {
                    0 => frame(6, 0, 0, b"short"),
                    1 => frame(SETTINGS, 0, 0, b"short"),
                    2 => frame(8, 0, 0, &[0; 4]),
                    3 => frame(9, 0, stream, b""),
                    4 => frame(
                        HEADERS,
                        END_HEADERS,
                        stream,
                        &[0xff, 0xff, 0xff, 0xff, 0xff],
                    ),
                    _ => frame(7, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 2]),
                };
                self.write(fault);
                self.ends = true;
            }
            _ => {
                self.write(frame(RST_STREAM, 0, stream, &[0, 0, 0, size % 14]));
                let sent = &mut self.streams[usize::from(second)];
                sent.broken |= !sent.ended;
            }
        }
    }

    fn head(&mut self, second: bool, block: &[u8], flags: u8) {
        let stream = if second { 3 } else { 1 };
        self.write(frame(HEADERS, END_HEADERS | flags, stream, block));
        let sent = &mut self.streams[usize::from(second)];
        sent.broken |= sent.head && !sent.ended;
        sent.head = true;
        sent.ended |= flags == END_STREAM;
    }

    fn data(&mut self, second: bool, count: usize, flags: u8, padding: u8) {
        let stream = if second { 3 } else { 1 };
        let sent = &mut self.streams[usize::from(second)];
        // Each byte identifies its stream and its position.
        let begin = sent.body.len();
        let bytes: Vec<u8> = (begin..begin + count).map(|at| (at % 251) as u8).collect();
        if !sent.ended {
            sent.broken |= !sent.head;
            sent.body.extend(&bytes);
            sent.ended |= flags & END_STREAM != 0;
        }
        let payload = match padding {
            0 => bytes,
            _ => [&[padding][..], &bytes, &vec![0; padding.into()]].concat(),
        };
        let padded = if padding > 0 { PADDED } else { 0 };
        self.write(frame(DATA, flags | padded, stream, &payload));
    }
}

/// A server that writes the script on its next connection. Returns its URL.
fn start(server: Server<Vec<Vec<u8>>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A request that is sent again finds no server.
            if let Some(writes) = server.take() {
                let swapped = server.swapped.clone();
                thread::spawn(move || play(stream, &writes, &swapped));
            }
        }
    });
    url
}

/// Waits for two requests, and writes.
fn play(mut stream: TcpStream, writes: &[Vec<u8>], swapped: &AtomicBool) {
    let _ = stream.set_nodelay(true);
    let _ = stream.set_read_timeout(Some(Duration::from_secs(60)));
    let _ = stream.write_all(&frame(SETTINGS, 0, 0, &[]));
    let _ = stream.read_exact(&mut [0; 24]);
    let mut heads = Vec::new();
    while heads.len() < 2 {
        let mut head = [0; 9];
        if stream.read_exact(&mut head).is_err() {
            return;
        }
        let [a, b, c, kind, flags, ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        let _ = stream.read_exact(&mut payload);
        if kind == HEADERS {
            heads.push(payload.len());
        }
        if kind == SETTINGS && flags & 1 == 0 {
            let _ = stream.write_all(&frame(SETTINGS, 1, 0, &[]));
        }
    }
    swapped.store(heads[0] > heads[1], Ordering::SeqCst);
    for bytes in writes {
        let _ = stream.write_all(bytes);
    }
    let _ = stream.shutdown(Shutdown::Write);
    // Closing a connection with unread bytes would discard the bytes that were written.
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
}

/// Runs one script, and checks both outcomes.
pub fn run(script: Script) {
    static STAGE: OnceLock<Mutex<Stage<Vec<Vec<u8>>>>> = OnceLock::new();
    let stage = STAGE.get_or_init(|| Mutex::new(Stage::new(Protocol::Http2, start)));
    let stage = stage.lock().unwrap_or_else(|broken| broken.into_inner());
    let sent = script.streams.each_ref().map(|sent| two_streams::Sent {
        body: &sent.body,
        whole: sent.head && sent.ended && !sent.broken,
    });
    stage.run(script.writes, script.uploads, script.ends, sent);
}
