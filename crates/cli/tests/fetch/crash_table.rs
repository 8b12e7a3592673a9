//! Kills a command at every file operation of a small job. The same command again must leave N records, each once, and
//! products that are up to date.
//!
//! `crash.c` is preloaded into the command and kills it at one operation. A test run takes a sample of the operations;
//! `HECATON_CRASHES=all` takes all of them.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::support::{World, ending, hecaton};

/// How many operations of each command a sample has.
const SAMPLE: u64 = 5;

/// The inputs of the list: 36 URLs, one of them twice, and a bad line.
const INPUTS: usize = 38;

/// A command that is killed, on a folder that `before` prepares.
pub struct Case {
    pub name: &'static str,
    pub list: fn(&World) -> PathBuf,
    /// Servers and files that the command needs beside the folder, for as long as the value lives.
    pub around: fn(&World) -> Box<dyn Any>,
    pub before: fn(&World, &Path),
    pub command: fn(&World, &Path) -> Command,
    /// Does the rest of the job after the command was repeated.
    pub after: fn(&World, &Path),
    /// Whether a request that was sent twice is a failure.
    pub is_once: bool,
}

fn shim() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("crash.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fetch/crash.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-shared", "-fPIC", "-o"]);
        let built = ending(compiler.arg(&library).arg(source).arg("-ldl"));
        assert_eq!(built.status, Some(0), "{}", built.stderr);
        library
    })
}

/// Runs a command to its end, which must be good, or good but for some inputs.
pub fn good(command: &mut Command, what: &str) {
    let ended = ending(command);
    assert!(ended.is_done(), "{what}: {}", ended.stderr);
}

/// The number of operations of a command, or how it ended when it was to be killed at one of them.
fn operations(case: &Case) -> u64 {
    let world = World::new();
    let list = (case.list)(&world);
    let _around = (case.around)(&world);
    (case.before)(&world, &list);
    let mut command = (case.command)(&world, &list);
    let count = world.path("count");
    command.env("LD_PRELOAD", shim()).env("CRASH_COUNT", &count);
    good(command.env("CRASH_FOLDER", world.out()), case.name);
    let text = std::fs::read_to_string(count).expect("a count");
    text.parse().expect("a number")
}

fn survives(case: &Case, operation: u64) {
    let world = World::new();
    let list = (case.list)(&world);
    let _around = (case.around)(&world);
    let what = format!("{}, killed at operation {operation}", case.name);
    (case.before)(&world, &list);
    let mut command = (case.command)(&world, &list);
    command.env("LD_PRELOAD", shim());
    command.env("CRASH_AT", operation.to_string());
    let killed = ending(command.env("CRASH_FOLDER", world.out()));
    // It may have fewer operations this time: how many there are depends on time.
    assert!(
        matches!(killed.status, None | Some(0 | 4)),
        "{what}: {}",
        killed.stderr
    );
    let repeated = ending(&mut (case.command)(&world, &list));
    // When every POST may have been sent, none is good, and the status says so.
    assert!(
        matches!(repeated.status, Some(0 | 3 | 4)),
        "{what}: {}",
        repeated.stderr
    );
    (case.after)(&world, &list);
    let records = world.records();
    assert_eq!(records.len(), INPUTS, "{what}");
    let numbers = records.keys().copied();
    assert!(numbers.eq(0..INPUTS as u64), "{what}");
    are_fresh(&world, &what);
    if case.is_once {
        assert_eq!(world.server.summary().duplicates, 0, "{what}");
    }
}

/// The table and the report are made of the records as they are.
fn are_fresh(world: &World, what: &str) {
    let read = |name: &str| std::fs::read_to_string(world.out().join(name)).expect(what);
    let (table, report) = (read("table.csv"), read("report.html"));
    let mut export = hecaton(&["fetch", "export", "--csv", "-"]);
    let exported = ending(export.arg(world.out()));
    assert_eq!(exported.status, Some(0), "{what}: {}", exported.stderr);
    assert!(table == exported.stdout, "{what}: the table is stale");
    good(hecaton(&["fetch", "report"]).arg(world.out()), what);
    assert!(report == read("report.html"), "{what}: the report is stale");
}

/// One operation of each of `SAMPLE` stretches of all, from 1; `HECATON_SEED` chooses which.
fn point(all: u64, stretch: u64) -> u64 {
    let seed: u64 = std::env::var("HECATON_SEED").map_or(0, |seed| seed.parse().expect("a number"));
    let (first, beyond) = (all * stretch / SAMPLE, all * (stretch + 1) / SAMPLE);
    1 + first + seed % (beyond - first).max(1)
}

/// Kills the command of a case at each operation, or at a sample of them.
pub fn check(case: &Case) {
    let all = operations(case);
    let points: Vec<u64> = match std::env::var_os("HECATON_CRASHES") {
        Some(_) => (1..=all).collect(),
        None => (0..SAMPLE).map(|n| point(all, n)).collect(),
    };
    points.iter().for_each(|point| survives(case, *point));
    println!("{}: {} of {all} operations", case.name, points.len());
}
