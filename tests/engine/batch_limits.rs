//! A batch's limits for each origin: requests in flight, requests a second, and no origin holds up another.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use hecaton::{Batch, Limits, Request};
use hecaton_test_server::{Options, TestServer};

use crate::{World, until, with_growing};

fn limited(
    world: &World,
    concurrency: usize,
    per_origin: Option<usize>,
    rate: Option<f64>,
) -> Batch<u64> {
    let limits = Limits { per_origin, rate };
    Batch::with_limits(world.client.clone(), concurrency, limits).expect("they make sense")
}

fn request(origin: &TestServer, path: &str) -> Request {
    Request::get(&format!("{}{path}", origin.base_url())).expect("the URL is good")
}

/// Runs a batch until this many requests have ended, and returns the tags of the successes in their order.
fn run(world: &World, batch: &mut Batch<u64>, count: usize) -> Vec<u64> {
    let mut outcomes = Vec::new();
    while outcomes.len() < count {
        world.run(batch.wait(&mut outcomes));
    }
    let good = outcomes.into_iter().filter(|(_, outcome)| outcome.is_ok());
    good.map(|(tag, _)| tag).collect()
}

#[test]
fn the_limit_of_each_origin_holds_and_a_busy_origin_blocks_no_other() {
    let (world, other) = (World::new(), TestServer::start(Options::default()).unwrap());
    let mut batch = limited(&world, 4, Some(2), None);
    (0..50).for_each(|tag| batch.push(tag, world.request("/fault/stall-head")));
    (50..150).for_each(|tag| batch.push(tag, request(&other, "/delay/1")));
    let mut good = run(&world, &mut batch, 100);
    good.sort_unstable();
    assert_eq!(good, (50..150).collect::<Vec<_>>());
    until(|| world.server.summary().peak_in_flight >= 2);
    assert_eq!(world.server.summary().peak_in_flight, 2);
    assert_eq!(other.summary().peak_in_flight, 2);
    assert_eq!(batch.abort().started.len(), 2);
}

#[test]
fn a_rate_holds_and_waiting_for_it_uses_up_no_deadline() {
    let world = World::new();
    with_growing(Duration::from_millis(800), |limit| {
        // The last request starts after this time. Its deadline would have passed if it had begun in the queue.
        let last = limit + limit / 5;
        let mut batch = limited(&world, 50, None, Some(19.0 / last.as_secs_f64()));
        let begun = Instant::now();
        (0..20).for_each(|tag| batch.push(tag, world.request("/r/1").timeout(limit)));
        let good = run(&world, &mut batch, 20).len();
        let took = begun.elapsed() + Duration::from_millis(10);
        assert!(took >= last, "{took:?} of {last:?}");
        (good == 20).then_some(())
    });
}

#[test]
fn a_rate_is_each_origins_own() {
    let (world, other) = (World::new(), TestServer::start(Options::default()).unwrap());
    // The second request to either would have to wait for an hour.
    let mut batch = limited(&world, 50, None, Some(1.0 / 3600.0));
    for tag in 0..10 {
        batch.push(tag, world.request("/r/1"));
        batch.push(10 + tag, request(&other, "/r/1"));
    }
    let mut good = run(&world, &mut batch, 2);
    good.sort_unstable();
    assert_eq!(good, [0, 10]);
    assert_eq!(batch.abort().queued.len(), 18);
    // Sent requests count even after all others were dropped.
    batch.push(99, world.request("/r/1"));
    world.run(async {
        let mut outcomes = Vec::new();
        let waiting = batch.wait(&mut outcomes);
        tokio::time::timeout(Duration::from_millis(100), waiting)
            .await
            .expect_err("it must wait");
    });
    assert_eq!(world.server.summary().requests, 1);
}

#[test]
fn a_hundred_thousand_queued_cost_no_more_each_than_a_few() {
    let world = World::new();
    let cost = |count: u64| {
        let mut batch = limited(&world, 50, Some(50), None);
        let begun = Instant::now();
        for tag in 0..count {
            // A deadline of zero ends a request without a connection, so only the queue costs time.
            let request = world.request("/r/1").timeout(Duration::ZERO);
            match tag % 2 {
                0 => batch.push(tag, request),
                _ => batch.push_front(tag, request),
            }
        }
        assert_eq!(run(&world, &mut batch, count as usize).len(), 0);
        begun.elapsed() / count as u32
    };
    cost(1000);
    // If the cost grew with the number of queued requests, this would be some thirty times as slow. Other processes may
    // slow some tries down, hence ten.
    let costs = (0..10).map(|_| (cost(2000), cost(100_000)));
    let has_few = |(few, many): (Duration, Duration)| many < few * 10 + Duration::from_micros(20);
    assert!(costs.into_iter().any(has_few), "not once");
}

/// Orders and limits are random.
#[test]
fn in_random_runs_each_request_ends_once_and_the_limits_hold() {
    let (world, other) = (World::new(), TestServer::start(Options::default()).unwrap());
    let mut seed = 7_u64;
    let mut draw = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let paths = [
        "/r/1",
        "/delay/2",
        "/fault/close",
        "/status/500",
        "/fault/truncate",
    ];
    for (per_origin, aborting) in [
        (Some(1), false),
        (None, false),
        (Some(3), true),
        (None, true),
    ] {
        let mut batch = limited(&world, 5, per_origin, None);
        let (mut ends, mut outcomes, mut tag) = (HashMap::new(), Vec::new(), 0);
        for _ in 0..300 {
            match draw(12) {
                0 => world.run(batch.wait(&mut outcomes)),
                1 => batch.set_concurrency(1 + draw(5) as usize),
                2 if aborting && draw(8) == 0 => {
                    let aborted = batch.abort();
                    for tag in aborted.queued.into_iter().chain(aborted.started) {
                        *ends.entry(tag).or_insert(0) += 1;
                    }
                }
                way => {
                    let origin = if draw(2) == 0 { &world.server } else { &other };
                    let request = request(origin, paths[draw(5) as usize]);
                    if way == 3 {
                        batch.push_front(tag, request);
                    } else {
                        batch.push(tag, request);
                    }
                    tag += 1;
                }
            }
        }
        while !batch.is_empty() {
            world.run(batch.wait(&mut outcomes));
        }
        for (tag, _) in outcomes {
            *ends.entry(tag).or_insert(0) += 1;
        }
        assert_eq!(ends.len() as u64, tag);
        assert!(ends.values().all(|times| *times == 1));
        // The test server may hold requests that were given up a little longer.
        for origin in [&world.server, &other].into_iter().filter(|_| !aborting) {
            let most = per_origin.unwrap_or(5) as u64;
            assert!(origin.summary().peak_in_flight <= most, "of {most}");
        }
    }
}
