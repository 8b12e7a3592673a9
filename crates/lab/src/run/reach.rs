//! Checks that a foreign server can be reached, before anything is started for it.

use std::io;
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Result, anyhow};
use url::Url;

use crate::spec::Target;

/// How long a connection may take to open.
const PATIENCE: Duration = Duration::from_secs(3);

/// Opens one connection to a foreign target and closes it again. The lab's own test server needs no such check.
///
/// # Errors
/// One sentence with the URL and what the system says.
pub fn reach(target: &Target) -> Result<()> {
    let Target::Foreign { url, .. } = target else {
        return Ok(());
    };
    connect(url).map_err(|error| {
        anyhow!("{url} cannot be reached ({error}); start its server or correct the URL")
    })
}

fn connect(url: &str) -> io::Result<()> {
    let parsed = Url::parse(url).map_err(io::Error::other)?;
    let mut last = io::Error::other("the host has no address");
    for address in parsed.socket_addrs(|| None)? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener};

    use hecaton_test_server::ClosedPort;

    use super::*;

    fn target(address: SocketAddr) -> Target {
        Target::Foreign {
            method: "GET".into(),
            url: format!("http://{address}/"),
            requests: 1,
            extras: Default::default(),
        }
    }

    #[test]
    fn an_open_port_is_reached_and_a_closed_one_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        reach(&target(listener.local_addr().unwrap())).unwrap();
        let closed = ClosedPort::take().unwrap();
        let error = reach(&target(closed.address())).unwrap_err().to_string();
        let url = format!("http://{}/", closed.address());
        assert!(error.contains(&url) && error.contains("refused"), "{error}");
    }
}
