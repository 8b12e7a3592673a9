//! hyper-util: hyper under the pool of its legacy Client, as many tasks as requests in flight.

use std::sync::Arc;

use bytes::Bytes;
use drivers::workers::{Tasks, within};
use drivers::{Job, Outcome, words};
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde_json::json;

type HttpsClient = Client<HttpsConnector<HttpConnector>, Empty<Bytes>>;

fn main() {
    drivers::run("hyper-util", "hyper-util", json!({ "engine": "hyper" }), |job| {
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
    let response = client.request(request).await.map_err(words)?;
    let status = response.status().as_u16();
    Ok((status, response.into_body().collect().await.map_err(words)?.to_bytes()))
}
