//! How long a body may take, and how much may come in a second. Servers count; a time is compared only with one that
//! was seen in the same run.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hecaton_e2e::peer::{Peer, Requests};

use crate::scripted_server::{Scripted, response};
use crate::support::{World, ending, files, until};

/// Sends `/steady` in twelve pieces, with a pause before each, of `/silent` half, and of `/endless` pieces until the
/// client has gone. Counts the requests, and knows its longest pause.
struct Dripping {
    peer: Peer,
    longest: Arc<AtomicU64>,
}

const PAUSE: Duration = Duration::from_millis(250);

impl Dripping {
    fn start() -> Dripping {
        let longest = Arc::<AtomicU64>::default();
        let pauses = longest.clone();
        let peer = Peer::playing(move |stream, _| drip(stream, &pauses).unwrap_or_default());
        Dripping { peer, longest }
    }

    fn url(&self, path: &str) -> String {
        self.peer.url(path)
    }
}

/// Responds to one request; an error is a client that has gone.
fn drip(mut stream: &TcpStream, longest: &AtomicU64) -> Option<()> {
    let head = stream.head()?;
    let is_silent = head.starts_with("GET /silent");
    let pieces = match head.starts_with("GET /endless") {
        true => u32::MAX,
        false => 12,
    };
    let answer =
        format!("HTTP/1.1 200 OK\r\nContent-Length: {pieces}\r\nConnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).ok()?;
    for piece in 0..pieces {
        let before = Instant::now();
        if is_silent && piece == 6 {
            // Until the client has gone.
            return stream.read_to_end(&mut Vec::new()).ok().map(drop);
        }
        std::thread::sleep(PAUSE);
        stream.write_all(b"x").ok()?;
        longest.fetch_max(before.elapsed().as_millis() as u64, Ordering::SeqCst);
    }
    Some(())
}

#[test]
fn a_body_on_its_way_to_the_disk_ends_by_silence_and_not_by_its_length() {
    // All of the steady body takes longer than this, and no pause before a piece does, unless the machine is busy.
    const TIMEOUT: u64 = 2000;
    let timeout = ["--timeout", "2s", "--retries", "0"];
    for _ in 0..10 {
        let (world, server) = (World::new(), Dripping::start());
        let urls = [server.url("/steady"), server.url("/silent")];
        let list = world.write("urls.txt", urls.into_iter());
        let files = [&timeout[..], &["--keep-body", "files"]].concat();
        ending(&mut world.fetch(&list, &files));
        let records = world.records();
        assert_eq!(records[&1]["error"]["kind"], "timeout");
        if server.longest.load(Ordering::SeqCst) < TIMEOUT / 2 {
            let steady = &records[&0];
            let (ok, bytes) = (&steady["ok"], &steady["bytes"]);
            assert_eq!((ok, bytes), (&true.into(), &12.into()), "{steady}");
            assert_eq!(server.peer.connections(), 2);
            break;
        }
    }
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
    let list = world.write("urls.txt", std::iter::once(server.url("/endless")));
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
    // Nothing else ends a body without end.
    assert_eq!(server.peer.connections(), 2);
    let (world, server) = (World::new(), Dripping::start());
    let list = world.write("urls.txt", std::iter::once(server.url("/steady")));
    world.run(&list, &[&files[..], &["--min-speed", "1/1m"]].concat());
    let refused = World::new().run_to(2, &list, &["--min-speed", "1k/30s"]);
    assert!(refused.stderr.contains("--keep-body"), "{}", refused.stderr);
}

/// Sends a body without end, and counts its bytes.
fn endless() -> (Peer, Arc<AtomicU64>) {
    let sent = Arc::new(AtomicU64::new(0));
    let count = sent.clone();
    let peer = Peer::playing(move |mut stream, _| {
        stream.head();
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n";
        let mut is_there = stream.write_all(answer.as_bytes()).is_ok();
        while is_there {
            is_there = stream.write_all(&[0; 64 << 10]).is_ok();
            count.fetch_add(64 << 10, Ordering::SeqCst);
        }
    });
    (peer, sent)
}

#[test]
fn more_than_the_bandwidth_is_neither_requested_nor_read() {
    let (peer, sent) = endless();
    let world = World::new();
    let urls = (0..3).map(|n| peer.url(&format!("/{n}")));
    let list = world.write("urls.txt", urls);
    let limits = ["--max-bandwidth", "1k", "-c", "1", "--keep-body", "files"];
    let mut child = world.fetch(&list, &limits).spawn().unwrap();
    until(|| sent.load(Ordering::SeqCst) > 0);
    // The buffers of the connection fill up, and then nothing moves.
    let mut before = u64::MAX;
    until(|| {
        std::thread::sleep(Duration::from_millis(500));
        let now = sent.load(Ordering::SeqCst);
        std::mem::replace(&mut before, now) == now
    });
    let of_partial = world.out().join("bodies/partial");
    let received: u64 = files(&of_partial)
        .iter()
        .filter_map(|file| Some(std::fs::metadata(file).ok()?.len()))
        .sum();
    assert!(received < 4 << 20, "{received}");
    child.kill().unwrap();
    child.wait().unwrap();
    // Bodies in memory are paid for before the next request is sent.
    let (world, server) = (
        World::new(),
        Scripted::start(|_, _| response(200, "", &"x".repeat(100_000))),
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

/// A file of settings in which a host sends at most a kilobyte a second, to one request at a time.
fn slow_host(world: &World, url: &str) -> String {
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let lines = [
        format!("[\"{host}\"]"),
        "max_bandwidth = \"1k\"\nper_host = 1".to_owned(),
    ];
    let file = world.write("hosts.toml", lines.into_iter());
    file.to_str().unwrap().to_owned()
}

#[test]
fn the_bandwidth_of_one_host_holds_up_no_other() {
    let body = || Scripted::start(|_, _| response(200, "", &"x".repeat(100_000)));
    for in_files in [false, true] {
        let (slow, free) = (body(), body());
        let (peer, sent) = endless();
        let endless = peer.url("/");
        let world = World::new();
        let first = match in_files {
            true => vec![endless.clone()],
            false => vec![slow.url("/1"), slow.url("/2")],
        };
        let urls = (0..20).map(|n| free.url(&format!("/{n}")));
        let list = world.write("urls.txt", first.into_iter().chain(urls));
        let limited = if in_files { endless } else { slow.url("/") };
        let hosts = slow_host(&world, &limited);
        let body = if in_files { "files" } else { "none" };
        let limits = ["-c", "4", "--keep-body", body, "--hosts", &*hosts];
        let mut child = world.fetch(&list, &limits).spawn().unwrap();
        until(|| free.came().len() == 20);
        if in_files {
            // The buffers of the connection fill up, and then nothing moves.
            let mut before = 0;
            until(|| {
                std::thread::sleep(Duration::from_millis(500));
                let now = sent.load(Ordering::SeqCst);
                now > 0 && std::mem::replace(&mut before, now) == now
            });
            let partial = files(&world.out().join("bodies/partial"));
            let length = |file: &PathBuf| Some(std::fs::metadata(file).ok()?.len());
            let received: u64 = partial.iter().filter_map(length).sum();
            assert!(received < 4 << 20, "{received}");
        } else {
            // The first body is paid for by a hundred seconds.
            until(|| !slow.came().is_empty());
            assert_eq!(slow.came().len(), 1);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let world = World::new();
    let zero = world.write(
        "hosts.toml",
        std::iter::once("[\"a.example\"]\nmax_bandwidth = 0".to_owned()),
    );
    let list = world.list(0..1);
    let refused = world.run_to(2, &list, &["--hosts", zero.to_str().unwrap()]);
    assert!(refused.stderr.contains("above 0"), "{}", refused.stderr);
}

#[test]
fn the_pauses_of_a_limit_are_not_slowness_of_the_server() {
    let server = Scripted::start(|_, _| response(200, "", &"x".repeat(3_000_000)));
    // The limit has the body take five seconds, in which it is slower than the least speed. The server is slower only on a
    // machine that stands still, which is not so each time.
    let limits = ["--max-bandwidth", "600k", "--min-speed", "2900k/3s"];
    let arguments = ["--retries", "0", "--keep-body", "files"];
    let is_quick = |_| {
        let world = World::new();
        let list = world.write("urls.txt", std::iter::once(server.url("/")));
        let ended = ending(&mut world.fetch(&list, &[&limits[..], &arguments].concat()));
        ended.status == Some(0) && world.records()[&0]["bytes"] == 3_000_000
    };
    assert!((0..5).any(is_quick), "slower each time");
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
            let ended = ending(&mut world.fetch(&list, &[option, size]));
            assert_eq!(ended.status, Some(0), "{option} {size}: {}", ended.stderr);
        }
        let world = World::new();
        let least = format!("{size}/1h");
        world.run(&list, &["--keep-body", "files", "--min-speed", &least]);
    }
    for option in options {
        for wrong in ["0", "0k", "1.5M", "10X"] {
            let refused = World::new().run_to(2, &list, &[option, wrong]);
            assert!(refused.stderr.contains(option), "{}", refused.stderr);
        }
    }
}
