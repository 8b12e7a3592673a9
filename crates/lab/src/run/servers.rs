//! The test servers of a run: one for plaintext HTTP and one for TLS, each started only if a cell needs it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use hecaton_test_server::{Interval, Options, RoundSpec, TestServer, Tls};

use super::Pinning;
use crate::plan::Cell;
use crate::spec::Sweep;

/// The servers under the drivers; none where the target is not ours.
pub struct Servers {
    clear: Option<TestServer>,
    secure: Option<TestServer>,
    /// The authority that clients of the secure one must trust, as a file.
    ca: Option<PathBuf>,
}

impl Servers {
    /// One running test server without TLS.
    pub fn clear(server: TestServer) -> Servers {
        Servers {
            clear: Some(server),
            secure: None,
            ca: None,
        }
    }

    /// One running test server with TLS. The certificate of its authority is in a file meanwhile.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn secure(server: TestServer) -> Result<Servers> {
        Ok(Servers {
            clear: None,
            ca: authority(&server)?,
            secure: Some(server),
        })
    }

    /// Starts what the cells of a sweep need. The certificate of the authority is in a file meanwhile.
    pub(super) fn start(sweep: &Sweep, pinning: Option<Pinning>) -> Result<Servers> {
        let requested = |tls: bool| {
            let needs_it = |cell: &Cell| cell.load.tls == tls;
            sweep.target.is_test_server() && sweep.cells.iter().any(needs_it)
        };
        let start = |tls: bool| {
            let options = Options {
                delay: sweep.usual.delay,
                seed: sweep.seed,
                core: pinning.map(|pinning| pinning.server_core),
                tls: tls.then(Tls::default),
                rounds_only: true,
                ..Options::default()
            };
            TestServer::start(options).context("the test server cannot start")
        };
        let clear = requested(false).then(|| start(false)).transpose()?;
        let secure = requested(true).then(|| start(true)).transpose()?;
        let ca = secure.as_ref().map(authority);
        Ok(Servers {
            clear,
            ca: ca.transpose()?.flatten(),
            secure,
        })
    }

    fn server(&self, cell: &Cell) -> Option<&TestServer> {
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
        if let Some(server) = self.server(cell) {
            server.open_round(round);
        }
    }

    /// Closes it; none where the target is not ours.
    pub(super) fn close(&self, cell: &Cell) -> Option<Interval> {
        self.server(cell).map(TestServer::close_round)
    }

    /// Closes whatever is open.
    pub(super) fn abandon(&self) {
        for server in self.clear.iter().chain(&self.secure) {
            server.close_round();
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
fn authority(server: &TestServer) -> Result<Option<PathBuf>> {
    let Some(pem) = server.ca_pem() else {
        return Ok(None);
    };
    let path = std::env::temp_dir().join(format!("hecaton-{:016x}.pem", rand::random::<u64>()));
    std::fs::write(&path, pem)
        .and_then(|()| std::fs::set_permissions(&path, Permissions::from_mode(0o644)))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Some(path))
}
