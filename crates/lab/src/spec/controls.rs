//! The controls of a run: one client twice, and the baseline loader at fixed work.

use super::{Approach, BASELINE_LOADER, Cell, Control, Load, Manifest, Sweep};

/// Stands behind the name of the client that takes part twice.
const AGAIN: &str = "-again";

/// The reference run's requests in every round, and how many at once: a tenth of a second or less.
const WORK: (u64, usize) = (2000, 10);

impl Sweep {
    /// Adds the controls: `twice` once more, and the reference run where the baseline loader takes part on a server of
    /// ours.
    pub(super) fn with_controls(mut self, twice: Option<Cell>) -> Sweep {
        let again = twice.filter(|cell| cell.client != BASELINE_LOADER);
        let again = again.map(|cell| Cell {
            client: format!("{}{AGAIN}", cell.client),
            control: Some(Control::Again),
            ..cell
        });
        let mut cells = self.cells.iter();
        let loader = cells.find(|cell| cell.client == BASELINE_LOADER);
        let reference_run = loader
            .filter(|_| again.is_some() && self.target.is_test_server())
            .map(|loader| Cell {
                client: BASELINE_LOADER.into(),
                load: Load {
                    body_bytes: self.body_bytes()[0],
                    concurrency: WORK.1,
                    requests: Some(WORK.0),
                    // TLS stays, because only the servers of the other cells run. A rate or a round trip does not: the
                    // work would then take minutes, and say nothing about the machine.
                    tls: loader.load.tls,
                    no_resumption: loader.load.no_resumption,
                    ..Load::PLAIN
                },
                control: Some(Control::ReferenceRun),
            });
        self.controls = again.into_iter().chain(reference_run).collect();
        self
    }

    /// The cell that is measured twice in a grid of more than one client: of the one that is preferred, or of the
    /// first.
    pub(super) fn cell_for_twice(&self, preferred: Option<&str>) -> Option<Cell> {
        let own = |manifest: &&Manifest| manifest.approach != Approach::Reference;
        let clients = self.clients.iter().filter(own);
        let clients: Vec<&str> = clients.map(|one| &*one.client).collect();
        let first = clients.first().filter(|_| clients.len() > 1)?;
        let preferred = preferred.filter(|name| clients.contains(name));
        let client = preferred.unwrap_or(first);
        let levels = self.concurrency();
        let middle = levels[levels.len() / 2];
        let mut cells = self.cells.iter().filter(|cell| cell.client == client);
        cells.find(|cell| cell.load.concurrency == middle).cloned()
    }

    /// The manifest of the client that takes part twice, and its second name.
    pub fn again(&self) -> Option<(&Manifest, &str)> {
        let twin = |cell: &&Cell| cell.control == Some(Control::Again);
        let name = &*self.controls.iter().find(twin)?.client;
        let first = name.strip_suffix(AGAIN)?;
        let mut clients = self.clients.iter();
        Some((clients.find(|known| known.client == first)?, name))
    }
}

impl Cell {
    /// The name of the client, without the suffix of its second process.
    pub fn first_name(&self) -> &str {
        match self.control {
            Some(Control::Again) => self.client.strip_suffix(AGAIN).unwrap_or(&self.client),
            _ => &self.client,
        }
    }
}
