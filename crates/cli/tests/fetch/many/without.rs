//! NATS ends while workers work, and comes back with its data or without.

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::time::Duration;

use hecaton_test_server::{Delay, Options};

use super::{Nats, enqueue, plan, start};
use crate::support::World;

/// Reads a worker's lines up to the first one that contains `needed`.
fn read_until(said: &mut dyn BufRead, needed: &str) {
    let mut all = String::new();
    loop {
        let before = all.len();
        said.read_line(&mut all).expect("it is text");
        assert!(all.len() > before, "never said {needed:?}:\n{all}");
        if all[before..].contains(needed) {
            return;
        }
    }
}

fn listen(worker: &mut Child) -> BufReader<std::process::ChildStderr> {
    BufReader::new(worker.stderr.take().expect("its stderr"))
}

fn world() -> World {
    World::with(Options {
        delay: Delay::Fixed(Duration::from_millis(20)),
        ..Options::default()
    })
}

/// A worker in the middle of 1,200 inputs in four parts.
fn working(world: &World, nats: &Nats) -> Child {
    let list = world.list(0..1200);
    plan(world, &list, &["-c", "4", "--part-size", "300"]);
    enqueue(world, nats, "3s");
    let worker = start(world, nats);
    world.wait_for(100);
    worker
}

#[test]
fn workers_wait_while_nats_is_gone_and_resume_when_it_is_back() {
    let (world, mut nats) = (world(), Nats::start());
    let mut worker = working(&world, &nats);
    let mut said = listen(&mut worker);
    nats.kill();
    read_until(&mut said, "is gone");
    // The worker leaves its parts when the lease expires, and then sends nothing.
    read_until(&mut said, "left");
    let mut sent = 0;
    let mut calm = 0;
    while calm < 10 {
        std::thread::sleep(Duration::from_millis(100));
        let now = world.server.summary().requests;
        calm = if now == sent { calm + 1 } else { 0 };
        sent = now;
    }
    assert!(sent < 1200, "it did not wait");
    nats.again(true);
    read_until(&mut said, "resumes");
    read_until(&mut said, "all parts are done");
    assert!(worker.wait().unwrap().success());
    assert_eq!(world.records().len(), 1200);
    assert_eq!(world.server.summary().distinct, 1200);
}

#[test]
fn a_second_enqueue_queues_the_parts_that_nats_has_lost() {
    let (world, mut nats) = (world(), Nats::start());
    let mut worker = working(&world, &nats);
    let mut said = listen(&mut worker);
    nats.again(false);
    read_until(&mut said, "has no queue of this job");
    assert!(!world.out().join("parts/000003/COMMIT").exists() || world.records().len() < 1200);
    assert!(enqueue(&world, &nats, "3s").contains("parts queued"));
    read_until(&mut said, "all parts are done");
    assert!(worker.wait().unwrap().success());
    assert_eq!(world.records().len(), 1200);
    assert_eq!(world.server.summary().distinct, 1200);
}
