//! reqwest: one Client, as many tasks as requests in flight.

use drivers::workers::Tasks;
use drivers::{Call, calls, words};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Method};
use serde_json::json;

/// One call, with the client's defaults. Redirects are a setting of the client, so the first call decides on them.
fn make_call(stored: &mut Option<Client>, call: &Call) -> drivers::Outcome {
    let redirects = if call.follow == Some(false) {
        Policy::none()
    } else {
        Policy::default()
    };
    let new_client = || Client::builder().redirect(redirects).build().expect("a client");
    let client = stored.take().filter(|_| !call.new_client).unwrap_or_else(new_client);
    let method: Method = call.method.parse().map_err(words)?;
    let fields = call.fields.iter();
    let request = fields.fold(client.request(method, &call.url), |request, (name, value)| {
        request.header(name, value)
    });
    *stored = Some(client);
    let request = call
        .body
        .iter()
        .fold(request, |request, body| request.body(body.clone()));
    let request = request.timeout(call.timeout);
    calls::done(async move {
        let response = request.send().await.map_err(|error| format!("{error:?}"))?;
        Ok((
            response.status().as_u16(),
            response.bytes().await.map_err(|error| format!("{error:?}"))?,
        ))
    })
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
    let about = json!({ "engine": "hyper-util" });
    let mut stored = None;
    let mut calls = |call: &Call| make_call(&mut stored, call);
    drivers::run_with_calls("reqwest", "reqwest", about, Some((&CAN, &mut calls)), |job| {
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
