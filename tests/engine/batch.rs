//! A batch: bounded in flight, one outcome each, given up cleanly.

use std::collections::HashMap;
use std::time::Duration;

use hecaton::Batch;
use hecaton_origin::{Delay, RoundSpec};

use crate::World;

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
        delay: Delay::None,
        gate,
    }
}

#[test]
fn every_request_ends_once_and_exactly_as_many_are_in_flight_as_asked() {
    let world = World::new();
    for concurrency in [1, 7, 300] {
        let count = 2 * concurrency as u64;
        // The gate answers nobody until so many are in flight at once, or no more come.
        world.origin.open_round(round(count, Some(concurrency)));
        let mut batch = Batch::new(world.client.clone(), concurrency);
        (0..count).for_each(|id| batch.push(id, world.request(&format!("/r/{}", 1000 + id))));
        let (ended, good) = run(&world, &mut batch);
        let page = world.origin.close_round();
        assert_eq!((ended.len() as u64, good as u64), (count, count));
        assert!(ended.values().all(|times| *times == 1));
        assert_eq!(
            (page.distinct, page.duplicates, page.foreign),
            (count, 0, 0)
        );
        assert_eq!(page.peak_in_flight, concurrency as u64);
    }
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
fn clearing_closes_what_is_in_flight_and_returns_what_was_not_started() {
    let world = World::new();
    let mut batch = Batch::new(world.client.clone(), 3);
    (0..10).for_each(|tag| batch.push(tag, world.request("/fault/stall-head")));
    batch.push(10, world.request("/r/1"));
    let stalled = async {
        let mut outcomes = Vec::new();
        tokio_timeout(batch.wait(&mut outcomes)).await;
        assert!(outcomes.is_empty());
    };
    world.run(stalled);
    assert_eq!(batch.clear(), (3..=10).collect::<Vec<u64>>());
    assert!(batch.is_empty());
    assert_eq!(world.client.idle_connections(), 0);
    assert_eq!(world.get("/r/1").status(), 200);
}

/// Lets a future run for a while.
async fn tokio_timeout(future: impl Future<Output = ()>) {
    let _ = tokio::time::timeout(Duration::from_millis(200), future).await;
}

#[test]
fn an_empty_batch_does_not_wait() {
    let world = World::new();
    let mut batch: Batch<u64> = Batch::new(world.client.clone(), 5);
    world.run(batch.wait(&mut Vec::new()));
}
