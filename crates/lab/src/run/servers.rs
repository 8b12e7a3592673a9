//! The origins of a run: one in the clear, one that speaks TLS, each started only where a cell asks for it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use hecaton_origin::{Interval, Options, Origin, RoundSpec, Tls};

use super::Pinning;
use crate::plan::Cell;
use crate::spec::Sweep;

/// The servers under the drivers; none where the target is not ours.
pub struct Servers {
    clear: Option<Origin>,
    secure: Option<Origin>,
    /// The authority that clients of the secure one must trust, as a file.
    ca: Option<PathBuf>,
    /// Whether a cell that says nothing of it is served over TLS.
    tls: bool,
}

impl Servers {
    /// One origin in the clear, that is running.
    pub fn clear(origin: Origin) -> Servers {
        Servers {
            clear: Some(origin),
            secure: None,
            ca: None,
            tls: false,
        }
    }

    /// One origin that speaks TLS, that is running. The certificate of its authority is kept in a file meanwhile.
    ///
    /// # Errors
    /// When that cannot be written.
    pub fn secure(origin: Origin) -> Result<Servers> {
        Ok(Servers {
            clear: None,
            ca: authority(&origin)?,
            secure: Some(origin),
            tls: true,
        })
    }

    /// Starts what the cells of a sweep need. The certificate of the authority is kept in a file meanwhile.
    pub(super) fn start(sweep: &Sweep, pinning: Option<Pinning>) -> Result<Servers> {
        let origin = sweep.target.is_origin();
        let asked = |tls: bool| match sweep.cells.is_empty() {
            true => origin && sweep.tls == tls,
            false => {
                let speaks = |cell: &Cell| cell.overrides.tls.unwrap_or(sweep.tls);
                origin && sweep.cells.iter().any(|cell| speaks(cell) == tls)
            }
        };
        let start = |tls: bool| {
            let options = Options {
                delay: sweep.delay,
                seed: sweep.seed,
                core: pinning.map(|pinning| pinning.origin_core),
                tls: tls.then(Tls::default),
                rounds_only: true,
                ..Options::default()
            };
            Origin::start(options).context("the origin cannot start")
        };
        let clear = asked(false).then(|| start(false)).transpose()?;
        let secure = asked(true).then(|| start(true)).transpose()?;
        let ca = secure.as_ref().map(authority);
        Ok(Servers {
            clear,
            ca: ca.transpose()?.flatten(),
            secure,
            tls: sweep.tls,
        })
    }

    fn origin(&self, cell: &Cell) -> Option<&Origin> {
        match cell.overrides.tls.unwrap_or(self.tls) {
            true => self.secure.as_ref(),
            false => self.clear.as_ref(),
        }
    }

    /// The address of a cell's server without a path, and whom its client must trust; none where the target is not ours.
    pub(super) fn address(&self, cell: &Cell) -> Option<(String, Option<PathBuf>)> {
        let origin = self.origin(cell)?;
        let ca = origin.ca_pem().and(self.ca.clone());
        Some((origin.base_url(), ca))
    }

    /// Whether a cell is served over TLS by an origin of ours.
    pub(super) fn is_secure(&self, cell: &Cell) -> bool {
        self.origin(cell)
            .is_some_and(|origin| origin.ca_pem().is_some())
    }

    /// Opens a page for what a cell's client sends next.
    pub(super) fn open(&self, cell: &Cell, round: RoundSpec) {
        if let Some(origin) = self.origin(cell) {
            origin.open_round(round);
        }
    }

    /// Closes it; none where the target is not ours.
    pub(super) fn close(&self, cell: &Cell) -> Option<Interval> {
        self.origin(cell).map(Origin::close_round)
    }

    /// Closes whatever is open.
    pub(super) fn abandon(&self) {
        for origin in self.clear.iter().chain(&self.secure) {
            origin.close_round();
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

/// The file with the certificate of the authority that the origin's is signed by; none without TLS. Drivers may read it, whoever
/// they run as, and its name tells them nothing.
fn authority(origin: &Origin) -> Result<Option<PathBuf>> {
    let Some(pem) = origin.ca_pem() else {
        return Ok(None);
    };
    let path = std::env::temp_dir().join(format!("hecaton-{:016x}.pem", rand::random::<u64>()));
    std::fs::write(&path, pem)
        .and_then(|()| std::fs::set_permissions(&path, Permissions::from_mode(0o644)))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Some(path))
}
