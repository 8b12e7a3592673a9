//! A clock that is set back by an hour while a job runs: its records have another time, and nothing else changes.

use std::path::PathBuf;
use std::process::Command;

use crate::support::{World, end_of};

/// Set back for a process while a file is there, and for no other process.
const CLOCK: &str = r#"
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    int status = (int)syscall(SYS_clock_gettime, clock, time);
    const char *back = getenv("SET_BACK");
    if (status == 0 && clock == CLOCK_REALTIME && back && access(back, F_OK) == 0)
        time->tv_sec -= 3600;
    return status;
}
"#;

/// A clock of one's own, if there is a compiler for it.
fn clock(world: &World) -> Option<PathBuf> {
    let (source, library) = (world.path("clock.c"), world.path("clock.so"));
    std::fs::write(&source, CLOCK).unwrap();
    let mut compile = Command::new("cc");
    compile
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source);
    let made = compile.status().is_ok_and(|status| status.success());
    made.then_some(library)
}

#[test]
fn a_clock_that_is_set_back_changes_no_count() {
    let world = World::new();
    let Some(library) = clock(&world) else {
        eprintln!("skipped: there is no cc");
        return;
    };
    let list = world.list(0..120);
    let back = world.path("back");
    let pace = ["--rate", "60", "--per-host", "2"];
    let start = || {
        let mut command = world.fetch(&list, &pace);
        command.env("LD_PRELOAD", &library).env("SET_BACK", &back);
        command.spawn().unwrap()
    };
    let mut first = start();
    world.wait_for(30);
    std::fs::write(&back, "").unwrap();
    world.wait_for(60);
    first.kill().unwrap();
    first.wait().unwrap();
    let second = start();
    world.wait_for(90);
    std::fs::remove_file(&back).unwrap();
    let ending = end_of(second);
    assert_eq!(ending.status, Some(0), "{}", ending.stderr);
    let records = world.records();
    assert_eq!(records.len(), 120);
    let times = records.values().map(|record| {
        assert_eq!(record["status"], 200, "{record}");
        let spent = record["ms"]["total"].as_f64().unwrap();
        assert!((0.0..600_000.0).contains(&spent), "{record}");
        humantime::parse_rfc3339(record["at"].as_str().unwrap()).unwrap()
    });
    let mut times: Vec<_> = times.collect();
    times.sort_unstable();
    let jumps = times
        .windows(2)
        .filter(|pair| pair[1].duration_since(pair[0]).unwrap().as_secs() > 1800);
    assert_eq!(jumps.count(), 1, "the clock was set back in between");
    let summary = world.server.summary();
    assert!(summary.peak_in_flight <= 2);
    // The requests in flight at the kill, and the records that were not written.
    assert!(
        (120..=140).contains(&summary.requests),
        "{}",
        summary.requests
    );
}
