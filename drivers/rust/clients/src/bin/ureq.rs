//! ureq: one Agent shared by as many threads as requests in flight.

use drivers::workers::Threads;
use serde_json::json;
use ureq::Agent;
use ureq::http::Request;

fn main() {
    let about = json!({ "engine": "ureq-proto", "models": ["threads"], "max_concurrency": 512 });
    drivers::run("ureq", "ureq", about, |job| {
        // It keeps 3 idle connections of a host and 10 in all unless told; no more than are in flight are ever idle here.
        let kept = if job.keepalive { job.concurrency } else { 0 };
        let config = Agent::config_builder()
            .max_idle_connections(kept)
            .max_idle_connections_per_host(kept)
            .timeout_global(Some(job.timeout()))
            .http_status_as_error(false)
            .proxy(None);
        let agent: Agent = config.build().into();
        let sent = job.clone();
        Threads::new(&job, move |url| {
            let mut request = Request::builder().method(sent.method.as_str()).uri(url);
            if let Some(accept) = sent.accept() {
                request = request.header("accept", accept);
            }
            let request = request.body(()).map_err(|error| error.to_string())?;
            let mut answer = agent.run(request).map_err(|error| error.to_string())?;
            let body = answer.body_mut().read_to_vec().map_err(|error| error.to_string())?;
            Ok((answer.status().as_u16(), body.into()))
        })
    });
}
