//! reqwest: one Client, as many tasks as requests in flight.

use drivers::workers::Tasks;
use reqwest::{Certificate, Client, Method};
use serde_json::json;

fn main() {
    drivers::run("reqwest", "reqwest", json!({ "engine": "hyper-util" }), |job| {
        Tasks::new(|| {
            let retry = reqwest::retry::never();
            let mut builder = Client::builder().timeout(job.timeout()).no_proxy().retry(retry);
            if let Some(pem) = job.ca_pem() {
                let certificate = Certificate::from_pem(&pem).expect("a certificate");
                builder = builder.add_root_certificate(certificate).tls_built_in_root_certs(false);
            }
            if !job.keepalive {
                builder = builder.pool_max_idle_per_host(0);
            }
            let client = builder.build().expect("a client");
            let method: Method = job.method.parse().expect("a method");
            move |url: String| {
                let request = client.request(method.clone(), url).header("accept", job.accept());
                async move {
                    let kind = |error: reqwest::Error| match error.is_timeout() {
                        true => "timeout".to_string(),
                        false => error.without_url().to_string(),
                    };
                    let response = request.send().await.map_err(kind)?;
                    Ok((response.status().as_u16(), response.bytes().await.map_err(kind)?))
                }
            }
        })
    });
}
