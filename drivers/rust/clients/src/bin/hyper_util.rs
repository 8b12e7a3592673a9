//! hyper-util: hyper under the pool of its legacy Client, as many tasks as requests in flight.

use bytes::Bytes;
use drivers::workers::Tasks;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde_json::json;

fn main() {
    let about = json!({ "engine": "hyper" });
    drivers::run("hyper-util", "hyper-util", about, |job| {
        Tasks::new(|| {
            let mut builder = Client::builder(TokioExecutor::new());
            builder.retry_canceled_requests(false).pool_timer(TokioTimer::new());
            if !job.keepalive {
                builder.pool_max_idle_per_host(0);
            }
            let client: Client<_, Empty<Bytes>> = builder.build_http();
            move |url: String| {
                let (client, job) = (client.clone(), job.clone());
                async move {
                    let mut request = Request::builder().method(job.method.as_str()).uri(url);
                    if let Some(accept) = job.accept() {
                        request = request.header("accept", accept);
                    }
                    let request = request.body(Empty::new()).map_err(|_| "request".to_string())?;
                    let exchange = async {
                        let answer = client.request(request).await.map_err(|error| error.to_string())?;
                        let status = answer.status().as_u16();
                        let body = answer.into_body().collect().await.map_err(|error| error.to_string())?;
                        Ok((status, body.to_bytes()))
                    };
                    tokio::time::timeout(job.timeout(), exchange)
                        .await
                        .map_err(|_| "timeout".to_string())?
                }
            }
        })
    });
}
