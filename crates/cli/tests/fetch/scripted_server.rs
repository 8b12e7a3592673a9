//! A server that answers each URL as a script says, and knows when which request came.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hecaton_e2e::peer::{self, Peer};

pub use hecaton_e2e::peer::Reply as Sent;

/// A request that came.
#[derive(Clone, Debug)]
pub struct Came {
    /// Its method.
    pub method: String,
    /// Its path, with the query.
    pub path: String,
    /// All header lines.
    pub headers: Vec<String>,
}

impl From<peer::Request> for Came {
    fn from(request: peer::Request) -> Came {
        let lines = request.text.lines().skip(1);
        Came {
            method: request.method().to_owned(),
            path: request.target().to_owned(),
            headers: lines
                .take_while(|line| !line.is_empty())
                .map(str::to_owned)
                .collect(),
        }
    }
}

/// A server on a free port.
pub struct Scripted(Peer);

impl Scripted {
    /// One that calls `script` with the path of each request, and how often that path was requested before.
    pub fn start(script: impl Fn(&str, usize) -> Sent + Send + Sync + 'static) -> Scripted {
        let reply = move |request: &peer::Request| script(request.target(), request.before);
        Scripted(Peer::responding(reply))
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        self.0.url(path)
    }

    /// The requests that came, in order.
    pub fn came(&self) -> Vec<Came> {
        self.0.requests().into_iter().map(Came::from).collect()
    }

    /// How often a path was requested.
    pub fn count(&self, path: &str) -> usize {
        self.came().iter().filter(|came| came.path == path).count()
    }
}

/// A server whose responses are good, and which holds them back after some until it is told to go on: whoever fetches from
/// it is not done before.
pub struct Holding {
    server: Scripted,
    most: Arc<AtomicUsize>,
}

impl Holding {
    /// One that gives so many responses at first.
    pub fn after(responses: usize) -> Holding {
        let most = Arc::new(AtomicUsize::new(responses));
        let (given, limit) = (AtomicUsize::new(0), most.clone());
        let server = Scripted::start(move |_, _| {
            let number = given.fetch_add(1, Ordering::SeqCst);
            while number >= limit.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(2));
            }
            good()
        });
        Holding { server, most }
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        self.server.url(path)
    }

    /// The number of requests that came.
    pub fn count(&self) -> usize {
        self.server.came().len()
    }

    /// Gives all responses from now on.
    pub fn go_on(&self) {
        self.most.store(usize::MAX, Ordering::SeqCst);
    }
}

impl Drop for Holding {
    fn drop(&mut self) {
        self.go_on();
    }
}

/// A whole response with this status and body.
pub fn response(status: u16, headers: &str, body: &str) -> Sent {
    peer::response(status, headers, body).into()
}

/// A good response.
pub fn good() -> Sent {
    response(200, "", "ok")
}
