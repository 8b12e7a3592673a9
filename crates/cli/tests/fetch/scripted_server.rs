//! A server that answers each URL as a script says, and knows when which request came.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The bytes that the server sends, and how it ends the connection.
pub enum Sent {
    /// This, and then the connection is closed.
    Closed(Vec<u8>),
    /// This, and then the connection stays open for the next request.
    Kept(Vec<u8>),
}

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

type Script = dyn Fn(&str, usize) -> Sent + Send + Sync;

/// A server on a free port.
pub struct Scripted {
    port: u16,
    came: Arc<Mutex<Vec<Came>>>,
}

impl Scripted {
    /// One that calls `script` with the path of each request, and how often that path was requested before.
    pub fn start(script: impl Fn(&str, usize) -> Sent + Send + Sync + 'static) -> Scripted {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let came = Arc::new(Mutex::new(Vec::new()));
        let (script, seen): (Arc<Script>, _) = (Arc::new(script), came.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (script, seen) = (script.clone(), seen.clone());
                std::thread::spawn(move || respond(&stream, &*script, &seen));
            }
        });
        Scripted { port, came }
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The requests that came, in order.
    pub fn came(&self) -> Vec<Came> {
        self.came.lock().unwrap().clone()
    }

    /// How often a path was requested.
    pub fn count(&self, path: &str) -> usize {
        self.came().iter().filter(|came| came.path == path).count()
    }
}

/// Responds to the requests of a connection.
fn respond(stream: &TcpStream, script: &Script, seen: &Mutex<Vec<Came>>) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    while let Some(first) = lines.next() {
        let headers = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        let mut words = first.split(' ').map(str::to_owned);
        let (method, path) = (words.next().unwrap(), words.next().unwrap_or("/".into()));
        let before = {
            let mut seen = seen.lock().unwrap();
            let before = seen.iter().filter(|came| came.path == path).count();
            seen.push(Came {
                method,
                path: path.clone(),
                headers,
            });
            before
        };
        let mut stream = stream;
        match script(&path, before) {
            Sent::Closed(bytes) => {
                let _ = stream.write_all(&bytes);
                return;
            }
            Sent::Kept(bytes) if stream.write_all(&bytes).is_err() => return,
            Sent::Kept(_) => {}
        }
    }
}

/// A whole response with this status and body.
pub fn response(status: u16, headers: &str, body: &str) -> Sent {
    let length = body.len();
    Sent::Kept(
        format!("HTTP/1.1 {status} X\r\nContent-Length: {length}\r\n{headers}\r\n{body}")
            .into_bytes(),
    )
}

/// A good response.
pub fn good() -> Sent {
    response(200, "", "ok")
}
