//! The server of a case: it does what the steps say, byte by byte, and records what happens.

mod connection;
mod log;
mod play;
mod request;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::case::{Budget, Case, Places};

pub use log::{Entry, Event, Log, call_at, shown};
pub use play::RUN;
use play::Shared;

/// The host of redirects to another host. All of 127.0.0.0/8 is this machine on Linux.
const OTHER_HOST: &str = "127.0.0.2";

/// A server on three addresses: its own, another port, and another host.
pub struct Server {
    shared: Arc<Shared>,
    addresses: [SocketAddr; 3],
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Starts it for some cases; a budget ends it.
    ///
    /// # Errors
    /// If no port can be had.
    pub fn start(cases: Vec<Case>, budget: Option<Budget>) -> Result<Server> {
        let main = TcpListener::bind("127.0.0.1:0").context("no port is free on 127.0.0.1")?;
        let port = main.local_addr()?.port();
        let other_port = TcpListener::bind("127.0.0.1:0")?;
        // Cookies ignore ports, so the other host may use any port.
        let other_host = TcpListener::bind((OTHER_HOST, port))
            .or_else(|_| TcpListener::bind((OTHER_HOST, 0)))
            .with_context(|| format!("{OTHER_HOST} is not an address of this machine"))?;
        let addresses = [
            main.local_addr()?,
            other_port.local_addr()?,
            other_host.local_addr()?,
        ];
        let places = Places {
            here: format!("http://{}", addresses[0]),
            other_port: format!("http://{}", addresses[1]),
            other_host: format!("http://{}", addresses[2]),
            authority: addresses[0].to_string(),
            path: String::new(),
        };
        let shared = Arc::new(Shared::new(cases, places, budget));
        let threads = [
            (main, "main"),
            (other_port, "other port"),
            (other_host, "other host"),
        ]
        .map(|(listener, name)| {
            let shared = shared.clone();
            std::thread::spawn(move || accept(&listener, name, &shared))
        });
        Ok(Server {
            shared,
            addresses,
            threads: threads.into(),
        })
    }

    /// The stops of a call, for the URLs that the client gets.
    pub fn places(&self, case: &Case, call: &str) -> Places {
        self.shared.places(&case.id, call)
    }

    /// Waits until all steps that began are done, or only wait for the client, or `longest` is over.
    pub fn settle(&self, longest: Duration) {
        self.shared.settle(longest);
    }

    /// The log until now.
    pub fn log(&self) -> Log {
        self.shared.log()
    }

    /// Ends it, and returns what it recorded.
    pub fn stop(mut self) -> Log {
        self.end();
        self.shared.log()
    }

    fn end(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        for address in self.addresses {
            // Wakes the thread that accepts.
            drop(TcpStream::connect_timeout(&address, Duration::from_secs(1)));
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn accept(listener: &TcpListener, name: &'static str, shared: &Arc<Shared>) {
    let mut connections: Vec<JoinHandle<()>> = Vec::new();
    loop {
        let accepted = listener.accept();
        if shared.stop.load(Ordering::SeqCst) {
            break;
        }
        match accepted {
            Ok((stream, peer)) => {
                if let Some(id) = shared.opened(name, peer) {
                    let shared = shared.clone();
                    connections.push(std::thread::spawn(move || {
                        connection::serve(stream, id, &shared)
                    }));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // No descriptor is free, for a moment.
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
        connections.retain(|thread| !thread.is_finished());
    }
    for thread in connections {
        let _ = thread.join();
    }
}

/// Sleeps for `time` in slices, unless `stopped` says that it should not.
fn sleep(time: Duration, stopped: impl Fn() -> bool) {
    let end = Instant::now() + time;
    while !stopped() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(Duration::from_millis(10)));
    }
}
