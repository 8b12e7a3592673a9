//! The test server's thread, and the commands that reach it.

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

#[cfg(target_os = "linux")]
use nix::sched::{CpuSet, sched_setaffinity};
#[cfg(target_os = "linux")]
use nix::unistd::Pid;
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::sync::mpsc as commands;
use tokio::task::spawn_local;

use crate::http3;
use crate::hub::Hub;
use crate::ledger::interval::Interval;
use crate::ledger::summary::Summary;
use crate::options::{Options, RoundSpec, StartError};
use crate::server::ports::{self, Listening, Ports};
use crate::wire::certificates::Identity;

/// A server that runs on a thread of its own until it is stopped or dropped.
pub struct TestServer {
    address: SocketAddr,
    capacity: u64,
    identity: Option<Identity>,
    commands: commands::UnboundedSender<Command>,
    thread: Option<JoinHandle<()>>,
}

/// The commands to the thread. The thread replies to each when it is done.
enum Command {
    Open(RoundSpec, mpsc::Sender<()>),
    OpenGate(mpsc::Sender<bool>),
    Close(mpsc::Sender<Interval>),
    Summary(mpsc::Sender<Summary>),
    Stop,
}

/// The thread's first message, once it serves.
type Started = Result<SocketAddr, StartError>;

impl TestServer {
    /// Listens and serves; when it returns, connections are accepted. Raises this process's soft limit on
    /// descriptors to the hard one, so that thousands of connections fit.
    ///
    /// # Errors
    /// The address is in use or not one of this machine, the core or a given certificate cannot be used, or the system
    /// has no thread or descriptor left.
    pub fn start(options: Options) -> Result<TestServer, StartError> {
        let capacity = ports::raise_capacity();
        let (identity, ports) = secure(&options)?;
        let (sender, receiver) = commands::unbounded_channel();
        let (started, start) = mpsc::channel();
        let run = move || run(options, ports, capacity, receiver, &started);
        let thread = thread::Builder::new()
            .name("test-server".to_owned())
            .spawn(run)?;
        let gone = || StartError::System(io::Error::other("the thread ended"));
        let address = start.recv().map_err(|_| gone())??;
        Ok(TestServer {
            address,
            capacity,
            identity,
            commands: sender,
            thread: Some(thread),
        })
    }

    /// Where it listens, with the port that was chosen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://` or `https://` and the address, without a slash at the end.
    pub fn base_url(&self) -> String {
        let scheme = if self.identity.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.address)
    }

    /// The authority that clients must trust, as PEM: a new one for each test server. None without TLS.
    /// It has signed neither a self-signed certificate nor a given one.
    pub fn ca_pem(&self) -> Option<&str> {
        self.identity.as_ref().map(|identity| identity.ca.as_str())
    }

    /// A client's certificate and its key, signed by the authority, as one PEM. None without TLS.
    pub fn client_pem(&self) -> Option<&str> {
        let identity = self.identity.as_ref();
        identity.map(|identity| identity.client.as_str())
    }

    /// The certificates that the test server shows, leaf first, as PEM. None without TLS.
    pub fn certificate_pem(&self) -> Option<&str> {
        let identity = self.identity.as_ref();
        identity.map(|identity| identity.chain.as_str())
    }

    /// Connections that may be open at once under this process's limit on descriptors; clients in the
    /// same process share it.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Begins a new interval and returns when the test server has taken it. Until `close_round`, requests for
    /// anything but the ids of the round are foreign. A round that is still open is closed and its
    /// interval lost.
    ///
    /// # Panics
    /// When the round has more ids than memory has bytes.
    pub fn open_round(&self, round: RoundSpec) {
        self.send(|response| Command::Open(round, response));
    }

    /// Opens the gate for the rest of the round, if it holds responses and no request comes meanwhile. Returns whether it opened.
    pub fn open_gate(&self) -> bool {
        self.send(Command::OpenGate)
    }

    /// Ends the round and returns its interval; what the gate still holds is released. An empty interval
    /// when no round is open.
    pub fn close_round(&self) -> Interval {
        self.send(Command::Close)
    }

    /// The test server's observations so far.
    pub fn summary(&self) -> Summary {
        self.send(Command::Summary)
    }

    /// Closes the port and all connections; returns what the test server has seen.
    pub fn stop(self) -> Summary {
        self.summary()
    }

    fn send<T>(&self, command: impl FnOnce(mpsc::Sender<T>) -> Command) -> T {
        let (sender, response) = mpsc::channel();
        let sent = self.commands.send(command(sender)).is_ok();
        let response = sent.then(|| response.recv().ok()).flatten();
        response.expect("the test server's thread lives as long as its TestServer")
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        // Fails only when the thread has already ended.
        let _ = self.commands.send(Command::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The certificates that the test server shows over TLS, and how it shows them.
fn secure(options: &Options) -> Result<(Option<Identity>, Ports), StartError> {
    let mut ports = Ports::default();
    let Some(tls) = &options.tls else {
        if options.http3.is_some() {
            return Err(StartError::Tls("HTTP/3 needs it".to_owned()));
        }
        return Ok((None, ports));
    };
    let identity = tls.identity(options.listen.ip()).map_err(StartError::Tls)?;
    let protocols: &[&str] = match options.http2 {
        Some(_) => &["h2", "http/1.1"],
        None => &["http/1.1"],
    };
    ports.tcp = Some(tls.port(&identity, protocols).map_err(StartError::Tls)?);
    if let Some(http3) = &options.http3 {
        let port = http3::Port::new(tls, &identity, http3.clone(), options.exposed);
        ports.udp = Some(port.map_err(StartError::Tls)?);
    }
    Ok((Some(identity), ports))
}

fn run(
    options: Options,
    ports: Ports,
    capacity: u64,
    commands: commands::UnboundedReceiver<Command>,
    started: &mpsc::Sender<Started>,
) {
    let prepared = pin(options.core).and_then(|()| Ok(runtime(&ports)?));
    match prepared {
        Ok(runtime) => runtime.block_on(serve(options, ports, capacity, commands, started)),
        Err(error) => report(started, Err(error)),
    }
}

async fn serve(
    options: Options,
    ports: Ports,
    capacity: u64,
    commands: commands::UnboundedReceiver<Command>,
    started: &mpsc::Sender<Started>,
) {
    match prepare(&options, ports, capacity) {
        Ok((listening, hub)) => {
            report(started, Ok(listening.address));
            obey(commands, &hub).await;
            listening.close(&hub).await;
        }
        Err(error) => report(started, Err(error)),
    }
}

fn prepare(
    options: &Options,
    ports: Ports,
    capacity: u64,
) -> Result<(Listening, Rc<Hub>), StartError> {
    let unix = options.unix.as_deref().map(ports::listen_unix);
    let unix = unix.transpose()?;
    let hub = Rc::new(Hub::new(options, capacity)?);
    let listening = ports::listen(options.listen, ports, &hub)?;
    let clock = hub.clone();
    spawn_local(async move { clock.timer.run().await });
    if let Some(unix) = unix {
        spawn_local(ports::accept_unix(unix, hub.clone()));
    }
    Ok((listening, hub))
}

/// Executes commands until the stop. A sender that has gone needs no reply.
async fn obey(mut commands: commands::UnboundedReceiver<Command>, hub: &Hub) {
    while let Some(command) = commands.recv().await {
        let _ = match command {
            Command::Open(round, done) => {
                hub.open_round(&round);
                done.send(()).ok()
            }
            Command::OpenGate(opened) => opened.send(hub.gate.open_unless_one_comes().await).ok(),
            Command::Close(interval) => interval.send(hub.close_round()).ok(),
            Command::Summary(summary) => summary.send(hub.summary()).ok(),
            Command::Stop => return,
        };
    }
}

fn report(started: &mpsc::Sender<Started>, result: Started) {
    // The starter waits for exactly this message.
    let _ = started.send(result);
}

fn runtime(ports: &Ports) -> io::Result<LocalRuntime> {
    let mut builder = Builder::new_current_thread();
    builder.enable_io();
    if ports.need_time() {
        builder.enable_time();
    }
    builder.build_local(LocalOptions::default())
}

/// Only Linux lets a thread choose its core.
#[cfg(not(target_os = "linux"))]
fn pin(core: Option<usize>) -> Result<(), StartError> {
    core.map_or(Ok(()), |core| {
        let error = io::ErrorKind::Unsupported.into();
        Err(StartError::Pin { core, error })
    })
}

#[cfg(target_os = "linux")]
fn pin(core: Option<usize>) -> Result<(), StartError> {
    let Some(core) = core else {
        return Ok(());
    };
    let mut cores = CpuSet::new();
    cores
        .set(core)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &cores))
        .map_err(|error| StartError::Pin {
            core,
            error: error.into(),
        })
}
