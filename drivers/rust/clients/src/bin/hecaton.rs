//! The engine itself, without Ruby around it: one batch a round that refills itself.

use drivers::{Driver, Round};
use hecaton::{Batch, Client, Config, Protocol, Reactor, Request};
use serde_json::json;
use std::sync::Arc;

struct Hecaton(Reactor, Client);

impl Driver for Hecaton {
    fn go(&mut self, round: &Arc<Round>) {
        let mut batch = Batch::new(self.1.clone(), round.job.concurrency);
        let next = |batch: &mut Batch<_>| {
            let Some((url, taken)) = round.take() else { return };
            let request = Request::new(&round.job.method, &url).expect("a request");
            let accept = round.job.accept().as_bytes();
            batch.push(taken, request.header("accept", accept).expect("a header"));
        };
        (0..round.job.concurrency).for_each(|_| next(&mut batch));
        let mut outcomes = Vec::new();
        while !batch.is_empty() {
            self.0.block_on(batch.wait(&mut outcomes));
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
        config.ca = job.ca_pem().map(|pem| String::from_utf8_lossy(&pem).into());
        config.idle_timeout = config.idle_timeout.mul_f64(if job.keepalive { 1.0 } else { 0.0 });
        Hecaton(Reactor::new().expect("a reactor"), Client::new(config))
    });
}
