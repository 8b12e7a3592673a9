//! Reading a folder: while its job runs, before it is done, in another folder, and when nobody reads what is printed.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::scripted_server::Holding;
use crate::support::{World, end_of, ending, files, hecaton, until};

/// The rows of a table of CSV, without its line of names.
fn rows(text: &str) -> usize {
    text.lines().count() - 1
}

/// A job in two parts, of which the first is done.
fn half_done(world: &World, more: &[&str]) -> usize {
    let list = world.list(0..200);
    let mut plan = hecaton(&["fetch", "plan", "--per-host", "2", "--part-size", "100"]);
    let planned = ending(plan.arg(list).arg("-o").arg(world.out()).args(more));
    assert_eq!(planned.stdout, "2\n", "{}", planned.stderr);
    do_part(world, "0");
    world.records().len()
}

fn do_part(world: &World, number: &str) {
    let done = ending(hecaton(&["fetch", "run-part"]).arg(world.out()).arg(number));
    assert_eq!(done.status, Some(0), "{}", done.stderr);
}

#[test]
fn nobody_who_reads_is_no_failure() {
    let world = World::new();
    let list = world.list(0..100);
    world.run(&list, &[]);
    let out = world.out();
    let out = out.to_str().unwrap();
    let list = list.to_str().unwrap();
    let planned = world.path("planned");
    for arguments in [
        &["fetch", "show", out][..],
        &["fetch", "show", out, "--where", "ok"],
        &["fetch", "export", out, "--csv", "-"],
        &["fetch", "status", out],
        &["fetch", "status", out, "--json"],
        &["fetch", "report", out],
        &["fetch", list, "--print-job"],
        &["fetch", "plan", list, "-o", planned.to_str().unwrap()],
        &["fetch", "--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = ending(hecaton(arguments).stdout(Stdio::from(writer)));
        assert_eq!(ended.status, Some(0), "{arguments:?}: {}", ended.stderr);
        assert_eq!(ended.stderr, "", "{arguments:?}");
    }
    assert_eq!(world.server.summary().requests, 100);
}

#[test]
fn a_folder_resumes_without_its_list_wherever_it_is() {
    let world = World::new();
    half_done(&world, &[]);
    fs::remove_file(world.path("urls.txt")).unwrap();
    let moved = world.path("moved");
    fs::rename(world.out(), &moved).unwrap();
    let reported = ending(hecaton(&["fetch", "status"]).arg(&moved)).stdout;
    let resumes = format!(
        "no process works on it: resume with `hecaton fetch -o {}`",
        moved.display()
    );
    assert!(reported.contains(&resumes), "{reported}");
    let resume = |more: &[&str]| ending(hecaton(&["fetch", "-o"]).arg(&moved).args(more));
    let other = resume(&["-X", "PUT"]);
    assert_eq!(other.status, Some(2));
    assert!(
        other.stderr.contains("holds another job"),
        "{}",
        other.stderr
    );
    let done = resume(&["-c", "7"]);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    fs::rename(&moved, world.out()).unwrap();
    assert_eq!(world.records().len(), 200);
    assert_eq!(world.server.summary().requests, 200);
}

#[test]
fn a_table_of_half_a_job_has_what_is_there_and_says_so() {
    let world = World::new();
    let known = half_done(&world, &[]);
    let table = ending(hecaton(&["fetch", "export", "--csv", "-"]).arg(world.out()));
    assert_eq!(table.status, Some(0), "{}", table.stderr);
    assert_eq!(rows(&table.stdout), known);
    let reported = format!("the table has all records of {known} of 200 inputs");
    assert!(table.stderr.contains(&reported), "{}", table.stderr);
}

#[test]
fn a_table_is_finalized_when_all_is_done_by_any_command_and_again() {
    let world = World::new();
    half_done(&world, &["--final-tables", "csv"]);
    let table = world.out().join("table.csv");
    assert!(!table.exists(), "not all is done");
    do_part(&world, "1");
    let finalized = fs::read_to_string(&table).unwrap();
    assert_eq!(rows(&finalized), 200);
    assert!(world.out().join("report.html").exists());
    let again = ending(hecaton(&["fetch", "again", "--where", "n < 5"]).arg(world.out()));
    assert_eq!(again.status, Some(0), "{}", again.stderr);
    let renewed = fs::read_to_string(&table).unwrap();
    assert_eq!(rows(&renewed), 200);
    let [was, is] = [&finalized, &renewed].map(|text| text.lines().collect::<BTreeSet<_>>());
    assert_eq!(was.difference(&is).count(), 5);
    let refused =
        ending(hecaton(&["fetch", "urls.txt", "-o", "x", "--final-tables", "xls"]).env("A", "b"));
    assert_eq!(refused.status, Some(2));
    assert!(
        refused.stderr.contains("use csv or parquet"),
        "{}",
        refused.stderr
    );
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_build_without_parquet_says_how_to_get_it() {
    let world = World::new();
    half_done(&world, &[]);
    let table = world.path("table.parquet");
    let mut requested = hecaton(&["fetch", "export", "--parquet"]);
    let refused = ending(requested.arg(&table).arg(world.out()));
    assert_eq!(refused.status, Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("bin/setup fetch"),
        "{}",
        refused.stderr
    );
    assert!(!table.exists());
}

#[test]
fn records_are_shown_once_each_while_the_job_runs() {
    let (world, server) = (World::new(), Holding::after(300));
    let list = world.write("urls.txt", (0..600).map(|n| server.url(&format!("/{n}"))));
    let parts = ["-c", "6", "--per-host", "6", "--part-size", "100"];
    let mut child = world.fetch(&list, &parts).spawn().unwrap();
    until(|| server.count() > 300);
    while child.try_wait().unwrap().is_none() {
        let shown = ending(hecaton(&["fetch", "show"]).arg(world.out()));
        assert_eq!(shown.status, Some(0), "{}", shown.stderr);
        let numbers = shown.stdout.lines().map(|line| {
            let record: Value = serde_json::from_str(line).expect("a whole record");
            record["n"].as_u64().expect("its number")
        });
        let distinct: BTreeSet<u64> = numbers.collect();
        assert_eq!(distinct.len(), shown.stdout.lines().count());
        // Not before somebody has looked.
        server.go_on();
    }
    assert_eq!(end_of(child).status, Some(0));
}

#[test]
fn what_is_no_job_is_refused_with_what_it_is() {
    let world = World::new();
    let list = world.list(0..5);
    let planning = world.path("planning");
    fs::create_dir(&planning).unwrap();
    fs::write(planning.join("job.toml"), "").unwrap();
    let empty = world.path("empty");
    fs::create_dir(&empty).unwrap();
    for (path, reported) in [
        (list, "is a file"),
        (world.path("nowhere"), "there is no folder"),
        (empty, "holds no planned job"),
        (planning, "its planning"),
    ] {
        for verb in ["status", "show", "report", "again"] {
            let refused = ending(hecaton(&["fetch", verb]).arg(&path));
            assert_eq!(refused.status, Some(2), "{verb} {}", refused.stderr);
            assert!(
                refused.stderr.contains(reported),
                "{verb}: {}",
                refused.stderr
            );
        }
    }
}

#[test]
fn a_round_is_reported_while_it_is_not_done() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let list = world.write("urls.txt", (0..300).map(|n| format!("{base}/delay/20?{n}")));
    world.run(&list, &["-c", "100"]);
    let mut again = hecaton(&["fetch", "again", "--where", "n < 200", "-c", "2"]);
    let child = again.arg(world.out()).spawn().unwrap();
    world.wait_for(320);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGKILL).unwrap();
    end_of(child);
    let status = |more: &[&str]| ending(hecaton(&["fetch", "status"]).arg(world.out()).args(more));
    let reported = status(&[]).stdout;
    for part in [
        "300 of 300 done",
        "again, for the records with n < 200:",
        " of 200 done",
        "0 of 1 part done",
        "`hecaton fetch again ",
    ] {
        assert!(reported.contains(part), "{part:?} is not in\n{reported}");
    }
    let reported: Value = serde_json::from_str(&status(&["--json"]).stdout).unwrap();
    assert_eq!(reported["again"]["inputs"], 200);
    assert_eq!(reported["inputs"], 300);
}

#[test]
fn a_duplicate_is_found_in_whatever_part_it_is() {
    const URLS: u64 = 300;
    let world = World::new();
    // Each URL three times, far from each other, on a host that is taken apart.
    let list = world.list((0..3 * URLS).map(|n| n * 7 % URLS));
    let arguments = ["--per-host", "6", "--part-size", "150"];
    world.run(&list, &arguments);
    assert_eq!(files(&world.out().join("results")).len(), 6);
    let records = world.records();
    assert_eq!(records.len() as u64, 3 * URLS);
    let sent = records.range(..URLS).filter(|(_, it)| it["status"] == 200);
    assert_eq!(sent.count() as u64, URLS, "the first of each is sent");
    let skipped = records
        .range(URLS..)
        .filter(|(_, it)| it["why"] == "duplicate");
    assert_eq!(skipped.count() as u64, 2 * URLS);
    assert_eq!(world.server.summary().requests, URLS);
    // A round has its own: of two records that were skipped, one is sent.
    let mut again = hecaton(&["fetch", "again", "--where", "why == 'duplicate'"]);
    let again = ending(again.arg(world.out()));
    assert_eq!(again.status, Some(0), "{}", again.stderr);
    assert_eq!(world.server.summary().requests, 2 * URLS);
    assert_eq!(world.records().len() as u64, 3 * URLS);
}

#[test]
fn a_table_that_another_process_writes_is_waited_for() {
    let world = World::new();
    world.run(&world.list(0..30), &[]);
    let table = world.path("table.csv");
    let draft = fs::File::create(world.path("table.csv.draft")).unwrap();
    draft.lock().unwrap();
    let mut export = hecaton(&["fetch", "export", "--csv"]);
    let mut second = export.arg(&table).arg(world.out()).spawn().unwrap();
    // Time for the second to spoil the draft of the first, if it can.
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(second.try_wait().unwrap().is_none(), "it did not wait");
    fs::rename(world.path("table.csv.draft"), &table).unwrap();
    drop(draft);
    let ended = end_of(second);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert_eq!(rows(&fs::read_to_string(&table).unwrap()), 30);
}

#[test]
fn a_job_that_another_version_planned_is_refused_with_its_version() {
    let world = World::new();
    let list = world.list(0..30);
    world.run(&list, &[]);
    fs::write(world.out().join("plan.json"), "{\"version\": 2}").unwrap();
    for command in ["status", "report", "again"] {
        let refused = ending(hecaton(&["fetch", command]).arg(world.out()));
        assert_eq!(refused.status, Some(1), "{}", refused.stderr);
        let why = "is of version 2, and this program knows version 4";
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
    assert!(world.run_to(1, &list, &[]).stderr.contains("version 2"));
    assert_eq!(world.server.summary().requests, 30);
}
