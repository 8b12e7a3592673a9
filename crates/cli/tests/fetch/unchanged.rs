//! `again --if-changed`: what has not changed is not sent again, and keeps its record.

use std::path::PathBuf;

use serde_json::Value;

use crate::file_server::{Behaviour, FileServer};
use crate::scripted_server::{Scripted, Sent, response};
use crate::support::{World, count, ending, files, hecaton};

fn again(world: &World, arguments: &[&str]) {
    let mut command = hecaton(&["fetch", "again"]);
    let ended = ending(command.arg(world.out()).arg("--if-changed").args(arguments));
    assert!(ended.is_done(), "{}", ended.stderr);
}

fn body_of(world: &World, record: &Value) -> PathBuf {
    world.out().join(record["body"]["file"].as_str().unwrap())
}

/// A finished job that fetched this many files.
fn job(server: &FileServer, files: u64) -> World {
    let world = World::new();
    let lines = server.urls(files).chain(["not a URL".to_owned()]);
    let list = world.write("urls.txt", lines);
    let kept = ["--keep-body", "files", "--keep-header", "content-type"];
    world.run(&list, &[&kept[..], &["--final-tables", "csv"]].concat());
    world
}

#[test]
fn what_has_not_changed_keeps_its_record_and_its_body() {
    let server = FileServer::start(Behaviour::good(3000));
    let world = job(&server, 5);
    let before = world.records();
    let sent = server.sent();
    for _ in 0..2 {
        again(&world, &[]);
        let records = world.records();
        assert_eq!((records.len(), count(&records, "unchanged")), (6, 5));
        assert_eq!(server.sent(), sent, "no body came again");
        for number in 0..5 {
            let (old, new) = (&before[&number], &records[&number]);
            for kept in [
                "status",
                "ok",
                "bytes",
                "hash",
                "body",
                "headers",
                "validators",
                "url",
                "line",
            ] {
                assert_eq!(old[kept], new[kept], "{kept}");
            }
            assert_ne!(old["at"], new["at"]);
            server.check_whole(number, 1, &body_of(&world, new));
        }
        let table = std::fs::read_to_string(world.out().join("table.csv")).unwrap();
        assert_eq!(table.matches("unchanged").count(), 5, "{table}");
    }
    let seen = server.seen();
    let named = seen
        .iter()
        .filter(|seen| seen.header("if-none-match") == Some("\"v1\""));
    assert_eq!((seen.len(), named.count()), (15, 10));
}

#[test]
fn an_archive_of_the_web_notes_what_still_holds() {
    let server = FileServer::start(Behaviour::good(3000));
    let world = World::new();
    let list = world.write("urls.txt", server.urls(3));
    world.run(&list, &["--keep-body", "warc"]);
    again(&world, &[]);
    let records = world.records();
    assert_eq!(count(&records, "unchanged"), 3);
    let mut notes = String::new();
    for file in files(&world.out().join("bodies")) {
        let mut unpack = std::process::Command::new("gzip");
        let unpacked = unpack.arg("-dc").arg(file).output().unwrap();
        notes += &String::from_utf8_lossy(&unpacked.stdout);
    }
    assert_eq!(notes.matches("WARC-Type: response").count(), 3);
    let revisits: Vec<&str> = notes.split("WARC-Type: revisit").skip(1).collect();
    assert_eq!(revisits.len(), 3);
    for revisit in revisits {
        assert!(
            revisit.contains("revisit/server-not-modified\r\n"),
            "{revisit}"
        );
        assert!(
            revisit.contains("HTTP/1.1 304 Not Modified\r\n"),
            "{revisit}"
        );
    }
    let verified = ending(hecaton(&["fetch", "verify"]).arg(world.out()));
    assert_eq!(verified.status, Some(0), "{}", verified.stderr);
}

#[test]
fn what_has_changed_is_fetched_and_the_next_round_names_its_new_version() {
    let server = FileServer::start(Behaviour::good(3000));
    let world = job(&server, 3);
    server.change(|behaviour| behaviour.version = 2);
    again(&world, &["--where", "n == 1"]);
    let records = world.records();
    assert_eq!(
        (count(&records, "unchanged"), count(&records, "response")),
        (0, 3)
    );
    server.check_whole(1, 2, &body_of(&world, &records[&1]));
    server.check_whole(0, 1, &body_of(&world, &records[&0]));
    again(&world, &[]);
    let records = world.records();
    assert_eq!(
        (count(&records, "unchanged"), count(&records, "response")),
        (1, 2)
    );
    for number in 0..3 {
        server.check_whole(number, 2, &body_of(&world, &records[&number]));
    }
}

#[test]
fn a_response_without_a_version_is_fetched_again() {
    let server = FileServer::start(Behaviour {
        etag: None,
        ..Behaviour::good(3000)
    });
    let world = job(&server, 3);
    again(&world, &[]);
    let records = world.records();
    assert_eq!((records.len(), count(&records, "response")), (4, 3));
    assert_eq!(server.seen().len(), 6);
    assert!(
        server
            .seen()
            .iter()
            .all(|seen| seen.header("if-none-match").is_none())
    );
}

#[test]
fn a_condition_of_a_host_is_the_only_one_of_its_requests() {
    let server = FileServer::start(Behaviour::good(3000));
    let world = World::new();
    let urls: Vec<String> = server.urls(2).collect();
    let host = urls[0].split('/').nth(2).unwrap().to_owned();
    let list = world.write("urls.txt", urls.into_iter());
    let own = ["headers = ['If-None-Match: \"mine\"']".to_owned()];
    let own = std::iter::once(format!("[\"{host}\"]")).chain(own);
    let hosts = world.write("hosts.toml", own);
    world.run(&list, &["--hosts", hosts.to_str().unwrap()]);
    again(&world, &[]);
    assert_eq!(count(&world.records(), "response"), 2);
    let named = server.seen();
    let named = named.iter().map(|seen| seen.header("if-none-match"));
    assert_eq!(named.collect::<Vec<_>>(), [Some("\"mine\""); 4]);
}

#[test]
fn a_304_without_a_condition_is_no_answer() {
    let server = Scripted::start(|path, before| match (path, before) {
        ("/late", 1..) | ("/then", 0) => response(200, "", "ok"),
        _ => Sent::Kept(b"HTTP/1.1 304 X\r\n\r\n".into()),
    });
    let world = World::new();
    let paths = ["/never", "/late", "/then"].into_iter();
    let list = world.write("urls.txt", paths.map(|path| server.url(path)));
    world.run_to(4, &list, &["--retries", "1", "--keep-body", "files"]);
    let before = world.records();
    let never = &before[&0];
    let seen = [&never["outcome"], &never["error"]["kind"], &never["status"]];
    assert_eq!(
        seen,
        [&"error".into(), &"protocol".into(), &Value::from(304)]
    );
    assert_eq!(
        (&never["attempts"], &before[&1]["attempts"]),
        (&2.into(), &2.into())
    );
    let mut command = hecaton(&["fetch", "again", "--where", "ok or error"]);
    let ended = ending(command.arg(world.out()).args(["--retries", "1"]));
    let says = "1 input got no answer in this round";
    assert!(ended.stderr.contains(says), "{}", ended.stderr);
    assert_eq!(world.records()[&2], before[&2]);
    // A job whose requests have a condition of their own gets what it asked for.
    let world = World::new();
    let list = world.write("urls.txt", std::iter::once(server.url("/never")));
    world.run_to(3, &list, &["-H", "If-None-Match: \"1\""]);
    assert_eq!(world.records()[&0]["outcome"], "response");
}

#[test]
fn a_robots_txt_that_is_a_304_permits_nothing() {
    let server = Scripted::start(|path, _| match path {
        "/robots.txt" => Sent::Kept(b"HTTP/1.1 304 X\r\n\r\n".into()),
        _ => response(200, "", "ok"),
    });
    let world = World::new();
    let list = world.write("urls.txt", std::iter::once(server.url("/x")));
    world.run_to(3, &list, &["--robots", "--retries", "1"]);
    assert_eq!(world.records()[&0]["outcome"], "unreached");
    assert_eq!((server.count("/robots.txt"), server.count("/x")), (2, 0));
}

#[test]
fn a_good_record_stays_when_nothing_answers() {
    let server = Scripted::start(|path, before| match (path, before) {
        (_, 0) => response(200, "ETag: \"1\"\r\n", "ok"),
        ("/down", _) => Sent::Closed(Vec::new()),
        ("/other", _) => response(200, "ETag: \"2\"\r\n", "new"),
        ("/gone", _) => response(404, "", "gone"),
        (_, _) => response(302, "Location: http://elsewhere.example/\r\n", ""),
    });
    let world = World::new();
    // Of "ok".
    let sum = "2689367b205c16ce32ed4200942b8b8b1e262dfc70d9bc9fbc77c49699a4f1df";
    let row = |path: &str| format!("{},{sum}", server.url(path));
    let paths = ["/down", "/other", "/gone", "/moved"];
    let rows = ["url,digest".to_owned()].into_iter().chain(paths.map(row));
    let list = world.write("urls.csv", rows);
    let kept = ["--keep-body", "files", "--verify", "sha256:digest"];
    world.run_to(0, &list, &kept);
    let before = world.records();
    let mut command = hecaton(&["fetch", "again", "--if-changed", "--retries", "0"]);
    let ended = ending(command.arg(world.out()));
    assert_eq!(ended.status, Some(4), "{}", ended.stderr);
    // One server is down, and one has a new body whose checksum differs.
    let says = "good no longer: 1 record with a body that the server has replaced";
    assert!(ended.stderr.contains(says), "{}", ended.stderr);
    let after = world.records();
    assert_eq!(before[&0], after[&0]);
    assert_eq!(before[&1]["body"], after[&1]["body"]);
    assert_eq!(after[&2]["status"], 404);
    assert_eq!(after[&3]["error"]["kind"], "redirect");
    let verified = ending(hecaton(&["fetch", "verify"]).arg(world.out()));
    assert_eq!(verified.status, Some(0), "{}", verified.stderr);
}

/// A job of one file that its list names by a checksum.
fn verified_job(server: &Scripted, options: &[&str]) -> World {
    let world = World::new();
    // Of "ok".
    let sum = "2689367b205c16ce32ed4200942b8b8b1e262dfc70d9bc9fbc77c49699a4f1df";
    let rows = [
        "url,digest".to_owned(),
        format!("{},{sum}", server.url("/file")),
    ];
    let list = world.write("urls.csv", rows.into_iter());
    let kept = ["--keep-body", "files", "--verify", "sha256:digest"];
    world.run_to(0, &list, &[&kept, options].concat());
    world
}

fn again_to(world: &World, status: i32, arguments: &[&str]) -> String {
    let mut command = hecaton(&["fetch", "again"]);
    let ended = ending(command.arg(world.out()).args(arguments));
    assert_eq!(ended.status, Some(status), "{}", ended.stderr);
    ended.stderr
}

#[test]
fn a_file_that_the_server_has_replaced_is_not_good_until_it_is_back() {
    let server = Scripted::start(|_, before| match before {
        0 | 5 => response(200, "ETag: \"1\"\r\n", "ok"),
        6 => response(304, "ETag: \"1\"\r\n", ""),
        _ => response(200, "ETag: \"2\"\r\n", "new"),
    });
    let world = verified_job(&server, &["--fail-if", "not_ok > 0"]);
    let first = world.records().remove(&0).unwrap();
    for _ in 0..2 {
        let says = again_to(&world, 3, &["--if-changed", "--retries", "1"]);
        assert!(
            says.contains("`hecaton fetch add` with the new checksums"),
            "{says}"
        );
        assert!(says.contains("sends errors again"), "{says}");
        assert!(!says.contains("other response"), "{says}");
        let record = world.records().remove(&0).unwrap();
        assert_eq!(
            (&record["ok"], &record["error"]["kind"]),
            (&false.into(), &"checksum".into())
        );
        assert!(
            record["why"]
                .as_str()
                .unwrap()
                .contains("the server has another body now")
        );
        assert!(
            record["error"]["message"]
                .as_str()
                .unwrap()
                .contains("names sha256:2689")
        );
        for kept in ["outcome", "status", "body", "hash", "bytes", "validators"] {
            assert_eq!(record[kept], first[kept], "{kept}");
        }
        assert_eq!(std::fs::read(body_of(&world, &record)).unwrap(), b"ok");
    }
    // The usual condition sends it again.
    again_to(&world, 0, &[]);
    let record = world.records().remove(&0).unwrap();
    assert_eq!(
        (&record["ok"], &record["error"]),
        (&true.into(), &Value::Null)
    );
    again_to(&world, 0, &["--if-changed"]);
    assert_eq!(world.records()[&0]["outcome"], "unchanged");
}

#[test]
fn a_304_says_that_a_replaced_file_is_back() {
    let server = Scripted::start(|_, before| match before {
        0 => response(200, "ETag: \"1\"\r\n", "ok"),
        1 => response(200, "ETag: \"2\"\r\n", "new"),
        _ => response(304, "ETag: \"1\"\r\n", ""),
    });
    let world = verified_job(&server, &[]);
    // Its only input has no good response.
    again_to(&world, 3, &["--if-changed", "--retries", "0"]);
    again_to(&world, 0, &["--if-changed"]);
    let record = world.records().remove(&0).unwrap();
    let seen = (&record["ok"], &record["error"], &record["why"]);
    assert_eq!(seen, (&true.into(), &Value::Null, &Value::Null));
}

#[test]
fn a_round_that_a_server_did_not_answer_does_not_end_as_done() {
    let server = Scripted::start(|_, before| match before {
        0 => response(200, "ETag: \"1\"\r\n", "ok"),
        _ => Sent::Closed(Vec::new()),
    });
    let world = World::new();
    let list = world.write("urls.txt", std::iter::once(server.url("/file")));
    world.run_to(0, &list, &[]);
    let arguments = ["--if-changed", "--retries", "0"];
    let says = again_to(&world, 4, &arguments);
    assert!(
        says.contains("1 input got no answer in this round"),
        "{says}"
    );
    assert_eq!(world.records()[&0]["ok"], true);
    again_to(
        &world,
        0,
        &[&arguments[..], &["--fail-if", "never"]].concat(),
    );
}

#[test]
fn a_response_that_is_kept_is_called_good_only_if_it_is() {
    let server = Scripted::start(|_, before| match before {
        0 => response(200, "", "ok"),
        1 => response(200, "", "new"),
        _ => Sent::Closed(Vec::new()),
    });
    let world = verified_job(&server, &[]);
    let arguments = ["--if-changed", "--retries", "0"];
    again_to(&world, 3, &arguments);
    let says = again_to(&world, 3, &arguments);
    assert!(
        says.contains("the job keeps its earlier response"),
        "{says}"
    );
    assert_eq!(world.records()[&0]["ok"], false);
}
