//! The end of a job, and the gaps around it: two starts, a takeover, results that were not put into place, stale
//! products.

use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use hecaton_test_server::{Delay, Options};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{World, count, end_of, ending, files, hecaton, until};

fn planned(world: &World, list: &Path, arguments: &[&str]) -> u32 {
    let mut plan = hecaton(&["fetch", "plan"]);
    let planned = ending(plan.arg(list).arg("-o").arg(world.out()).args(arguments));
    assert_eq!(planned.status, Some(0), "{}", planned.stderr);
    planned.stdout.trim().parse().expect("a number of parts")
}

fn part(world: &World, number: u32) -> Command {
    let mut command = hecaton(&["fetch", "run-part"]);
    command.arg(world.out()).arg(number.to_string());
    command
}

/// Puts the results of a part back to where they are between its commit and the move.
fn unsettle(world: &World) {
    let result = world.out().join("results/part-000000.jsonl.zst");
    let draft = world.out().join("parts/000000/final-1.jsonl.zst");
    std::fs::rename(result, draft).expect("the results are there");
}

#[test]
fn results_that_a_killed_worker_did_not_move_are_moved_by_any_other() {
    let world = World::new();
    let list = world.list(0..40);
    assert!(planned(&world, &list, &["--part-size", "20"]) > 1);
    assert_eq!(ending(&mut part(&world, 0)).status, Some(0));
    unsettle(&world);
    let done = ending(&mut part(&world, 1));
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert_eq!(world.records().len(), 40);
    let shown = ending(hecaton(&["fetch", "show"]).arg(world.out()));
    assert_eq!(shown.stdout.lines().count(), 40);
}

#[test]
fn a_folder_that_another_process_holds_for_a_moment_at_the_end_is_waited_for() {
    let world = World::new();
    let list = world.list(0..40);
    let tables = ["--part-size", "20", "--final-tables", "csv"];
    assert_eq!(planned(&world, &list, &tables), 2);
    assert_eq!(ending(&mut part(&world, 0)).status, Some(0));
    // A command that notes something, such as `report`.
    let lock = std::fs::File::create(world.out().join("lock")).unwrap();
    lock.lock().unwrap();
    let last = part(&world, 1).spawn().unwrap();
    until(|| world.out().join("results/part-000001.jsonl.zst").exists());
    std::thread::sleep(Duration::from_millis(200));
    drop(lock);
    let done = end_of(last);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    let table = std::fs::read_to_string(world.out().join("table.csv"));
    assert_eq!(table.expect("a table").lines().count(), 41);
}

#[test]
fn a_folder_that_planning_left_behind_is_planned_again() {
    let world = World::new();
    let list = world.list(0..10);
    for made in ["results", "parts", "plan"] {
        std::fs::create_dir_all(world.out().join(made)).unwrap();
    }
    std::fs::write(world.out().join("job.toml"), "").unwrap();
    world.run(&list, &[]);
    assert_eq!(world.records().len(), 10);
}

#[test]
fn a_second_start_waits_for_nobody_and_spoils_nothing_while_the_first_plans() {
    let world = World::new();
    let list = world.list(0..30);
    let mut first = hecaton(&["fetch", "-", "-o"]);
    let mut first = first
        .arg(world.out())
        .stdin(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = first.stdin.take().expect("its input");
    let text = std::fs::read(&list).unwrap();
    input.write_all(&text).unwrap();
    // It plans for as long as its input is open.
    let inputs = world.out().join("plan/inputs.zst");
    let number = || std::fs::metadata(&inputs).ok().map(|about| about.ino());
    until(|| number().is_some());
    let planned = number();
    let second = ending(&mut world.fetch(&list, &[]));
    assert_eq!(second.status, Some(1), "{}", second.stderr);
    assert_eq!(number(), planned, "the first plans on in its own file");
    assert!(second.stderr.contains("works on"), "{}", second.stderr);
    drop(input);
    let first = end_of(first);
    assert_eq!(first.status, Some(0), "{}", first.stderr);
    assert_eq!(world.records().len(), 30);
    assert_eq!(world.server.summary().requests, 30);
}

#[test]
fn a_run_ends_when_the_part_is_done_that_another_process_took_over_and_left() {
    let world = World::with(Options {
        delay: Delay::Fixed(Duration::from_millis(100)),
        ..Options::default()
    });
    let list = world.list(0..200);
    let run = world.fetch(&list, &["-c", "4"]).spawn().expect("it starts");
    world.wait_for(20);
    let mut thief = part(&world, 0).spawn().expect("it starts");
    until(|| world.out().join("parts/000000/attempt-2").exists());
    until(|| {
        std::fs::metadata(world.out().join("parts/000000/attempt-2"))
            .unwrap()
            .len()
            > 0
    });
    thief.kill().unwrap();
    thief.wait().unwrap();
    let ended = end_of(run);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let records = world.records();
    assert_eq!(records.len(), 200, "{}", ended.stderr);
    assert!(ended.stderr.contains("200 records"), "{}", ended.stderr);
}

#[test]
fn a_part_that_is_taken_over_is_handed_over_without_a_request_twice() {
    let world = World::with(Options {
        delay: Delay::Fixed(Duration::from_millis(50)),
        ..Options::default()
    });
    let list = world.list(0..200);
    planned(&world, &list, &["-c", "4", "-X", "POST"]);
    let first = part(&world, 0).spawn().expect("it starts");
    world.wait_for(20);
    // It must not be done before the second has begun.
    kill(Pid::from_raw(first.id() as i32), Signal::SIGSTOP).unwrap();
    let second = part(&world, 0).spawn().expect("it starts");
    until(|| world.out().join("parts/000000/attempt-2").exists());
    kill(Pid::from_raw(first.id() as i32), Signal::SIGCONT).unwrap();
    let second = end_of(second);
    assert_eq!(second.status, Some(0), "{}", second.stderr);
    assert!(end_of(first).stderr.contains("taken over"));
    let records = world.records();
    assert_eq!(records.len(), 200);
    assert_eq!(world.server.summary().duplicates, 0);
    // The first worker sends nothing more, and records what was in flight: at most an intent is without an outcome.
    let unknown = count(&records, "unknown");
    assert_eq!(count(&records, "response") + unknown, 200);
}

#[test]
fn products_that_were_made_of_other_records_are_made_again() {
    let world = World::new();
    let list = world.list(0..20);
    world.run(&list, &["--final-tables", "csv"]);
    let table = world.out().join("table.csv");
    let fresh = std::fs::read_to_string(&table).unwrap();
    for file in files(&world.out()) {
        if file.ends_with("products.json") {
            std::fs::write(file, "{}").unwrap();
        }
    }
    std::fs::write(&table, "old").unwrap();
    world.run(&list, &["--final-tables", "csv"]);
    assert_eq!(std::fs::read_to_string(&table).unwrap(), fresh);
    // A product that is up to date is not made again.
    std::fs::write(&table, "mine").unwrap();
    world.run(&list, &["--final-tables", "csv"]);
    assert_eq!(std::fs::read_to_string(&table).unwrap(), "mine");
}

#[test]
fn a_post_that_failed_after_it_was_sent_is_unknown_and_is_not_sent_again() {
    // On a busy machine a request may not have been sent when a short time is over.
    let in_time = ["1s", "5s", "25s"].iter().find_map(|limit| {
        let world = World::new();
        let base = world.server.base_url().to_owned();
        let urls = (0..4).map(|n| format!("{base}/delay/60000?{n}"));
        let list = world.write("urls.txt", urls);
        world.run_to(3, &list, &["-X", "POST", "--timeout", limit]);
        let records = world.records();
        (count(&records, "unknown") == 4).then_some((world, records))
    });
    let (world, records) = in_time.expect("all were sent");
    assert_eq!(count(&records, "unknown"), 4);
    for record in records.values() {
        let why = record["why"].as_str().expect("a reason");
        assert!(why.starts_with("timeout: "), "{why}");
        assert_eq!(record["sent"], true);
        assert!(record.get("error").is_none());
    }
    let again = ending(hecaton(&["fetch", "again"]).arg(world.out()));
    assert!(
        again.stderr.contains("no record matches"),
        "{}",
        again.stderr
    );
    assert_eq!(again.status, Some(3), "no input has a good response");
}
