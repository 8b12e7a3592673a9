//! An S3 server that `benches/fetch/install` installs (MinIO, or moto where there is no Go), and a proxy before it that
//! kills workers and loses responses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::support::{Ending, end_of, until};

const KEY: &str = "hecaton-key";
const SECRET: &str = "hecaton-secret";

/// A server with the bucket `bucket`.
pub struct S3 {
    home: TempDir,
    server: Child,
    address: String,
    program: PathBuf,
}

impl S3 {
    /// Starts the server.
    ///
    /// # Panics
    /// If none is installed: only who asks for these tests has them, so they never pass without one.
    pub fn start() -> S3 {
        let program = program().expect(
            "there is no S3 server in target/fetch-peers: `benches/fetch/install` installs one",
        );
        let home = tempfile::tempdir().expect("a folder");
        let (server, address) = match is_minio(&program) {
            true => minio(&program, home.path()),
            false => moto(&program),
        };
        let s3 = S3 {
            home,
            server,
            address,
            program,
        };
        until(|| s3.curl(&["-X", "PUT"], "/bucket").is_some());
        s3
    }

    /// Whether the server still has its objects after [`S3::kill`].
    pub fn is_durable(&self) -> bool {
        is_minio(&self.program)
    }

    /// Kills the server with SIGKILL, which it cannot prepare for.
    pub fn kill(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }

    /// Starts MinIO again, at the same address and with its old objects.
    pub fn again(&mut self) {
        self.kill();
        until(|| {
            let begun = begin_minio(&self.program, self.home.path(), &self.address);
            begun.map(|server| self.server = server).is_some()
        });
    }

    /// Writes an object.
    pub fn put(&self, path: &str, body: &str) {
        let file = self.home.path().join("body");
        std::fs::write(&file, body).expect("a file");
        let file = file.to_str().expect("a path");
        self.curl(&["-T", file], path).expect("it is written");
    }

    /// Reads an object; none if there is none.
    pub fn get(&self, path: &str) -> Option<Vec<u8>> {
        self.curl(&[], path)
    }

    /// Removes an object.
    pub fn remove(&self, path: &str) {
        self.curl(&["-X", "DELETE"], path).expect("it is removed");
    }

    /// How many folders there are in a folder of the bucket.
    pub fn folders(&self, folder: &str) -> usize {
        let prefix = folder.replace('/', "%2F");
        let path = format!("/bucket?delimiter=%2F&list-type=2&prefix={prefix}%2F");
        let listed = self.curl(&[], &path).expect("a list");
        let listed = String::from_utf8(listed).expect("text");
        listed.matches("<CommonPrefixes>").count()
    }

    /// How many requests of each kind MinIO counted.
    pub fn requests(&self) -> String {
        let text = self.curl(&[], "/minio/v2/metrics/cluster");
        let text = String::from_utf8(text.unwrap_or_default()).expect("text");
        let counts = text
            .lines()
            .filter(|line| line.starts_with("minio_s3_requests_total"));
        counts.collect::<Vec<_>>().join("\n")
    }

    /// Sends a request, and returns the response's body; none if the request failed or the status is 400 or more.
    fn curl(&self, arguments: &[&str], path: &str) -> Option<Vec<u8>> {
        let mut curl = Command::new("curl");
        curl.args([
            "-sf",
            "--noproxy",
            "*",
            "--aws-sigv4",
            "aws:amz:us-east-1:s3",
        ]);
        curl.args(["--user", &format!("{KEY}:{SECRET}")]);
        curl.args(["-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD"]);
        curl.args(arguments);
        let output = curl.arg(format!("http://{}{path}", self.address)).output();
        let output = output.expect("curl is there");
        output.status.success().then_some(output.stdout)
    }

    /// Makes a command use the server.
    pub fn with<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        with_s3(command, &self.address)
    }
}

/// The installed server: MinIO before moto, and only moto if `HECATON_S3` is `moto`.
fn program() -> Option<PathBuf> {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fetch-peers/bin");
    let wanted = std::env::var("HECATON_S3").unwrap_or_default();
    let programs = ["minio", "moto_server"].map(|name| installed.join(name));
    let mut programs = programs.into_iter();
    programs.find(|program| program.exists() && (wanted != "moto" || !is_minio(program)))
}

fn is_minio(program: &Path) -> bool {
    program.ends_with("minio")
}

fn moto(program: &Path) -> (Child, String) {
    let mut command = Command::new(program);
    command.args(["-H", "127.0.0.1", "-p", "0"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut server = command.spawn().expect("the server starts");
    let said = BufReader::new(server.stderr.take().expect("its errors"));
    let mut lines = said.lines().map_while(Result::ok);
    let address = lines.find_map(|line| {
        let (_, address) = line.split_once("Running on http://")?;
        Some(address.trim().to_owned())
    });
    // The server must not be stopped by a full pipe.
    std::thread::spawn(move || lines.count());
    (server, address.expect("the server names its address"))
}

/// Starts MinIO on a free port, and again on another one if somebody else took the port meanwhile.
fn minio(program: &Path, home: &Path) -> (Child, String) {
    let mut begun = None;
    until(|| {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let address = free.expect("a free port").to_string();
        begun = begin_minio(program, home, &address).map(|server| (server, address));
        begun.is_some()
    });
    begun.expect("it has begun")
}

/// Starts MinIO, and waits until it is ready; none if it ended, because the port was taken meanwhile.
fn begin_minio(program: &Path, home: &Path, address: &str) -> Option<Child> {
    let mut command = Command::new(program);
    command.args(["server", "--quiet", "--address", address]);
    command.arg(home.join("store"));
    // Without `MINIO_UPDATE=off` the server would look for updates on the Internet.
    let settings = [
        ("MINIO_ROOT_USER", KEY),
        ("MINIO_ROOT_PASSWORD", SECRET),
        ("MINIO_BROWSER", "off"),
        ("MINIO_UPDATE", "off"),
        ("MINIO_PROMETHEUS_AUTH_TYPE", "public"),
    ];
    command.envs(settings).env("HOME", home);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut server = command.spawn().expect("the server starts");
    let mut has_ended = false;
    until(|| {
        has_ended = server.try_wait().expect("its state can be read").is_some();
        has_ended || responds(address)
    });
    match has_ended {
        true => None,
        false => Some(server),
    }
}

/// Whether the server at this address says that it is ready.
fn responds(address: &str) -> bool {
    let mut response = String::new();
    let mut try_health = || -> std::io::Result<()> {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(
            b"GET /minio/health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        )?;
        stream.read_to_string(&mut response).map(drop)
    };
    try_health().is_ok() && response.starts_with("HTTP/1.1 200")
}

/// Makes a command use the server at this address.
fn with_s3<'a>(command: &'a mut Command, address: &str) -> &'a mut Command {
    let settings = [
        ("AWS_ENDPOINT_URL", &*format!("http://{address}")),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ACCESS_KEY_ID", KEY),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("AWS_REGION", "us-east-1"),
    ];
    command.envs(settings)
}

impl Drop for S3 {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A fault between a worker and the server.
#[derive(Clone, Copy, PartialEq)]
pub enum Fault {
    None,
    /// Kill the process at its n-th put, before (true) or after (false) the server receives it.
    Kill(usize, bool),
    /// Kill the process before the server receives its put of an object whose name ends like this.
    KillAt(&'static str),
    /// Stop the process (SIGSTOP) once the server has received its first put of an object whose name ends like this.
    StopAt(&'static str),
    /// Close the connection instead of sending the response to the first put of an object whose name ends like this.
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
    lists: usize,
    process: Option<Pid>,
    /// Whether a fault that happens once has happened.
    happened: bool,
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
            lists: 0,
            process: None,
            happened: false,
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
        (state.fault, state.puts, state.process, state.happened) = (fault, 0, None, false);
    }

    /// How many requests there were.
    pub fn requests(&self) -> usize {
        self.state.lock().unwrap().requests
    }

    /// How many requests for a list of objects there were since this was called last.
    pub fn lists(&self) -> usize {
        std::mem::take(&mut self.state.lock().unwrap().lists)
    }

    pub fn with<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        with_s3(command, &self.address)
    }

    /// Runs a command that a fault may kill.
    pub fn run(&self, command: &mut Command) -> Ending {
        end_of(self.begin(command))
    }

    /// Starts a command that a fault may kill or stop.
    pub fn begin(&self, command: &mut Command) -> Child {
        let child = self.with(command).spawn().unwrap();
        self.state.lock().unwrap().process = Some(Pid::from_raw(child.id() as i32));
        child
    }

    /// Starts a command, and returns when it is stopped at its put of an object whose name ends like this.
    pub fn stopped_at(&self, name: &'static str, command: &mut Command) -> Child {
        self.set(Fault::StopAt(name));
        let child = self.begin(command);
        until(|| self.state.lock().unwrap().happened);
        child
    }
}

/// Passes one request and its response on; none if one side has gone.
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
    let is_list = head.starts_with("GET ") && head.contains("list-type=2");
    let (fault, put) = {
        let mut state = state.lock().unwrap();
        state.requests += 1;
        state.puts += usize::from(is_put);
        state.lists += usize::from(is_list);
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
    let kills = |before| match fault {
        Fault::Kill(at, then) => is_put && at == put && then == before,
        Fault::KillAt(end) => is_put && before && name.ends_with(end),
        _ => false,
    };
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
    if let Fault::Lose(end) | Fault::StopAt(end) = fault
        && is_put
        && name.ends_with(end)
        && !state.lock().unwrap().happened
    {
        if fault == Fault::StopAt(end) {
            signal(state, Signal::SIGSTOP);
        }
        state.lock().unwrap().happened = true;
        return match fault {
            Fault::Lose(_) => None,
            _ => client.write_all(&response).ok(),
        };
    }
    client.write_all(&response).ok()
}

/// Kills the process.
fn end(state: &Mutex<State>) -> Option<()> {
    signal(state, Signal::SIGKILL);
    Some(())
}

/// Signals the process, once [`Proxy::begin`] has named it.
fn signal(state: &Mutex<State>, signal: Signal) {
    until(|| state.lock().unwrap().process.is_some());
    let process = state.lock().unwrap().process;
    let _ = process.map(|process| kill(process, signal));
}
