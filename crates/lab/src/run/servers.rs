//! The test servers of a run, on this machine or on another: one for plaintext HTTP and one for TLS, each started only if a cell
//! needs it.

use std::cell::RefCell;
use std::fs::Permissions;
use std::net::ToSocketAddrs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use hecaton_test_server::{Interval, Options, Remote, RemoteServer, RoundSpec, TestServer, Tls};

use super::Pinning;
use crate::plan::Cell;
use crate::spec::Sweep;

/// Where the test server is, if it is on another machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Elsewhere {
    /// Host and port of `hecaton serve --remote`.
    pub address: String,
    /// Its token.
    pub token: String,
}

impl Elsewhere {
    fn connect(&self) -> Result<Remote> {
        let found = self
            .address
            .to_socket_addrs()
            .map(Iterator::collect::<Vec<_>>);
        let found = found
            .with_context(|| format!("`{}` is not a HOST:PORT of this network", self.address))?;
        let mut last = format!("{} has no address", self.address);
        for address in found {
            match Remote::connect(address, &self.token) {
                Ok(remote) => return Ok(remote),
                Err(why) => last = why,
            }
        }
        bail!("{last}; start `hecaton serve --remote TOKEN` there")
    }
}

/// One server under the drivers.
enum Server {
    Here(TestServer),
    Elsewhere(RemoteServer),
}

impl Server {
    fn base_url(&self) -> String {
        match self {
            Server::Here(server) => server.base_url(),
            Server::Elsewhere(server) => server.base_url.clone(),
        }
    }

    fn ca_pem(&self) -> Option<&str> {
        match self {
            Server::Here(server) => server.ca_pem(),
            Server::Elsewhere(server) => server.ca.as_deref(),
        }
    }
}

/// The servers under the drivers; none where the target is not ours.
pub struct Servers {
    clear: Option<Server>,
    secure: Option<Server>,
    /// The connection to the other machine, where they are there.
    remote: Option<RefCell<Remote>>,
    /// Why that connection is of no use any more.
    broken: RefCell<Option<String>>,
    /// The authority that clients of the secure one must trust, as a file.
    ca: Option<PathBuf>,
}

impl Servers {
    /// One running test server without TLS.
    pub fn plaintext(server: TestServer) -> Servers {
        Servers {
            clear: Some(Server::Here(server)),
            secure: None,
            remote: None,
            broken: RefCell::default(),
            ca: None,
        }
    }

    /// One running test server with TLS. The certificate of its authority is in a file meanwhile.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn secure(server: TestServer) -> Result<Servers> {
        let server = Server::Here(server);
        Ok(Servers {
            clear: None,
            remote: None,
            broken: RefCell::default(),
            ca: authority(&server)?,
            secure: Some(server),
        })
    }

    /// Starts what the cells of a sweep need. The certificate of the authority is in a file meanwhile.
    pub(super) fn start(
        sweep: &Sweep,
        pinning: Option<Pinning>,
        elsewhere: Option<&Elsewhere>,
    ) -> Result<Servers> {
        let mut remote = elsewhere.map(Elsewhere::connect).transpose()?;
        let requested = |tls: bool| {
            let needs_it = |cell: &Cell| cell.load.tls == tls;
            sweep.target.is_test_server() && sweep.cells.iter().any(needs_it)
        };
        let mut started = 0;
        let mut start = |tls: bool| {
            let options = Options {
                delay: sweep.usual.delay,
                seed: sweep.seed,
                core: pinning.map(|pinning| pinning.server_core),
                tls: tls.then(Tls::default),
                rounds_only: true,
                ..Options::default()
            };
            let Some(remote) = &mut remote else {
                let server = TestServer::start(options).context("the test server cannot start")?;
                return Ok(Server::Here(server));
            };
            started += 1;
            let server = remote.start(started - 1, &options);
            server.map(Server::Elsewhere).map_err(anyhow::Error::msg)
        };
        let clear = requested(false).then(|| start(false)).transpose()?;
        let secure = requested(true).then(|| start(true)).transpose()?;
        let ca = secure.as_ref().map(authority);
        Ok(Servers {
            clear,
            ca: ca.transpose()?.flatten(),
            secure,
            remote: remote.map(RefCell::new),
            broken: RefCell::default(),
        })
    }

    fn server(&self, cell: &Cell) -> Option<&Server> {
        match cell.load.tls {
            true => self.secure.as_ref(),
            false => self.clear.as_ref(),
        }
    }

    /// The address of a cell's server without a path, and whom its client must trust; none where the target is not ours.
    pub(super) fn address(&self, cell: &Cell) -> Option<(String, Option<PathBuf>)> {
        let server = self.server(cell)?;
        let ca = server.ca_pem().and(self.ca.clone());
        Some((server.base_url(), ca))
    }

    /// Whether a cell is served over TLS by a test server of ours.
    pub(super) fn is_secure(&self, cell: &Cell) -> bool {
        self.server(cell)
            .is_some_and(|server| server.ca_pem().is_some())
    }

    /// Opens a page for what a cell's client sends next.
    pub(super) fn open(&self, cell: &Cell, round: RoundSpec) {
        match self.server(cell) {
            Some(Server::Here(server)) => server.open_round(round),
            Some(Server::Elsewhere(server)) => {
                self.ask(|remote| remote.open_round(server.number, round));
            }
            None => {}
        }
    }

    /// Closes it; none where the target is not ours.
    pub(super) fn close(&self, cell: &Cell) -> Option<Interval> {
        self.close_of(self.server(cell)?)
    }

    fn close_of(&self, server: &Server) -> Option<Interval> {
        match server {
            Server::Here(server) => Some(server.close_round()),
            Server::Elsewhere(server) => self.ask(|remote| remote.close_round(server.number)),
        }
    }

    /// Says something to the other machine; what went wrong is kept for [`Servers::check`].
    fn ask<T>(&self, say: impl FnOnce(&mut Remote) -> Result<T, String>) -> Option<T> {
        let mut remote = self.remote.as_ref()?.borrow_mut();
        match say(&mut remote) {
            Ok(replied) => Some(replied),
            Err(why) => {
                self.broken.borrow_mut().get_or_insert(why);
                None
            }
        }
    }

    /// Fails when the connection to the other machine broke: then nothing of a round is known.
    pub(super) fn check(&self) -> Result<()> {
        match self.broken.borrow().as_ref() {
            Some(why) => bail!(why.clone()),
            None => Ok(()),
        }
    }

    /// Closes whatever is open.
    pub(super) fn abandon(&self) {
        for server in self.clear.iter().chain(&self.secure) {
            self.close_of(server);
        }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        if let Some(ca) = &self.ca {
            let _ = std::fs::remove_file(ca);
        }
    }
}

/// The file with the certificate of the authority that the test server's is signed by; none without TLS. Drivers may read it, whoever
/// they run as, and its name reveals nothing to them.
fn authority(server: &Server) -> Result<Option<PathBuf>> {
    let Some(pem) = server.ca_pem() else {
        return Ok(None);
    };
    let path = std::env::temp_dir().join(format!("hecaton-{:016x}.pem", rand::random::<u64>()));
    std::fs::write(&path, pem)
        .and_then(|()| std::fs::set_permissions(&path, Permissions::from_mode(0o644)))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Some(path))
}
