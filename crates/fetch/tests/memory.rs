//! Memory does not grow with the list: what is allocated at most is counted while a job is planned and done, for a list and for one
//! that is three times as long. Bytes are counted and not the process's pages, so the load of the machine changes nothing.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use hecaton_fetch::finish;
use hecaton_fetch::job::Job;
use hecaton_fetch::plan::Folder;
use hecaton_fetch::run::{Observer, Options, Snapshot};
use hecaton_fetch::segment::{Batch, Writer, claim};
use hecaton_fetch::start::{Started, prepare};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Inputs of lists that are planned. The search for duplicates has all of its buffers in use from 400,000 on.
const PLANNED: [u64; 2] = [400_000, 500_000];

/// Inputs of jobs that are done.
const DONE: [u64; 2] = [40_000, 90_000];

/// The most that a further input may add: a set of all digests has 16 bytes of each, and a list of numbers 8.
const MOST_OF_AN_INPUT: u64 = 2;

struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: &Snapshot) {}

    fn say(&mut self, _: &str) {}
}

/// The most bytes that were allocated beyond those that were there before.
fn most<T>(of: impl FnOnce() -> T) -> (T, u64) {
    let before = ALLOCATED.current_usage();
    ALLOCATED.reset_peak_usage();
    let came = of();
    (came, (ALLOCATED.peak_usage() - before) as u64)
}

/// A job of so many inputs in this folder, all in one part.
fn planned(home: &Path, inputs: u64) -> Started {
    let list = home.join("urls.txt");
    write_list(&list, inputs);
    let mut job = Job::default();
    job.input.files = vec![list];
    job.input.part_size = inputs;
    job.pace.retries = 0;
    prepare(Folder::at(home.join("out")), job).expect("a plan")
}

/// The most bytes that planning so many inputs takes.
fn planning(inputs: u64) -> u64 {
    let home = tempfile::tempdir().expect("a folder");
    let (started, bytes) = most(|| planned(home.path(), inputs));
    assert_eq!(started.plan.inputs, inputs);
    bytes
}

/// The most bytes that it takes to resume a job of so many inputs, of which all but the last have their records, and to make its
/// products. Records that wait for the disk would take as much memory as the disk is slow.
fn running(inputs: u64) -> u64 {
    let home = tempfile::tempdir().expect("a folder");
    let started = planned(home.path(), inputs);
    let folder = started.folder.clone();
    record(&folder, inputs - 1);
    let options = Options {
        threads: Some(1),
        ..Options::default()
    };
    let (summary, bytes) = most(|| {
        let summary = started.run(&options, &AtomicBool::new(false), &mut Silent);
        drop(started);
        finish::job(&folder).expect("its products");
        summary.expect("a record for each input")
    });
    assert_eq!((summary.tally.records, summary.written), (inputs, 1));
    bytes
}

/// Text that hardly gets smaller, so that segments and results are longer than what is read of them at once.
fn random(n: u64) -> String {
    let digest = blake3::hash(&n.to_le_bytes());
    digest.to_hex().to_string()
}

/// Writes the records of the first inputs, as a worker that was killed leaves them.
fn record(folder: &Folder, inputs: u64) {
    let claim = claim(folder, 0, "earlier").expect("an attempt");
    let writer = Writer::start().expect("a thread");
    writer.open(claim.expect("it is not done"), folder);
    let numbers: Vec<u64> = (0..inputs).collect();
    for some in numbers.chunks(1000) {
        let line = |n: &u64| {
            format!(
                "{{\"n\":{n},\"outcome\":\"error\",\"ok\":false,\"line\":1,\"method\":\"GET\",\"url\":\"http://a.test/{}\",\"error\":{{\"kind\":\"connect\",\"phase\":\"connect\",\"message\":\"\"}},\"sent\":false,\"attempts\":1,\"at\":\"2026-11-24T03:14:21.587Z\",\"ms\":{{\"total\":1}}}}\n",
                random(*n)
            )
        };
        let text = some.iter().map(line).collect::<String>().into_bytes();
        let archive = None;
        writer.lines(0, Batch { text, archive });
    }
    assert!(writer.end().is_empty());
}

fn write_list(path: &Path, inputs: u64) {
    use std::io::Write;
    let file = std::fs::File::create(path).expect("a list");
    let mut file = std::io::BufWriter::new(file);
    for n in 0..inputs {
        writeln!(file, "http://127.0.0.1:1/r/{n}").expect("a line");
    }
    file.flush().expect("a list");
}

#[test]
fn a_longer_list_takes_no_more_memory() {
    let [planned, done] = [PLANNED.map(planning), DONE.map(running)];
    println!("planning {PLANNED:?} inputs: {planned:?} bytes; doing {DONE:?}: {done:?} bytes");
    for ([short, long], [few, many]) in [(PLANNED, planned), (DONE, done)] {
        let more = many.saturating_sub(few);
        assert!(
            more < MOST_OF_AN_INPUT * (long - short),
            "{short} inputs take {few} bytes, and {long} take {more} more"
        );
    }
}
