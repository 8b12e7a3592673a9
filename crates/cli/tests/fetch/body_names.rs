//! Names of files that the job chooses: safe, unique, and in the records.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::scripted_server::{Scripted, response};
use crate::support::{World, ending};

const FILES: [&str; 2] = ["--keep-body", "files"];

/// The name of each body below its attempt's folder, or nothing. Each file has the path of its own request in it.
fn names(world: &World) -> Vec<String> {
    let records = world.records();
    let of = |record: &serde_json::Value| {
        let file = record["body"]["file"].as_str()?;
        let body = std::fs::read_to_string(world.out().join(file)).unwrap();
        let url = record["url"].as_str().unwrap();
        assert!(url.ends_with(&body), "{file} has the body of {body}");
        let rest = file.strip_prefix("bodies/part-000000-").unwrap();
        Some(rest.split_once('/').unwrap().1.to_owned())
    };
    records
        .values()
        .map(|record| of(record).unwrap_or_default())
        .collect()
}

fn server() -> Scripted {
    Scripted::start(|path, _| match path {
        "/named" => response(
            200,
            "Content-Disposition: attachment; filename=\"../r\u{fc}n.txt\"\r\n",
            path,
        ),
        _ => response(200, "Content-Type: text/plain\r\n", path),
    })
}

#[test]
fn files_have_the_names_of_columns_and_none_leads_out_of_its_folder() {
    let (world, server) = (World::new(), server());
    let rows = ["a.txt", "../../a.txt", "con", "sub/b", "", "sub", "A.TXT"];
    let rows = rows.iter().enumerate();
    let rows = rows.map(|(n, name)| format!("{},{name}", server.url(&format!("/{n}"))));
    let list = world.write(
        "files.csv",
        std::iter::once("url,name".to_owned()).chain(rows),
    );
    world.run(
        &list,
        &[&FILES[..], &["--name", "{name}", "-c", "1"]].concat(),
    );
    let found = names(&world);
    assert_eq!(
        found,
        [
            "a.txt",
            "a-1.txt",
            "_con",
            "sub/b",
            "000000004.txt",
            "sub-5",
            "A-6.TXT"
        ]
    );
    let verified = ending(crate::support::hecaton(&["fetch", "verify"]).arg(world.out()));
    assert_eq!(verified.status, Some(0), "{}", verified.stderr);
    for (wrong, word) in [("{nmae}", "nmae"), ("name", "url-path")] {
        let refused = World::new().run_to(2, &list, &[&FILES[..], &["--name", wrong]].concat());
        assert!(refused.stderr.contains(word), "{}", refused.stderr);
    }
    let lines = world.write("urls.txt", std::iter::once(server.url("/1")));
    for (list, wrong) in [
        (&lines, "{url}"),
        (&lines, "{"),
        (&list, "{"),
        (&list, "{name}/"),
    ] {
        let other = World::new();
        let refused = other.run_to(2, list, &[&FILES[..], &["--name", wrong]].concat());
        assert!(refused.stderr.contains("url-path"), "{}", refused.stderr);
        assert!(!other.out().exists(), "{wrong}");
    }
    let refused = World::new().run_to(2, &list, &["--name", "{name}"]);
    assert!(
        refused.stderr.contains("--keep-body files"),
        "{}",
        refused.stderr
    );
}

#[test]
fn lines_with_one_url_and_several_names_are_several_files() {
    let (world, server) = (World::new(), server());
    let url = server.url("/a");
    let rows = [
        "url,name,shop",
        "{},x.txt,1",
        "{},y.txt,1",
        "{}#top,x.txt,2",
    ];
    let rows = rows.map(|row| row.replace("{}", &url));
    let list = world.write("files.csv", rows.into_iter());
    world.run(&list, &[&FILES[..], &["--name", "{name}"]].concat());
    let records = world.records();
    let names: Vec<_> = names(&world).into_iter().take(2).collect();
    assert_eq!(names, ["x.txt", "y.txt"]);
    // Its name is that of the first line, and no other column counts.
    assert_eq!(records[&2]["why"], "duplicate");
    assert_eq!(server.count("/a"), 2);
}

#[test]
fn files_have_the_path_of_their_url_or_the_name_that_the_server_gives() {
    let server = server();
    let paths = ["/named", "/a/b%20c.html?x=1", "/a/", "/a/b%20c.html"];
    for (name, expected) in [
        (
            "url-path",
            ["named", "a/b c.html", "a/index.html", "a/b c-3.html"],
        ),
        (
            "content-disposition",
            ["r\u{fc}n.txt", "b c.html", "index.html", "b c-3.html"],
        ),
    ] {
        let world = World::new();
        let list = world.write("urls.txt", paths.iter().map(|path| server.url(path)));
        world.run(&list, &[&FILES[..], &["--name", name, "-c", "1"]].concat());
        assert_eq!(names(&world), expected);
    }
}

/// The files of bodies, without the logs of names.
pub fn body_files(world: &World) -> BTreeSet<PathBuf> {
    files_below(&world.out().join("bodies"))
}

/// The files below a folder, without logs of names.
pub fn files_below(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in crate::support::files(&folder) {
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|it| it == "names") => {}
                false => assert!(found.insert(path)),
            }
        }
    }
    found
}

#[test]
fn a_kill_leaves_no_named_file_without_a_record() {
    let world = World::new();
    let list = world.list(0..2000);
    let named = [&FILES[..], &["--name", "url-path"]].concat();
    crate::support::killed(&world, &list, &named, 700);
    crate::support::killed(&world, &list, &named, 400);
    world.run(&list, &named);
    let records = world.records();
    let recorded: BTreeSet<_> = records
        .values()
        .map(|record| world.out().join(record["body"]["file"].as_str().unwrap()))
        .collect();
    assert_eq!(recorded.len(), 2000);
    assert_eq!(body_files(&world), recorded);
}
