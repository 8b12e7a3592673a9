//! A raw HTTP client for the tests: sends exactly the bytes it is given and reads one response.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use hecaton_test_server::{Delay, Options, RoundSpec, Summary, TestServer};

/// A read that takes longer is a hang: the test fails instead of waiting for ever.
const PATIENCE: Duration = Duration::from_secs(20);

pub fn server() -> TestServer {
    TestServer::start(Options::default()).expect("a test server on a free port")
}

/// A round of 133-byte responses without delay.
pub fn round(first: u64, count: u64) -> RoundSpec {
    RoundSpec {
        first,
        count,
        body_bytes: 133,
        gzip: false,
        delay: Delay::None,
        round_trip: Duration::ZERO,
        ..RoundSpec::default()
    }
}

pub struct Client {
    pub socket: TcpStream,
    buffer: Vec<u8>,
}

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Client {
    pub fn new(server: &TestServer) -> Client {
        let socket = TcpStream::connect(server.address()).expect("a connection");
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Client {
            socket,
            buffer: Vec::new(),
        }
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.socket
            .write_all(bytes.as_ref())
            .expect("the test server reads");
    }

    pub fn request(&mut self, method: &str, path: &str, headers: &str) {
        self.send(format!(
            "{method} {path} HTTP/1.1\r\nHost: test\r\n{headers}\r\n"
        ));
    }

    pub fn get(&mut self, path: &str) -> Response {
        self.request("GET", path, "");
        self.response()
    }

    /// Reads one response with a body.
    pub fn response(&mut self) -> Response {
        let mut response = self.head();
        response.body = match response.header("content-length") {
            Some(length) => self.exactly(length.parse().unwrap()),
            None if response.header("transfer-encoding") == Some("chunked") => self.chunks(),
            None => self.rest(),
        };
        response
    }

    /// Reads the head of a response alone.
    pub fn head(&mut self) -> Response {
        let head = String::from_utf8(self.until(b"\r\n\r\n")).expect("a head of text");
        let mut lines = head.trim_end().split("\r\n");
        let status = lines
            .next()
            .unwrap()
            .split(' ')
            .nth(1)
            .unwrap()
            .parse()
            .unwrap();
        let pair = |line: &str| {
            let (name, value) = line.split_once(": ").expect("a header line");
            (name.to_lowercase(), value.to_owned())
        };
        let headers = lines.map(pair).collect();
        Response {
            status,
            headers,
            head,
            body: Vec::new(),
        }
    }

    /// Everything up to the end of the connection.
    pub fn rest(&mut self) -> Vec<u8> {
        self.socket
            .read_to_end(&mut self.buffer)
            .expect("an orderly end");
        std::mem::take(&mut self.buffer)
    }

    /// The error that ends the connection, after dropping what comes before.
    pub fn error(&mut self) -> io::Error {
        self.socket
            .read_to_end(&mut self.buffer)
            .expect_err("no orderly end")
    }

    /// Exactly this many bytes.
    pub fn exactly(&mut self, count: usize) -> Vec<u8> {
        while self.buffer.len() < count {
            self.fill();
        }
        self.buffer.drain(..count).collect()
    }

    pub fn end_sending(&self) {
        self.socket.shutdown(Shutdown::Write).unwrap();
    }

    /// The body of a chunked response, trailers dropped.
    fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let line = String::from_utf8(self.until(b"\r\n")).unwrap();
            let size = usize::from_str_radix(line.trim_end(), 16).expect("a chunk's size");
            if size == 0 {
                break;
            }
            body.extend(self.exactly(size));
            assert_eq!(self.exactly(2), b"\r\n");
        }
        while self.until(b"\r\n") != b"\r\n" {}
        body
    }

    fn until(&mut self, end: &[u8]) -> Vec<u8> {
        loop {
            let found = self
                .buffer
                .windows(end.len())
                .position(|window| window == end);
            if let Some(at) = found {
                return self.buffer.drain(..at + end.len()).collect();
            }
            self.fill();
        }
    }

    fn fill(&mut self) {
        let mut bytes = [0; 65536];
        let count = self.socket.read(&mut bytes).expect("bytes in time");
        assert_ne!(
            count,
            0,
            "the connection ended after {:?}",
            String::from_utf8_lossy(&self.buffer)
        );
        self.buffer.extend_from_slice(&bytes[..count]);
    }
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a body of text")
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("a body of JSON")
    }

    /// The check value in the last eight bytes of the body.
    pub fn check_value(&self) -> u32 {
        let text = self.text();
        u32::from_str_radix(&text[text.len() - 8..], 16).expect("a check value at the end")
    }
}

/// Waits until the test server has seen something that no response shows, such as an abort.
pub fn eventually(server: &TestServer, seen: impl Fn(&Summary) -> bool) -> Summary {
    for _ in 0..4000 {
        let summary = server.summary();
        if seen(&summary) {
            return summary;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the test server never saw it: {:?}", server.summary());
}
