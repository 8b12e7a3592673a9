//! The command `call`: one call for an audit, with the client's own defaults, and its outcome.

use std::future::Future;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::{Outcome, words};

/// The call to make.
pub struct Call {
    /// Whether a new client with a new pool is to make the call.
    pub new_client: bool,
    pub method: String,
    pub url: String,
    pub fields: Vec<(String, String)>,
    pub body: Option<Vec<u8>>,
    pub timeout: Duration,
    /// Whether redirects are followed; none for the client's default.
    pub follow: Option<bool>,
    /// The certificates to trust, as PEM.
    pub ca: Option<String>,
    /// The proxy's URL.
    pub proxy: Option<String>,
    /// The addresses of the URL's host.
    pub hosts: Vec<String>,
    /// The version of HTTP that is used, if the server supports it: `2`, `3`, or none for the client's default.
    pub http: Option<String>,
    /// The most connections that the client may open.
    pub pool_size: Option<usize>,
}

impl Call {
    /// The host and the port of the URL.
    pub fn authority(&self) -> &str {
        let rest = self.url.split_once("://").map_or("", |(_, rest)| rest);
        rest.split('/').next().unwrap_or_default()
    }
}

impl Call {
    /// The call as a request of the crate http.
    pub fn request<B>(&self, body: impl FnOnce(Vec<u8>) -> B) -> Result<http::Request<B>, String> {
        let fields = self.fields.iter();
        let request = http::Request::builder().method(self.method.as_str()).uri(&self.url);
        let request = fields.fold(request, |request, (name, value)| request.header(name, value));
        request.body(body(self.body.clone().unwrap_or_default())).map_err(words)
    }
}

/// Runs a future on a runtime that also runs between calls, as that of a program does.
pub fn done<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    static RUNTIME: LazyLock<tokio::runtime::Handle> = LazyLock::new(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let handle = runtime.handle().clone();
        std::thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
        handle
    });
    let (send, receive) = std::sync::mpsc::channel();
    RUNTIME.spawn(async move { send.send(future.await) });
    receive.recv().expect("the future ends")
}

/// Makes calls: the words that the client understands, and the function that makes one call.
pub type Calls<'a> = (&'a [&'a str], &'a mut dyn FnMut(&Call) -> Outcome);

/// The reply to `call`.
pub(crate) fn reply(line: &Value, calls: Option<Calls<'_>>) -> Value {
    let Some((words, make)) = calls else {
        return refused("call");
    };
    let text = |key: &str| line[key].as_str().unwrap_or_default();
    let mut needs = text("needs").split(',').filter(|need| !need.is_empty());
    if let Some(word) = needs.find(|need| !words.contains(need)) {
        return refused(word);
    }
    let pairs = text("fields").split('&').filter_map(|pair| pair.split_once('='));
    let call = Call {
        new_client: line["new_client"] == true,
        method: text("method").to_owned(),
        url: text("url").to_owned(),
        fields: pairs.map(|(name, value)| (plain(name), plain(value))).collect(),
        body: line["body"].as_str().map(decoded),
        timeout: Duration::from_millis(line["timeout_ms"].as_u64().unwrap_or_default()),
        follow: line["follow"].as_bool(),
        ca: line["ca"]
            .as_str()
            .map(|file| std::fs::read_to_string(file).unwrap_or_default()),
        proxy: line["proxy"].as_str().map(str::to_owned),
        hosts: text("hosts")
            .split(',')
            .filter(|host| !host.is_empty())
            .map(str::to_owned)
            .collect(),
        http: line["http"].as_str().map(str::to_owned),
        pool_size: line["pool_size"].as_u64().map(|size| size as usize),
    };
    let from = Instant::now();
    let outcome = make(&call);
    let ms = from.elapsed().as_millis() as u64;
    match outcome {
        Ok((status, body)) => {
            let hash = digest(&SHA256, &body);
            let hash: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "ok": true, "status": status, "bytes": body.len(), "sha256": hash, "ms": ms })
        }
        Err(error) => {
            let text: String = error.chars().take(500).collect();
            let class = text.split([':', '(']).next().unwrap_or_default().trim();
            json!({ "ok": true, "class": class, "text": text, "ms": ms })
        }
    }
}

fn refused(what: &str) -> Value {
    json!({ "ok": false, "error": "unsupported", "what": what })
}

fn plain(text: &str) -> String {
    String::from_utf8_lossy(&decoded(text)).into_owned()
}

/// The bytes of a percent-encoded text.
fn decoded(text: &str) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex
            .and_then(|hex| u8::from_str_radix(hex, 16).ok())
            .filter(|_| byte == b'%')
        {
            Some(decoded) => {
                out.push(decoded);
                rest = &after[2..];
            }
            None => {
                out.push(byte);
                rest = after;
            }
        }
    }
    out
}
