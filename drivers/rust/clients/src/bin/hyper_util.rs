//! hyper-util: hyper under the pool of its legacy Client, as many tasks as requests in flight.

use std::sync::Arc;

use bytes::Bytes;
use drivers::workers::{Tasks, within};
use drivers::{Call, Job, Outcome, calls, words};
use http_body_util::{BodyExt, Empty, Full};
use hyper::Request;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, ResponseFuture, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde_json::json;

type HttpsClient = Client<HttpsConnector<HttpConnector>, Empty<Bytes>>;

type Pooled = Client<HttpConnector, Full<Bytes>>;

/// One call, with the client's defaults.
fn make_call(stored: &mut Option<Pooled>, call: &Call) -> Outcome {
    let new_client = || {
        Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .build_http()
    };
    let client = stored.take().filter(|_| !call.new_client).unwrap_or_else(new_client);
    *stored = Some(client.clone());
    let request = call.request(|body| Full::new(Bytes::from(body)))?;
    calls::done(within(call.timeout, received(client.request(request))))
}

fn main() {
    let about = json!({ "engine": "hyper" });
    let mut stored = None;
    let mut calls = |call: &Call| make_call(&mut stored, call);
    let calls: drivers::Calls<'_> = (
        &["method", "body", "fields", "timeout", "raw-url", "raw-method"],
        &mut calls,
    );
    drivers::run_with_calls("hyper-util", "hyper-util", about, Some(calls), |job| {
        Tasks::new(|| {
            let connector = HttpsConnectorBuilder::new().with_tls_config(job.tls()).https_or_http();
            let mut builder = Client::builder(TokioExecutor::new());
            builder.retry_canceled_requests(false).pool_timer(TokioTimer::new());
            if !job.keepalive {
                builder.pool_max_idle_per_host(0);
            }
            let client: HttpsClient = builder.build(connector.enable_http1().build());
            move |url| within(job.timeout(), send(client.clone(), job.clone(), url))
        })
    });
}

async fn send(client: HttpsClient, job: Arc<Job>, url: String) -> Outcome {
    let request = Request::builder()
        .method(job.method.as_str())
        .header("accept", job.accept());
    let request = request.uri(url).body(Empty::new()).map_err(words)?;
    received(client.request(request)).await
}

async fn received(response: ResponseFuture) -> Outcome {
    let response = response.await.map_err(words)?;
    let status = response.status().as_u16();
    Ok((status, response.into_body().collect().await.map_err(words)?.to_bytes()))
}
