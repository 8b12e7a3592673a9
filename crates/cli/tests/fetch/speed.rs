//! How long a body may take, and how much may come in a second. Servers count; no time is compared.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::support::{World, until};

/// Sends `/steady` in twelve pieces, with a pause before each, and of `/silent` half. Counts the requests and the
/// pieces that were sent.
struct Dripping {
    port: u16,
    requests: Arc<AtomicU64>,
    pieces: Arc<AtomicU64>,
}

const PAUSE: Duration = Duration::from_millis(250);

impl Dripping {
    fn start() -> Dripping {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Dripping {
            port,
            requests: Arc::default(),
            pieces: Arc::default(),
        };
        let (requests, pieces) = (server.requests.clone(), server.pieces.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (requests, pieces) = (requests.clone(), pieces.clone());
                std::thread::spawn(move || drip(stream, &requests, &pieces));
            }
        });
        server
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

/// Responds to one request; an error is a client that has gone.
fn drip(mut stream: TcpStream, requests: &AtomicU64, pieces: &AtomicU64) -> Option<()> {
    let mut head = [0; 4096];
    let read = stream.read(&mut head).ok()?;
    requests.fetch_add(1, Ordering::SeqCst);
    let is_silent = head[..read].starts_with(b"GET /silent");
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: close\r\n\r\n";
    stream.write_all(answer.as_bytes()).ok()?;
    for piece in 0..12 {
        if is_silent && piece == 6 {
            // Until the client has gone.
            while stream.read(&mut head).ok()? > 0 {}
            return None;
        }
        std::thread::sleep(PAUSE);
        stream.write_all(b"x").ok()?;
        pieces.fetch_add(1, Ordering::SeqCst);
    }
    Some(())
}

#[test]
fn a_body_on_its_way_to_the_disk_ends_by_silence_and_not_by_its_length() {
    let server = Dripping::start();
    let world = World::new();
    let urls = [server.url("/steady"), server.url("/silent")];
    let list = world.write("urls.txt", urls.into_iter());
    // All of the steady body takes longer than this, and no pause before a piece does.
    let timeout = ["--timeout", "2s", "--retries", "0"];
    world.run_to(
        4,
        &list,
        &[&timeout[..], &["--keep-body", "files"]].concat(),
    );
    let records = world.records();
    assert_eq!(
        (&records[&0]["ok"], &records[&0]["bytes"]),
        (&true.into(), &12.into())
    );
    assert_eq!(records[&1]["error"]["kind"], "timeout");
    assert_eq!(server.requests.load(Ordering::SeqCst), 2);
    // A body that is held in memory has a deadline.
    let (world, server) = (World::new(), Dripping::start());
    let list = world.write("urls.txt", std::iter::once(server.url("/steady")));
    world.run_to(3, &list, &timeout);
    assert_eq!(world.records()[&0]["error"]["kind"], "timeout");
}

#[test]
fn a_body_below_the_least_speed_is_tried_again_and_then_an_error() {
    let server = Dripping::start();
    let world = World::new();
    let list = world.write("urls.txt", std::iter::once(server.url("/steady")));
    let files = ["--keep-body", "files", "--retries", "1"];
    world.run_to(
        3,
        &list,
        &[&files[..], &["--min-speed", "1k/100ms"]].concat(),
    );
    let record = &world.records()[&0];
    assert_eq!(record["error"]["kind"], "timeout");
    let message = record["error"]["message"].as_str().unwrap();
    assert!(message.contains("1kB/100ms"), "{message}");
    assert_eq!(
        (&record["attempts"], &record["body"]),
        (&2.into(), &().into())
    );
    assert_eq!(server.requests.load(Ordering::SeqCst), 2);
    assert!(server.pieces.load(Ordering::SeqCst) < 24);
    let (world, server) = (World::new(), Dripping::start());
    let list = world.write("urls.txt", std::iter::once(server.url("/steady")));
    world.run(&list, &[&files[..], &["--min-speed", "1/1m"]].concat());
    let refused = World::new().run_to(2, &list, &["--min-speed", "1k/30s"]);
    assert!(refused.stderr.contains("--keep-body"), "{}", refused.stderr);
}

/// Sends a body without end, and counts its bytes.
fn endless() -> (String, Arc<AtomicU64>, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (requests, sent) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let counts = (requests.clone(), sent.clone());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let (requests, sent) = counts.clone();
            std::thread::spawn(move || {
                let mut head = [0; 4096];
                let _ = stream.read(&mut head);
                requests.fetch_add(1, Ordering::SeqCst);
                let answer = "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n";
                let mut is_there = stream.write_all(answer.as_bytes()).is_ok();
                while is_there {
                    is_there = stream.write_all(&[0; 64 << 10]).is_ok();
                    sent.fetch_add(64 << 10, Ordering::SeqCst);
                }
            });
        }
    });
    (url, requests, sent)
}

#[test]
fn more_than_the_bandwidth_is_neither_requested_nor_read() {
    let (url, requests, sent) = endless();
    let world = World::new();
    let urls = (0..3).map(|n| format!("{url}{n}"));
    let list = world.write("urls.txt", urls);
    let limits = ["--max-bandwidth", "1k", "-c", "1", "--keep-body", "files"];
    let mut child = world.fetch(&list, &limits).spawn().unwrap();
    until(|| requests.load(Ordering::SeqCst) > 0);
    // The buffers of the connection fill up, and then nothing moves.
    let mut before = u64::MAX;
    until(|| {
        std::thread::sleep(Duration::from_millis(500));
        let now = sent.load(Ordering::SeqCst);
        std::mem::replace(&mut before, now) == now
    });
    let of_partial = world.out().join("bodies/partial");
    let received: u64 = crate::support::files(&of_partial)
        .iter()
        .filter_map(|file| Some(std::fs::metadata(file).ok()?.len()))
        .sum();
    assert!(received < 4 << 20, "{received}");
    child.kill().unwrap();
    child.wait().unwrap();
    // Bodies in memory are paid for before the next request is sent.
    let (world, server) = (
        World::new(),
        crate::scripted_server::Scripted::start(|_, _| {
            crate::scripted_server::response(200, "", &"x".repeat(100_000))
        }),
    );
    let list = world.write("urls.txt", (0..3).map(|n| server.url(&format!("/{n}"))));
    let mut child = world
        .fetch(&list, &["--max-bandwidth", "1k", "-c", "1"])
        .spawn()
        .unwrap();
    until(|| !server.came().is_empty());
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(server.came().len(), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    world.run(&list, &["--max-bandwidth", "1GB"]);
}

#[test]
fn the_pauses_of_a_limit_are_not_slowness_of_the_server() {
    let world = World::new();
    let server = crate::scripted_server::Scripted::start(|_, _| {
        crate::scripted_server::response(200, "", &"x".repeat(3_000_000))
    });
    let list = world.write("urls.txt", std::iter::once(server.url("/")));
    // The limit has the body take five seconds, and the server needs none of them.
    let limits = [
        "--max-bandwidth",
        "600k",
        "--min-speed",
        "100M/3s",
        "--retries",
        "0",
    ];
    world.run_to(0, &list, &[&limits[..], &["--keep-body", "files"]].concat());
    assert_eq!(world.records()[&0]["bytes"], 3_000_000);
}

#[test]
fn every_option_reads_the_same_units() {
    let world = World::new();
    let list = world.list(0..2);
    let options = [
        "--max-body",
        "--max-buffered",
        "--max-bandwidth",
        "--inline-limit",
        "--stop-after",
    ];
    for size in ["10KiB", "10Ki", "10kB", "5MiB", "5Mi", "5M", "5GB"] {
        for option in options
            .iter()
            .filter(|option| !size.ends_with("GB") || **option != "--inline-limit")
        {
            let world = World::new();
            let ended = crate::support::ending(&mut world.fetch(&list, &[option, size]));
            assert_eq!(ended.status, Some(0), "{option} {size}: {}", ended.stderr);
        }
        let world = World::new();
        let files = ["--keep-body", "files", "--min-speed", &format!("{size}/1h")];
        world.run(&list, &files);
    }
    for option in options {
        for wrong in ["0", "0k", "1.5M", "10X"] {
            let refused = World::new().run_to(2, &list, &[option, wrong]);
            assert!(refused.stderr.contains(option), "{}", refused.stderr);
        }
    }
}
