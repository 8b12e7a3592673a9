//! Rounds of `again` in one folder by two processes: none does the round of the other.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use hecaton_fetch::again;
use hecaton_fetch::error::Result;
use hecaton_fetch::job::Job;
use hecaton_fetch::plan::Folder;
use hecaton_fetch::run::{Observer, Options, Running, Snapshot, Summary};
use hecaton_fetch::start::{Started, prepare};
use hecaton_test_server::TestServer;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: &Snapshot) {}

    fn say(&mut self, _: &str) {}
}

/// A job of ten inputs that is done.
fn done(home: &Path, server: &TestServer) -> Folder {
    let list = home.join("urls.txt");
    let urls = (0..10).map(|n| format!("{}/r/{n}\n", server.base_url()));
    std::fs::write(&list, urls.collect::<String>()).expect("a list");
    let mut job = Job::default();
    job.input.files = vec![list];
    let folder = Folder::at(home.join("out"));
    let started = prepare(folder.clone(), job).expect("a plan");
    let stop = AtomicBool::new(false);
    let ended = started.run(&mut Running::new(&Options::default(), &stop, &mut Silent));
    assert_eq!(ended.expect("records").tally.ok, 10);
    folder
}

fn round(folder: &Folder, condition: Option<&str>) -> Result<Started> {
    let round = again::prepare(folder, again::Choice::Matching(condition), &|_| {});
    round.map(|chosen| chosen.round.expect("records match"))
}

fn run(folder: &Folder, round: &mut Started) -> Result<Summary> {
    let stop = AtomicBool::new(false);
    let ran = again::run(
        folder,
        round,
        &mut Running::new(&Options::default(), &stop, &mut Silent),
    );
    ran.map(|(summary, _)| summary)
}

#[test]
fn a_round_is_done_by_whoever_chose_its_inputs_or_resumes_it() {
    let server = TestServer::start(hecaton_test_server::Options::default()).expect("a server");
    let home = tempfile::tempdir().expect("a folder");
    let folder = done(home.path(), &server);
    // Between choosing and sending, nobody else may choose.
    let mut first = round(&folder, Some("line < 4")).expect("a round");
    std::fs::rename(first.folder.plan(), home.path().join("plan.json")).expect("as before");
    let why = round(&folder, Some("line > 8"))
        .err()
        .expect("it is locked");
    assert!(why.to_string().contains("works on"), "{why}");
    std::fs::rename(home.path().join("plan.json"), first.folder.plan()).expect("as it was");
    let mut late = round(&folder, None).expect("the round is there");
    assert_eq!(run(&folder, &mut first).expect("records").written, 3);
    // The first round is done, and another is there when this process begins.
    let mut second = round(&folder, Some("line > 8")).expect("a round");
    assert_eq!(second.plan.inputs, 2);
    drop(second);
    let why = run(&folder, &mut late).expect_err("it is another round");
    assert!(
        why.to_string().contains("run the same command again"),
        "{why}"
    );
    second = round(&folder, None).expect("the round is there");
    assert_eq!(run(&folder, &mut second).expect("records").written, 2);
    assert_eq!(server.summary().requests, 15);
}

#[test]
fn a_part_of_a_round_that_was_merged_is_done_and_is_no_part_of_the_next_round() {
    let server = TestServer::start(hecaton_test_server::Options::default()).expect("a server");
    let home = tempfile::tempdir().expect("a folder");
    let folder = done(home.path(), &server);
    let mut first = round(&folder, Some("line < 4")).expect("a round");
    let late = again::current(&folder)
        .expect("it is read")
        .expect("a round");
    run(&folder, &mut first).expect("records");
    let options = Options {
        parts: vec![0],
        ..Options::default()
    };
    let stop = AtomicBool::new(false);
    let one_part = |round: &Started| round.run(&mut Running::new(&options, &stop, &mut Silent));
    for has_next in [false, true] {
        if has_next {
            drop(round(&folder, Some("line > 8")).expect("the next round"));
        }
        let ended = one_part(&late).expect("it is done");
        assert_eq!((ended.elsewhere, ended.written), (vec![0], 0));
        assert_eq!(server.summary().requests, 13, "the first round is over");
    }
    let next = again::current(&folder)
        .expect("it is read")
        .expect("a round");
    assert_ne!(next.plan.round, late.plan.round);
    assert_eq!(one_part(&next).expect("records").written, 2);
    assert_eq!(server.summary().requests, 15);
}

#[test]
fn a_round_that_is_merged_while_it_is_read_is_none() {
    let server = TestServer::start(hecaton_test_server::Options::default()).expect("a server");
    let home = tempfile::tempdir().expect("a folder");
    let folder = done(home.path(), &server);
    let plan = round(&folder, Some("line < 4"))
        .expect("a round")
        .folder
        .plan();
    let text = std::fs::read(&plan).expect("a plan");
    // A reader of the plan waits for this test.
    std::fs::remove_file(&plan).expect("it is replaced");
    mkfifo(&plan, Mode::S_IRWXU).expect("a pipe");
    let reader = {
        let folder = folder.clone();
        std::thread::spawn(move || again::current(&folder))
    };
    let mut pipe = File::options().write(true).open(&plan).expect("a reader");
    std::fs::remove_dir_all(folder.rounds()).expect("it is merged");
    pipe.write_all(&text).expect("it is read");
    drop(pipe);
    let read = reader.join().expect("it ends").expect("it can be read");
    assert!(read.is_none());
}
