//! An addition costs what it adds: the bytes that are read and written for one line are counted, and a longer job has no
//! more of them.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;

use hecaton_fetch::job::Job;
use hecaton_fetch::plan::Folder;
use hecaton_fetch::start::{More, add, prepare};

/// The most bytes that the addition of one line reads or writes: the plan without its inputs, and some blocks of
/// digests.
const ONE_LINE: u64 = 200_000;

/// The bytes that this process has read, and those that it has written.
fn moved() -> [u64; 2] {
    let text = fs::read_to_string("/proc/self/io").expect("the system counts them");
    ["rchar: ", "wchar: "].map(|name| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.expect("a count").parse().expect("a number")
    })
}

fn planned(home: &Path, inputs: u64) -> Folder {
    let list = home.join("urls.txt");
    let lines = (0..inputs).map(|n| format!("http://127.0.0.1:1/some/path/{n}\n"));
    fs::write(&list, lines.collect::<String>()).expect("a list");
    let mut job = Job::default();
    job.input.files = vec![list];
    let folder = Folder::at(home.join("out"));
    let started = prepare(folder.clone(), job).expect("a plan");
    assert_eq!(started.plan.inputs, inputs);
    folder
}

#[test]
fn one_line_costs_the_same_whatever_the_job_has() {
    for inputs in [2_000, 250_000] {
        let home = tempfile::tempdir().expect("a folder");
        let folder = planned(home.path(), inputs);
        for (line, is_new) in [(inputs + 1, true), (inputs / 2, false)] {
            let more = home.path().join(format!("more-{line}.txt"));
            fs::write(&more, format!("http://127.0.0.1:1/some/path/{line}\n")).expect("a list");
            let before = moved();
            let added = add(folder.clone(), More::lists(&[more]), &|_| {});
            let after = moved();
            let (started, added) = added.expect("an addition");
            let repeats = u64::from(!is_new);
            assert_eq!((added.inputs, added.repeats), (1, repeats));
            assert_eq!(started.plan.repeats, repeats);
            let counts = [after[0] - before[0], after[1] - before[1]];
            println!("{inputs} inputs: one line reads and writes {counts:?} bytes");
            assert!(counts.iter().all(|count| *count < ONE_LINE), "{counts:?}");
        }
        let length = |path| fs::metadata(path).expect("a file").len();
        let job = length(folder.inputs()) + length(folder.requests());
        println!("{inputs} inputs have {job} bytes");
        assert!(inputs < 10_000 || job > 10 * ONE_LINE, "{job} bytes");
    }
}
