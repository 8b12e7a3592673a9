//! The examples of `docs/fetch.md` for these options run as they are written, on a server of this test.

use std::process::Command;

use crate::scripted_server::{Scripted, response};
use crate::support::{World, ending};

/// The options, as their examples have them.
const OPTIONS: [&str; 8] = [
    "--verify sha256:",
    "--stop-after 2h",
    "--stop-after 10GB",
    "--min-speed",
    "--max-bandwidth",
    "--name '{",
    "--items items",
    "-> ?cursor={}'",
];

/// The SHA-256 of the body "good".
const GOOD: &str = "770e607624d689265ca6c44884d0807d9b054d23c473c106c72be9de08b7376c";

/// The blocks of indented lines.
fn blocks(text: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for line in text.lines() {
        match (line.strip_prefix("    "), found.last_mut()) {
            (Some(code), Some(block)) => *block += &format!("{code}\n"),
            (None, Some(block)) if !block.is_empty() => found.push(String::new()),
            _ => {}
        }
    }
    found
}

/// A folder with the lists of the examples.
fn world_for(server: &Scripted) -> World {
    let world = World::new();
    let file = server.url("/file");
    for (name, lines) in [
        ("urls.txt", vec![file.clone()]),
        ("files.txt", vec![file.clone()]),
        (
            "files.csv",
            vec!["url,digest".to_owned(), format!("{file},{GOOD}")],
        ),
        ("skus.csv", vec!["sku,shop".into(), "A-14,north".into()]),
        ("shops.csv", vec!["shop".into(), "north".into()]),
    ] {
        world.write(name, lines.into_iter());
    }
    world
}

#[test]
fn examples_of_options_run_as_they_are_written() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fetch.md");
    let text = std::fs::read_to_string(path).unwrap();
    let server = Scripted::start(|path, _| match path {
        "/file" => response(200, "", "good"),
        path if path.contains("cursor=x") => response(200, "", r#"{"cursor":null,"data":[1]}"#),
        _ => response(200, "", r#"{"cursor":"x","data":[1]}"#),
    });
    let mut missing = OPTIONS.to_vec();
    for block in blocks(&text) {
        let before = missing.len();
        missing.retain(|option| !block.contains(option));
        if missing.len() == before {
            continue;
        }
        let world = world_for(&server);
        let script = block.replace("bin/hecaton", env!("CARGO_BIN_EXE_hecaton"));
        let script = script.replace("https://api.example.com", &server.url(""));
        let mut shell = Command::new("sh");
        shell.args(["-euc", &script]).env("no_proxy", "*");
        shell.current_dir(world.path(""));
        let ended = ending(
            shell
                .stdout(std::process::Stdio::piped())
                .stderr(std::process::Stdio::piped()),
        );
        assert_eq!(ended.status, Some(0), "{block}\n{}", ended.stderr);
    }
    assert!(missing.is_empty(), "no example has {missing:?}");
    let pages = server
        .came()
        .iter()
        .filter(|came| came.path.contains("cursor=x"))
        .count();
    assert_eq!(pages, 1);
}
