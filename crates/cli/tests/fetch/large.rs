//! Large bodies go to the disk as they come, and are resumed after a kill; whatever the server does, no file is mixed.

use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Child;

use hecaton_e2e::peer::{Peer, Requests};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::file_server::{Behaviour, FileServer, OnRange};
use crate::support::{World, count, end_of, files, until};

const MIB: u64 = 1 << 20;

/// The files below a folder, with their lengths.
fn below(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    for path in files(folder) {
        match path.is_dir() {
            true => found.extend(below(&path)),
            false => {
                let length = std::fs::metadata(&path).map_or(0, |about| about.len());
                found.push((path, length));
            }
        }
    }
    found
}

fn partial(world: &World) -> PathBuf {
    world.out().join("bodies/partial")
}

/// Waits until so many bodies have so many bytes on the disk.
fn wait_for_bodies(world: &World, bodies: usize, bytes: u64) {
    until(|| {
        let found = below(&partial(world));
        found.iter().filter(|(_, length)| *length >= bytes).count() >= bodies
    });
}

fn kill_at_once(child: Child) {
    kill(Pid::from_raw(child.id() as i32), Signal::SIGKILL).unwrap();
    assert_eq!(end_of(child).status, None);
}

/// The most memory that a process had, in KiB.
fn peak(id: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Waits for the end of a process, which must be good; the most memory that was seen.
fn peak_of(child: Child) -> u64 {
    let id = child.id();
    let ended = std::thread::spawn(move || end_of(child));
    let mut most = 0;
    while !ended.is_finished() {
        most = most.max(peak(id).unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let ended = ended.join().unwrap();
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    most
}

fn file_of(world: &World, record: &Value) -> PathBuf {
    world.out().join(record["body"]["file"].as_str().unwrap())
}

#[test]
fn large_bodies_survive_a_kill_in_little_memory() {
    // By hand: eight of a gigabyte.
    let (many, length) = match std::env::var_os("HECATON_LARGE") {
        Some(_) => (8, 1024 * MIB),
        None => (4, 100 * MIB + 4321),
    };
    let server = FileServer::start(Behaviour {
        hold_at: 60 * MIB,
        ..Behaviour::good(length)
    });
    let world = World::new();
    let list = world.write("urls.txt", server.urls(many));
    let arguments = ["--keep-body", "files", "--timeout", "1h"];
    let child = world.fetch(&list, &arguments).spawn().unwrap();
    wait_for_bodies(&world, many as usize, 59 * MIB);
    let memory = peak(child.id()).unwrap();
    assert!(memory < 100 << 10, "{memory} KiB");
    kill_at_once(child);
    let before = server.sent();
    server.change(|behaviour| behaviour.hold_at = u64::MAX);
    let child = world.fetch(&list, &arguments).spawn().unwrap();
    let memory = peak_of(child);
    assert!(memory < 100 << 10, "{memory} KiB");
    // At most what was in the connections was sent twice.
    let after = server.sent() - before;
    assert!(after < many * (length - 50 * MIB), "{after} bytes");
    let records = world.records();
    assert_eq!(records.len() as u64, many);
    for (number, record) in &records {
        assert_eq!(
            (&record["status"], &record["ok"]),
            (&200.into(), &true.into())
        );
        assert_eq!(record["bytes"], length);
        let path = file_of(&world, record);
        server.check_whole(*number, 1, &path);
        let hash = blake3_of(&path);
        assert_eq!(record["hash"], format!("blake3:{hash}"));
    }
    assert!(!partial(&world).exists());
    assert_eq!(below(&world.out().join("bodies")).len() as u64, many);
    let resumed = server.seen();
    let resumed = resumed.iter().filter(|seen| seen.from.is_some());
    assert_eq!(resumed.count() as u64, many);
}

/// The digest of a file as others make it.
fn blake3_of(path: &Path) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher
        .update_reader(std::fs::File::open(path).unwrap())
        .unwrap();
    hasher.finalize().to_hex().to_string()
}

/// Kills a job in the middle of a file, changes the server, and runs it again; the record and the server.
fn resumed(change: impl FnOnce(&mut Behaviour), first: Behaviour) -> (World, FileServer, Value) {
    let server = FileServer::start(Behaviour {
        hold_at: 5 * MIB,
        ..first
    });
    let world = World::new();
    let list = world.write("urls.txt", server.urls(1));
    let child = world
        .fetch(&list, &["--keep-body", "files"])
        .spawn()
        .unwrap();
    wait_for_bodies(&world, 1, 4 * MIB);
    kill_at_once(child);
    server.change(|behaviour| {
        behaviour.hold_at = u64::MAX;
        change(behaviour);
    });
    world.run(&list, &["--keep-body", "files"]);
    let record = world.records()[&0].clone();
    assert!(!partial(&world).exists());
    (world, server, record)
}

const LENGTH: u64 = 9 * MIB + 77;

#[test]
fn without_an_etag_a_date_that_was_old_names_the_version() {
    type Change = fn(&mut Behaviour);
    let (old, young) = (
        "Thu, 01 Jan 2026 00:02:00 GMT",
        "Thu, 01 Jan 2026 00:00:30 GMT",
    );
    let same: Change = |_| {};
    let changed: Change = |server| server.version = 2;
    for (name, etag, date, change, (is_tried, is_resumed)) in [
        ("old, the same", None, old, same, (true, true)),
        ("old, changed", None, old, changed, (true, false)),
        ("young, the same", None, young, same, (false, false)),
        ("young, changed", None, young, changed, (false, false)),
        (
            "beside a weak ETag",
            Some("W/\"{}\""),
            old,
            same,
            (false, false),
        ),
    ] {
        let first = Behaviour {
            etag,
            date: Some(date),
            ..Behaviour::good(LENGTH)
        };
        let (world, server, record) = resumed(change, first);
        assert_eq!(
            (&record["status"], &record["bytes"]),
            (&200.into(), &LENGTH.into())
        );
        let mut now = 0;
        server.change(|behaviour| now = behaviour.version);
        server.check_whole(0, now, &file_of(&world, &record));
        let seen = server.seen();
        let second = &seen[1];
        let tried = second.header("if-range");
        assert_eq!(tried.is_some(), is_tried, "{name}: {tried:?}");
        let whole = LENGTH + 5 * MIB;
        assert_eq!(server.sent() < whole, is_resumed, "{name}");
    }
}

#[test]
fn whatever_the_server_does_between_no_file_is_mixed() {
    type Change = fn(&mut Behaviour);
    let cases: [(&str, Option<&str>, Change, bool); 13] = [
        ("the same", Some("\"v{}\""), |_| {}, true),
        (
            "changed, with another strong ETag",
            Some("\"v{}\""),
            |server| server.version = 2,
            false,
        ),
        (
            "changed, without an ETag",
            None,
            |server| server.version = 2,
            false,
        ),
        ("the same, without an ETag", None, |_| {}, false),
        (
            "changed, with a weak ETag",
            Some("W/\"same\""),
            |server| server.version = 2,
            false,
        ),
        (
            "416",
            Some("\"v{}\""),
            |server| server.on_range = OnRange::Refuse,
            false,
        ),
        (
            "range ignored",
            Some("\"v{}\""),
            |server| server.on_range = OnRange::Ignore,
            false,
        ),
        (
            "coded",
            Some("\"v{}\""),
            |server| server.on_range = OnRange::Coded,
            false,
        ),
        (
            "wrong start",
            Some("\"v{}\""),
            |server| server.on_range = OnRange::WrongStart,
            false,
        ),
        (
            "wrong total",
            Some("\"v{}\""),
            |server| server.on_range = OnRange::WrongTotal,
            false,
        ),
        (
            "no Content-Range",
            Some("\"v{}\""),
            |server| server.on_range = OnRange::NoRange,
            false,
        ),
        (
            "another ETag",
            Some("\"v{}\""),
            |server| server.on_range = OnRange::WrongTag,
            false,
        ),
        (
            "no ETag in the 206",
            Some("\"v{}\""),
            |server| server.on_range = OnRange::NoTag,
            false,
        ),
    ];
    for (name, etag, change, is_resumed) in cases {
        let (world, server, record) = resumed(
            change,
            Behaviour {
                etag,
                ..Behaviour::good(LENGTH)
            },
        );
        assert_eq!(record["status"], 200, "{name}: {record}");
        assert_eq!(record["bytes"], LENGTH, "{name}");
        let mut now = 0;
        server.change(|behaviour| now = behaviour.version);
        let path = file_of(&world, &record);
        server.check_whole(0, now, &path);
        assert_eq!(
            record["hash"],
            format!("blake3:{}", blake3_of(&path)),
            "{name}"
        );
        let seen = server.seen();
        let last = seen.last().unwrap();
        let has_range = last.header("range").is_some() && !name.starts_with("changed");
        assert!(
            has_range == is_resumed || name == "range ignored",
            "{name}: {seen:?}"
        );
        assert!(seen.len() <= 3, "{name}: {seen:?}");
    }
}

#[test]
fn a_server_that_gives_ranges_bit_by_bit_and_one_that_cuts_are_followed_to_the_end() {
    let good = Behaviour::good(LENGTH);
    let (world, server, record) = resumed(|server| server.on_range = OnRange::Some, good.clone());
    server.check_whole(0, 1, &file_of(&world, &record));
    assert!(server.seen().len() >= 5, "{:?}", server.seen());
    let cutting = Behaviour {
        cut_at: Some(6 * MIB),
        is_chunked: true,
        ..good
    };
    let (world, server, record) = resumed(|_| {}, cutting);
    server.check_whole(0, 1, &file_of(&world, &record));
}

#[test]
fn a_body_that_is_cut_is_resumed_in_the_same_run() {
    let server = FileServer::start(Behaviour {
        cut_at: Some(6 * MIB),
        ..Behaviour::good(LENGTH)
    });
    let world = World::new();
    let list = world.write("urls.txt", server.urls(3));
    world.run(&list, &["--keep-body", "files", "--retries", "0"]);
    for (number, record) in &world.records() {
        server.check_whole(*number, 1, &file_of(&world, record));
    }
    let seen = server.seen();
    assert_eq!(seen.len(), 6, "{seen:?}");
}

/// A body without an end: each response brings two more megabytes of it, and says another length. After many it ends.
fn endless(mut stream: &TcpStream, count: usize) {
    let mut from = 0;
    for line in stream.head().unwrap_or_default().lines() {
        let range = line.to_ascii_lowercase();
        if let Some(first) = range.strip_prefix("range: bytes=") {
            from = first.trim_end_matches('-').parse().unwrap();
        }
    }
    let body = vec![b'x'; 2 << 20];
    let (end, total) = match count < 60 {
        true => (from + (2 << 20) - 1, from + (4 << 20) + count as u64),
        false => (from + (2 << 20) - 1, from + (2 << 20)),
    };
    let head = match from {
        0 => "HTTP/1.1 200 OK\r\nETag: \"a\"\r\nTransfer-Encoding: chunked\r\n\r\n200000\r\n"
            .to_owned(),
        from => format!(
            "HTTP/1.1 206 Partial Content\r\nETag: \"a\"\r\nContent-Range: bytes {from}-{end}/{total}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        ),
    };
    let _ = stream.write_all(&[head.as_bytes(), &body].concat());
}

#[test]
fn a_body_that_has_no_end_is_given_up() {
    let peer = Peer::playing(endless);
    let world = World::new();
    let urls = [peer.url("/endless")];
    let list = world.write("urls.txt", urls.into_iter());
    let ended = world.run_to(3, &list, &["--keep-body", "files", "--retries", "2"]);
    assert!(ended.stderr.contains("1 error"), "{}", ended.stderr);
    assert!(peer.connections() < 20, "{}", peer.connections());
}

#[test]
fn a_file_that_never_stays_the_same_ends_in_an_error() {
    let server = FileServer::start(Behaviour {
        cut_at: Some(3 * MIB),
        on_range: OnRange::Ignore,
        ..Behaviour::good(LENGTH)
    });
    // Cut at every try: the server forgets which it has cut.
    let world = World::new();
    let list = world.write("urls.txt", server.urls(1));
    let arguments = ["--keep-body", "files", "--retries", "2"];
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::SeqCst) {
                server.forget_cuts();
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        });
        world.run_to(3, &list, &arguments);
        done.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    let record = &world.records()[&0];
    assert_eq!(record["outcome"], "error", "{record}");
    assert!(server.seen().len() <= 5, "{:?}", server.seen().len());
    assert!(below(&world.out().join("bodies")).is_empty());
}

#[test]
fn archives_of_large_bodies_are_read_by_tar_and_hold_the_very_bytes() {
    for form in ["tar", "warc"] {
        let server = FileServer::start(Behaviour {
            hold_at: 5 * MIB,
            ..Behaviour::good(LENGTH)
        });
        let world = World::new();
        let base = world.server.base_url().to_owned();
        let small = (0..20).map(|id| format!("{base}/r/{id}"));
        let list = world.write("urls.txt", server.urls(2).chain(small));
        let arguments = ["--keep-body", form];
        let child = world.fetch(&list, &arguments).spawn().unwrap();
        wait_for_bodies(&world, 2, 4 * MIB);
        kill_at_once(child);
        server.change(|behaviour| behaviour.hold_at = u64::MAX);
        world.run(&list, &arguments);
        let records = world.records();
        assert_eq!(count(&records, "response"), 22, "{form}");
        for number in 0..2 {
            let body = &records[&number]["body"];
            let path = world.out().join(body[form].as_str().unwrap());
            let bytes = std::fs::read(&path).unwrap();
            let before = match form {
                "tar" => entry_of(&path, body["name"].as_str().unwrap()),
                _ => {
                    let at = body["offset"].as_u64().unwrap() as usize;
                    assert!(bytes[at..].starts_with(b"WARC/1.1\r\nWARC-Type: response\r\n"));
                    let text = String::from_utf8_lossy(&bytes[at..at + 4096]).into_owned();
                    let mut blanks = text.match_indices("\r\n\r\n");
                    at + blanks.nth(1).unwrap().0 + 4
                }
            };
            server.check(number, 1, &path, before as u64);
            assert_eq!(records[&number]["bytes"], LENGTH);
        }
        assert!(!partial(&world).exists());
    }
}

/// Where the bytes of an entry begin, by the system's tar.
fn entry_of(path: &Path, name: &str) -> usize {
    let mut tar = std::process::Command::new("tar");
    let listed = tar
        .args(["--list", "--verbose", "--block-number", "--file"])
        .arg(path)
        .output()
        .unwrap();
    assert!(listed.status.success(), "{listed:?}");
    let text = String::from_utf8(listed.stdout).unwrap();
    let line = text.lines().find(|line| line.ends_with(name)).unwrap();
    let block = line.trim_start_matches("block ").split(':').next().unwrap();
    (block.parse::<usize>().unwrap() + 1) * 512
}

#[test]
fn a_limit_of_bodies_holds_on_the_disk_too() {
    let server = FileServer::start(Behaviour::good(LENGTH));
    let world = World::new();
    let list = world.write("urls.txt", server.urls(1));
    world.run_to(3, &list, &["--keep-body", "files", "--max-body", "3000000"]);
    let record = &world.records()[&0];
    assert_eq!(record["error"]["kind"], "body", "{record}");
    assert!(below(&world.out().join("bodies")).is_empty());
}
