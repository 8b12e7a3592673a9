//! One round after another in object storage, and inputs that are added meanwhile.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::objects::{JOB, good, run_part};
use crate::s3::{Proxy, S3};
use crate::support::{World, end_of, ending, hecaton};

/// Runs a command to its end, which must be good; what it prints.
fn run(s3: &S3, command: &mut Command) -> String {
    let ended = ending(s3.with(command));
    good(&ended);
    ended.stdout
}

fn urls(world: &World, name: &str, numbers: std::ops::Range<u64>) -> PathBuf {
    let base = world.server.base_url();
    world.write(name, numbers.map(|n| format!("{base}/r/{n}")))
}

/// A finished job of `inputs` inputs, in parts of about ten.
fn done(s3: &S3, world: &World, inputs: u64) {
    let mut fetch = hecaton(&["fetch", "-o", JOB, "--part-size", "10"]);
    run(s3, fetch.arg(urls(world, "urls.txt", 0..inputs)));
}

/// Plans a round; how many parts it has.
fn plan(s3: &S3, condition: &str) -> u32 {
    let mut again = hecaton(&["fetch", "again", JOB, "--plan", "--where", condition]);
    let planned = run(s3, &mut again);
    planned.trim().parse().expect("a number of parts")
}

#[test]
fn status_that_watches_counts_nothing_of_one_round_for_the_next() {
    let s3 = S3::start();
    let world = World::new();
    done(&s3, &world, 40);
    let parts = plan(&s3, "line > 5");
    (1..parts).for_each(|part| drop(run(&s3, &mut run_part(JOB, part))));
    let mut watch = hecaton(&["fetch", "status", "--watch", JOB]);
    let mut watch = s3.with(&mut watch).spawn().expect("it starts");
    let lines = BufReader::new(watch.stdout.take().expect("a pipe")).lines();
    let mut lines = lines.map(|line| line.expect("a line"));
    let mut after = |condition: &str| {
        lines.find(|line| line.ends_with(&format!("{condition}:")));
        lines.next().expect("how far the round is")
    };
    let first = after("line > 5");
    assert!(!first.starts_with("0 of 35 done"), "{first}");
    // It ends when it sees a job without a round.
    let pid = Pid::from_raw(watch.id() as i32);
    kill(pid, Signal::SIGSTOP).expect("it stops");
    run(&s3, &mut run_part(JOB, 0));
    plan(&s3, "line > 7");
    kill(pid, Signal::SIGCONT).expect("it resumes");
    let second = after("line > 7");
    assert!(second.starts_with("0 of 33 done"), "{second}");
    watch.kill().expect("it is killed");
    watch.wait().expect("it ends");
}

#[test]
fn a_round_that_was_planned_while_inputs_were_added_ends_before_their_parts_begin() {
    let s3 = S3::start();
    let world = World::new();
    done(&s3, &world, 20);
    let mut add = hecaton(&["fetch", "add", JOB, "--plan"]);
    run(&s3, add.arg(urls(&world, "more.txt", 20..25)));
    // The round is planned as if the addition were planned at the same time: it does not see it.
    let path = "/bucket/job/plans/000001.json";
    let addition = String::from_utf8(s3.get(path).expect("an addition")).expect("text");
    s3.remove(path);
    let parts = plan(&s3, "line > 5");
    s3.put(path, &addition);
    // The last one is the part of the addition.
    (0..=parts).for_each(|part| drop(run(&s3, &mut run_part(JOB, part))));
    assert_eq!(world.server.summary().requests, 20 + 15 + 5);
    let shown = run(&s3, &mut hecaton(&["fetch", "show", JOB]));
    assert_eq!(shown.lines().count(), 25);
}

/// Stops a command before it changes a job, runs another command that changes the job, and resumes the first, which
/// must lose.
fn overtaken(s3: &S3, at: &'static str, slow: &mut Command, fast: &mut Command) {
    let proxy = Proxy::start(s3);
    let stopped = proxy.stopped_at(at, slow);
    run(s3, fast);
    kill(Pid::from_raw(stopped.id() as i32), Signal::SIGCONT).expect("it resumes");
    let ended = end_of(stopped);
    assert_eq!(ended.status, Some(1), "{}", ended.stderr);
    assert!(
        ended
            .stderr
            .contains("so this command changed nothing: run it again"),
        "{}",
        ended.stderr
    );
}

#[test]
fn of_two_commands_that_change_a_job_at_once_one_wins_and_the_other_changes_nothing() {
    let s3 = S3::start();
    let world = World::new();
    done(&s3, &world, 20);
    let add = |list: &str, numbers: std::ops::Range<u64>| {
        let mut add = hecaton(&["fetch", "add", JOB, "--plan"]);
        add.arg(urls(&world, list, numbers));
        add
    };
    let again = |condition: &str| hecaton(&["fetch", "again", JOB, "--plan", "--where", condition]);
    let finish = || drop(run(&s3, &mut hecaton(&["fetch", "-o", JOB])));
    let finish_round = || drop(run(&s3, &mut hecaton(&["fetch", "again", JOB])));
    overtaken(
        &s3,
        "/where",
        &mut again("line > 5"),
        &mut add("one.txt", 20..25),
    );
    let status = run(&s3, &mut hecaton(&["fetch", "status", JOB]));
    assert!(status.starts_with("20 of 25 done"), "{status}");
    finish();
    overtaken(
        &s3,
        "/inputs.zst",
        &mut add("two.txt", 25..30),
        &mut again("line > 5"),
    );
    let status = run(&s3, &mut hecaton(&["fetch", "status", JOB]));
    assert!(status.contains("line > 5:"), "{status}");
    finish_round();
    overtaken(
        &s3,
        "/where",
        &mut again("line > 7"),
        &mut again("line > 8"),
    );
    finish_round();
    overtaken(
        &s3,
        "/inputs.zst",
        &mut add("two.txt", 25..30),
        &mut add("three.txt", 30..33),
    );
    finish();
    // No plan is left that nobody reads.
    assert_eq!(s3.folders("job/plan"), 3);
    assert_eq!(world.server.summary().requests, 20 + 5 + 15 + 12 + 3);
    let shown = run(&s3, &mut hecaton(&["fetch", "show", JOB]));
    assert_eq!(shown.lines().count(), 28);
}
