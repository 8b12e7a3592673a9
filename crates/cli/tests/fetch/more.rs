//! Inputs that come later: a list that grew, and lists that are added; each request of a job is sent once.

use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::scripted_server::{Holding, Scripted, response};
use crate::support::{Ending, World, count, end_of, ending, hecaton, until};

fn add(world: &World, lists: &[&Path]) -> Command {
    let mut command = hecaton(&["fetch", "add"]);
    command.arg(world.out()).args(lists);
    command
}

fn good(command: &mut Command) -> Ending {
    let ended = ending(command);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    ended
}

fn refused(command: &mut Command, word: &str) {
    let ended = ending(command);
    assert_eq!(ended.status, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains(word), "{}", ended.stderr);
}

/// So many records, each once, and so many requests, none twice.
fn has(world: &World, records: usize, requests: u64) {
    let found = world.records();
    assert!(found.keys().copied().eq(0..records as u64), "{found:?}");
    let seen = world.server.summary();
    assert_eq!((seen.requests, seen.duplicates), (requests, 0));
}

#[test]
fn the_name_of_a_list_does_not_command_a_terminal() {
    let world = World::new();
    world.run(&world.list(0..3), &[]);
    let mut add = hecaton(&["fetch", "add"]);
    let added = ending(
        add.arg(world.out())
            .arg(world.path("no\u{1b}[2J\u{9b}such.txt")),
    );
    assert_eq!(added.status, Some(2));
    let missing = "such.txt: there is no such file";
    assert!(added.stderr.contains(missing), "{:?}", added.stderr);
    assert!(
        !added.stderr.contains(['\u{1b}', '\u{9b}']),
        "{:?}",
        added.stderr
    );
}

#[test]
fn a_list_that_grew_is_accepted_by_the_same_command() {
    let world = World::new();
    let arguments = ["--final-tables", "csv"];
    for (lines, requests) in [(10, 10), (15, 15), (15, 15), (40, 40)] {
        let list = world.list(0..lines);
        world.run(&list, &arguments);
        has(&world, lines as usize, requests);
        let table = std::fs::read_to_string(world.out().join("table.csv")).unwrap();
        assert_eq!(table.lines().count() as u64, lines + 1);
    }
    let records = world.records();
    let last = &records[&39];
    assert_eq!(last["line"], 40);
    assert!(last["url"].as_str().unwrap().ends_with("/r/39"), "{last}");
}

#[test]
fn a_list_that_changed_otherwise_is_refused() {
    let world = World::new();
    let list = world.list(0..10);
    world.run(&list, &[]);
    let text = std::fs::read_to_string(&list).unwrap();
    for changed in [
        text.replacen("/r/3", "/r/4", 1) + "http://127.0.0.1:1/\n",
        // The last line was not whole, and is another one now.
        text.trim_end().to_owned() + "1\nhttp://127.0.0.1:1/\n",
        text.replacen("/r/3", "/r/4", 1),
        text.lines().take(9).collect::<Vec<_>>().join("\n"),
    ] {
        std::fs::write(&list, &changed).unwrap();
        refused(&mut world.fetch(&list, &[]), "the input has changed");
        refused(&mut add(&world, &[&list]), "the input has changed");
    }
    std::fs::write(&list, &text).unwrap();
    world.run(&list, &[]);
    has(&world, 10, 10);
}

#[test]
fn a_job_that_was_killed_takes_what_its_list_got_meanwhile() {
    let (world, server) = (World::new(), Holding::after(60));
    let lines = |count: u64| {
        let lines = (0..count).map(|id| server.url(&format!("/{id}")));
        lines.collect::<Vec<_>>()
    };
    let list = world.write("urls.txt", lines(200).into_iter());
    let child = world.fetch(&list, &["-c", "4"]).spawn().unwrap();
    until(|| server.count() > 60);
    refused_while_running(&world, &list);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGKILL).unwrap();
    end_of(child);
    server.go_on();
    world.write("urls.txt", lines(230).into_iter());
    world.run(&list, &["-c", "4"]);
    let records = world.records();
    assert!(records.keys().copied().eq(0..230));
    assert_eq!(count(&records, "response"), 230);
}

fn refused_while_running(world: &World, list: &Path) {
    let ended = ending(&mut add(world, &[list]));
    assert_eq!(ended.status, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("works on"), "{}", ended.stderr);
}

#[test]
fn lists_are_added_without_what_the_job_has() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    // Ten parts, each a shard of the host: a duplicate must be found in whatever part it was.
    let list = world.list(0..100);
    world.run(&list, &["--part-size", "10", "--rate", "10000"]);
    let urls = |ids: &[u64]| {
        ids.iter()
            .map(|id| format!("{base}/r/{id}"))
            .collect::<Vec<_>>()
    };
    let mut ids: Vec<u64> = (90..130).collect();
    ids.extend([120, 5]);
    let more = world.write("more.txt", urls(&ids).into_iter());
    let ended = good(&mut add(&world, &[&more]));
    assert!(ended.stderr.contains("added 42 inputs"), "{}", ended.stderr);
    has(&world, 142, 130);
    let records = world.records();
    assert_eq!(count(&records, "skipped"), 12);
    for number in [100, 109, 140, 141] {
        assert_eq!(records[&number]["why"], "duplicate", "{}", records[&number]);
    }
    assert_eq!(records[&110]["line"], 11);
    // The same command adds nothing, and a list that grew adds what is new.
    good(&mut add(&world, &[&more]));
    has(&world, 142, 130);
    ids.push(500);
    world.write("more.txt", urls(&ids).into_iter());
    let third = world.write("third.txt", urls(&[1, 600]).into_iter());
    good(&mut add(&world, &[&more, &third]));
    has(&world, 145, 132);
    // The first command is not concerned by other lists.
    std::fs::write(&more, "gone").unwrap();
    world.run(&list, &["--rate", "10000", "--part-size", "10"]);
    has(&world, 145, 132);
}

#[test]
fn one_of_several_lists_and_a_table_may_grow() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let template = format!("{base}/r/{{id}}");
    let table = |name: &str, ids: std::ops::Range<u64>| {
        let lines = ids.map(|id| format!("{id},x"));
        world.write(name, std::iter::once("id,shop".to_owned()).chain(lines))
    };
    let (first, second) = (table("a.csv", 0..5), table("b.csv", 10..15));
    let run = || {
        let mut command = world.fetch(&first, &["--template", &template]);
        good(command.arg(&second))
    };
    run();
    table("a.csv", 0..8);
    run();
    has(&world, 13, 13);
    assert!(
        world.records()[&10]["url"]
            .as_str()
            .unwrap()
            .ends_with("/r/5")
    );
    let other = world.write("c.csv", ["sku", "1"].map(str::to_owned).into_iter());
    refused(&mut add(&world, &[&other]), "has no column \"id\"");
    has(&world, 13, 13);
}

#[test]
fn standard_input_may_grow() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let run = |ids: std::ops::Range<u64>| {
        let list = world.write("stream", ids.map(|id| format!("{base}/r/{id}")));
        let mut command = hecaton(&["fetch", "-", "-o"]);
        command
            .arg(world.out())
            .stdin(Stdio::from(std::fs::File::open(list).unwrap()));
        ending(&mut command)
    };
    for ids in [0..10, 0..10, 0..12, 0..0] {
        let ended = run(ids);
        assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    }
    has(&world, 12, 12);
    let ended = run(1..13);
    assert_eq!(ended.status, Some(2), "{}", ended.stderr);
}

#[test]
fn an_added_part_waits_for_those_before_it() {
    let world = World::new();
    let list = world.list(0..30);
    let mut plan = hecaton(&["fetch", "plan"]);
    good(
        plan.arg(&list)
            .arg("-o")
            .arg(world.out())
            .args(["--part-size", "10", "--rate", "1000"]),
    );
    let more = world.write("more.txt", world_urls(&world, 30..45));
    good(add(&world, &[&more]).arg("--plan"));
    assert_eq!(world.server.summary().requests, 0);
    let run_part = |part: u64| {
        let mut command = hecaton(&["fetch", "run-part"]);
        command.arg(world.out()).arg(part.to_string());
        command
    };
    let plan = std::fs::read_to_string(world.out().join("plan.json")).unwrap();
    let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    let parts = plan["parts"].as_array().unwrap();
    let first = parts.iter().filter(|part| part["added"].is_null()).count() as u64;
    refused(&mut run_part(first), "was added later");
    for part in 0..parts.len() as u64 {
        good(&mut run_part(part));
    }
    has(&world, 45, 45);
}

fn world_urls(world: &World, ids: impl IntoIterator<Item = u64>) -> impl Iterator<Item = String> {
    let base = world.server.base_url().to_owned();
    ids.into_iter().map(move |id| format!("{base}/r/{id}"))
}

#[test]
fn added_inputs_of_a_host_that_needs_a_rate_are_refused_and_nothing_is_added() {
    let world = World::new();
    let list = world.list(0..3);
    world.run(&list, &[]);
    let many = (0..20).map(|n| format!("http://host.example/{n}"));
    let more = world.write("more.txt", many);
    refused(&mut add(&world, &[&more]), "--rate");
    world.run(&list, &[]);
    has(&world, 3, 3);
}

/// A job of twelve inputs, one of them twice, and the list of what is added.
fn job_and_more(world: &World, added: &[u64]) -> std::path::PathBuf {
    let list = world.list((0..11).chain([3]));
    world.run(&list, &["--part-size", "5"]);
    has(world, 12, 11);
    world.write("more.txt", world_urls(world, added.iter().copied()))
}

/// Replaces all inputs of the job by zeros: whoever reads them finds them damaged.
fn spoil_inputs(world: &World) {
    let path = world.out().join("plan/inputs.zst");
    let length = std::fs::metadata(&path).unwrap().len();
    std::fs::write(&path, vec![0; length as usize]).unwrap();
}

#[test]
fn an_addition_finds_duplicates_without_the_inputs_of_the_job() {
    let world = World::new();
    let more = job_and_more(&world, &[3, 20, 21, 20, 10]);
    spoil_inputs(&world);
    good(&mut add(&world, &[&more]));
    has(&world, 17, 13);
    // Those of an earlier addition are found, too.
    spoil_inputs(&world);
    let third = world.write("third.txt", world_urls(&world, [21, 30, 0]));
    good(&mut add(&world, &[&third]));
    has(&world, 20, 14);
    let duplicates = [11, 12, 15, 16, 17, 19];
    for (number, record) in world.records() {
        let is_one = record["why"] == "duplicate";
        assert_eq!(is_one, duplicates.contains(&number), "{record}");
    }
}

/// Removes what only newer programs write.
pub fn as_older_programs_planned(world: &World) {
    let path = world.out().join("plan.json");
    let mut plan: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    plan.as_object_mut().unwrap().remove("requests").unwrap();
    std::fs::write(&path, plan.to_string()).unwrap();
    std::fs::remove_file(world.out().join("plan/requests")).unwrap();
}

type Spoil = fn(&World);

#[test]
fn digests_that_are_missing_are_made_once_from_the_inputs() {
    let spoils: [(&str, Spoil); 3] = [
        ("an older plan", as_older_programs_planned),
        ("gone", |world| {
            std::fs::remove_file(world.out().join("plan/requests")).unwrap();
        }),
        ("cut", |world| {
            std::fs::write(world.out().join("plan/requests"), "short").unwrap();
        }),
    ];
    for (what, spoil) in spoils {
        let world = World::new();
        let more = job_and_more(&world, &[3, 20, 5]);
        spoil(&world);
        let ended = good(&mut add(&world, &[&more]));
        assert!(ended.stderr.contains("added 3 inputs"), "{what}");
        has(&world, 15, 12);
        spoil_inputs(&world);
        let third = world.write("third.txt", world_urls(&world, [20, 0, 40]));
        good(&mut add(&world, &[&third]));
        has(&world, 18, 13);
    }
}

#[test]
fn damaged_digests_are_named_and_made_anew_when_they_are_gone() {
    let world = World::new();
    let more = job_and_more(&world, &[3, 20]);
    let path = world.out().join("plan/requests");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[40] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let ended = ending(&mut add(&world, &[&more]));
    assert_eq!(ended.status, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("plan/requests"), "{}", ended.stderr);
    has(&world, 12, 11);
    std::fs::remove_file(&path).unwrap();
    good(&mut add(&world, &[&more]));
    has(&world, 14, 12);
}

#[test]
fn what_an_addition_that_was_killed_left_is_no_duplicate_later() {
    let world = World::new();
    let more = job_and_more(&world, &[3, 4]);
    let plan = world.out().join("plan.json");
    let before = std::fs::read(&plan).unwrap();
    good(add(&world, &[&more]).arg("--plan"));
    // As if it had been killed before it replaced the plan.
    std::fs::write(&plan, before).unwrap();
    let other = world.write("other.txt", world_urls(&world, [50, 51]));
    good(&mut add(&world, &[&other]));
    has(&world, 14, 13);
    assert_eq!(count(&world.records(), "skipped"), 1);
}

/// The digests of "one" and "two".
const DIGESTS: [&str; 2] = [
    "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
    "3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3",
];

#[test]
fn an_added_line_with_another_checksum_is_fetched() {
    let server = Scripted::start(|_, before| match before {
        0 => response(200, "", "one"),
        _ => response(200, "", "two"),
    });
    let world = World::new();
    let row = |digest: &str| format!("{},{digest}", server.url("/file"));
    let list = |name: &str, digests: &[&str]| {
        let rows = digests.iter().map(|digest| row(digest));
        world.write(name, std::iter::once("url,digest".to_owned()).chain(rows))
    };
    let first = list("files.csv", &DIGESTS[..1]);
    world.run_to(0, &first, &["--verify", "sha256:digest"]);
    let more = list("more.csv", &[DIGESTS[1], DIGESTS[0]]);
    let added = good(&mut add(&world, &[&more]));
    let says = "added 2 inputs, 1 of them skipped, because the job has their requests already";
    assert!(added.stderr.contains(says), "{}", added.stderr);
    let records = world.records();
    let seen: Vec<_> = records.values().map(|record| &record["sha256"]).collect();
    assert_eq!(
        seen,
        [
            &DIGESTS[0].into(),
            &DIGESTS[1].into(),
            &serde_json::Value::Null
        ]
    );
    assert_eq!(server.count("/file"), 2);
    // A round sends each of them.
    good(hecaton(&["fetch", "again", "--where", "n == 1"]).arg(world.out()));
    assert_eq!(server.count("/file"), 3);
}

#[test]
fn a_checksum_is_one_however_it_is_written_and_another_text_is_invalid() {
    let server = Scripted::start(|_, _| response(200, "", "one"));
    let world = World::new();
    let digest = DIGESTS[0];
    let rows = [
        ("/same", digest.to_owned()),
        ("/same", digest.to_uppercase()),
        ("/same", format!("sha256:{digest}")),
        ("/wrong", "n/a".to_owned()),
        ("/wrong", format!("{digest}0")),
    ];
    let row = |(path, digest): &(&str, String)| {
        serde_json::json!({"url": server.url(path), "digest": digest}).to_string()
    };
    let none = ["null", "\"\"", "\" \""].map(|cell| {
        let url = server.url("/none");
        format!("{{\"url\": \"{url}\", \"digest\": {cell}}}")
    });
    let missing = format!("{{\"url\": \"{}\"}}", server.url("/none"));
    let rows: Vec<_> = rows.iter().map(row).chain(none).chain([missing]).collect();
    let list = world.write("files.jsonl", rows.into_iter());
    world.run_to(4, &list, &["--verify", "sha256:digest"]);
    let records = world.records();
    let outcomes: Vec<_> = records
        .values()
        .map(|one| one["outcome"].as_str().unwrap())
        .collect();
    assert_eq!(
        outcomes,
        [
            "response", "skipped", "skipped", "invalid", "invalid", "response", "skipped",
            "skipped", "skipped"
        ]
    );
    let why = records[&3]["why"].as_str().unwrap();
    let says = "the column digest has \"n/a\", which is not a checksum";
    assert!(why.contains(says), "{why}");
    assert_eq!(server.came().len(), 2);
}

#[test]
fn an_added_line_that_differs_in_other_columns_is_skipped_and_the_command_says_so() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let list = |name: &str, price: u64, ids: std::ops::Range<u64>| {
        let rows = ids.map(|id| format!("{base}/r/{id},{price}"));
        world.write(name, std::iter::once("url,price".to_owned()).chain(rows))
    };
    world.run(&list("a.csv", 1, 0..3), &[]);
    let added = good(&mut add(&world, &[&list("b.csv", 2, 1..5)]));
    let says =
        "added 4 inputs, 2 of them skipped, because the job has their requests already; a new job";
    assert!(added.stderr.contains(says), "{}", added.stderr);
    has(&world, 7, 5);
}
