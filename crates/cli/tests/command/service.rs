//! A service that is not the lab's, for tests: it keeps what it gets, and responds as a test says.

use std::net::TcpListener;

use hecaton_e2e::peer::{Peer, response};

use crate::support::{hecaton, root};

/// A service that responds to each request by its number, and keeps the requests.
pub struct Service {
    /// Where it is.
    pub url: String,
    peer: Peer,
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
        let peer = Peer::responding_at(listener, move |request| {
            let status = status(request.number);
            log(request.number, &request.text, status);
            response(status, "", "ok")
        });
        let url = peer.url("/api");
        Service { url, peer }
    }

    /// The requests as they came, with heads and bodies.
    pub fn requests(&self) -> Vec<String> {
        let requests = self.peer.requests().into_iter();
        requests.map(|request| request.text).collect()
    }
}

/// The command with the project's own Ruby clients.
pub fn with_ruby(line: &str) -> std::process::Command {
    let mut command = hecaton("cheats");
    command.env("HECATON_DRIVERS", root().join("drivers/ruby"));
    command.args(line.split(' '));
    command
}
