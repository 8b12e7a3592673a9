//! moto, a server of S3 that `bin/setup fetch` installs, and a proxy before it that kills workers and loses responses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Ending, end_of, until};

/// A server with the bucket `bucket`.
pub struct S3 {
    server: Child,
    address: String,
}

impl S3 {
    /// None where there is no server, which the test then says.
    pub fn start() -> Option<S3> {
        let installed =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fetch-peers/bin/moto_server");
        let program = match installed.exists() {
            true => installed,
            false => "moto_server".into(),
        };
        let mut command = Command::new(program);
        command.args(["-H", "127.0.0.1", "-p", "0"]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let Ok(mut server) = command.spawn() else {
            println!("no moto_server: `bin/setup fetch` installs it; this test tried nothing");
            return None;
        };
        let said = BufReader::new(server.stderr.take()?);
        let mut lines = said.lines().map_while(Result::ok);
        let address = lines.find_map(|line| {
            let (_, address) = line.split_once("Running on http://")?;
            Some(address.trim().to_owned())
        });
        // The server must not be stopped by a full pipe.
        std::thread::spawn(move || lines.count());
        let address = address.expect("the server names its address");
        let s3 = S3 { server, address };
        s3.put("/bucket", "");
        Some(s3)
    }

    /// Writes an object, without a signature.
    pub fn put(&self, path: &str, body: &str) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let head = format!(
            "PUT {path} HTTP/1.1\r\nHost: s3.amazonaws.com\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        assert!(response.contains(" 200 "), "{response}");
    }

    /// Has a command use the server.
    pub fn with<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        with_s3(command, &self.address)
    }
}

/// Has a command use the server at this address.
fn with_s3<'a>(command: &'a mut Command, address: &str) -> &'a mut Command {
    let settings = [
        ("AWS_ENDPOINT_URL", &*format!("http://{address}")),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "us-east-1"),
    ];
    command.envs(settings)
}

impl Drop for S3 {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// What stands between a worker and the server.
#[derive(Clone, Copy, PartialEq)]
pub enum Fault {
    None,
    /// Kill the process at its n-th put, before or after the server has it.
    Kill(usize, bool),
    /// Close the connection instead of the response to each put of an object whose name ends so, once.
    Lose(&'static str),
    /// Refuse two requests of three.
    SlowDown,
    /// Forbid each put.
    Forbid,
}

struct State {
    fault: Fault,
    puts: usize,
    requests: usize,
    process: Option<Pid>,
    lost: bool,
}

/// A proxy in front of the server.
pub struct Proxy {
    address: String,
    state: Arc<Mutex<State>>,
}

impl Proxy {
    pub fn start(s3: &S3) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let state = Arc::new(Mutex::new(State {
            fault: Fault::None,
            puts: 0,
            requests: 0,
            process: None,
            lost: false,
        }));
        let (server, shared) = (s3.address.clone(), state.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (server, shared) = (server.clone(), shared.clone());
                std::thread::spawn(move || pass_on(stream, &server, &shared));
            }
        });
        Proxy { address, state }
    }

    pub fn set(&self, fault: Fault) {
        let mut state = self.state.lock().unwrap();
        (state.fault, state.puts, state.process, state.lost) = (fault, 0, None, false);
    }

    pub fn with<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        with_s3(command, &self.address)
    }

    /// Runs a command that a fault may kill.
    pub fn run(&self, command: &mut Command) -> Ending {
        let child = self.with(command).spawn().unwrap();
        self.state.lock().unwrap().process = Some(Pid::from_raw(child.id() as i32));
        end_of(child)
    }
}

/// One request and its response; none when one side has gone.
fn pass_on(mut client: TcpStream, server: &str, state: &Mutex<State>) -> Option<()> {
    let mut reader = BufReader::new(client.try_clone().ok()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            break;
        }
        if !lower.starts_with("connection:") {
            head.push_str(&line);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let name = head.split(' ').nth(1)?.split('?').next()?.to_owned();
    let is_put = head.starts_with("PUT ");
    let (fault, put) = {
        let mut state = state.lock().unwrap();
        state.requests += 1;
        state.puts += usize::from(is_put);
        let refusal = match state.fault {
            Fault::SlowDown if !state.requests.is_multiple_of(3) => Some("503 Slow Down"),
            Fault::Forbid if is_put => Some("403 Forbidden"),
            _ => None,
        };
        if let Some(status) = refusal {
            let refused =
                format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            return client.write_all(refused.as_bytes()).ok();
        }
        (state.fault, state.puts)
    };
    let kills = |before| is_put && fault == Fault::Kill(put, before);
    if kills(true) {
        return end(state);
    }
    let mut onward = TcpStream::connect(server).ok()?;
    onward
        .write_all(format!("{head}Connection: close\r\n\r\n").as_bytes())
        .ok()?;
    onward.write_all(&body).ok()?;
    let mut response = Vec::new();
    onward.read_to_end(&mut response).ok()?;
    if kills(false) {
        return end(state);
    }
    if let Fault::Lose(end) = fault {
        let mut state = state.lock().unwrap();
        if is_put && name.ends_with(end) && !std::mem::replace(&mut state.lost, true) {
            return None;
        }
    }
    client.write_all(&response).ok()
}

/// Kills the process, as soon as it is known.
fn end(state: &Mutex<State>) -> Option<()> {
    until(|| state.lock().unwrap().process.is_some());
    let process = state.lock().unwrap().process?;
    kill(process, Signal::SIGKILL).ok()
}
