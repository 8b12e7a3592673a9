//! Whatever a folder contains, each of its readers answers: with what is there, or with a sentence.

use std::fs;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use hecaton_fetch::error::{Error, Result};
use hecaton_fetch::frame::Packer;
use hecaton_fetch::job::Job;
use hecaton_fetch::plan::{Folder, Plan};
use hecaton_fetch::run::{Observer, Options, Running, Snapshot};
use hecaton_fetch::segment::{claim, load};
use hecaton_fetch::start::{self, prepare};
use hecaton_fetch::{finish, show, verify};
use hecaton_test_server::TestServer;
use proptest::prelude::*;

struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: &Snapshot) {}

    fn say(&mut self, _: &str) {}
}

/// A job of three parts. The first is done, and the second half done.
fn half_done() -> &'static Path {
    static HOME: OnceLock<(tempfile::TempDir, TestServer)> = OnceLock::new();
    let (home, _) = HOME.get_or_init(|| {
        let server = TestServer::start(hecaton_test_server::Options::default()).expect("a server");
        let home = tempfile::tempdir().expect("a folder");
        let list = home.path().join("urls.txt");
        let urls = (0..30).map(|n| format!("{}/r/{n}\n", server.base_url()));
        fs::write(&list, urls.collect::<String>()).expect("a list");
        let mut job = Job::default();
        (job.input.files, job.input.part_size) = (vec![list], 10);
        let folder = Folder::at(home.path().join("out"));
        let started = prepare(folder.clone(), job).expect("a plan");
        assert_eq!(started.plan.parts.len(), 3);
        let first = Options {
            parts: vec![0],
            note_progress: true,
            ..Options::default()
        };
        let ended = started.run(&mut Running::new(
            &first,
            &AtomicBool::new(false),
            &mut Silent,
        ));
        ended.expect("a part that is done");
        fs::create_dir(folder.workers()).unwrap();
        for name in ["one", "two"] {
            fs::copy(folder.progress(), folder.worker(name)).unwrap();
        }
        let mut half = claim(&folder, 1, "worker").unwrap().unwrap();
        let line = b"{\"n\":12,\"outcome\":\"response\",\"ok\":true,\"line\":13}\n";
        let mut bytes = Vec::new();
        Packer::new(1).pack(line, &mut bytes).unwrap();
        half.file.write_all(&bytes).unwrap();
        drop(started);
        (home, server)
    });
    home.path()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

fn all_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.path().is_dir() {
            true => found.extend(all_files(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found.sort();
    found
}

#[derive(Clone, Debug)]
enum Harm {
    Flip(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Remove,
    /// Another number in the place of one that a text has.
    Number(prop::sample::Index, &'static str),
    Insert(prop::sample::Index, Vec<u8>),
}

fn harm() -> impl Strategy<Value = Harm> {
    let numbers = [
        "0",
        "1",
        "7",
        "-1",
        "4294967295",
        "18446744073709551615",
        "1e9",
        "null",
    ];
    prop_oneof![
        (any::<prop::sample::Index>(), 1u8..).prop_map(|(at, bits)| Harm::Flip(at, bits)),
        any::<prop::sample::Index>().prop_map(Harm::Cut),
        Just(Harm::Remove),
        (
            any::<prop::sample::Index>(),
            prop::sample::select(numbers.to_vec())
        )
            .prop_map(|(at, number)| Harm::Number(at, number)),
        (
            any::<prop::sample::Index>(),
            prop::collection::vec(any::<u8>(), 1..9)
        )
            .prop_map(|(at, bytes)| Harm::Insert(at, bytes)),
    ]
}

fn spoil(path: &Path, harm: &Harm) {
    let mut bytes = fs::read(path).unwrap();
    match harm {
        Harm::Remove => return fs::remove_file(path).unwrap(),
        _ if bytes.is_empty() => return,
        Harm::Flip(at, bits) => {
            let at = at.index(bytes.len());
            bytes[at] ^= bits;
        }
        Harm::Cut(at) => bytes.truncate(at.index(bytes.len())),
        Harm::Insert(at, more) => {
            let at = at.index(bytes.len());
            bytes.splice(at..at, more.iter().copied());
        }
        Harm::Number(at, number) => {
            let numbers = numbers(&bytes);
            if numbers.is_empty() {
                return;
            }
            bytes.splice(at.get(&numbers).clone(), number.bytes());
        }
    }
    fs::write(path, bytes).unwrap();
}

/// Where a text has numbers.
fn numbers(text: &[u8]) -> Vec<Range<usize>> {
    let runs = text.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    let starts = runs.scan(0, |at, run| {
        *at += run.len();
        Some((*at - run.len()..*at, run[0].is_ascii_digit()))
    });
    starts
        .filter(|(_, are_digits)| *are_digits)
        .map(|(range, _)| range)
        .collect()
}

/// Reads everything, and then does what is left.
fn read_all(folder: &Folder) -> Result<()> {
    let seen = |read: Result<()>| read.map_err(|error| assert!(!error.to_string().is_empty()));
    let _ = seen(show::status(folder).map(drop));
    let _ = show::workers(folder);
    let _ = seen(show::each_record::<Error>(folder, &mut |_| Ok(true)));
    let _ = seen(finish::parts(folder));
    let _ = seen(show::report(folder, true).map(drop));
    let plan = Plan::planned(folder)?;
    for part in &plan.parts {
        let _ = seen(load(folder, part.number).map(drop));
        let _ = seen(verify::part(folder, part).map(drop));
    }
    let _ = seen(finish::stale(folder, &plan).map(drop));
    Ok(())
}

/// Adds an input.
fn add_some(folder: &Folder) -> Result<()> {
    let list = folder.path().join("more");
    fs::write(&list, "http://127.0.0.1:1/\n").unwrap();
    start::add(folder.clone(), start::More::lists(&[list]), &|_| {}).map(drop)
}

fn finish_it(folder: &Folder) -> Result<()> {
    let started = start::load(folder.clone())?;
    let (done, ended) = channel::<()>();
    let stop = Arc::new(AtomicBool::new(false));
    let watched = stop.clone();
    // Only a job that never ends is stopped.
    let watch = std::thread::spawn(move || {
        let is_late = ended.recv_timeout(Duration::from_secs(100)).is_err();
        watched.store(is_late, Ordering::SeqCst);
        is_late
    });
    let ran = started.run(&mut Running::new(&Options::default(), &stop, &mut Silent));
    let _ = done.send(());
    assert!(!watch.join().unwrap(), "it waits for ever: {ran:?}");
    ran.map(drop)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_folder_is_read_without_a_panic_and_ends(
        file in any::<prop::sample::Index>(),
        harm in harm(),
    ) {
        let home = tempfile::tempdir().unwrap();
        copy(&half_done().join("out"), home.path());
        let folder = Folder::at(home.path());
        let files = all_files(home.path());
        spoil(&files[file.index(files.len())], &harm);
        let _ = read_all(&folder);
        for ended in [finish_it(&folder), add_some(&folder)] {
            prop_assert!(ended.map_or_else(|error| !error.to_string().is_empty(), |()| true));
        }
    }
}

#[test]
fn a_folder_with_the_largest_number_in_any_place_is_read_without_a_panic_and_ends() {
    let whole = half_done().join("out");
    for file in all_files(&whole) {
        let text = fs::read(&file).unwrap();
        for number in numbers(&text) {
            let home = tempfile::tempdir().unwrap();
            copy(&whole, home.path());
            let mut spoilt = text.clone();
            spoilt.splice(number, u64::MAX.to_string().bytes());
            let path = home.path().join(file.strip_prefix(&whole).unwrap());
            fs::write(path, spoilt).unwrap();
            let folder = Folder::at(home.path());
            let _ = read_all(&folder);
            let _ = finish_it(&folder);
            let _ = add_some(&folder);
        }
    }
}

#[test]
fn a_plan_that_no_program_wrote_is_refused() {
    for (from, to, why) in [
        ("\"inputs\": 30", "\"inputs\": 31", "the job 31"),
        ("\"inputs\": 10", "\"inputs\": 11", "have 31 inputs"),
        ("\"number\": 1", "\"number\": 2", "the number 2"),
        ("\"of\": 3", "\"of\": 0", "no shard"),
    ] {
        let home = tempfile::tempdir().unwrap();
        copy(&half_done().join("out"), home.path());
        let folder = Folder::at(home.path());
        let text = fs::read_to_string(folder.plan()).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(folder.plan(), text.replacen(from, to, 1)).unwrap();
        let refused = Plan::load(&folder).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn a_wrong_count_of_a_parts_inputs_is_noticed_and_not_waited_for() {
    let home = tempfile::tempdir().unwrap();
    copy(&half_done().join("out"), home.path());
    let folder = Folder::at(home.path());
    let mut plan = Plan::planned(&folder).unwrap();
    plan.parts[1].inputs += 1;
    plan.parts[2].inputs -= 1;
    fs::write(folder.plan(), serde_json::to_vec(&plan).unwrap()).unwrap();
    let refused = finish_it(&folder).unwrap_err().to_string();
    assert!(refused.contains("plan.json says"), "{refused}");
}
