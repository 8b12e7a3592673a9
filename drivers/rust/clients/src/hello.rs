//! The reply of all drivers in Rust to `hello`.

use serde_json::{Value, json};

use crate::tuned;

/// The response to `hello`; `about` is what this driver adds or says otherwise.
pub fn hello(name: &str, package: &str, about: &Value) -> Value {
    let mut hello = json!({
        "ok": true, "proto": 2, "name": name.to_owned() + if tuned() { "-tuned" } else { "" }, "version": version(package), "runtime": "native", "engine": package,
        "http": ["1.1"], "tls": true, "models": ["async"], "keepalive": [true, false], "retries": "off",
        "max_concurrency": 10_000, "cores": 1, "paces": ["rate"], "verify": ["tail", "json", "none"],
        "methods": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
    });
    for (key, value) in about.as_object().into_iter().flatten() {
        hello[key] = value.clone();
    }
    hello
}

/// The version of a package that was built in.
pub fn version(package: &str) -> &'static str {
    let entry = format!("name = \"{package}\"\nversion = \"");
    let lock = include_str!("../Cargo.lock");
    let rest = lock.split_once(&entry).map_or("unknown\"", |(_, rest)| rest);
    rest.split_once('"').map_or(rest, |(version, _)| version)
}
