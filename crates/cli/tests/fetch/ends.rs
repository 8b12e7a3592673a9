//! How a job ends for whoever started it: the exit status says whether enough of it is good.

use crate::support::{World, ending, hecaton};

/// Good URLs, and then some that nobody serves.
fn mixed(world: &World, good: u64, bad: u64) -> std::path::PathBuf {
    let base = world.server.base_url();
    let good = (0..good).map(|n| format!("{base}/r/{n}"));
    let bad = (0..bad).map(|n| format!("{base}/status/404?{n}"));
    world.write("urls.txt", good.chain(bad))
}

#[test]
fn a_job_without_one_good_response_ends_with_status_3() {
    let world = World::new();
    let list = mixed(&world, 0, 3);
    let ending = world.run_to(3, &list, &[]);
    let why = "none of its 3 records has a good response";
    assert!(ending.stderr.contains(why), "{}", ending.stderr);
    assert_eq!(world.records().len(), 3);
    // Nothing is left to do, and it is as bad as before.
    world.run_to(3, &list, &[]);
    assert_eq!(world.server.summary().requests, 3);
}

#[test]
fn one_input_without_a_good_response_is_reported_by_the_status() {
    let world = World::new();
    let list = mixed(&world, 18, 1);
    let ended = world.run_to(4, &list, &[]);
    let why = "1 of 19 inputs has no good response (other responses 1): `hecaton fetch again";
    assert!(ended.stderr.contains(why), "{}", ended.stderr);
    assert!(ended.stderr.contains("--fail-if"), "{}", ended.stderr);
    world.run_to(0, &list, &["--fail-if", "never"]);
    // A limit that comes later holds for one command.
    let mut resume = hecaton(&["fetch", "-q", "-o"]);
    assert_eq!(ending(resume.arg(world.out())).status, Some(4));
    assert_eq!(world.server.summary().requests, 19);
}

#[test]
fn a_job_fails_if_its_own_limit_says_so() {
    let world = World::new();
    let list = mixed(&world, 18, 2);
    let arguments = ["--fail-if", "not_ok > 5 %"];
    let ended = world.run_to(3, &list, &arguments);
    let why = "'not_ok > 5 %' is true: not_ok 2, of 20 records";
    assert!(ended.stderr.contains(why), "{}", ended.stderr);
    // The job keeps its limit.
    let mut resume = hecaton(&["fetch", "-q", "-o"]);
    assert_eq!(ending(resume.arg(world.out())).status, Some(3));
    let mut lenient = hecaton(&["fetch", "-q", "--fail-if", "not_ok > 10 %", "-o"]);
    assert_eq!(ending(lenient.arg(world.out())).status, Some(0));
    assert_eq!(world.server.summary().requests, 20);
}

#[test]
fn a_round_passes_or_fails_by_the_counts_of_the_whole_job() {
    let world = World::new();
    let list = mixed(&world, 18, 2);
    world.run(&list, &[]);
    let again = |limit: &str| {
        let mut command = hecaton(&["fetch", "again", "-q", "--where", "status == 404"]);
        ending(command.args(["--fail-if", limit]).arg(world.out()))
    };
    assert_eq!(again("not_ok > 10 %").status, Some(0));
    let ended = again("not_ok >= 10 %");
    assert_eq!(ended.status, Some(3), "{}", ended.stderr);
}

#[test]
fn the_status_of_a_job_can_be_read_by_a_scheduler() {
    let world = World::new();
    let list = mixed(&world, 18, 2);
    world.run(&list, &[]);
    for (limit, status) in [("no_response > 0", 0), ("not_ok > 5 %", 3), ("ok >= 18", 3)] {
        let mut command = hecaton(&["fetch", "status", "--fail-if", limit]);
        let ended = ending(command.arg(world.out()));
        assert_eq!(ended.status, Some(status), "{limit}: {}", ended.stderr);
        assert!(ended.stdout.contains("18 good"), "{}", ended.stdout);
    }
}

#[test]
fn a_limit_that_cannot_be_read_is_refused_before_anything_is_sent() {
    let world = World::new();
    let list = mixed(&world, 1, 0);
    for (limit, word) in [("failures > 1 %", "ok, not_ok"), ("not_ok", "==")] {
        let ended = world.run_to(2, &list, &["--fail-if", limit]);
        assert!(ended.stderr.contains(word), "{}", ended.stderr);
        assert!(!world.out().exists());
    }
    assert_eq!(world.server.summary().requests, 0);
}
