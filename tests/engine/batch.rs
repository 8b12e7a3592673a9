//! A batch: bounded in flight, one outcome each, given up cleanly.

use std::collections::HashMap;
use std::time::Duration;

use hecaton::Batch;
use hecaton_test_server::RoundSpec;

use crate::{World, until};

/// Runs a batch to its end and returns how often each tag ended, and how often well.
fn run(world: &World, batch: &mut Batch<u64>) -> (HashMap<u64, u32>, usize) {
    let (mut ended, mut good, mut outcomes) = (HashMap::new(), 0, Vec::new());
    while !batch.is_empty() {
        world.run(batch.wait(&mut outcomes));
        for (tag, outcome) in outcomes.drain(..) {
            *ended.entry(tag).or_default() += 1;
            good += usize::from(outcome.is_ok());
        }
    }
    (ended, good)
}

fn round(count: u64, gate: Option<usize>) -> RoundSpec {
    RoundSpec {
        first: 1000,
        count,
        body_bytes: 133,
        gate,
        ..RoundSpec::default()
    }
}

#[test]
fn every_request_ends_once_and_exactly_the_given_number_is_in_flight() {
    let world = World::new();
    for concurrency in [1, 7, 300] {
        let count = 2 * concurrency as u64;
        // The gate holds back all responses until this many requests are in flight at once, or no more come.
        world.server.open_round(round(count, Some(concurrency)));
        let mut batch = Batch::new(world.client.clone(), concurrency);
        (0..count).for_each(|id| batch.push(id, world.request(&format!("/r/{}", 1000 + id))));
        let (ended, good) = run(&world, &mut batch);
        let page = world.server.close_round();
        assert_eq!((ended.len() as u64, good as u64), (count, count));
        assert!(ended.values().all(|times| *times == 1));
        assert_eq!(
            (page.distinct, page.duplicates, page.foreign),
            (count, 0, 0)
        );
        assert_eq!(page.peak_in_flight, concurrency as u64);
    }
}

/// One queue and one limit for all, but connections and settings of each client's own.
#[test]
fn requests_of_several_clients_run_under_one_limit() {
    let world = World::new();
    let (count, concurrency) = (40, 7);
    world.server.open_round(round(count, Some(concurrency)));
    let others = [world.client.separate(), world.client.separate()].map(Result::unwrap);
    let mut batch = Batch::new(world.client.clone(), concurrency);
    for id in 0..count {
        let request = world.request(&format!("/r/{}", 1000 + id));
        match others.get(id as usize % 3) {
            Some(other) if id % 2 == 0 => batch.push_by(other.clone(), id, request),
            Some(other) => batch.push_front_by(other.clone(), id, request),
            None => batch.push(id, request),
        }
    }
    let (ended, good) = run(&world, &mut batch);
    let page = world.server.close_round();
    assert_eq!((ended.len() as u64, good as u64), (count, count));
    assert_eq!(
        (page.distinct, page.peak_in_flight),
        (count, concurrency as u64)
    );
    let [first, second] = others;
    let sent = [&world.client, &first, &second].map(|client| client.stats().requests);
    assert_eq!(sent, [13, 14, 13]);
}

#[test]
fn failures_and_successes_mix() {
    let world = World::new();
    let mut batch = Batch::new(world.client.clone(), 10);
    for tag in 0..30 {
        let path = ["/r/1", "/fault/close", "/fault/truncate"][tag as usize % 3];
        batch.push(tag, world.request(path));
    }
    let (ended, good) = run(&world, &mut batch);
    assert_eq!((ended.len(), good), (30, 10));
}

#[test]
fn aborting_closes_what_is_in_flight_and_sends_nothing_that_was_queued() {
    let world = World::new();
    let mut batch = Batch::new(world.client.clone(), 3);
    (0..10).for_each(|tag| batch.push(tag, world.request("/fault/stall-head")));
    batch.push(10, world.request("/r/1"));
    run_until_all_are_open(&world, &mut batch);
    let mut aborted = batch.abort();
    aborted.started.sort_unstable();
    assert_eq!(aborted.started, [0, 1, 2]);
    assert_eq!(aborted.queued, (3..=10).collect::<Vec<u64>>());
    assert!(batch.is_empty());
    closed_within_seconds(&world);
    assert_eq!(world.client.idle_connections(), 0);
    // It can be used again.
    batch.push(11, world.request("/r/1"));
    assert_eq!(run(&world, &mut batch).1, 1);
    assert_eq!(world.server.summary().items, 1);
}

#[test]
fn a_batch_that_is_dropped_closes_what_is_in_flight() {
    let world = World::new();
    let mut batch = Batch::new(world.client.clone(), 3);
    (0..3).for_each(|tag: u64| batch.push(tag, world.request("/fault/stall-head")));
    run_until_all_are_open(&world, &mut batch);
    drop(batch);
    closed_within_seconds(&world);
}

#[test]
fn the_front_of_the_queue_goes_first() {
    let world = World::new();
    let mut batch = Batch::new(world.client.clone(), 1);
    (0..3).for_each(|tag: u64| batch.push(tag, world.request("/r/1")));
    (3..5).for_each(|tag| batch.push_front(tag, world.request("/r/1")));
    let (mut order, mut outcomes) = (Vec::new(), Vec::new());
    while !batch.is_empty() {
        world.run(batch.wait(&mut outcomes));
        order.extend(outcomes.drain(..).map(|(tag, _)| tag));
    }
    assert_eq!(order, [4, 3, 0, 1, 2]);
}

#[test]
fn concurrency_may_change_while_it_runs() {
    let world = World::new();
    let mut batch = Batch::new(world.client.clone(), 2);
    (0..200).for_each(|tag: u64| batch.push(tag, world.request("/delay/50")));
    let mut outcomes = Vec::new();
    while outcomes.len() < 6 {
        world.run(batch.wait(&mut outcomes));
    }
    assert_eq!(world.server.summary().peak_in_flight, 2);
    batch.set_concurrency(9);
    while world.server.summary().peak_in_flight < 9 && !batch.is_empty() {
        world.run(batch.wait(&mut outcomes));
    }
    assert_eq!(world.server.summary().peak_in_flight, 9);
    // After a decrease, requests in flight end, and no other starts until fewer than the new limit are left.
    batch.set_concurrency(0);
    assert_eq!(batch.concurrency(), 1);
    let started = 200 - batch.len() + 9;
    while outcomes.len() < started {
        world.run(batch.wait(&mut outcomes));
    }
    world.server.open_round(round(20, None));
    while outcomes.len() < started + 5 {
        world.run(batch.wait(&mut outcomes));
    }
    assert_eq!(world.server.close_round().peak_in_flight, 1);
}

/// The test server sees that all connections are closed.
fn closed_within_seconds(world: &World) {
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    while world.server.summary().connections_open > 0 {
        assert!(std::time::Instant::now() < deadline, "they stay open");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Runs a batch of three requests that get no response until the test server has their connections, and a while longer.
fn run_until_all_are_open(world: &World, batch: &mut Batch<u64>) {
    let mut outcomes = Vec::new();
    let mut run = || {
        let wait = batch.wait(&mut outcomes);
        let longest = Duration::from_millis(50);
        assert!(world.reactor.block_on_at_most(wait, longest).is_none());
        world.server.summary().connections_open
    };
    until(|| run() >= 3);
    assert_eq!(run(), 3);
}

#[test]
fn an_empty_batch_does_not_wait() {
    let world = World::new();
    let mut batch: Batch<u64> = Batch::new(world.client.clone(), 5);
    world.run(batch.wait(&mut Vec::new()));
}
