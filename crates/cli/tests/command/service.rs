//! A service that is not the lab's, for tests: it keeps what it gets, and responds as a test says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use crate::support::{hecaton, root};

/// A service that responds to each request by its number, and keeps the requests.
pub struct Service {
    /// Where it is.
    pub url: String,
    /// Each request as it came: its head without the empty line, and its body.
    pub requests: std::sync::Arc<std::sync::Mutex<Vec<String>>>,
}

impl Service {
    /// One whose responses have the status that `status` gives, on keep-alive connections.
    pub fn start(status: impl Fn(usize) -> u16 + Send + Sync + 'static) -> Service {
        Service::logging(status, |_, _, _| ())
    }

    /// One that calls `log` with the number of each request, the request and the status before it responds.
    pub fn logging(
        status: impl Fn(usize) -> u16 + Send + Sync + 'static,
        log: impl Fn(usize, &str, u16) + Send + Sync + 'static,
    ) -> Service {
        Service::on(TcpListener::bind("127.0.0.1:0").unwrap(), status, log)
    }

    /// The same, behind a listener.
    pub fn on(
        listener: TcpListener,
        status: impl Fn(usize) -> u16 + Send + Sync + 'static,
        log: impl Fn(usize, &str, u16) + Send + Sync + 'static,
    ) -> Service {
        let url = format!("http://{}/api", listener.local_addr().unwrap());
        let requests = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let (received, how) = (requests.clone(), std::sync::Arc::new((status, log)));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (received, how) = (received.clone(), how.clone());
                std::thread::spawn(move || serve(stream, &received, &how.0, &how.1));
            }
        });
        Service { url, requests }
    }
}

fn serve(
    stream: TcpStream,
    received: &std::sync::Mutex<Vec<String>>,
    status: &dyn Fn(usize) -> u16,
    log: &dyn Fn(usize, &str, u16),
) {
    let mut out = stream.try_clone().unwrap();
    let mut reader = BufReader::new(stream);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
            head += &line;
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let request = head + &String::from_utf8(body).unwrap();
        let number = {
            let mut received = received.lock().unwrap();
            received.push(request.clone());
            received.len() - 1
        };
        let status = status(number);
        log(number, &request, status);
        let response = format!("HTTP/1.1 {status} X\r\nContent-Length: 2\r\n\r\nok");
        if out.write_all(response.as_bytes()).is_err() {
            return;
        }
    }
}

/// The command with the project's own Ruby clients.
pub fn with_ruby(line: &str) -> std::process::Command {
    let mut command = hecaton("cheats");
    command.env("HECATON_DRIVERS", root().join("drivers/ruby"));
    command.args(line.split(' '));
    command
}
