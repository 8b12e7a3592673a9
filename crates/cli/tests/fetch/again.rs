//! Some of it again: new records instead of old ones, and only for the chosen inputs.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::scripted_server::{Scripted, good, response};
use crate::support::{World, end_of, ending, files, hecaton, unpacked};

#[test]
fn what_failed_is_sent_again_and_its_record_replaces_the_old_one() {
    let (world, other) = (World::new(), World::new());
    let bad = (0..50).map(|n| format!("{}/status/500?{n}", world.server.base_url()));
    let good = (0..150).map(|n| format!("{}/r/{n}", other.server.base_url()));
    let list = world.write("urls.txt", bad.chain(good));
    world.run(&list, &["--retries", "0", "--breaker", "0"]);
    let before = world.records();
    let again = |arguments: &[&str]| {
        let mut command = hecaton(&["fetch", "again"]);
        command
            .arg(world.out())
            .args(["--retries", "0", "--breaker", "0", "-c", "3"])
            .args(arguments);
        command
    };
    let nothing = ending(&mut again(&["--where", "status == 404"]));
    assert_eq!(nothing.status, Some(4), "inputs have no good response");
    assert!(
        nothing.stderr.contains("no record matches"),
        "{}",
        nothing.stderr
    );
    // After a kill in the middle, another round is refused, and the same one resumes.
    let child = again(&[]).spawn().unwrap();
    world.wait_for(60);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGKILL).unwrap();
    end_of(child);
    // On a busy machine the kill may come when the only part of the round is done.
    let is_left = |round: PathBuf| !round.join("parts/000000/COMMIT").exists();
    if world.round().is_some_and(is_left) {
        let refused = ending(&mut again(&["--where", "ok"]));
        assert_eq!(refused.status, Some(2), "{}", refused.stderr);
    }
    let done = ending(&mut again(&[]));
    assert_eq!(done.status, Some(4), "{}", done.stderr);
    let after = world.records();
    assert_eq!(after.len(), 200);
    let changed = after
        .iter()
        .filter(|(number, record)| before[number]["at"] != record["at"]);
    assert!(changed.clone().all(|(number, _)| *number < 50));
    assert_eq!(changed.count(), 50);
    assert_eq!(other.server.summary().requests, 150);
    assert!(!world.out().join("again").exists());
    let status = ending(hecaton(&["fetch", "status"]).arg(world.out()));
    assert!(
        status
            .stdout
            .contains("150 good responses, 50 other responses"),
        "{}",
        status.stdout
    );
}

#[test]
fn a_job_that_is_not_done_is_not_sent_again() {
    let world = World::new();
    let list = world.list(0..10);
    let planned = ending(
        hecaton(&["fetch", "plan"])
            .arg(&list)
            .arg("-o")
            .arg(world.out()),
    );
    assert_eq!(planned.status, Some(0), "{}", planned.stderr);
    let refused = ending(hecaton(&["fetch", "again"]).arg(world.out()));
    assert_eq!(refused.status, Some(2));
    assert!(
        refused.stderr.contains("is not done yet"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_limit_that_the_parts_cannot_share_is_refused_before_anything_is_planned() {
    let world = World::new();
    let list = world.list(0..60);
    world.run(&list, &["--part-size", "10", "--per-host", "6"]);
    let plan = || std::fs::read_to_string(world.out().join("plan.json")).expect("a plan");
    let before = plan();
    let base = world.server.base_url();
    let more = world.write("more.txt", std::iter::once(format!("{base}/r/60")));
    let (mut again, mut add) = (hecaton(&["fetch", "again"]), hecaton(&["fetch", "add"]));
    again.arg(world.out()).args(["--where", "line > 50"]);
    add.arg(world.out()).arg(&more);
    for command in [&mut again, &mut add] {
        let refused = ending(command.args(["--per-host", "3"]));
        assert_eq!(refused.status, Some(2), "{}", refused.stderr);
        let why = "requests at once to a host cannot be shared";
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
        assert!(world.round().is_none() && plan() == before);
    }
    let mut other = hecaton(&["fetch", "again", "--where", "line < 3"]);
    let other = ending(other.arg(world.out()));
    assert_eq!(other.status, Some(0), "{}", other.stderr);
    assert_eq!(world.server.summary().requests, 62);
}

#[test]
fn parts_that_can_have_no_match_by_their_counts_are_not_read() {
    let world = World::new();
    let base = world.server.base_url();
    let url = |n: u64| match n {
        25 => format!("{base}/status/500?{n}"),
        n => format!("{base}/r/{n}"),
    };
    let list = world.write("urls.txt", (0..40).map(url));
    let limits = ["--part-size", "10", "--per-host", "4"];
    world.run(
        &list,
        &[&limits[..], &["--retries", "0", "--breaker", "0"]].concat(),
    );
    let results = files(&world.out().join("results"));
    let (failed, good): (Vec<_>, Vec<_>) = results
        .iter()
        .partition(|file| unpacked(file).contains("/status/500"));
    assert_eq!((failed.len(), good.len()), (1, 3));
    let again = |arguments: &[&str]| {
        let mut command = hecaton(&["fetch", "again", "--plan", "--retries", "0"]);
        ending(command.arg(world.out()).args(arguments))
    };
    // A part that is read would be found to be damaged.
    let kept: Vec<_> = good
        .iter()
        .map(|file| std::fs::read(file).unwrap())
        .collect();
    for file in &good {
        // A file that was written to after its part was done is read, so this one keeps its time.
        let written = std::fs::metadata(file).unwrap().modified().unwrap();
        std::fs::write(file, "no results").unwrap();
        let file = std::fs::File::options().write(true).open(file).unwrap();
        file.set_modified(written).unwrap();
    }
    let refused = again(&["--where", "url contains '/r/1'"]);
    assert_eq!(refused.status, Some(1), "{}", refused.stderr);
    let planned = again(&[]);
    assert_eq!(planned.status, Some(0), "{}", planned.stderr);
    let round = files(&world.round().unwrap().join("plan"));
    let is_index = |file: &&PathBuf| file.extension().is_some_and(|it| it == "json");
    let indexes = round.iter().filter(is_index);
    assert_eq!(indexes.count(), 1, "the other parts are not opened");
    for (file, bytes) in good.iter().zip(kept) {
        std::fs::write(file, bytes).unwrap();
    }
    let before = world.server.summary().requests;
    ending(hecaton(&["fetch", "again", "--retries", "0"]).arg(world.out()));
    assert_eq!(world.server.summary().requests, before + 1);
}

/// A job of twenty good records, whose server then has this status for all.
fn outage(status: u16) -> World {
    let world = World::new();
    let now = Arc::new(AtomicU16::new(200));
    let answer = now.clone();
    let server = Scripted::start(move |_, _| match answer.load(Ordering::SeqCst) {
        200 => good(),
        status => response(status, "", "sorry"),
    });
    let list = world.write("urls.txt", (0..20).map(|n| server.url(&format!("/{n}"))));
    world.run_to(0, &list, &["--keep-body", "files"]);
    now.store(status, Ordering::SeqCst);
    let mut again = hecaton(&["fetch", "again", "--where", "ok or not ok"]);
    let quickly = ["--wait-out", "1s", "--breaker-cooldown", "50ms"];
    ending(
        again
            .arg(world.out())
            .args(quickly)
            .args(["--per-host", "4"]),
    );
    world
}

#[test]
fn an_outage_replaces_no_good_record() {
    for status in [429, 502, 503, 504] {
        let world = outage(status);
        let records = world.records();
        let good = records.values().filter(|record| record["ok"] == true);
        assert_eq!(good.count(), 20, "{status}");
        for record in records.values() {
            let file = record["body"]["file"].as_str().expect("a body");
            let body = std::fs::read(world.out().join(file)).unwrap();
            assert_ne!(body, b"sorry");
        }
    }
}

#[test]
fn the_status_after_again_counts_the_newest_records() {
    let world = outage(500);
    let status = |arguments: &[&str]| {
        let mut status = hecaton(&["fetch", "status"]);
        ending(status.arg(world.out()).args(arguments))
    };
    let shown = status(&[]).stdout;
    assert!(
        shown.contains("0 good responses, 20 other responses"),
        "{shown}"
    );
    assert_eq!(status(&["--fail-if", "not_ok > 0"]).status, Some(3));
}
