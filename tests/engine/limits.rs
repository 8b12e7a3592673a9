//! Limits on connections hold, their queue is fair, and a waiting request can be aborted.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use hecaton::{Batch, Config, Error, Kind, Outcome, Pem, Phase, Request};
use hecaton_test_server::{Options, RoundSpec, TestServer, Tls};

use crate::phases::sooner_than;
use crate::{World, json, with_growing};

#[test]
fn sixteen_threads_with_a_limit_of_four_never_open_a_fifth_connection() {
    let world = Arc::new(World::with(|config| config.per_origin = Some(4)));
    let threads: Vec<_> = (0..16)
        .map(|_| {
            let world = world.clone();
            thread::spawn(move || (0..30).all(|_| world.get("/delay/1").status() == 200))
        })
        .collect();
    assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    let summary = world.server.summary();
    assert_eq!((summary.requests, summary.connections), (480, 4));
}

#[test]
fn a_batch_keeps_to_the_limit_and_reaches_it() {
    let world = World::with(|config| config.per_origin = Some(4));
    let round = RoundSpec {
        first: 1,
        count: 40,
        body_bytes: 133,
        gate: Some(4),
        ..RoundSpec::default()
    };
    world.server.open_round(round);
    let mut batch = Batch::new(world.client.clone(), 20);
    (1..=40).for_each(|id| batch.push(id, world.request(&format!("/r/{id}"))));
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        world.run(batch.wait(&mut outcomes));
    }
    assert!(outcomes.iter().all(|(_, outcome)| outcome.is_ok()));
    let page = world.server.close_round();
    assert_eq!(
        (page.distinct, page.peak_in_flight, page.connections_opened),
        (40, 4, 4)
    );
}

#[test]
fn the_queue_is_first_in_first_out() {
    let world = World::with(|config| config.per_origin = Some(1));
    let mut batch = Batch::new(world.client.clone(), 10);
    (0..10).for_each(|tag| batch.push(tag, world.request("/echo")));
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        world.run(batch.wait(&mut outcomes));
    }
    let number =
        |outcome: &hecaton::Outcome| json(outcome.as_ref().unwrap())["request"].as_u64().unwrap();
    let mut order: Vec<_> = outcomes
        .iter()
        .map(|(tag, outcome)| (number(outcome), *tag))
        .collect();
    order.sort_unstable();
    assert_eq!(
        order.iter().map(|(_, tag)| *tag).collect::<Vec<_>>(),
        (0..10).collect::<Vec<_>>()
    );
    assert!(
        outcomes
            .iter()
            .all(|(_, o)| o.as_ref().unwrap().attempts()[0].queue_time.is_some())
    );
}

#[test]
fn waiting_has_a_limit_of_its_own_and_sends_nothing() {
    let world = World::with(|config| {
        config.per_origin = Some(1);
        config.queue_timeout = Some(Duration::from_millis(200));
    });
    let outcomes = with_growing(Duration::from_secs(1), |limit| {
        let mut batch = Batch::new(world.client.clone(), 2);
        batch.push(0, world.request("/fault/stall-head").timeout(limit));
        batch.push(1, world.request("/r/1"));
        let mut outcomes = Vec::new();
        while !batch.is_empty() {
            world.run(batch.wait(&mut outcomes));
        }
        (outcomes[0].0 == 1).then_some(outcomes)
    });
    let (tag, outcome) = &outcomes[0];
    let error = outcome.as_ref().unwrap_err();
    assert_eq!(
        (*tag, error.kind(), error.phase(), error.sent()),
        (1, Kind::Timeout, Phase::Queue, false)
    );
    assert_eq!(outcomes[1].1.as_ref().unwrap_err().phase(), Phase::Total);
    assert_eq!(world.get("/r/1").status(), 200, "the turn was given back");
}

#[test]
fn a_waiting_request_can_be_aborted_without_losing_a_turn() {
    let world = World::with(|config| config.per_origin = Some(2));
    for _ in 0..5 {
        let mut batch = Batch::new(world.client.clone(), 10);
        (0..10).for_each(|tag| batch.push(tag, world.request("/fault/stall-head")));
        world.run(async {
            let mut outcomes = Vec::new();
            let waiting = batch.wait(&mut outcomes);
            assert!(
                tokio::time::timeout(Duration::from_millis(30), waiting)
                    .await
                    .is_err()
            );
        });
    }
    assert_eq!(world.get("/r/1").status(), 200);
}

#[test]
fn the_limit_of_all_closes_the_connection_that_was_idle_longest() {
    let world = World::with(|config| config.max_connections = Some(2));
    let by_name = world.server.base_url().replace("127.0.0.1", "localhost");
    let of = |url: &str| world.send(Request::get(url).unwrap()).unwrap().attempts()[0].connection;
    let by_address = format!("{}/r/1", world.server.base_url());
    let mut batch = Batch::new(world.client.clone(), 2);
    (0..2).for_each(|tag| batch.push(tag, world.request("/delay/20")));
    while !batch.is_empty() {
        world.run(batch.wait(&mut Vec::new()));
    }
    assert_eq!(world.client.idle_connections(), 2);
    let other = of(&format!("{by_name}/r/1"));
    assert_eq!(world.client.idle_connections(), 2);
    assert!(of(&by_address) < other, "one of the first two stayed open");
    assert_eq!(of(&format!("{by_name}/r/1")), other);
    assert_eq!(world.server.summary().connections, 3);
}

/// A server with TLS that supports HTTP/1.1 alone. A client learns that with its first connection.
fn secure(change: impl FnOnce(&mut Config)) -> (TestServer, World) {
    let server = TestServer::start(Options {
        tls: Some(Tls::default()),
        ..Options::default()
    });
    let server = server.expect("a test server with TLS starts");
    let world = World::with(|config| {
        config.ca = Some(Pem::from(server.ca_pem().unwrap()));
        change(config);
    });
    (server, world)
}

fn outcomes(world: &World, urls: impl IntoIterator<Item = String>) -> Vec<Outcome> {
    let mut batch = Batch::new(world.client.clone(), 10);
    for (tag, url) in urls.into_iter().enumerate() {
        batch.push(tag, Request::get(&url).unwrap());
    }
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        world.run(batch.wait(&mut outcomes));
    }
    outcomes.sort_by_key(|(tag, _)| *tag);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

#[test]
fn a_burst_within_the_limit_does_not_count_as_waiting_while_the_protocol_is_found_out() {
    let (server, world) = secure(|config| {
        config.per_origin = Some(4);
        config.max_queue = Some(0);
    });
    let url = format!("{}/delay/100", server.base_url());
    for outcome in outcomes(&world, vec![url.clone(); 4]) {
        assert_eq!(outcome.unwrap().status(), 200);
    }
    let refused = outcomes(&world, vec![url; 5]).into_iter();
    let refused: Vec<_> = refused.filter_map(Result::err).collect();
    assert_eq!(refused.len(), 1, "the fifth does");
    assert_eq!(refused[0].phase(), Phase::Queue);
}

/// Forwards connections to this address, each after a delay.
fn slowly_opened(to: String, after: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for near in listener.incoming().map_while(Result::ok) {
            let far = TcpStream::connect(&to).unwrap();
            thread::sleep(after);
            for (mut from, mut to) in [
                (near.try_clone().unwrap(), far.try_clone().unwrap()),
                (far, near),
            ] {
                thread::spawn(move || {
                    let _ = io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        }
    });
    url
}

#[test]
fn the_limit_of_waiting_is_not_doubled_while_the_protocol_is_found_out() {
    // Twice the limit is 1.8 s at least: the first wait and a whole second one.
    sooner_than(Duration::from_millis(1600), waits_behind_one_that_opens);
}

/// The error of a request that may wait for one second, behind one whose connection takes longer.
fn waits_behind_one_that_opens() -> Error {
    let (server, world) = secure(|config| {
        config.per_origin = Some(1);
        config.queue_timeout = Some(Duration::from_millis(1000));
    });
    let address = server.base_url().replace("https://", "");
    let url = slowly_opened(address, Duration::from_millis(800));
    let mut batch = Batch::new(world.client.clone(), 2);
    for (tag, path) in ["delay/60000", "echo"].into_iter().enumerate() {
        batch.push(tag, Request::get(&format!("{url}/{path}")).unwrap());
    }
    let mut outcomes = Vec::new();
    world.run(batch.wait(&mut outcomes));
    let (tag, outcome) = outcomes.remove(0);
    assert_eq!(tag, 1);
    let error = outcome.unwrap_err();
    let failure = (error.kind(), error.phase());
    assert_eq!(failure, (Kind::Timeout, Phase::Queue), "{error}");
    error
}
