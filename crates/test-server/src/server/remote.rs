//! The test server on another machine: a control connection starts it, opens its rounds, and reads what it saw.
//!
//! Both sides send a JSON object a line. The first line of the lab has the token; a connection without it ends. Each
//! later line gets exactly one line as its reply. The servers of a connection end with it, and serve no other machine
//! than the lab's.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::ledger::interval::Interval;
use crate::options::{Http2, Options, RoundSpec};
use crate::round::delay::Delay;
use crate::server::test_server::TestServer;
use crate::wire::tls::Tls;

/// Longest line of the lab.
const LONGEST: u64 = 64 << 10;

/// How long a connection may take to say the token.
const GREETING: Duration = Duration::from_secs(10);

/// How long the lab may say nothing: then it is gone, and the next may come.
const SILENCE: Duration = Duration::from_secs(600);

/// Version of these lines.
const PROTO: u32 = 4;

/// A line of the lab.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "cmd", rename_all = "lowercase")]
enum Command {
    /// The first line.
    Hello { proto: u32, token: String },
    /// Starts a server.
    Start(Start),
    /// Opens a round of a server.
    Open {
        server: usize,
        round: Box<RoundSpec>,
    },
    /// Opens the gate of its round, if no request comes meanwhile.
    OpenGate { server: usize },
    /// Closes it.
    Close { server: usize },
}

/// The settings of a server.
#[derive(Debug, Serialize, Deserialize)]
struct Start {
    tls: bool,
    http2: bool,
    http3: bool,
    no_resumption: bool,
    delay: Delay,
    seed: u64,
}

/// A reply of the other machine.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Reply {
    /// It is done.
    Done,
    /// A server is there, at this port.
    Started { port: u16, ca: Option<String> },
    /// Whether the gate opened.
    Opened { opened: bool },
    /// The log of a server, and the time from the opening of the round to the first request, in nanoseconds.
    Closed {
        interval: Box<Interval>,
        first_read_ns: Option<u64>,
    },
    /// It cannot be done.
    Failed(String),
}

/// Serves one control connection after another, for ever. `core` is where servers run.
///
/// # Errors
/// When no connection can be accepted any more.
pub fn serve(listener: &TcpListener, token: &str, core: Option<usize>) -> io::Result<()> {
    loop {
        match listener.accept() {
            Ok((stream, peer)) => {
                // A connection that breaks ends its own servers, and nothing else.
                let _ = control(stream, peer, token, core);
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether two texts are equal, in a time that depends on the length alone.
fn equal(left: &str, right: &str) -> bool {
    let pairs = left.bytes().zip(right.bytes());
    left.len() == right.len() && pairs.fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

fn control(
    stream: TcpStream,
    peer: SocketAddr,
    token: &str,
    core: Option<usize>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(GREETING))?;
    let address = stream.local_addr()?.ip();
    let mut lines = Lines::new(stream)?;
    // Whatever else the first line is, a lab of another version or a stranger, it gets the reply below.
    match lines.read() {
        Ok(Some(Command::Hello {
            proto: PROTO,
            token: given,
        })) if equal(&given, token) => {
            lines.write(&Reply::Done)?;
        }
        _ => return lines.write(&Reply::Failed("the token or the version is another".into())),
    }
    lines.input.get_ref().set_read_timeout(Some(SILENCE))?;
    let mut servers = Servers {
        address,
        peer: peer.ip(),
        core,
        running: Vec::new(),
        opened: Instant::now(),
    };
    while let Some(command) = lines.read()? {
        let reply = servers.obey(command).unwrap_or_else(Reply::Failed);
        lines.write(&reply)?;
    }
    Ok(())
}

/// The servers of a control connection.
struct Servers {
    address: IpAddr,
    peer: IpAddr,
    core: Option<usize>,
    running: Vec<TestServer>,
    /// When the last round was opened.
    opened: Instant,
}

impl Servers {
    fn obey(&mut self, command: Command) -> Result<Reply, String> {
        Ok(match command {
            Command::Hello { .. } => return Err("the token was said before".into()),
            Command::Start(settings) => {
                let server = start(self.address, self.peer, &settings, self.core)?;
                let (port, ca) = (server.address().port(), server.ca_pem().map(str::to_owned));
                self.running.push(server);
                Reply::Started { port, ca }
            }
            Command::Open { server, round } => {
                let opened = Instant::now();
                self.server(server)?.open_round(*round);
                self.opened = opened;
                Reply::Done
            }
            Command::OpenGate { server } => Reply::Opened {
                opened: self.server(server)?.open_gate(),
            },
            Command::Close { server } => closed(self.server(server)?.close_round(), self.opened),
        })
    }

    fn server(&self, number: usize) -> Result<&TestServer, String> {
        let server = self.running.get(number);
        server.ok_or_else(|| "there is no such server".into())
    }
}

fn start(
    address: IpAddr,
    peer: IpAddr,
    settings: &Start,
    core: Option<usize>,
) -> Result<TestServer, String> {
    let options = Options {
        listen: SocketAddr::new(address, 0),
        only_from: Some(peer),
        delay: settings.delay,
        seed: settings.seed,
        core,
        tls: settings.tls.then(|| Tls {
            no_resumption: settings.no_resumption,
            ..Tls::default()
        }),
        http2: settings.http2.then(Http2::default),
        http3: settings.http3.then(crate::Http3::default),
        rounds_only: true,
        ..Options::default()
    };
    TestServer::start(options).map_err(|error| error.to_string())
}

fn closed(interval: Interval, opened: Instant) -> Reply {
    let after = interval
        .first_read
        .map(|read| read.saturating_duration_since(opened));
    Reply::Closed {
        first_read_ns: after.and_then(|after| u64::try_from(after.as_nanos()).ok()),
        interval: Box::new(interval),
    }
}

/// The lines of a connection.
struct Lines {
    input: BufReader<TcpStream>,
    output: TcpStream,
}

impl Lines {
    fn new(stream: TcpStream) -> io::Result<Lines> {
        Ok(Lines {
            output: stream.try_clone()?,
            input: BufReader::new(stream),
        })
    }

    /// The next line; none at the end.
    fn read<T: for<'de> Deserialize<'de>>(&mut self) -> io::Result<Option<T>> {
        self.read_up_to(LONGEST)
    }

    fn read_up_to<T: for<'de> Deserialize<'de>>(&mut self, longest: u64) -> io::Result<Option<T>> {
        let mut line = Vec::new();
        (&mut self.input)
            .take(longest)
            .read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(None);
        }
        serde_json::from_slice(&line)
            .map(Some)
            .map_err(io::Error::other)
    }

    fn write(&mut self, value: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.output.write_all(&line)
    }
}

/// The lab's end of a control connection.
pub struct Remote {
    lines: Lines,
    address: IpAddr,
    /// When the other machine said that the last round is open.
    opened: Instant,
}

/// How long the other machine may take for one line.
const PATIENCE: Duration = Duration::from_secs(20);

/// Longest line of the other machine: an interval of a long round.
const LONGEST_REPLY: u64 = 256 << 20;

impl Remote {
    /// Connects, and says the token.
    ///
    /// # Errors
    /// A sentence when nobody is there, or the token is another.
    pub fn connect(address: SocketAddr, token: &str) -> Result<Remote, String> {
        let failed =
            |error: io::Error| format!("{address} is no test server that can be reached ({error})");
        let stream = TcpStream::connect_timeout(&address, PATIENCE).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        let lines = Lines::new(stream).map_err(failed)?;
        let mut remote = Remote {
            lines,
            address: address.ip(),
            opened: Instant::now(),
        };
        let token = token.to_owned();
        remote.done(&Command::Hello {
            proto: PROTO,
            token,
        })?;
        Ok(remote)
    }

    /// Starts a server; returns its number, its address and the authority that clients must trust.
    ///
    /// # Errors
    /// A sentence when it cannot start.
    pub fn start(&mut self, number: usize, options: &Options) -> Result<RemoteServer, String> {
        let tls = options.tls.as_ref();
        let command = Command::Start(Start {
            tls: tls.is_some(),
            http2: options.http2.is_some(),
            http3: options.http3.is_some(),
            no_resumption: tls.is_some_and(|tls| tls.no_resumption),
            delay: options.delay,
            seed: options.seed,
        });
        match self.request(&command)? {
            Reply::Started { port, ca } => {
                let scheme = if ca.is_some() { "https" } else { "http" };
                let base_url = format!("{scheme}://{}", SocketAddr::new(self.address, port));
                Ok(RemoteServer {
                    number,
                    base_url,
                    ca,
                })
            }
            _ => Err("the test server replied something else".into()),
        }
    }

    /// Opens a round of a server.
    ///
    /// # Errors
    /// A sentence when the connection broke.
    pub fn open_round(&mut self, server: usize, round: RoundSpec) -> Result<(), String> {
        self.done(&Command::Open {
            server,
            round: Box::new(round),
        })?;
        self.opened = Instant::now();
        Ok(())
    }

    /// Opens the gate of its round, if it holds responses and no request comes meanwhile. Returns whether it opened.
    ///
    /// # Errors
    /// A sentence when the connection broke.
    pub fn open_gate(&mut self, server: usize) -> Result<bool, String> {
        match self.request(&Command::OpenGate { server })? {
            Reply::Opened { opened } => Ok(opened),
            _ => Err("the test server replied something else".into()),
        }
    }

    /// Closes it.
    ///
    /// # Errors
    /// A sentence when the connection broke.
    pub fn close_round(&mut self, server: usize) -> Result<Interval, String> {
        match self.request(&Command::Close { server })? {
            Reply::Closed {
                interval,
                first_read_ns,
            } => {
                // Not earlier than that: the round was opened before its reply was here.
                let after = first_read_ns.map(|ns| self.opened + Duration::from_nanos(ns));
                Ok(Interval {
                    first_read: after,
                    ..*interval
                })
            }
            _ => Err("the test server replied something else".into()),
        }
    }

    fn done(&mut self, command: &Command) -> Result<(), String> {
        self.request(command).map(|_| ())
    }

    fn request(&mut self, command: &Command) -> Result<Reply, String> {
        let broken = |error: io::Error| {
            format!(
                "the connection to the test server at {} broke ({error})",
                self.address
            )
        };
        self.lines.write(command).map_err(broken)?;
        match self.lines.read_up_to(LONGEST_REPLY).map_err(broken)? {
            Some(Reply::Failed(why)) => Err(format!(
                "the test server at {} refuses: {why}",
                self.address
            )),
            Some(reply) => Ok(reply),
            None => Err(format!(
                "the test server at {} ended the connection",
                self.address
            )),
        }
    }
}

/// A server on the other machine.
#[derive(Clone, Debug)]
pub struct RemoteServer {
    /// Its number on the connection, from 0.
    pub number: usize,
    /// `http://` or `https://` and the address, without a slash at the end.
    pub base_url: String,
    /// The authority that clients must trust, as PEM; none without TLS.
    pub ca: Option<String>,
}
