//! The test servers of a run, on this machine or on another: one for each kind of server that a cell needs.

use std::cell::RefCell;
use std::net::ToSocketAddrs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use hecaton_test_server::{
    Flaw, Identity, Interval, Options, Remote, RemoteServer, RoundSpec, TestServer,
    make_certificates,
};

use super::{Handout, Pinning, effect};
use crate::plan::{Cell, Load};
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

/// Where a server runs.
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

/// One server under the drivers.
struct Running {
    /// The server that its loads need.
    kind: Options,
    server: Server,
}

/// The servers under the drivers; none where the target is not ours.
#[derive(Default)]
pub struct Servers {
    running: Vec<Running>,
    /// The connection to the other machine, where they are there.
    remote: Option<RefCell<Remote>>,
    /// Why that connection is of no use any more.
    broken: RefCell<Option<String>>,
    /// The authorities of all that use TLS, in one file: some clients read it once in their life.
    ca: Option<Handout>,
    /// A certificate for another host, of an authority in that file.
    of_another_host: Option<Identity>,
}

impl Servers {
    /// One running test server for every load that needs the same as this one. The certificate of its authority is in a
    /// file meanwhile.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn for_load(load: &Load, server: TestServer) -> Result<Servers> {
        let (kind, server) = (effect::server(load), Server::Here(server));
        let servers = Servers {
            running: vec![Running { kind, server }],
            ..Servers::default()
        };
        servers.with_authorities()
    }

    /// Starts what the cells of a sweep need. The certificates of the authorities are in files meanwhile.
    pub(super) fn start(
        sweep: &Sweep,
        pinning: Option<Pinning>,
        elsewhere: Option<&Elsewhere>,
    ) -> Result<Servers> {
        let remote = elsewhere.map(Elsewhere::connect).transpose()?;
        let mut servers = Servers {
            remote: remote.map(RefCell::new),
            ..Servers::default()
        };
        let of_ours = sweep.cells.iter().filter(|_| sweep.target.is_test_server());
        for cell in of_ours {
            if servers.server(cell).is_some() {
                continue;
            }
            let kind = effect::server(&cell.load);
            let options = Options {
                delay: sweep.usual.delay,
                seed: sweep.seed,
                core: pinning.map(|pinning| pinning.server_core),
                rounds_only: true,
                ..kind.clone()
            };
            let server = servers.start_one(options)?;
            servers.running.push(Running { kind, server });
        }
        servers.with_authorities()
    }

    /// Writes the certificates of the authorities.
    fn with_authorities(mut self) -> Result<Servers> {
        let servers = self.running.iter().map(|running| &running.server);
        let mut pem: String = servers.filter_map(Server::ca_pem).collect();
        if pem.is_empty() {
            return Ok(self);
        }
        let identity =
            make_certificates(&[], Flaw::WrongHost).context("no certificate was made")?;
        pem += &identity.ca;
        self.of_another_host = Some(identity);
        self.ca = Some(Handout::write(&pem)?);
        Ok(self)
    }

    fn start_one(&self, options: Options) -> Result<Server> {
        let Some(remote) = &self.remote else {
            let server = TestServer::start(options).context("the test server cannot start")?;
            return Ok(Server::Here(server));
        };
        let server = remote.borrow_mut().start(self.running.len(), &options);
        server.map(Server::Elsewhere).map_err(anyhow::Error::msg)
    }

    fn server(&self, cell: &Cell) -> Option<&Server> {
        let kind = effect::server(&cell.load);
        let found = self.running.iter().find(|running| running.kind == kind);
        found.map(|running| &running.server)
    }

    /// The address of a cell's server without a path, and whom its client must trust; none where the target is not
    /// ours.
    pub(super) fn address(&self, cell: &Cell) -> Option<(String, Option<PathBuf>)> {
        let server = self.server(cell)?;
        let ca = server.ca_pem().and(self.ca.as_ref());
        Some((server.base_url(), ca.map(|ca| ca.path().to_owned())))
    }

    /// A certificate that clients must refuse although they trust its authority; none without TLS.
    pub(super) fn of_another_host(&self) -> Option<&Identity> {
        self.of_another_host.as_ref()
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
                self.request(|remote| remote.open_round(server.number, round));
            }
            None => {}
        }
    }

    /// Opens the gate of a cell's server for the rest of its round, if no request comes meanwhile. Returns whether it opened.
    pub(super) fn open_gate(&self, cell: &Cell) -> bool {
        match self.server(cell) {
            Some(Server::Here(server)) => server.open_gate(),
            Some(Server::Elsewhere(server)) => {
                let opened = self.request(|remote| remote.open_gate(server.number));
                opened.unwrap_or_default()
            }
            None => false,
        }
    }

    /// Closes it; none where the target is not ours.
    pub(super) fn close(&self, cell: &Cell) -> Option<Interval> {
        self.close_of(self.server(cell)?)
    }

    fn close_of(&self, server: &Server) -> Option<Interval> {
        match server {
            Server::Here(server) => Some(server.close_round()),
            Server::Elsewhere(server) => self.request(|remote| remote.close_round(server.number)),
        }
    }

    /// Says something to the other machine; what went wrong is kept for [`Servers::check`].
    fn request<T>(&self, say: impl FnOnce(&mut Remote) -> Result<T, String>) -> Option<T> {
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
        for running in &self.running {
            self.close_of(&running.server);
        }
    }
}
