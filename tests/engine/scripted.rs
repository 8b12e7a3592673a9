//! A server that responds to each path with a few given bytes, and records the requests.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Maps a whole request, as it was on the wire, to a response.
type Responses = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Responses are whole responses by target (`/path?query`); other targets get a 404. Connections stay open, but for an
/// empty response.
pub struct Scripted {
    pub url: String,
    arrived: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    /// `responses` gets the server's own URL.
    pub fn new(responses: impl FnOnce(&str) -> Vec<(&'static str, String)>) -> Scripted {
        Scripted::start(|url| {
            let responses: HashMap<_, _> = responses(url).into_iter().collect();
            Arc::new(move |request| {
                let target = request.split(' ').nth(1).unwrap_or_default();
                let missing = || response_text(404, "", "no such path");
                responses.get(target).cloned().unwrap_or_else(missing)
            })
        })
    }

    /// A server whose responses depend on the requests.
    pub fn responding(responses: impl Fn(&str) -> String + Send + Sync + 'static) -> Scripted {
        Scripted::start(|_| Arc::new(responses))
    }

    fn start(responses: impl FnOnce(&str) -> Responses) -> Scripted {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let responses = responses(&url);
        let arrived = Arc::<Mutex<Vec<String>>>::default();
        let records = arrived.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (responses, records) = (responses.clone(), records.clone());
                thread::spawn(move || serve(stream, &responses, &records));
            }
        });
        Scripted { url, arrived }
    }

    /// The requests so far: heads and bodies as they were on the wire.
    pub fn arrived(&self) -> Vec<String> {
        self.arrived.lock().unwrap().clone()
    }

    /// The request lines without the version.
    pub fn requests(&self) -> Vec<String> {
        let line = |request: &String| {
            request
                .split(" HTTP/")
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        self.arrived().iter().map(line).collect()
    }
}

/// A whole response with these fields, each ended by CRLF, and a body.
pub fn response_text(status: u16, fields: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} X\r\n{fields}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn serve(mut stream: TcpStream, responses: &Responses, records: &Mutex<Vec<String>>) {
    let (mut input, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        while !is_whole(&input) {
            match stream.read(&mut piece) {
                Ok(count) if count > 0 => input.extend_from_slice(&piece[..count]),
                _ => return,
            }
        }
        let request = String::from_utf8_lossy(&input).into_owned();
        input.clear();
        records.lock().unwrap().push(request.clone());
        let bytes = responses(&request);
        if bytes.is_empty() || stream.write_all(bytes.as_bytes()).is_err() {
            return;
        }
    }
}

fn is_whole(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}
