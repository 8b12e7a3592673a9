//! Rounds of `again` in one folder by two processes: none does the round of the other.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use hecaton_fetch::again;
use hecaton_fetch::error::Result;
use hecaton_fetch::job::Job;
use hecaton_fetch::plan::Folder;
use hecaton_fetch::run::{Observer, Options, Snapshot, Summary};
use hecaton_fetch::start::{Started, prepare};
use hecaton_test_server::TestServer;

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
    let ended = started.run(&Options::default(), &stop, &mut Silent);
    assert_eq!(ended.expect("records").tally.ok, 10);
    folder
}

fn round(folder: &Folder, condition: Option<&str>) -> Result<Started> {
    let round = again::prepare(folder, (condition, false), &|_| {});
    round.map(|round| round.expect("records match"))
}

fn run(folder: &Folder, round: &mut Started) -> Result<Summary> {
    let stop = AtomicBool::new(false);
    again::run(folder, round, &Options::default(), &stop, &mut Silent)
}

#[test]
fn a_round_is_done_by_whoever_chose_its_inputs_or_resumes_it() {
    let server = TestServer::start(hecaton_test_server::Options::default()).expect("a server");
    let home = tempfile::tempdir().expect("a folder");
    let folder = done(home.path(), &server);
    // Between choosing and sending, nobody else may choose.
    let mut first = round(&folder, Some("line < 4")).expect("a round");
    std::fs::rename(folder.again().plan(), home.path().join("plan.json")).expect("as before");
    let why = round(&folder, Some("line > 8"))
        .err()
        .expect("it is locked");
    assert!(
        why.to_string().contains("another process works on"),
        "{why}"
    );
    std::fs::rename(home.path().join("plan.json"), folder.again().plan()).expect("as it was");
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
