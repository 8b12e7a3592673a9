//! Failures are tried again or reported, and never pass for success.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::scripted_server::{Scripted, Sent, good, response};
use crate::support::{World, count, ending, hecaton, until};

const CUT: &str = "HTTP/1.1 200 X\r\nContent-Length: 1000\r\n\r\nonly this";

fn list(
    world: &World,
    server: &Scripted,
    paths: impl Iterator<Item = String>,
) -> std::path::PathBuf {
    world.write("urls.txt", paths.map(|path| server.url(&path)))
}

fn is_good(records: &BTreeMap<u64, Value>) -> usize {
    records
        .values()
        .filter(|record| record["ok"] == true)
        .count()
}

/// The ways to keep bodies, by which they are read in different ways.
const KEEPING: [&[&str]; 3] = [&["--keep-body", "files"], &["--keep-body", "inline"], &[]];

/// The beginning of a body, to whoever requested all of it.
const PART: &str =
    "HTTP/1.1 206 X\r\nContent-Length: 9\r\nContent-Range: bytes 0-8/1000\r\n\r\nonly this";

/// A gzip stream that ends in the middle of a block of 100 bytes.
fn half_of_gzip() -> Vec<u8> {
    let head = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let block = [1, 100, 0, 155, 255];
    [&head[..], &block, b"hello"].concat()
}

#[test]
fn a_response_that_is_cut_in_its_body_is_tried_again() {
    let server = Scripted::start(|path, before| match (path, before) {
        (_, 1..) => good(),
        ("/length", _) => Sent::Closed(CUT.into()),
        ("/chunks", _) => Sent::Closed(
            b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n".to_vec(),
        ),
        ("/gzip", _) => {
            let body = half_of_gzip();
            let length = body.len();
            let head = format!(
                "HTTP/1.1 200 X\r\nContent-Encoding: gzip\r\nContent-Length: {length}\r\n\r\n"
            );
            Sent::Kept([head.into_bytes(), body].concat())
        }
        _ => good(),
    });
    for way in KEEPING {
        let world = World::new();
        let before = server.came().len();
        let paths = ["/length", "/chunks", "/gzip"].map(|path| format!("{path}?{before}"));
        let plain = ["/length", "/chunks", "/gzip"].map(str::to_owned);
        let paths = if before == 0 { plain } else { paths };
        let list = list(&world, &server, paths.into_iter());
        world.run_to(0, &list, way);
        let records = world.records();
        assert_eq!(is_good(&records), 3, "{records:?}");
        if before == 0 {
            let attempts: Vec<_> = records
                .values()
                .map(|record| record["attempts"].clone())
                .collect();
            assert_eq!(attempts, [2, 2, 2]);
        }
    }
}

#[test]
fn a_part_that_nobody_requested_is_no_body() {
    let server = Scripted::start(|path, before| match (path, before % 2) {
        ("/late", 0) | ("/part", _) => Sent::Kept(PART.into()),
        ("/whole", _) => response(206, "Content-Range: bytes 0-1/2\r\n", "ok"),
        _ => good(),
    });
    for way in KEEPING {
        let world = World::new();
        let paths = ["/late", "/whole", "/part"].map(str::to_owned);
        let list = list(&world, &server, paths.into_iter());
        world.run_to(4, &list, way);
        let records = world.records();
        let ends: Vec<_> = records
            .values()
            .map(|it| (&it["ok"], &it["status"], &it["attempts"]))
            .collect();
        let expected = [(true, 200, 2), (true, 206, 1), (false, 206, 3)];
        let expected = expected.map(|(ok, status, attempts)| {
            (Value::from(ok), Value::from(status), Value::from(attempts))
        });
        assert!(
            ends.into_iter().eq(expected
                .iter()
                .map(|(ok, status, attempts)| (ok, status, attempts))),
            "{records:?}"
        );
        assert_eq!(
            (&records[&2]["outcome"], &records[&2]["error"]["kind"]),
            (&"error".into(), &"body".into())
        );
        assert!(records[&2]["body"].is_null());
    }
    let world = World::new();
    let list = list(&world, &server, std::iter::once("/part".to_owned()));
    world.run_to(0, &list, &["-H", "Range: bytes=0-8"]);
    assert_eq!(world.records()[&0]["status"], 206);
    // That another host is asked for parts changes nothing.
    let world = World::new();
    let host = "[\"a.example\"]\nheaders = [\"Range: bytes=0-8\"]".to_owned();
    let hosts = world.write("hosts.toml", std::iter::once(host));
    let asked = ["--hosts", hosts.to_str().unwrap(), "--retries", "0"];
    world.run_to(3, &list, &asked);
    assert_eq!(world.records()[&0]["ok"], false);
    // A public header of a host goes along where it redirects.
    let (world, part) = (
        World::new(),
        format!("Location: {}\r\n", server.url("/part")),
    );
    let first = Scripted::start(move |_, _| response(302, &part, ""));
    let name = first.url("").replace("http://", "");
    let host = format!("[{name:?}]\nheaders = [\"Range: bytes=0-8\"]");
    let hosts = world.write("hosts.toml", std::iter::once(host));
    let list = world.write("urls.txt", std::iter::once(first.url("/")));
    let asked = [
        "--hosts",
        hosts.to_str().unwrap(),
        "--redirects-to",
        "any",
        "--retries",
        "0",
    ];
    world.run(&list, &asked);
    assert_eq!(world.records()[&0]["ok"], true);
}

#[test]
fn half_of_a_robots_txt_permits_nothing() {
    let server = Scripted::start(|path, _| match path {
        "/robots.txt" => Sent::Kept(PART.into()),
        _ => good(),
    });
    let world = World::new();
    let list = list(&world, &server, std::iter::once("/x".to_owned()));
    world.run_to(3, &list, &["--robots"]);
    assert_eq!(world.records()[&0]["outcome"], "unreached");
    assert_eq!((server.count("/robots.txt"), server.count("/x")), (3, 0));
}

#[test]
fn a_host_that_cuts_every_body_gets_a_rest() {
    let world = World::new();
    let server = Scripted::start(|_, _| Sent::Closed(CUT.into()));
    let list = list(&world, &server, (0..300).map(|n| format!("/{n}")));
    let quickly = [
        "--breaker-cooldown",
        "50ms",
        "--wait-out",
        "500ms",
        "-c",
        "20",
    ];
    let ended = world.run_to(3, &list, &quickly);
    assert!(ended.stderr.contains("given up after"), "{}", ended.stderr);
    assert!(server.came().len() < 200, "{}", server.came().len());
}

#[test]
fn a_post_whose_response_was_cut_is_unknown_and_sent_once() {
    let world = World::new();
    let server = Scripted::start(|_, _| Sent::Closed(CUT.into()));
    let list = list(&world, &server, std::iter::once("/".to_owned()));
    world.run_to(3, &list, &["-X", "POST", "--body", "x"]);
    assert_eq!(world.records()[&0]["outcome"], "unknown");
    assert_eq!(server.came().len(), 1);
}

/// A robots.txt that comes at last, after this.
fn robots_after(first: impl Fn() -> Sent + Send + Sync + 'static) -> Scripted {
    Scripted::start(move |path, before| match (path, before) {
        ("/robots.txt", 0) => first(),
        ("/robots.txt", _) => response(200, "", "User-agent: *\nDisallow: /no\n"),
        _ => good(),
    })
}

#[test]
fn a_robots_txt_that_fails_once_is_requested_again() {
    for first in [
        (|| response(502, "", "")) as fn() -> Sent,
        || response(500, "", ""),
        || response(503, "Retry-After: 1\r\n", ""),
        || Sent::Closed(CUT.into()),
        || Sent::Kept(PART.into()),
        || Sent::Closed(Vec::new()),
    ] {
        let world = World::new();
        let server = robots_after(first);
        let paths = (0..50).map(|n| format!("/{n}")).chain(["/no".to_owned()]);
        let list = list(&world, &server, paths);
        let ended = world.run_to(0, &list, &["--robots"]);
        let records = world.records();
        assert_eq!(is_good(&records), 50, "{}", ended.stderr);
        assert_eq!(records[&50]["why"], "robots");
        assert_eq!(server.count("/robots.txt"), 2);
        let paths: Vec<String> = server.came().into_iter().map(|came| came.path).collect();
        assert_eq!(paths[..2], ["/robots.txt"; 2], "nothing goes before it");
    }
}

#[test]
fn a_robots_txt_without_an_answer_is_requested_until_wait_out_has_passed() {
    let list_of = |world: &World, server: &Scripted, count: usize| {
        list(world, server, (0..count).map(|n| format!("/{n}")))
    };
    let down = || {
        Scripted::start(|path, before| match (path, before) {
            ("/robots.txt", ..5) => Sent::Closed(Vec::new()),
            ("/robots.txt", _) => response(200, "", ""),
            _ => good(),
        })
    };
    let arguments = ["--robots", "--retries", "1"];
    let (world, server) = (World::new(), down());
    world.run_to(0, &list_of(&world, &server, 50), &arguments);
    assert_eq!(
        (server.count("/robots.txt"), is_good(&world.records())),
        (6, 50)
    );
    let first = server.came().into_iter().map(|came| came.path).take(6);
    assert!(first.eq(["/robots.txt"; 6].map(str::to_owned)));
    // So few inputs would not wait for their host either, and nobody waits for longer than that.
    let short = ["--wait-out", "1ms"];
    for (count, more) in [(3, &[][..]), (50, &short)] {
        let (world, server) = (World::new(), down());
        let arguments = [&arguments[..], more].concat();
        world.run_to(3, &list_of(&world, &server, count), &arguments);
        assert!(server.came().len() <= 3, "{count}: {:?}", server.came());
        assert_eq!(world.records()[&0]["outcome"], "unreached");
    }
}

#[test]
fn a_sitemap_that_fails_once_is_requested_again_and_a_wrong_document_is_none() {
    let sitemap = |server: &Scripted, world: &World| {
        let mut command = hecaton(&["fetch", "--sitemap", &server.url("/sitemap.xml"), "-o"]);
        ending(command.arg(world.out()))
    };
    for first in [
        (|| response(502, "", "")) as fn() -> Sent,
        || response(503, "Retry-After: 1\r\n", ""),
        || Sent::Closed(CUT.into()),
        || Sent::Kept(PART.into()),
    ] {
        let world = World::new();
        let server = Scripted::start(move |path, before| match (path, before) {
            ("/sitemap.xml", 0) => first(),
            ("/sitemap.xml", _) => response(
                200,
                "",
                "<feed><entry><link href='http://127.0.0.1/1'/></entry></feed>",
            ),
            _ => good(),
        });
        let ended = sitemap(&server, &world);
        assert_eq!(server.count("/sitemap.xml"), 2, "{}", ended.stderr);
    }
    let world = World::new();
    let server = Scripted::start(|_, _| response(200, "", "<!DOCTYPE html><html><p>Log in</html>"));
    let ended = sitemap(&server, &world);
    assert_eq!(ended.status, Some(1));
    assert!(ended.stderr.contains("<html>"), "{}", ended.stderr);
}

#[test]
fn statuses_that_are_retried_are_added_to_the_usual_ones() {
    let world = World::new();
    let server = Scripted::start(|path, before| match (path, before) {
        ("/500", 0) => response(500, "", ""),
        ("/502", 0) => response(502, "", ""),
        ("/429", 0) => response(429, "Retry-After: 0\r\n", ""),
        ("/404", _) => response(404, "", ""),
        _ => good(),
    });
    let paths = ["/500", "/502", "/429", "/404"].map(str::to_owned);
    let list = list(&world, &server, paths.into_iter());
    world.run_to(4, &list, &["--retry-status", "500,502"]);
    let attempts = world
        .records()
        .into_values()
        .map(|record| record["attempts"].clone());
    assert!(
        attempts.eq([2, 2, 2, 1].map(Value::from)),
        "{:?}",
        world.records()
    );
}

#[test]
fn answers_of_500_are_no_outage() {
    let world = World::new();
    let server = Scripted::start(|path, _| match path.contains("bad") {
        true => response(500, "", ""),
        false => good(),
    });
    let paths = (0..300).map(|n| match (100..160).contains(&n) {
        true => format!("/bad{n}"),
        false => format!("/{n}"),
    });
    let list = list(&world, &server, paths);
    let ended = world.run_to(4, &list, &[]);
    let records = world.records();
    assert_eq!(is_good(&records), 240, "{}", ended.stderr);
    assert_eq!(count(&records, "response"), 300);
    assert!(
        !ended.stderr.contains("failures in a row"),
        "{}",
        ended.stderr
    );
    assert_eq!(server.came().len(), 300);
}

#[test]
fn a_host_that_allows_fewer_requests_gets_fewer_and_no_input_fails() {
    for (status, pause) in [(429, ""), (429, "Retry-After: 1\r\n"), (503, "")] {
        let world = World::new();
        // A bucket of five requests, and five more a second.
        let bucket = Mutex::new((5.0, Instant::now()));
        let server = Scripted::start(move |_, _| {
            let mut bucket = bucket.lock().unwrap();
            let more = bucket.1.elapsed().as_secs_f64() * 5.0;
            *bucket = ((bucket.0 + more).min(5.0), Instant::now());
            match bucket.0 >= 1.0 {
                true => {
                    bucket.0 -= 1.0;
                    good()
                }
                false => response(status, pause, ""),
            }
        });
        let list = list(&world, &server, (0..40).map(|n| format!("/{n}")));
        let ended = world.run_to(0, &list, &["--rate", "10", "--retries", "0"]);
        assert_eq!(is_good(&world.records()), 40, "{}", ended.stderr);
        assert!(!ended.stderr.contains("given up"), "{}", ended.stderr);
    }
}

#[test]
fn after_a_retry_after_requests_do_not_all_start_at_once() {
    let world = World::new();
    // No more than ten at once.
    let in_flight = AtomicUsize::new(0);
    let server = Scripted::start(move |_, _| {
        let is_one_of_ten = in_flight.fetch_add(1, Ordering::SeqCst) < 10;
        std::thread::sleep(Duration::from_millis(50));
        in_flight.fetch_sub(1, Ordering::SeqCst);
        match is_one_of_ten {
            true => good(),
            false => response(429, "Retry-After: 1\r\n", ""),
        }
    });
    let list = list(&world, &server, (0..200).map(|n| format!("/{n}")));
    world.run_to(0, &list, &["-c", "100"]);
    assert_eq!(is_good(&world.records()), 200);
    // If they all started at once, ninety of the first hundred would be refused after each pause.
    let refused = server.came().len() - 200;
    assert!(refused < 180, "{refused} were refused");
}

#[test]
fn a_dead_host_is_given_up_in_time_whatever_its_rate() {
    for answer in [
        (|| Sent::Closed(Vec::new())) as fn() -> Sent,
        || response(429, "", ""),
        || response(429, "Retry-After: 1\r\n", ""),
        || response(503, "", ""),
    ] {
        let world = World::new();
        let server = Scripted::start(move |_, _| answer());
        let list = list(&world, &server, (0..10).map(|n| format!("/{n}")));
        let quickly = ["--rate", "10", "--wait-out", "3s", "--breaker", "2"];
        let more = ["--breaker-cooldown", "500ms"];
        let ended = world.run_to(3, &list, &[&quickly[..], &more].concat());
        assert!(ended.stderr.contains("given up after"), "{}", ended.stderr);
        // Ten a second would be thirty.
        assert!(server.came().len() < 20, "{:?}", server.came().len());
    }
}

#[test]
fn requests_that_are_sent_again_wait_for_the_rate_and_are_counted() {
    let server = Scripted::start(|_, _| Sent::Closed(Vec::new()));
    // One in a hundred seconds: nothing is sent again while the other host has all of its requests.
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let lines = (0..60).map(|n| format!("{base}/r/{n}"));
    let both = world.write("both.txt", lines.chain([server.url("/slow")]));
    let host = server.url("").replace("http://", "");
    let host = host.trim_end_matches('/');
    let hosts = world.path("hosts.toml");
    std::fs::write(&hosts, format!("[{host:?}]\nrate = 0.01\n")).unwrap();
    let mut run = world.fetch(&both, &["--retries", "5", "--breaker", "0", "-c", "2"]);
    let mut run = run.arg("--hosts").arg(&hosts).spawn().unwrap();
    until(|| !server.came().is_empty() && world.server.summary().requests == 60);
    assert_eq!(server.came().len(), 1);
    run.kill().unwrap();
    run.wait().unwrap();
    // With a higher rate, each is counted.
    let (world, server) = (
        World::new(),
        Scripted::start(|_, _| Sent::Closed(Vec::new())),
    );
    let list = list(&world, &server, (0..5).map(|n| format!("/{n}")));
    let arguments = ["--rate", "50", "--retries", "1", "--breaker", "0"];
    world.run_to(3, &list, &arguments);
    let came = server.came();
    let attempts = world.records().into_values();
    let attempts: u64 = attempts
        .map(|record| record["attempts"].as_u64().unwrap())
        .sum();
    assert_eq!(attempts, came.len() as u64);
}

#[test]
fn a_kept_connection_that_was_closed_is_no_try() {
    let world = World::new();
    // Every second request of a connection finds it closed.
    let server = Scripted::start(|_, before| match before {
        0 => Sent::Closed(b"HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\nok".to_vec()),
        _ => good(),
    });
    let list = list(&world, &server, (0..20).map(|n| format!("/{n}")));
    world.run_to(0, &list, &["-c", "1", "--retries", "0", "--breaker", "1"]);
    assert_eq!(is_good(&world.records()), 20);
}

#[test]
fn a_value_of_json_from_a_page_that_is_none_is_not_good() {
    let world = World::new();
    let server = Scripted::start(|path, _| match path {
        "/json" => response(200, "", "{\"price\": 7}"),
        "/other" => response(200, "", "{\"other\": 7}"),
        "/none" => Sent::Kept(b"HTTP/1.1 204 X\r\n\r\n".to_vec()),
        _ => response(200, "Content-Type: text/html\r\n", "<html>Log in</html>"),
    });
    let paths = ["/json", "/other", "/none", "/html"].map(str::to_owned);
    let list = list(&world, &server, paths.into_iter());
    world.run_to(4, &list, &["--take", "price=/price"]);
    let records = world.records();
    let ok: Vec<bool> = records
        .values()
        .map(|record| record["ok"] == true)
        .collect();
    assert_eq!(ok, [true, true, true, false]);
    let why = records[&3]["why"].as_str().unwrap();
    assert!(why.contains("not JSON") && why.contains("price"), "{why}");
}

#[test]
fn one_url_that_is_never_answered_keeps_none_of_its_host_from_being_fetched() {
    for (status, per_host) in [(503, "1"), (429, "8")] {
        let server = Scripted::start(move |path, _| match path {
            "/bad" => response(status, "", ""),
            _ => good(),
        });
        let world = World::new();
        let paths = (0..30).map(|n| match n {
            5 => "/bad".to_owned(),
            _ => format!("/{n}"),
        });
        let list = list(&world, &server, paths);
        let arguments = ["--per-host", per_host, "--rate", "20", "--wait-out", "20s"];
        let ended = world.run_to(4, &list, &arguments);
        let records = world.records();
        assert_eq!(is_good(&records), 29, "{}", ended.stderr);
        assert_eq!(records[&5]["outcome"], "response");
        assert_eq!(records[&5]["status"], status);
    }
}
