//! A small HTTP/1.1 server that remembers each request as it came: the test server's log knows ids, and not the
//! requests of a user's own service.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use parking_lot::Mutex;

/// Longest line that is read.
const LONGEST: u64 = 64 << 10;

/// How long a connection may be silent: longer than any check.
const SILENCE: Duration = Duration::from_secs(60);

/// A request as it came.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) method: String,
    pub(super) path: String,
    /// Names in lower case.
    pub(super) fields: BTreeMap<String, String>,
}

/// The server. Its threads end with the process, or with the connections of the driver.
pub(super) struct Recorder {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Recorded>>>,
    over: Arc<AtomicBool>,
}

impl Recorder {
    /// Listens on a free port of loopback.
    pub(super) fn start() -> Result<Recorder> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let recorder = Recorder {
            address: listener.local_addr()?,
            requests: Arc::default(),
            over: Arc::default(),
        };
        let (requests, over) = (recorder.requests.clone(), recorder.over.clone());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let requests = Arc::clone(&requests);
                thread::spawn(move || {
                    // A driver that breaks its connection has no more requests.
                    let _ = serve(stream, &requests);
                });
            }
        });
        Ok(recorder)
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All requests so far.
    pub(super) fn take(&self) -> Vec<Recorded> {
        std::mem::take(&mut *self.requests.lock())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address); // wakes the thread that accepts
    }
}

fn serve(stream: TcpStream, requests: &Mutex<Vec<Recorded>>) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_nodelay(true)?;
    let mut output = stream.try_clone()?;
    let mut input = BufReader::new(stream);
    while let Some(request) = head(&mut input)? {
        if request.fields.contains_key("expect") {
            output.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        skip_body(&mut input, &request)?;
        requests.lock().push(request);
        output.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")?;
    }
    Ok(())
}

/// The next head; none at the end of the connection.
fn head(input: &mut impl BufRead) -> io::Result<Option<Recorded>> {
    let first = line(input)?;
    let mut words = first.split(' ').map(str::to_owned);
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let mut fields = BTreeMap::new();
    while let Some((name, value)) = line(input)?.split_once(':') {
        fields.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    Ok(Some(Recorded {
        method,
        path,
        fields,
    }))
}

/// Reads the body of a request, if it has one: the next head is behind it.
fn skip_body(input: &mut impl BufRead, request: &Recorded) -> io::Result<()> {
    let field = |name: &str| request.fields.get(name);
    let is_chunked = |coding: &String| coding.eq_ignore_ascii_case("chunked");
    if !field("transfer-encoding").is_some_and(is_chunked) {
        let length = field("content-length").map_or(Ok(0), |text| text.parse());
        return skip(input, length.map_err(io::Error::other)?);
    }
    loop {
        let length = line(input)?;
        let length = u64::from_str_radix(length.trim(), 16).map_err(io::Error::other)?;
        skip(input, length)?;
        line(input)?;
        if length == 0 {
            return Ok(());
        }
    }
}

fn skip(input: &mut impl BufRead, length: u64) -> io::Result<()> {
    io::copy(&mut input.take(length), &mut io::sink()).map(drop)
}

/// A line without its end; empty at the end of the connection, too.
fn line(input: &mut impl BufRead) -> io::Result<String> {
    let mut text = Vec::new();
    input.take(LONGEST).read_until(b'\n', &mut text)?;
    let text = String::from_utf8_lossy(&text);
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}
