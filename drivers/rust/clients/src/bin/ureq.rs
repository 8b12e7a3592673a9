//! ureq: one Agent shared by as many threads as requests in flight; `tuned` keeps a connection for each.

use drivers::workers::Threads;
use drivers::{tuned, words};
use serde_json::json;
use ureq::Agent;
use ureq::http::Request;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

fn main() {
    let about = json!({ "engine": "ureq-proto", "models": ["threads"], "max_concurrency": 512 });
    drivers::run("ureq", "ureq", about, |job| {
        let mut config = Agent::config_builder()
            .timeout_global(Some(job.timeout()))
            .http_status_as_error(false)
            .proxy(None);
        if tuned() || !job.keepalive {
            // By default it holds 3 idle connections of a host and 10 in all.
            let idle = if job.keepalive { job.concurrency } else { 0 };
            config = config.max_idle_connections(idle).max_idle_connections_per_host(idle);
        }
        if let Some(pem) = job.ca_pem() {
            let certificate = Certificate::from_pem(&pem).expect("a certificate");
            let roots = RootCerts::new_with_certs(&[certificate]);
            config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
        }
        let agent: Agent = config.build().into();
        let sent = job.clone();
        Threads::new(&job, move |url| {
            let request = Request::builder().method(sent.method.as_str()).uri(url);
            let request = request.header("accept", sent.accept()).body(()).map_err(words)?;
            let mut response = agent.run(request).map_err(words)?;
            let body = response.body_mut().read_to_vec().map_err(words)?;
            Ok((response.status().as_u16(), body.into()))
        })
    });
}
