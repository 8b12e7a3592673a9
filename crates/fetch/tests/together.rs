//! Several processes on one folder: each takes the lock first, and then reads what it decides by.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread;

use hecaton_fetch::job::{Job, Reach};
use hecaton_fetch::plan::Folder;
use hecaton_fetch::run::{Observer, Options, Running, Snapshot, Summary};
use hecaton_fetch::start::{More, Started, add, load, prepare};
use hecaton_fetch::{again, finish};
use hecaton_test_server::TestServer;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use tempfile::TempDir;

struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: &Snapshot) {}

    fn say(&mut self, _: &str) {}
}

/// Another process that does a round as soon as this one has said that it will.
struct Another(Folder);

impl Observer for Another {
    fn progress(&mut self, _: &Snapshot) {}

    fn say(&mut self, _: &str) {
        let (stop, options) = (AtomicBool::new(false), Options::default());
        if let Some(mut round) = again::current(&self.0).expect("it is read") {
            again::run(
                &self.0,
                &mut round,
                &mut Running::new(&options, &stop, &mut Silent),
            )
            .expect("records");
        }
    }
}

/// A job of ten inputs.
struct World {
    home: TempDir,
    server: TestServer,
    folder: Folder,
}

impl World {
    fn new() -> World {
        let world = World::empty();
        world.plan(world.list("urls.txt", 0..10), |_| {});
        world
    }

    /// Without the job.
    fn empty() -> World {
        let server = TestServer::start(hecaton_test_server::Options::default());
        let home = tempfile::tempdir().expect("a folder");
        World {
            folder: Folder::at(home.path().join("out")),
            server: server.expect("a server"),
            home,
        }
    }

    fn plan(&self, list: PathBuf, change: impl Fn(&mut Job)) {
        let mut job = Job::default();
        job.input.files = vec![list];
        change(&mut job);
        prepare(self.folder.clone(), job).expect("a plan");
    }

    fn list(&self, name: &str, numbers: std::ops::Range<u64>) -> PathBuf {
        let path = self.home.path().join(name);
        let urls = numbers.map(|n| format!("{}/r/{n}\n", self.server.base_url()));
        fs::write(&path, urls.collect::<String>()).expect("a list");
        path
    }

    /// Adds inputs and sends nothing, as another process does. How many it says.
    fn add(&self, list: &Path, meanwhile: &dyn Fn()) -> u64 {
        let files = [list.to_owned()];
        let more = More::lists(&files);
        let (_, added) = add(self.folder.clone(), more, &|_| meanwhile()).expect("a list");
        added.inputs
    }

    fn run(&self) -> Summary {
        run(&load(self.folder.clone()).expect("a plan"))
    }
}

fn run(started: &Started) -> Summary {
    let stop = AtomicBool::new(false);
    let ended = started.run(&mut Running::new(&Options::default(), &stop, &mut Silent));
    ended.expect("records")
}

#[test]
fn an_addition_counts_its_own_inputs_alone() {
    let world = World::new();
    let (first, second) = (world.list("a.txt", 10..13), world.list("b.txt", 13..20));
    let is_added = Cell::new(false);
    let meanwhile = || {
        // After the second addition has read the plan, and before it has the lock.
        if !is_added.replace(true) {
            assert_eq!(world.add(&first, &|| {}), 3);
        }
    };
    assert_eq!(world.add(&second, &meanwhile), 7);
    assert_eq!(world.run().tally.records, 20);
}

#[test]
fn a_run_does_the_parts_that_were_added_before_it_had_the_lock() {
    let world = World::new();
    let early = load(world.folder.clone()).expect("a plan");
    world.add(&world.list("a.txt", 10..15), &|| {});
    assert_eq!(run(&early).tally.records, 15);
    assert_eq!(world.server.summary().requests, 15);
}

#[test]
fn a_job_that_got_inputs_before_its_end_had_the_lock_is_not_at_its_end() {
    let world = World::new();
    world.run();
    let commit = world.folder.commit(0);
    let text = fs::read(&commit).expect("the part is done");
    let copy = world.home.path().join("COMMIT");
    fs::write(&copy, &text).expect("a copy");
    // The end reads the plan, and then waits here for this test.
    fs::remove_file(&commit).expect("it is replaced");
    mkfifo(&commit, Mode::S_IRWXU).expect("a pipe");
    let folder = world.folder.clone();
    let end = thread::spawn(move || finish::job(&folder));
    let mut pipe = File::options().write(true).open(&commit).expect("a reader");
    world.add(&world.list("a.txt", 10..15), &|| {});
    fs::rename(&copy, &commit).expect("it is as before");
    pipe.write_all(&text).expect("it is read");
    drop(pipe);
    let ended = end.join().expect("it ends").expect("it can be read");
    assert_eq!(ended, None, "parts are left");
    assert!(!world.folder.path().join("report.html").exists());
    assert_eq!(world.run().tally.records, 15);
    assert!(finish::job(&world.folder).expect("it ends").is_some());
}

#[test]
fn a_round_of_redirects_that_another_process_has_done_is_done() {
    let world = World::empty();
    let base = world.server.base_url();
    let port = base.rsplit(':').next().expect("a port");
    let url = |n: u64| {
        let to = format!("http://h{}.localhost:{port}/r/{n}", (n + 1) % 6);
        let to = to.replace(':', "%3A").replace('/', "%2F");
        format!(
            "http://h{}.localhost:{port}/redirect/302/1?to={to}\n",
            n % 6
        )
    };
    let list = world.home.path().join("urls.txt");
    fs::write(&list, (0..36).map(url).collect::<String>()).expect("a list");
    world.plan(list, |job| {
        job.input.part_size = 10;
        job.network.redirects_to = Reach::Any;
    });
    assert!(world.run().tally.onward > 0, "some lead to other parts");
    let job = load(world.folder.clone()).expect("a plan").job;
    let (stop, options) = (AtomicBool::new(false), Options::default());
    let mut another = Another(world.folder.clone());
    let ended = finish::rounds(
        &world.folder,
        &job,
        &mut Running::new(&options, &stop, &mut another),
    );
    assert!(ended.expect("it is done").is_some());
    assert_eq!(world.run().tally.responses, 36);
    // Each input and where it leads, once.
    assert_eq!(world.server.summary().requests, 72);
}
