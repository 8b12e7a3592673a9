//! Values taken from hostile bodies: each is recorded so that it can be read back, or its record says why there is none.

use serde_json::Value;

use crate::scripted_server::{Scripted, Sent, response};
use crate::support::{World, ending, hecaton};

/// A body of `{"d": …}`, with this value.
fn body(value: &[u8]) -> Vec<u8> {
    [b"{\"d\":", value, b"}"].concat()
}

fn nested(levels: usize) -> Vec<u8> {
    body(&[b"[".repeat(levels), b"]".repeat(levels)].concat())
}

/// Bodies, what the list in each of them is, and a word of the reason if there is none.
fn bodies() -> Vec<(Vec<u8>, Value, &'static str)> {
    let none = || Value::Array(Vec::new());
    let mut deepest = Value::Array(Vec::new());
    for _ in 1..64 {
        deepest = Value::Array(vec![deepest]);
    }
    vec![
        (body(b"[1,2]"), serde_json::json!([1, 2]), ""),
        (body(b"null"), none(), ""),
        (b"{}".to_vec(), none(), ""),
        (nested(64), deepest, ""),
        (nested(65), none(), "more than 64 lists"),
        (nested(126), none(), "more than 64 lists"),
        (nested(200), none(), "more than 64 lists"),
        (nested(200_000), none(), "more than 64 lists"),
        (body(b"[1,1e400]"), none(), "number out of range"),
        (body(b"[1,\"\\ud800\"]"), none(), "/d cannot be read"),
        (body(b"[1,\"\xff\"]"), none(), "cannot be read"),
        (
            body(&[b"[".to_vec(), b"1,".repeat(1 << 19), b"1]".to_vec()].concat()),
            none(),
            "more than 1 MiB",
        ),
        (b"<html>".to_vec(), none(), "not JSON"),
    ]
}

fn server() -> Scripted {
    let bodies = bodies();
    Scripted::start(move |path, _| {
        let (body, ..) = &bodies[path[1..].parse::<usize>().unwrap()];
        let head = format!("HTTP/1.1 200 X\r\nContent-Length: {}\r\n\r\n", body.len());
        Sent::Kept([head.as_bytes(), body].concat())
    })
}

#[test]
fn a_list_that_cannot_be_taken_says_why_and_every_record_can_be_read_back() {
    let (world, server) = (World::new(), server());
    let list = world.write(
        "urls.txt",
        (0..bodies().len()).map(|n| server.url(&format!("/{n}"))),
    );
    let take = ["--take", "items[]=/d", "--take", "whole=re:.*"];
    world.run_to(4, &list, &[&take[..], &["--retries", "0"]].concat());
    let records = world.records();
    for (number, (_, items, word)) in (0..).zip(bodies()) {
        let record: &Value = &records[&number];
        assert_eq!(record["taken"]["items"], items, "{number}");
        let why = record["why"].as_str().unwrap_or_default();
        assert_eq!(
            (&record["ok"], why.is_empty()),
            (&word.is_empty().into(), word.is_empty())
        );
        assert!(
            why.contains(word) && (word.is_empty() || why.contains("items[]")),
            "{number}: {why}"
        );
    }
    let csv = ["fetch", "export", "--csv", "-"];
    let items = ["fetch", "export", "--items", "items", "--csv", "-"];
    for (command, status) in [
        (&["fetch", "show"][..], 0),
        (&csv, 0),
        // Some have no items.
        (&items, 4),
        (&["fetch", "report"], 0),
        (&["fetch", "verify"], 0),
    ] {
        let ended = ending(hecaton(command).arg(world.out()));
        assert_eq!(ended.status, Some(status), "{command:?}: {}", ended.stderr);
    }
    let again = ending(hecaton(&["fetch", "again", "--where", "not ok"]).arg(world.out()));
    assert_eq!(again.status, Some(4), "{}", again.stderr);
    world.run_to(4, &list, &take);
}

#[test]
fn a_take_that_finds_nothing_is_named_at_the_end() {
    let server = Scripted::start(|path, _| match path {
        "/a" => response(
            200,
            "",
            r#"{"items":[{"id":1}],"name":"x","rare":null,"data":[],"nil":null}"#,
        ),
        "/b" => response(200, "", r#"{"items":[],"rare":7}"#),
        _ => response(404, "", r#"{"items":{"id":1}}"#),
    });
    let world = World::new();
    let list = world.write(
        "urls.txt",
        ["/a", "/b", "/c"].map(|it| server.url(it)).into_iter(),
    );
    let takes = [
        "id[]=/items/id",
        "items[]=/items",
        "name=/name",
        "rare=/rare",
        "data[]=/data",
        "nil[]=/nil",
        "none=/nil",
    ];
    let takes: Vec<_> = takes.iter().flat_map(|take| ["--take", take]).collect();
    let ended = world.run_to(4, &list, &[&takes[..], &["--retries", "0"]].concat());
    let says =
        "--take 'id[]=/items/id' found nothing in any good response of this run (2 searched)";
    assert!(ended.stderr.contains(says), "{}", ended.stderr);
    // An empty list and null were found.
    for name in ["data[]=", "nil[]=", "none="] {
        assert!(!ended.stderr.contains(name), "{}", ended.stderr);
    }
    // Where nothing is good, the failures say why.
    let world = World::new();
    let list = world.write("urls.txt", std::iter::once(server.url("/c")));
    let ended = world.run_to(3, &list, &takes);
    assert!(!ended.stderr.contains("found nothing"), "{}", ended.stderr);
}

#[test]
fn a_next_page_that_cannot_be_read_is_not_the_end() {
    let (world, server) = (World::new(), server());
    let list = world.write(
        "urls.txt",
        (0..bodies().len()).map(|n| server.url(&format!("/{n}"))),
    );
    world.run_to(4, &list, &["--next", "json:/d", "--retries", "0"]);
    for (number, (_, _, word)) in (0..).zip(bodies()) {
        let record = &world.records()[&number];
        let is_last = matches!(number, 1 | 2);
        assert_eq!(record["ok"] == true, is_last, "{record}");
        let why = record["why"].as_str().unwrap_or_default();
        assert!(why.contains(word), "{number}: {why}");
    }
}

#[test]
fn numbers_keep_their_values_from_the_body_to_the_table() {
    // The first four are those that a quick parser makes another float of.
    const FLOATS: [&str; 6] = [
        "0.3066101993807095",
        "7.371220973384967e-05",
        "1.9000000000000001e-300",
        "8.51e+292",
        "1.5",
        "-0.1",
    ];
    let (world, server) = (
        World::new(),
        Scripted::start(|path, _| {
            let text = match path[1..].parse::<usize>() {
                Ok(number) => FLOATS[number],
                Err(_) => "[12345678901234567.12,9007199254740993,123456789012345678901]",
            };
            response(200, "", &format!("{{\"d\":{text}}}"))
        }),
    );
    let urls = (0..FLOATS.len()).map(|n| server.url(&format!("/{n}")));
    let list = world.write("urls.txt", urls.chain([server.url("/exact")]));
    world.run(&list, &["--take", "d=/d", "--keep-body", "inline"]);
    let show = |wanted: &str| {
        let mut command = hecaton(&["fetch", "show", "--where", wanted]);
        ending(command.arg(world.out())).stdout
    };
    let table = ending(hecaton(&["fetch", "export", "--csv", "-"]).arg(world.out())).stdout;
    for text in FLOATS {
        let float: f64 = text.parse().unwrap();
        let shown = show(&format!("taken.d == {float}"));
        let taken = shown
            .split_once("\"d\":")
            .unwrap_or_else(|| panic!("{text}"))
            .1;
        let taken = taken.split('}').next().unwrap();
        assert_eq!(
            taken.parse::<f64>().unwrap().to_bits(),
            float.to_bits(),
            "{text}"
        );
        let mut cells = table
            .split([',', '\n'])
            .filter_map(|cell| cell.parse::<f64>().ok());
        assert!(
            cells.any(|cell| cell.to_bits() == float.to_bits()),
            "{text}"
        );
    }
    let exact = show("json:/d/1 == 9007199254740993 and json:/d/2 == 123456789012345678901");
    let expected =
        r#""taken":{"d":["12345678901234567.12",9007199254740993,"123456789012345678901"]}"#;
    assert!(exact.contains(expected), "{exact}");
    assert_eq!(show("json:/d/1 == 9007199254740992"), "");
}
