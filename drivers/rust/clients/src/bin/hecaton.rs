//! The engine itself, without Ruby around it: one batch a round that refills itself.

use drivers::{Call, Driver, Job, Round, words};
use hecaton::{Batch, Client, Config, Cookies, Protocol, Proxy, Reactor, Request};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

struct Hecaton(Reactor, Client);

impl Driver for Hecaton {
    fn go(&mut self, round: &Arc<Round>) {
        let mut batch = Batch::new(self.1.clone(), round.job.concurrency);
        let (mut next, mut outcomes) = (None, Vec::new());
        loop {
            while batch.len() < batch.concurrency() {
                next = next.or_else(|| round.take());
                let Some((url, taken)) = next.take_if(|(_, taken)| round.left(*taken).is_zero()) else {
                    break;
                };
                batch.push(taken, request(round, &url));
            }
            // Only a request that is not yet due is left here.
            let left = next.as_ref().map(|(_, taken)| round.left(*taken));
            match left {
                Some(left) if batch.is_empty() => std::thread::sleep(left),
                Some(left) => drop(self.0.block_on_at_most(batch.wait(&mut outcomes), left)),
                None if batch.is_empty() => return,
                None => self.0.block_on(batch.wait(&mut outcomes)),
            }
            for (taken, outcome) in outcomes.drain(..) {
                let result = outcome.map(|response| (response.status(), response.into_body()));
                round.ended(result.map_err(|error| format!("{:?}", error.kind())), taken);
            }
        }
    }
}

fn request(round: &Round, url: &str) -> Request {
    let request = Request::new(&round.job.method, url).expect("a request");
    let accept = round.job.accept().as_bytes();
    request.header("accept", accept).expect("a header")
}

/// One call, with the engine's defaults.
fn make_call(client: &mut Option<Hecaton>, call: &Call) -> drivers::Outcome {
    if call.new_client || client.is_none() {
        let mut config = Config::new(Duration::from_secs(5));
        config.cookies = Some(Cookies::default());
        config.http = protocol(call.http.as_deref(), Protocol::Auto);
        config.ca = call.ca.clone().map(Into::into);
        config.proxy = call.proxy.clone().map_or(Proxy::Off, Proxy::Url);
        config.per_origin = call.pool_size;
        let hosts: Vec<&str> = call.hosts.iter().map(String::as_str).collect();
        if !hosts.is_empty() {
            config.resolve.add(call.authority(), &hosts).map_err(words)?;
        }
        *client = Some(Hecaton(Reactor::new().map_err(words)?, Client::new(config)));
    }
    let Hecaton(reactor, client) = client.as_ref().expect("it was made");
    let mut request = Request::new(&call.method, &call.url).map_err(words)?;
    for (name, value) in &call.fields {
        request = request.header(name, value.as_bytes()).map_err(words)?;
    }
    request = call
        .body
        .iter()
        .fold(request, |request, body| request.body(body.clone()));
    request = request.timeout(call.timeout);
    request = call.follow.iter().fold(request, |request, follow| {
        request.redirects(if *follow { 20 } else { 0 })
    });
    let outcome = reactor.block_on(client.send(request));
    let response = outcome.map_err(|error| format!("{:?}: {error}", error.kind()))?;
    Ok((response.status(), response.into_body()))
}

const CAN: [&str; 15] = [
    "method",
    "body",
    "fields",
    "timeout",
    "redirects",
    "cookies",
    "gzip",
    "userinfo",
    "tls",
    "h2",
    "h3",
    "proxy",
    "hosts",
    "pool-size",
    "expect",
];

fn main() {
    let mut client = None;
    let mut calls = |call: &Call| make_call(&mut client, call);
    let about = json!({ "models": ["batch"], "http": ["1.1", "2", "3"] });
    let calls: drivers::Calls<'_> = (&CAN, &mut calls);
    drivers::run_with_calls("hecaton-rust", "hecaton", about, Some(calls), open);
}

/// The protocol of a name, or another if there is none.
fn protocol(name: Option<&str>, otherwise: Protocol) -> Protocol {
    match name {
        Some("2") => Protocol::Http2,
        Some("3") => Protocol::Http3,
        _ => otherwise,
    }
}

fn open(job: Arc<Job>) -> Hecaton {
    let mut config = Config::new(job.timeout());
    config.http = protocol(job.http.as_deref(), Protocol::Http1);
    config.ca = job.ca_pem().map(|pem| String::from_utf8_lossy(&pem).into());
    config.idle_timeout = config.idle_timeout.mul_f64(if job.keepalive { 1.0 } else { 0.0 });
    Hecaton(Reactor::new().expect("a reactor"), Client::new(config))
}
