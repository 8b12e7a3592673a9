//! ureq: one Agent shared by as many threads as requests in flight; `tuned` keeps a connection for each.

use drivers::workers::Threads;
use drivers::{Call, Outcome, tuned, words};
use serde_json::json;
use ureq::http::Request;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, AsSendBody};

/// One call, with the client's defaults.
fn make_call(stored: &mut Option<Agent>, call: &Call) -> Outcome {
    let new_client = || Agent::config_builder().http_status_as_error(false).build().into();
    let agent: Agent = stored.take().filter(|_| !call.new_client).unwrap_or_else(new_client);
    *stored = Some(agent.clone());
    let most = if call.follow == Some(false) { 0 } else { 10 };
    match call.body {
        Some(_) => sent(&agent, call.request(|body| body)?, call, most),
        None => sent(&agent, call.request(drop)?, call, most),
    }
}

fn sent(agent: &Agent, request: Request<impl AsSendBody>, call: &Call, redirects: u32) -> Outcome {
    let request = agent
        .configure_request(request)
        .timeout_global(Some(call.timeout))
        .max_redirects(redirects);
    let mut response = agent.run(request.build()).map_err(|error| format!("{error:?}"))?;
    let body = response.body_mut().read_to_vec().map_err(words)?;
    Ok((response.status().as_u16(), body.into()))
}

const CAN: [&str; 8] = [
    "method",
    "body",
    "fields",
    "timeout",
    "redirects",
    "userinfo",
    "raw-url",
    "raw-method",
];

fn main() {
    let mut stored = None;
    let mut calls = |call: &Call| make_call(&mut stored, call);
    let about = json!({ "engine": "ureq-proto", "models": ["threads"], "max_concurrency": 512 });
    drivers::run_with_calls("ureq", "ureq", about, Some((&CAN, &mut calls)), |job| {
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
