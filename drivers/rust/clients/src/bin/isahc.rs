//! isahc, a client on libcurl: one HttpClient, as many tasks as requests in flight.

use drivers::workers::Tasks;
use drivers::{Call, Job, Outcome, calls, words};
use isahc::config::{RedirectPolicy, VersionNegotiation};
use isahc::prelude::*;
use isahc::tls::{TlsConfig, TrustStore};
use isahc::{AsyncBody, HttpClient, Request, Response};
use serde_json::json;

/// One call, with the client's defaults, which follow no redirect.
fn make_call(stored: &mut Option<HttpClient>, call: &Call) -> Outcome {
    let new_client = || HttpClient::new().expect("a client");
    let client = stored.take().filter(|_| !call.new_client).unwrap_or_else(new_client);
    *stored = Some(client.clone());
    let fields = call.fields.iter();
    let builder = Request::builder().method(call.method.as_str()).uri(&call.url);
    let builder = fields.fold(builder, |builder, (name, value)| builder.header(name, value));
    let builder = builder.timeout(call.timeout);
    let builder = match call.follow {
        Some(true) => builder.redirect_policy(RedirectPolicy::Limit(10)),
        _ => builder,
    };
    let body = call.body.clone().map_or(AsyncBody::empty(), AsyncBody::from);
    let request = builder.body(body).map_err(words)?;
    calls::done(async move { whole(client.send_async(request).await).await })
}

/// The response with its body.
async fn whole(sent: Result<Response<AsyncBody>, isahc::Error>) -> Outcome {
    let mut response = sent.map_err(words)?;
    let body = response.bytes().await.map_err(words)?;
    Ok((response.status().as_u16(), body.into()))
}

fn client(job: &Job) -> HttpClient {
    let mut builder = HttpClient::builder()
        .timeout(job.timeout())
        .version_negotiation(VersionNegotiation::http11())
        .proxy(None);
    if let Some(file) = &job.ca {
        let trust = TrustStore::from_file(file);
        builder = builder.tls_config(TlsConfig::builder().trust_store(trust).build());
    }
    if !job.keepalive {
        builder = builder.connection_cache_size(0);
    }
    builder.build().expect("a client")
}

const CAN: [&str; 7] = ["method", "body", "fields", "timeout", "redirects", "gzip", "raw-url"];

fn main() {
    let mut stored = None;
    let mut calls = |call: &Call| make_call(&mut stored, call);
    // libcurl re-sends what a reused connection lost without a response.
    let about = json!({ "engine": "libcurl", "retries": "fixed:5" });
    drivers::run_with_calls("isahc", "isahc", about, Some((&CAN, &mut calls)), |job| {
        Tasks::new(|| {
            let client = client(&job);
            move |url: String| {
                let request = Request::builder().method(job.method.as_str()).uri(url);
                let request = request.header("accept", job.accept()).body(AsyncBody::empty());
                let client = client.clone();
                async move { whole(client.send_async(request.map_err(words)?).await).await }
            }
        })
    });
}
