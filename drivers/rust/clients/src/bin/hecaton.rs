//! The engine itself, without Ruby around it: one batch a round that refills itself.

use std::sync::Arc;
use std::time::Duration;

use drivers::{Driver, Round};
use hecaton::{Batch, Client, Config, Protocol, Reactor, Request};
use serde_json::json;

struct Hecaton(Reactor, Client);

impl Driver for Hecaton {
    fn go(&mut self, round: &Arc<Round>) {
        let Hecaton(reactor, client) = self;
        let mut batch = Batch::new(client.clone(), round.job.concurrency);
        let request = |url: &str| Request::new(&round.job.method, url);
        let accepting = |url: &str, accept: &str| request(url)?.header("accept", accept.as_bytes());
        let next = |batch: &mut Batch<_>| {
            let Some((url, taken)) = round.take() else { return };
            let made = round
                .job
                .accept()
                .map_or_else(|| request(&url), |accept| accepting(&url, accept));
            batch.push(taken, made.expect("a request"));
        };
        (0..round.job.concurrency).for_each(|_| next(&mut batch));
        let mut outcomes = Vec::new();
        while !batch.is_empty() {
            reactor.block_on(batch.wait(&mut outcomes));
            for (taken, outcome) in outcomes.drain(..) {
                let answer = outcome.map(|response| (response.status(), response.into_body()));
                round.ended(answer.map_err(|error| format!("{:?}", error.kind())), taken);
                next(&mut batch);
            }
        }
    }
}

fn main() {
    drivers::run("hecaton-rust", "hecaton", json!({ "models": ["batch"] }), |job| {
        let mut config = Config::new(job.timeout());
        config.http = Protocol::Http1;
        if !job.keepalive {
            config.idle_timeout = Duration::ZERO;
        }
        Hecaton(Reactor::new().expect("a reactor"), Client::new(config))
    });
}
