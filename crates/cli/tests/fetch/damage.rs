//! Files that lost or changed bytes: nothing is read past the damage in silence, and what is lost is fetched again.

use std::path::{Path, PathBuf};

use crate::support::{Ending, World, ending, files, hecaton, unpacked};

fn verb(world: &World, words: &[&str]) -> Ending {
    let mut command = hecaton(&["fetch"]);
    ending(command.args(words).arg(world.out()))
}

/// A job of sixty inputs in three parts, which is done.
fn done(arguments: &[&str]) -> World {
    let world = World::new();
    let list = world.list(0..60);
    world.run(&list, &[&["--part-size", "20"], arguments].concat());
    let whole = verb(&world, &["verify"]);
    assert_eq!(whole.status, Some(0), "{}", whole.stderr);
    assert!(whole.stderr.contains("60 records are whole"));
    world
}

fn flip(path: &Path, at: impl Fn(usize) -> usize) {
    let mut bytes = std::fs::read(path).unwrap();
    let at = at(bytes.len());
    bytes[at] ^= 0x10;
    std::fs::write(path, bytes).unwrap();
}

type Spoil = fn(&Path);

#[test]
fn damaged_results_are_named_and_fetched_again() {
    let spoils: [(&str, Spoil); 5] = [
        ("a byte less", |path| {
            let bytes = std::fs::read(path).unwrap();
            std::fs::write(path, &bytes[..bytes.len() - 1]).unwrap();
        }),
        ("another bit", |path| flip(path, |length| length / 2)),
        ("another first byte", |path| flip(path, |_| 0)),
        ("empty", |path| std::fs::write(path, "").unwrap()),
        ("gone", |path| std::fs::remove_file(path).unwrap()),
    ];
    for (what, spoil) in spoils {
        let world = done(&["--final-tables", "csv"]);
        let before = world.records();
        let path = world.out().join("results/part-000001.jsonl.zst");
        spoil(&path);
        for words in [
            &["show"][..],
            &["export", "--csv", "-"],
            &["again", "--where", "status == 200"],
            &["verify"],
            // The command that did the job, once more.
            &["-o"],
        ] {
            let refused = verb(&world, words);
            assert_eq!(
                refused.status,
                Some(1),
                "{what}, {words:?}: {}",
                refused.stderr
            );
            let names = refused.stderr.contains("part-000001");
            assert!(names, "{what}, {words:?}: {}", refused.stderr);
        }
        let sent = world.server.summary().requests;
        let again = verb(&world, &["again", "--damaged"]);
        assert_eq!(again.status, Some(0), "{what}: {}", again.stderr);
        let after = world.records();
        assert!(after.keys().eq(before.keys()), "{what}");
        let more = world.server.summary().requests - sent;
        assert!((1..=20).contains(&more), "{what}: {more} requests");
        let whole = verb(&world, &["verify"]);
        assert_eq!(whole.status, Some(0), "{what}: {}", whole.stderr);
        let again = verb(&world, &["again", "--damaged"]);
        assert!(again.stderr.contains("nothing is sent"), "{}", again.stderr);
    }
}

/// The largest file below a folder.
#[test]
fn results_whose_folder_is_gone_are_fetched_again() {
    let world = done(&[]);
    let before = world.records();
    std::fs::remove_dir_all(world.out().join("results")).unwrap();
    assert_eq!(verb(&world, &["verify"]).status, Some(1));
    let again = verb(&world, &["again", "--damaged"]);
    assert_eq!(again.status, Some(0), "{}", again.stderr);
    assert!(world.records().keys().eq(before.keys()));
}

#[test]
fn the_last_line_is_shown_whole_without_its_end() {
    let world = done(&[]);
    let path = world.out().join("results/part-000000.jsonl.zst");
    let shown = verb(&world, &["show"]);
    let lines = unpacked(&path);
    let frame = zstd::bulk::compress(lines.trim_end().as_bytes(), 1);
    std::fs::write(&path, frame.unwrap()).unwrap();
    assert_eq!(verb(&world, &["show"]).stdout, shown.stdout);
}

fn largest(folder: &Path) -> PathBuf {
    let all = files(folder).into_iter().map(|path| match path.is_dir() {
        true => largest(&path),
        false => path,
    });
    all.max_by_key(|path| std::fs::metadata(path).unwrap().len())
        .expect("a file")
}

#[test]
fn damaged_bodies_are_named_and_fetched_again() {
    for kind in ["files", "tar", "warc", "inline"] {
        let world = done(&["--keep-body", kind]);
        if kind == "inline" {
            continue;
        }
        let damaged = largest(&world.out().join("bodies"));
        flip(&damaged, |length| match kind {
            "tar" => length - 1024 - 512,
            _ => length - 40,
        });
        let shown = verb(&world, &["show"]);
        assert_eq!(shown.status, Some(0), "{kind}: records are whole");
        let refused = verb(&world, &["verify"]);
        assert_eq!(refused.status, Some(1), "{kind}: {}", refused.stderr);
        let is_named = refused.stderr.contains("the body of input");
        assert!(is_named, "{kind}: {}", refused.stderr);
        let again = verb(&world, &["again", "--damaged"]);
        assert_eq!(again.status, Some(0), "{kind}: {}", again.stderr);
        let whole = verb(&world, &["verify"]);
        assert_eq!(whole.status, Some(0), "{kind}: {}", whole.stderr);
        // An archive has other bodies, which are whole.
        let is_aside = kind == "files";
        let says = whole.stderr.contains("1 file with the ending .damaged");
        assert_eq!((damaged.exists(), says), (!is_aside, is_aside), "{kind}");
    }
}

#[test]
fn an_archive_without_whole_bodies_is_set_aside() {
    for kind in ["tar", "warc"] {
        let world = World::new();
        let list = world.list(0..1);
        world.run(&list, &["--keep-body", kind]);
        let damaged = largest(&world.out().join("bodies"));
        let bytes = std::fs::read(&damaged).unwrap();
        std::fs::write(&damaged, &bytes[..bytes.len() / 4]).unwrap();
        let again = verb(&world, &["again", "--damaged"]);
        assert_eq!(again.status, Some(0), "{kind}: {}", again.stderr);
        assert!(!damaged.exists(), "{kind}");
        let whole = verb(&world, &["verify"]);
        assert_eq!(whole.status, Some(0), "{kind}: {}", whole.stderr);
        assert!(
            whole.stderr.contains("1 file with the ending .damaged"),
            "{}",
            whole.stderr
        );
    }
}

#[test]
fn a_table_that_is_gone_is_reported_and_made_again() {
    let world = done(&["--final-tables", "csv"]);
    std::fs::remove_file(world.out().join("table.csv")).unwrap();
    let refused = verb(&world, &["verify"]);
    assert_eq!(refused.status, Some(1));
    assert!(refused.stderr.contains("table.csv"), "{}", refused.stderr);
    let made = ending(hecaton(&["fetch", "-o"]).arg(world.out()));
    assert_eq!(made.status, Some(0), "{}", made.stderr);
    assert_eq!(verb(&world, &["verify"]).status, Some(0));
}

type Rewrite = fn(&mut Vec<String>);

/// Lines that another program wrote into the results of the second part, and how many inputs of it are lost then.
const STRANGE: [(&str, Rewrite, u64); 11] = [
    (
        "no JSON",
        |lines| lines[0] = lines[0].replace("\"line\":", "\"line:"),
        1,
    ),
    (
        "a wrong type",
        |lines| lines[0] = lines[0].replace("\"attempts\":1", "\"attempts\":\"1\""),
        1,
    ),
    (
        "another beginning",
        |lines| lines[0] = lines[0].replace("{\"n\":", "{ \"n\":"),
        1,
    ),
    ("no beginning", |lines| lines[0].insert(0, 'x'), 1),
    (
        "an unknown outcome",
        |lines| lines[0] = lines[0].replace("\"response\"", "\"resp\""),
        1,
    ),
    (
        "another input's number",
        |lines| lines[0] = numbered_as(&lines[0], &lines[1]),
        2,
    ),
    (
        "another part's number",
        |lines| lines[0] = lines[0].replacen("{\"n\":", "{\"n\":9", 1),
        1,
    ),
    ("two lines of one", |lines| lines[0].insert(20, '\n'), 1),
    (
        "one line of two",
        |lines| drop(lines.splice(0..2, [[&*lines[0], &*lines[1]].concat()])),
        2,
    ),
    ("one more", |lines| lines.push("garbage".into()), 0),
    ("one twice", |lines| lines.push(lines[0].clone()), 1),
];

/// A record with the number of another.
fn numbered_as(line: &str, other: &str) -> String {
    let (number, _) = other.split_once(',').unwrap();
    let (_, rest) = line.split_once(',').unwrap();
    format!("{number},{rest}")
}

fn rewrite(path: &Path, change: impl Fn(&mut Vec<String>)) {
    let mut lines = unpacked(path).lines().map(str::to_owned).collect();
    change(&mut lines);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    std::fs::write(path, zstd::bulk::compress(text.as_bytes(), 1).unwrap()).unwrap();
}

#[test]
fn lines_in_whole_frames_that_are_no_records_are_named_and_fetched_again() {
    for (what, change, lost) in STRANGE {
        let world = done(&[]);
        let before = world.records();
        rewrite(&world.out().join("results/part-000001.jsonl.zst"), change);
        let refused = verb(&world, &["again", "--where", "status == 200"]);
        assert_eq!(refused.status, Some(1), "{what}: {}", refused.stderr);
        assert!(
            refused.stderr.contains("part-000001"),
            "{what}: {}",
            refused.stderr
        );
        assert!(!world.out().join("again").exists(), "{what}");
        let found = verb(&world, &["verify"]);
        assert_eq!(found.status, Some(1), "{what}: {}", found.stderr);
        let sent = world.server.summary().requests;
        let again = verb(&world, &["again", "--damaged"]);
        assert_eq!(again.status, Some(0), "{what}: {}", again.stderr);
        assert_eq!(world.server.summary().requests - sent, lost, "{what}");
        assert!(world.records().keys().eq(before.keys()), "{what}");
        let whole = verb(&world, &["verify"]);
        assert_eq!(whole.status, Some(0), "{what}: {}", whole.stderr);
        assert!(!world.out().join("again").exists(), "{what}");
    }
}

#[test]
fn the_commands_that_read_whole_records_agree_on_them() {
    let world = done(&[]);
    rewrite(
        &world.out().join("results/part-000001.jsonl.zst"),
        STRANGE[1].1,
    );
    for words in [
        &["verify"][..],
        &["export", "--csv", "-"],
        &["report"],
        &["show", "--where", "ok"],
    ] {
        let refused = verb(&world, words);
        assert_eq!(refused.status, Some(1), "{words:?}: {}", refused.stderr);
    }
}
