//! Memory does not grow with the list: what is allocated at most is counted while a long list is planned and read.
//! Bytes are counted and not the process's pages, so the load of the machine changes nothing.

use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use hecaton_fetch::job::Job;
use hecaton_fetch::plan::Folder;
use hecaton_fetch::run::{Observer, Options, Running, Snapshot};
use hecaton_fetch::segment::{Lines, Writer, claim};
use hecaton_fetch::start::{Started, prepare};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// A set of their digests would take 9 MB, and 13 MB while it grows.
const INPUTS: u64 = 300_000;

/// The most bytes that planning may take. The search for duplicates has most of them in buffers of a fixed size.
const PLANNING: u64 = 9_000_000;

/// The most bytes that resuming may take.
const RESUMING: u64 = 6_000_000;

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

/// A job of these inputs in this folder, all in one part.
fn planned(home: &Path) -> Started {
    let list = home.join("urls.txt");
    write_list(&list);
    let mut job = Job::default();
    job.input.files = vec![list];
    job.input.part_size = INPUTS;
    job.pace.retries = 0;
    prepare(Folder::at(home.join("out")), job).expect("a plan")
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
        writer.lines(0, Lines { text, archive });
    }
    assert!(writer.end().is_empty());
}

fn write_list(path: &Path) {
    let file = std::fs::File::create(path).expect("a list");
    let mut file = BufWriter::new(file);
    for n in 0..INPUTS {
        writeln!(file, "http://127.0.0.1:1/r/{n}").expect("a line");
    }
    file.flush().expect("a list");
}

/// All inputs but the last have their records when the job resumes: records that wait for the disk would take as much
/// memory as the disk is slow.
#[test]
fn nothing_of_each_input_stays_in_memory() {
    let home = tempfile::tempdir().expect("a folder");
    let (started, planning) = most(|| planned(home.path()));
    assert_eq!(started.plan.inputs, INPUTS);
    record(&started.folder, INPUTS - 1);
    let options = Options {
        threads: Some(1),
        ..Options::default()
    };
    let (summary, resuming) = most(|| {
        let summary = started.run(&mut Running::new(
            &options,
            &AtomicBool::new(false),
            &mut Silent,
        ));
        summary.expect("a record for each input")
    });
    assert_eq!((summary.tally.records, summary.written), (INPUTS, 1));
    println!("{INPUTS} inputs: planning takes {planning} bytes, and resuming {resuming}");
    assert!(planning < PLANNING, "planning takes {planning} bytes");
    assert!(resuming < RESUMING, "resuming takes {resuming} bytes");
}
