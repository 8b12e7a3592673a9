//! HTTP/3 where datagrams are lost, doubled, delayed and overtaken: each request has its own response, and arrives once.

use std::time::Duration;

use hecaton::{Batch, Client, Config, Protocol, Proxy, Reactor, Request};
use hecaton_test_server::{Http3, Options, RoundSpec, TestServer, Tls};

use crate::lossy::Lossy;

/// Requests, unless the variable `HECATON_LOSSY_REQUESTS` says how many.
const REQUESTS: u64 = 1_000;
const CONCURRENCY: usize = 50;
const SEED: u64 = 3;
/// Bodies of several datagrams.
const BODY: usize = 5_000;

#[test]
fn no_body_is_wrong_and_no_request_arrives_twice_where_datagrams_are_lost() {
    let wanted = std::env::var("HECATON_LOSSY_REQUESTS").ok();
    let count = wanted.map_or(REQUESTS, |count| count.parse().expect("a number"));
    let server = TestServer::start(Options {
        tls: Some(Tls::default()),
        http3: Some(Http3::default()),
        ..Options::default()
    });
    let server = server.unwrap();
    let way = Lossy::new(server.address(), SEED);
    let mut config = Config::new(Duration::from_secs(60));
    config.ca = server.ca_pem().map(|pem| pem.into());
    config.proxy = Proxy::Off;
    config.http = Protocol::Http3;
    server.open_round(RoundSpec {
        first: 1,
        count,
        body_bytes: BODY,
        ..RoundSpec::default()
    });
    let mut batch = Batch::new(Client::try_new(config).unwrap(), CONCURRENCY);
    for id in 1..=count {
        let url = format!("https://{}/r/{id}", way.address);
        batch.push(id, Request::get(&url).unwrap());
    }
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
