//! reqwest: one Client, as many tasks as requests in flight.

use drivers::workers::Tasks;
use reqwest::{Client, Method};
use serde_json::json;

fn main() {
    let about = json!({ "engine": "hyper-util" });
    drivers::run("reqwest", "reqwest", about, |job| {
        Tasks::new(|| {
            let mut builder = Client::builder()
                .timeout(job.timeout())
                .no_proxy()
                .retry(reqwest::retry::never());
            if !job.keepalive {
                builder = builder.pool_max_idle_per_host(0);
            }
            let client = builder.build().expect("a client");
            let method: Method = job.method.parse().expect("a method");
            move |url: String| {
                let mut request = client.request(method.clone(), url);
                if let Some(accept) = job.accept() {
                    request = request.header("accept", accept);
                }
                async move {
                    let kind = |error: reqwest::Error| match error.is_timeout() {
                        true => "timeout".to_string(),
                        false => error.without_url().to_string(),
                    };
                    let answer = request.send().await.map_err(kind)?;
                    Ok((answer.status().as_u16(), answer.bytes().await.map_err(kind)?))
                }
            }
        })
    });
}
