//! Examples of `docs/fetch.md` run as they are written, on a server of this test.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::body_names::files_below;
use crate::scripted_server::{Scripted, response};
use crate::support::{Ending, World, ending};

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

/// The examples of the document: its blocks of indented lines.
fn examples() -> Vec<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fetch.md");
    let text = std::fs::read_to_string(path).unwrap();
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

/// Runs an example.
fn run(world: &World, example: &str, server: &Scripted) -> Ending {
    let script = example.replace("bin/hecaton", env!("CARGO_BIN_EXE_hecaton"));
    let script = script.replace("https://api.example.com", &server.url(""));
    let mut shell = Command::new("sh");
    shell.args(["-euc", &script]).env("no_proxy", "*");
    shell.env("API_TOKEN", "secret");
    shell.current_dir(world.path(""));
    ending(shell.stdout(Stdio::piped()).stderr(Stdio::piped()))
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
    let server = Scripted::start(|path, _| match path {
        "/file" => response(200, "", "good"),
        path if path.contains("cursor=x") => response(200, "", r#"{"cursor":null,"data":[1]}"#),
        _ => response(200, "", r#"{"cursor":"x","data":[1]}"#),
    });
    let mut missing = OPTIONS.to_vec();
    for block in examples() {
        let before = missing.len();
        missing.retain(|option| !block.contains(option));
        if missing.len() == before {
            continue;
        }
        let ended = run(&world_for(&server), &block, &server);
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

#[test]
fn the_way_from_an_api_with_pages_and_a_token_to_a_table_is_as_it_is_written() {
    let api = |breaks: bool| {
        Scripted::start(move |path, before| match path {
            "/orders?limit=100" => {
                response(200, "", r#"{"orders":[{"id":1},{"id":2}],"cursor":"x"}"#)
            }
            _ if breaks && before == 0 => response(200, "", r#"{"error":"later"}"#),
            _ => response(200, "", r#"{"orders":[{"id":3}],"cursor":null}"#),
        })
    };
    let examples = examples();
    let recipe = examples
        .iter()
        .find(|block| block.contains("env:API_TOKEN"))
        .unwrap();
    let server = api(false);
    let world = World::new();
    let ended = run(&world, recipe, &server);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let table = std::fs::read_to_string(world.path("orders.csv")).unwrap();
    assert_eq!(table, "n,page,id\n0,1,1\n0,1,2\n0,2,3\n");
    let came = server.came();
    let has_token = |header: &String| header.eq_ignore_ascii_case("authorization: bearer secret");
    assert!(came.iter().all(|came| came.headers.iter().any(has_token)));
    // An error in the place of a page is no end of the pages.
    let (server, world) = (api(true), World::new());
    let (job, export) = recipe.split_at(recipe.find("bin/hecaton fetch export").unwrap());
    assert_eq!(run(&world, job, &server).status, Some(3));
    assert_eq!(run(&world, export, &server).status, Some(4));
    let again = "bin/hecaton fetch again all-orders/ --where 'not ok'";
    assert_eq!(run(&world, again, &server).status, Some(0));
    assert_eq!(run(&world, export, &server).status, Some(0));
    assert_eq!(
        std::fs::read_to_string(world.path("orders.csv")).unwrap(),
        table
    );
}

/// The files of a tree by their inodes, each with its path in the tree.
fn inodes(paths: impl Iterator<Item = std::path::PathBuf>) -> BTreeMap<u64, std::path::PathBuf> {
    let with_inode = |path: std::path::PathBuf| (path.metadata().unwrap().ino(), path);
    paths.map(with_inode).collect()
}

#[test]
fn the_bodies_of_a_job_that_was_resumed_are_linked_into_one_tree() {
    let body = |path: &str| format!("{path:100}");
    let server = Scripted::start(move |path, _| match path {
        "/7" => response(404, "", &body(path)),
        _ => response(200, "", &body(path)),
    });
    let world = World::new();
    let rows =
        (0..60).map(|n| format!("{},{}/{}.txt", server.url(&format!("/{n}")), n % 2, n % 20));
    let list = world.write(
        "files.csv",
        std::iter::once("url,name".to_owned()).chain(rows),
    );
    let options = [
        "--keep-body",
        "files",
        "--name",
        "{name}",
        "-c",
        "2",
        "--stop-after",
        "2kB",
    ];
    let runs = std::iter::repeat_with(|| ending(&mut world.fetch(&list, &options)).status);
    let runs = runs.take_while(|status| *status == Some(5)).count();
    assert!(runs >= 1);
    let records = world.records();
    assert_eq!(records.len(), 60);
    let good = records.values().filter(|record| record["ok"] == true);
    let good: Vec<_> = good
        .map(|record| record["body"]["file"].as_str().unwrap())
        .collect();
    let trees: BTreeSet<_> = good.iter().map(|file| file.split('/').nth(1)).collect();
    assert_eq!((good.len(), trees.len()), (59, runs + 1));
    let recipe = examples()
        .into_iter()
        .find(|example| example.contains("mirror/"))
        .unwrap();
    let ended = run(&world, &recipe, &server);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let kept = inodes(good.iter().map(|file| world.out().join(file)));
    let tree = files_below(&world.path("mirror"));
    let linked = inodes(tree.iter().cloned());
    assert_eq!((tree.len(), kept.len()), (59, 59));
    assert!(kept.keys().eq(linked.keys()), "{tree:?}");
    // Each has the name that the list gives it, or that name and a number.
    for (inode, path) in linked {
        let name = path.strip_prefix(world.path("mirror")).unwrap();
        assert!(
            kept[&inode].ends_with(name) || name.to_str().unwrap().contains("txt-"),
            "{name:?}"
        );
    }
    assert!(tree.contains(&world.path("mirror").join(Path::new("0/0.txt"))));
}
