//! Lists that are no regular files: pipes, FIFOs and devices, each read once; and signals while a list is read.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{JoinHandle, spawn};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Ending, World, ending, fifo, hecaton, in_time, until};

/// Writes into a FIFO, once someone reads it.
fn feed(path: &Path, text: &str) -> JoinHandle<()> {
    let (path, text) = (path.to_owned(), text.to_owned());
    spawn(move || {
        drop(
            File::options()
                .write(true)
                .open(path)
                .unwrap()
                .write_all(text.as_bytes()),
        )
    })
}

/// A list longer than a pipe.
const LINES: u64 = 20_000;

fn long_list(world: &World) -> String {
    let base = world.server.base_url();
    (0..LINES).map(|n| format!("{base}/{n:07}\n")).collect()
}

fn is_whole(ended: &Ending) {
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("20,000 inputs"), "{}", ended.stderr);
}

#[test]
fn a_list_from_a_fifo_is_read_once_and_to_its_end() {
    let world = World::new();
    let list = long_list(&world);
    for (index, (name, text, more)) in [
        ("urls", list.clone(), &[][..]),
        ("lines", list.clone(), &["--format", "lines"]),
        ("urls.csv", format!("url\n{list}"), &[]),
        ("table", format!("url\n{list}"), &["--format", "csv"]),
    ]
    .into_iter()
    .enumerate()
    {
        let (path, out) = (fifo(&world, name), world.path(&format!("out{index}")));
        let mut plan = hecaton(&["fetch", "plan", "-o"]);
        let planning = plan.arg(&out).arg(&path).args(more).spawn().unwrap();
        let fed = feed(&path, &text);
        is_whole(&in_time(planning));
        fed.join().unwrap();
        // The same list, and so nothing that is new.
        let again = plan.spawn().unwrap();
        let fed = feed(&path, &text);
        is_whole(&in_time(again));
        fed.join().unwrap();
    }
}

#[test]
fn a_list_from_a_named_pipe_end_is_read_once_and_to_its_end() {
    let world = World::new();
    let list = long_list(&world);
    let through = |command: &mut Command| {
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        let _ = child.stdin.take().unwrap().write_all(list.as_bytes());
        in_time(child)
    };
    let mut plan = hecaton(&["fetch", "plan", "/dev/stdin", "-o"]);
    is_whole(&through(plan.arg(world.out())));
    let other = world.path("other");
    let one = world.write("one.txt", [world.server.base_url().to_owned()].into_iter());
    let planned = ending(hecaton(&["fetch", "plan", "-o"]).arg(&other).arg(one));
    assert_eq!(planned.status, Some(0), "{}", planned.stderr);
    let mut add = hecaton(&["fetch", "add", "--plan"]);
    let added = through(add.arg(&other).arg("/dev/stdin"));
    assert_eq!(added.status, Some(0), "{}", added.stderr);
    assert_eq!(added.stderr, "added 20,000 inputs\n");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_from_a_fifo_is_refused() {
    let world = World::new();
    let path = fifo(&world, "urls.parquet");
    let planning = world.fetch(&path, &[]).spawn().unwrap();
    let fed = feed(&path, "PAR1 and more");
    let refused = in_time(planning);
    fed.join().unwrap();
    assert_eq!(refused.status, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("name a file"), "{}", refused.stderr);
}

/// Sends a signal once the command has a handler for it, and expects it to end.
fn stopped(child: Child, signal: Signal) {
    let bit = 1_u64 << (signal as u32 - 1);
    until(|| {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        u64::from_str_radix(caught.unwrap().trim(), 16).unwrap() & bit != 0
    });
    kill(Pid::from_raw(child.id() as i32), signal).unwrap();
    let ended = in_time(child);
    assert_eq!(ended.status, Some(130), "{}", ended.stderr);
    let said = "stopped while the inputs were read";
    assert_eq!(ended.stderr.matches(said).count(), 1, "{}", ended.stderr);
}

#[test]
fn the_first_signal_ends_the_reading_of_a_list() {
    let world = World::new();
    let out = world.out();
    let silent = fifo(&world, "urls");
    let begin = |list: &Path| world.fetch(list, &["--format", "lines"]).spawn().unwrap();
    stopped(begin(&silent), Signal::SIGINT);
    stopped(begin(Path::new("/dev/zero")), Signal::SIGTERM);
    let mut plan = hecaton(&["fetch", "plan", "-", "-o"]);
    let mut planning = plan.arg(&out).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = planning.stdin.take().unwrap();
    // More than a pipe holds: some of it was read.
    input.write_all(long_list(&world).as_bytes()).unwrap();
    stopped(planning, Signal::SIGINT);
    assert!(!out.join("plan.json").exists());
    assert_eq!(world.server.summary().requests, 0);
    // The same folder can be used, and what was done is kept by the next signal.
    let list = world.list(0..20);
    world.run(&list, &[]);
    let mut add = hecaton(&["fetch", "add"]);
    stopped(add.arg(&out).arg(&silent).spawn().unwrap(), Signal::SIGINT);
    world.run(&list, &[]);
    assert_eq!(world.records().len(), 20);
    assert_eq!(world.server.summary().requests, 20);
}

#[test]
fn a_list_over_http_that_does_not_come_is_left_at_the_first_signal() {
    let world = World::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/urls.txt", listener.local_addr().unwrap());
    stopped(
        world.fetch(Path::new(&url), &[]).spawn().unwrap(),
        Signal::SIGTERM,
    );
}
