//! HTTP/3 where datagrams are lost, doubled, delayed and overtaken: each request has its own response, and arrives once.

use std::ops::RangeInclusive;
use std::time::Duration;

use hecaton::{Batch, Client, Config, Protocol, Proxy, Reactor, Request};
use hecaton_test_server::{Http3, Options, RoundSpec, TestServer, Tls};

use crate::lossy::Lossy;

/// Requests, unless the variable `HECATON_LOSSY_REQUESTS` says how many.
const REQUESTS: u64 = 1_000;
const CONCURRENCY: usize = 50;
/// Requests whose bodies wait behind the one that loses datagrams.
const LATER: u64 = 100;
const SEED: u64 = 3;
/// Bodies of several datagrams.
const BODY: usize = 5_000;

/// A server whose bodies have this length.
fn serve(count: u64) -> TestServer {
    let server = TestServer::start(Options {
        tls: Some(Tls::default()),
        http3: Some(Http3::default()),
        ..Options::default()
    });
    let server = server.unwrap();
    server.open_round(RoundSpec {
        first: 1,
        count,
        body_bytes: BODY,
        ..RoundSpec::default()
    });
    server
}

fn requests(server: &TestServer, concurrency: usize) -> Batch<u64> {
    let mut config = Config::new(Duration::from_secs(60));
    config.ca = server.ca_pem().map(|pem| pem.into());
    config.proxy = Proxy::Off;
    config.http = Protocol::Http3;
    Batch::new(Client::try_new(config).unwrap(), concurrency)
}

fn push(batch: &mut Batch<u64>, way: &Lossy, ids: RangeInclusive<u64>) {
    for id in ids {
        let url = format!("https://{}/r/{id}", way.address);
        batch.push(id, Request::get(&url).unwrap());
    }
}

#[test]
fn no_body_is_wrong_and_no_request_arrives_twice_where_datagrams_are_lost() {
    let wanted = std::env::var("HECATON_LOSSY_REQUESTS").ok();
    let count = wanted.map_or(REQUESTS, |count| count.parse().expect("a number"));
    let server = serve(count);
    let way = Lossy::new(server.address(), SEED);
    let mut batch = requests(&server, CONCURRENCY);
    push(&mut batch, &way, 1..=count);
    let sum = sum_of(&mut batch);
    let round = server.close_round();
    assert_eq!(sum, round.expected_sum);
    let seen = (round.distinct, round.duplicates, round.foreign);
    assert_eq!(seen, (count, 0, 0));
    assert_eq!(round.over_http3, count);
    let counts = way.stop();
    println!(
        "{count} requests over {} connections: {counts:?}",
        round.connections_used
    );
    assert!(counts.lost > 0 && counts.doubled > 0 && counts.delayed > 0);
}

/// QUIC alone would send them again behind all bodies that wait.
#[test]
fn lost_parts_of_a_body_are_sent_again_before_the_bodies_of_later_requests() {
    let server = serve(1 + LATER);
    let way = Lossy::without_losses(server.address());
    let reactor = Reactor::new().unwrap();
    let mut batch = requests(&server, LATER as usize);
    // The connection is open, and the requests leave together.
    push(&mut batch, &way, 1..=1);
    assert_eq!(order_of(&reactor, &mut batch), [1]);
    way.lose_large(3);
    push(&mut batch, &way, 2..=1 + LATER);
    let order = order_of(&reactor, &mut batch);
    assert_eq!(order.len() as u64, LATER);
    assert_eq!(way.stop().lost, 3);
    let place = order.iter().position(|id| *id == 2).unwrap() as u64;
    assert!(place < LATER / 4, "{order:?}");
}

/// The requests in the order in which their responses were whole.
fn order_of(reactor: &Reactor, batch: &mut Batch<u64>) -> Vec<u64> {
    let (mut outcomes, mut order) = (Vec::new(), Vec::new());
    while !batch.is_empty() {
        reactor.block_on(batch.wait(&mut outcomes));
        for (id, outcome) in outcomes.drain(..) {
            assert_eq!(outcome.unwrap().body().len(), BODY, "{id}");
            order.push(id);
        }
    }
    order
}

/// The sum of the check values at the ends of all bodies.
fn sum_of(batch: &mut Batch<u64>) -> u32 {
    let reactor = Reactor::new().unwrap();
    let (mut outcomes, mut sum) = (Vec::new(), 0u32);
    while !batch.is_empty() {
        reactor.block_on(batch.wait(&mut outcomes));
        for (id, outcome) in outcomes.drain(..) {
            let response = outcome.unwrap_or_else(|error| panic!("{id}: {error:?}"));
            let body = response.body();
            assert_eq!(body.len(), BODY, "{id}");
            let check_value = std::str::from_utf8(&body[BODY - 8..]).expect("digits");
            let check_value = u32::from_str_radix(check_value, 16).expect("digits");
            sum = sum.wrapping_add(check_value);
        }
    }
    sum
}
