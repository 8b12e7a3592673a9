//! The commands that `crash_table` kills at every file operation of a small job: `fetch`, `plan`, `run-part`, `add` and
//! `again`.

use std::any::Any;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::body_names::body_files;
use crate::crash_table::{Case, check, good};
use crate::file_server::{Behaviour, FileServer};
use crate::paged_server::PagedServer;
use crate::support::{World, ending, hecaton};

pub const NOTHING: fn(&World, &Path) = |_, _| {};
const ALONE: fn(&World) -> Box<dyn Any> = |_| Box::new(());

/// Parts of about ten inputs, each a host shard.
pub const SMALL: [&str; 4] = ["--part-size", "10", "--final-tables", "csv"];

pub fn list(world: &World) -> PathBuf {
    let base = world.server.base_url();
    let urls = (0..36).map(|id| format!("{base}/r/{id}"));
    let more = [format!("{base}/r/7"), "not a URL".to_owned()];
    world.write("urls.txt", urls.chain(more))
}

/// A server of files that are large enough to be resumed, the same in all cases.
fn files() -> &'static FileServer {
    static STARTED: OnceLock<FileServer> = OnceLock::new();
    STARTED.get_or_init(|| FileServer::start(Behaviour::good((2 << 20) + 77)))
}

/// The same list, with two large files in it.
fn list_of_files(world: &World) -> PathBuf {
    let short = std::fs::read_to_string(list(world)).expect("the list");
    let large = files().urls(2);
    let lines = large.chain(short.lines().skip(2).map(str::to_owned));
    world.write("urls.txt", lines)
}

/// The files are whole, and nothing else is left.
fn are_whole(world: &World, _: &Path) {
    let records = world.records();
    for number in 0..2 {
        let body = &records[&number]["body"];
        let name = body["file"]
            .as_str()
            .or(body["tar"].as_str())
            .expect("a body");
        let path = world.out().join(name);
        match body["file"].as_str() {
            Some(_) => files().check_whole(number, 1, &path),
            None => {
                let text = std::fs::read(&path).expect("the archive");
                let header = text[..512].to_vec();
                let room = std::str::from_utf8(&header[124..135]).expect("a length");
                let room = u64::from_str_radix(room.trim(), 8).expect("octal digits");
                files().check(number, 1, &path, 1024 + room);
            }
        }
    }
    assert!(!world.out().join("bodies/partial").exists());
}

fn planned(world: &World, list: &Path) -> Command {
    let mut command = hecaton(&["fetch", "plan"]);
    command.arg(list).arg("-o").arg(world.out()).args(SMALL);
    command
}

fn run_part(world: &World, number: u32) -> Command {
    let mut command = hecaton(&["fetch", "run-part"]);
    command.arg(world.out()).arg(number.to_string());
    command
}

fn again(world: &World) -> Command {
    let mut command = hecaton(&["fetch", "again"]);
    command.arg(world.out());
    command.args(["--where", "line > 12 and line < 30", "--concurrency", "7"]);
    command
}

fn run_all_parts(world: &World, list: &Path) {
    let planned = ending(&mut planned(world, list));
    let parts: u32 = planned.stdout.trim().parse().expect("a number of parts");
    assert!(parts > 1, "one part proves little");
    (0..parts).for_each(|part| good(&mut run_part(world, part), "a part"));
}

#[test]
fn a_job_survives_a_kill_at_any_operation() {
    check(&Case {
        list,
        name: "fetch LIST",
        around: ALONE,
        before: NOTHING,
        command: |world, list| world.fetch(list, &SMALL),
        after: NOTHING,
        is_once: false,
    });
}

#[test]
fn a_job_of_posts_sends_none_twice() {
    check(&Case {
        list,
        name: "fetch LIST -X POST",
        around: ALONE,
        before: NOTHING,
        command: |world, list| {
            let more = ["-X", "POST", "--keep-body", "tar"];
            world.fetch(list, &[&SMALL[..], &more].concat())
        },
        after: NOTHING,
        is_once: true,
    });
}

/// Options that change how a body is received, named and digested.
const NAMED: [&str; 10] = [
    "--keep-body",
    "files",
    "--name",
    "url-path",
    "--sha256",
    "--md5",
    "--min-speed",
    "1/10s",
    "--max-bandwidth",
    "1GB",
];

#[test]
fn a_job_with_named_files_survives_a_kill_at_any_operation() {
    check(&Case {
        list: list_of_files,
        name: "fetch LIST --name url-path --md5 --min-speed --max-bandwidth",
        around: ALONE,
        before: NOTHING,
        command: |world, list| world.fetch(list, &[&SMALL[..], &NAMED].concat()),
        after: |world, list| {
            are_whole(world, list);
            let records = world.records();
            let named = |record: &Value| Some(world.out().join(record["body"]["file"].as_str()?));
            let recorded: BTreeSet<PathBuf> = records.values().filter_map(named).collect();
            assert_eq!(body_files(world), recorded);
        },
        is_once: false,
    });
}

#[test]
fn large_bodies_survive_a_kill_at_any_operation() {
    for form in ["files", "tar"] {
        check(&Case {
            list: list_of_files,
            name: match form {
                "files" => "fetch LIST --keep-body files",
                _ => "fetch LIST --keep-body tar",
            },
            around: ALONE,
            before: NOTHING,
            command: match form {
                "files" => |world, list| {
                    world.fetch(list, &[&SMALL[..], &["--keep-body", "files"]].concat())
                },
                _ => {
                    |world, list| world.fetch(list, &[&SMALL[..], &["--keep-body", "tar"]].concat())
                }
            },
            after: are_whole,
            is_once: false,
        });
    }
}

#[test]
fn planning_survives_a_kill_at_any_operation() {
    check(&Case {
        list,
        name: "plan",
        around: ALONE,
        before: NOTHING,
        command: planned,
        after: |world, _| {
            good(
                hecaton(&["fetch", "-o"]).arg(world.out()),
                "the planned job",
            )
        },
        is_once: true,
    });
}

#[test]
fn a_part_survives_a_kill_at_any_operation() {
    check(&Case {
        list,
        name: "run-part",
        around: ALONE,
        before: |world, list| {
            good(&mut planned(world, list), "plan");
            good(&mut run_part(world, 1), "part 1");
        },
        command: |world, _| run_part(world, 0),
        after: run_all_parts,
        is_once: false,
    });
}

#[test]
fn the_last_part_survives_a_kill_at_any_operation() {
    check(&Case {
        list,
        name: "run-part, the last one",
        around: ALONE,
        before: |world, list| {
            let planned = ending(&mut planned(world, list));
            let parts: u32 = planned.stdout.trim().parse().expect("a number of parts");
            (1..parts).for_each(|part| good(&mut run_part(world, part), "a part"));
        },
        command: |world, _| run_part(world, 0),
        after: NOTHING,
        is_once: false,
    });
}

#[test]
fn a_list_that_grew_survives_a_kill_at_any_operation() {
    check(&Case {
        list,
        name: "fetch LIST that grew",
        around: ALONE,
        before: |world, list| {
            let whole = std::fs::read_to_string(list).expect("the list");
            world.write("urls.txt", whole.lines().take(20).map(str::to_owned));
            good(&mut world.fetch(list, &SMALL), "the job");
            std::fs::write(list, whole).expect("the list grows");
        },
        command: |world, list| world.fetch(list, &SMALL),
        after: NOTHING,
        is_once: false,
    });
}

/// The job of the first lines of a list, without the rest.
fn first_lines(world: &World, list: &Path) {
    let whole = std::fs::read_to_string(list).expect("the list");
    let lines = || whole.lines().map(str::to_owned);
    let first = world.write("first.txt", lines().take(20));
    world.write("rest.txt", lines().skip(20));
    good(&mut world.fetch(&first, &SMALL), "the job");
}

fn add_rest(world: &World, _: &Path) -> Command {
    let mut command = hecaton(&["fetch", "add"]);
    command.arg(world.out()).arg(world.path("rest.txt"));
    command
}

/// The one line that is twice is a duplicate of an input of the first list, and nothing else is one.
fn has_one_duplicate(world: &World, _: &Path) {
    let records = world.records();
    assert_eq!(records[&36]["why"], "duplicate", "{}", records[&36]);
    assert_eq!(crate::support::count(&records, "skipped"), 1);
}

#[test]
fn an_addition_survives_a_kill_at_any_operation() {
    check(&Case {
        list,
        name: "add",
        around: ALONE,
        before: first_lines,
        command: add_rest,
        after: has_one_duplicate,
        is_once: false,
    });
}

#[test]
fn an_addition_to_an_older_plan_survives_a_kill_at_any_operation() {
    check(&Case {
        list,
        name: "add to an older plan",
        around: ALONE,
        before: |world, list| {
            first_lines(world, list);
            crate::more::as_older_programs_planned(world);
        },
        command: add_rest,
        after: has_one_duplicate,
        is_once: false,
    });
}

#[test]
fn a_round_of_what_has_changed_survives_a_kill_at_any_operation() {
    check(&Case {
        list: list_of_files,
        name: "again --if-changed",
        around: ALONE,
        before: |world, list| good(&mut world.fetch(list, &SMALL), "the job"),
        command: |world, _| {
            let mut command = hecaton(&["fetch", "again"]);
            command.arg(world.out()).arg("--if-changed");
            command.args(["--where", "line < 12 or outcome == 'unchanged'"]);
            command
        },
        after: |world, _| {
            let records = world.records();
            for number in 0..2 {
                let record = &records[&number];
                assert_eq!(
                    (&record["outcome"], &record["status"]),
                    (&"unchanged".into(), &200.into())
                );
            }
        },
        is_once: false,
    });
}

/// The same number of inputs on six hosts, where every other one leads to the next host.
fn list_of_redirects(world: &World) -> PathBuf {
    let port = world.port();
    let url = |n: u64| {
        let host = |host: u64| format!("h{}.localhost:{port}", host % 6);
        match n % 2 {
            0 => format!("http://{}/r/{n}", host(n)),
            _ => {
                let to = format!("http%3A%2F%2F{}%2Fr%2F{n}", host(n + 1).replace(':', "%3A"));
                format!("http://{}/redirect/302/1?to={to}", host(n))
            }
        }
    };
    let more = [url(6), "not a URL".to_owned()];
    world.write("urls.txt", (0..36).map(url).chain(more))
}

#[test]
fn redirects_to_other_parts_survive_a_kill_at_any_operation() {
    check(&Case {
        list: list_of_redirects,
        name: "fetch LIST --redirects-to any",
        around: ALONE,
        before: NOTHING,
        command: |world, list| {
            world.fetch(list, &[&SMALL[..], &["--redirects-to", "any"]].concat())
        },
        after: |world, _| {
            let records = world.records();
            assert_eq!(crate::support::count(&records, "response"), 36);
        },
        is_once: false,
    });
}

/// A server of pages, the same in all cases.
fn paged() -> &'static PagedServer {
    static STARTED: OnceLock<PagedServer> = OnceLock::new();
    STARTED.get_or_init(PagedServer::start)
}

/// The same number of inputs, of which all URLs have three pages.
fn list_of_pages(world: &World) -> PathBuf {
    let urls: Vec<String> = paged().urls("json", 36, 3).collect();
    let more = [urls[7].clone(), "not a URL".to_owned()];
    world.write("urls.txt", urls.into_iter().chain(more))
}

#[test]
fn pages_survive_a_kill_at_any_operation() {
    check(&Case {
        list: list_of_pages,
        name: "fetch LIST --next",
        around: ALONE,
        before: NOTHING,
        command: |world, list| world.fetch(list, &[&SMALL[..], &["--next", "json:/next"]].concat()),
        after: |world, _| {
            let mut found: Vec<_> = world
                .lines()
                .iter()
                .filter_map(|page| Some((page["n"].as_u64()?, page["page"].as_u64()?)))
                .collect();
            found.sort_unstable();
            let all = (0..36).flat_map(|n| (1..=3).map(move |page| (n, page)));
            assert!(found.iter().copied().eq(all), "{found:?}");
        },
        is_once: false,
    });
}

#[test]
fn a_round_survives_a_kill_at_any_operation() {
    check(&Case {
        list,
        name: "again",
        around: ALONE,
        before: |world, list| good(&mut world.fetch(list, &SMALL), "the job"),
        command: |world, _| again(world),
        after: NOTHING,
        is_once: false,
    });
}
