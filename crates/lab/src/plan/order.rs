//! Randomised complete blocks: every block trials each cell once, in an order drawn from the seed.
//!
//! Drifts during a run (heat, other programs) then affect all clients alike, and cells of one block can be compared
//! in pairs. A long block lasts a minute, in which a machine changes. It is therefore cut into groups of cells that
//! are compared first: the clients under one load, or the clients of one language if there are many. Stretches, and the
//! cells of each, follow one another in random order.

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::Cell;
use crate::spec::{Sweep, together};

/// One planned round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// What is measured.
    pub cell: Cell,
    /// Which process of the client, from 0.
    pub invocation: u32,
    /// The block, from 0.
    pub block: u32,
    /// Position in the block, from 0.
    pub order: u32,
}

/// All trials of a sweep, in the order in which they are made.
pub fn trials(sweep: &Sweep) -> Vec<Trial> {
    let mut random = StdRng::seed_from_u64(sweep.seed);
    let mut cells = sweep.cells.clone();
    cells.extend(sweep.controls.iter().cloned());
    let mut trials = Vec::with_capacity(cells.len() * sweep.rounds as usize);
    let mut groups = groups(cells, sweep);
    for block in 0..sweep.rounds {
        let invocation = invocation_of(block, sweep);
        groups.shuffle(&mut random);
        for group in &mut groups {
            group.shuffle(&mut random);
        }
        trials.extend(groups.iter().flatten().zip(0..).map(|(cell, order)| Trial {
            cell: cell.clone(),
            invocation,
            block,
            order,
        }));
    }
    trials
}

/// A block that is longer is cut.
const LONG: usize = 12;

/// The cells of a block, cut where it is long: by load, and where one load has many cells, by the clients' language.
fn groups(cells: Vec<Cell>, sweep: &Sweep) -> Vec<Vec<Cell>> {
    if cells.len() <= LONG {
        return vec![cells];
    }
    let mut by_load: BTreeMap<_, Vec<Cell>> = BTreeMap::new();
    for cell in cells {
        by_load.entry(together(&cell.load)).or_default().push(cell);
    }
    let language = |cell: &Cell| {
        let mut clients = sweep.clients.iter();
        let known = clients.find(|known| known.client == cell.first_name());
        known.map(|known| known.language.as_str())
    };
    let mut groups = Vec::new();
    for cells in by_load.into_values() {
        if cells.len() <= LONG {
            groups.push(cells);
            continue;
        }
        let mut by_language: BTreeMap<_, Vec<Cell>> = BTreeMap::new();
        for cell in cells {
            by_language.entry(language(&cell)).or_default().push(cell);
        }
        groups.extend(by_language.into_values());
    }
    groups
}

/// Shares the blocks out among the invocations, as evenly as whole blocks allow.
fn invocation_of(block: u32, sweep: &Sweep) -> u32 {
    (u64::from(block) * u64::from(sweep.invocations) / u64::from(sweep.rounds)) as u32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;
    use std::path::Path;

    use crate::plan::Load;
    use crate::spec::{BASELINE_LOADER, Manifest, Target};

    fn cells(clients: &[String], concurrency: &[usize], body_bytes: &[usize]) -> Vec<Cell> {
        let mut cells = Vec::new();
        for client in clients {
            for (&concurrency, &body_bytes) in concurrency
                .iter()
                .flat_map(|level| body_bytes.iter().map(move |bytes| (level, bytes)))
            {
                let load = Load {
                    concurrency,
                    body_bytes,
                    ..Load::PLAIN
                };
                cells.push(Cell::new(client, load));
            }
        }
        cells
    }

    fn sweep(rounds: u32, invocations: u32, seed: u64) -> Sweep {
        Sweep {
            budget: Default::default(),
            clients: vec![],
            cells: cells(&[BASELINE_LOADER.into()], &[1, 2, 10], &[133, 13801]),
            controls: Vec::new(),
            usual: Load::PLAIN,
            rounds,
            invocations,
            round_time: Duration::from_millis(100),
            warm_up: Duration::ZERO,
            seed,
            target: Target::TestServer,
        }
    }

    #[test]
    fn every_block_holds_every_cell_once() {
        let trials = trials(&sweep(4, 2, 1));
        assert_eq!(trials.len(), 4 * 6);
        for block in trials.chunks(6) {
            let cells: BTreeSet<&Cell> = block.iter().map(|trial| &trial.cell).collect();
            assert_eq!(cells.len(), 6);
            assert!(block.iter().map(|trial| trial.order).eq(0..6));
        }
    }

    #[test]
    fn a_long_block_keeps_together_what_is_compared() {
        let client = |n: usize, language: &str| Manifest {
            client: format!("{language}-{n}"),
            language: language.into(),
            ..Manifest::baseline_loader(Path::new("hecaton"))
        };
        let many = |clients: usize, concurrency: Vec<usize>| {
            let languages = ["c", "ruby"].into_iter();
            let clients = languages.flat_map(|language| (0..clients).map(move |n| (n, language)));
            let clients: Vec<Manifest> = clients.map(|(n, language)| client(n, language)).collect();
            let names = clients.iter().map(|known| known.client.clone());
            let names: Vec<String> = names.chain([BASELINE_LOADER.into()]).collect();
            let requested = Sweep {
                budget: Default::default(),
                cells: cells(&names, &concurrency, &[133]),
                clients,
                ..sweep(2, 1, 3)
            };
            trials(&requested)
        };
        let changes = |trials: &[Trial], of: &dyn Fn(&Cell) -> String| {
            trials
                .windows(2)
                .filter(|pair| of(&pair[0].cell) != of(&pair[1].cell))
                .count()
        };
        let by_load = many(2, vec![1, 2, 10, 50]);
        let block = &by_load[..20];
        assert_eq!(changes(block, &|cell| cell.load.concurrency.to_string()), 3);
        let by_language = many(8, vec![1]);
        let block = &by_language[..17];
        let language = |cell: &Cell| cell.client.split('-').next().unwrap_or_default().to_owned();
        assert_eq!(
            changes(block, &language),
            2,
            "c, ruby and the baseline loader"
        );
        assert_ne!(by_language[..17], by_language[17..]);
    }

    #[test]
    fn the_seed_decides_the_order() {
        assert_eq!(trials(&sweep(3, 1, 5)), trials(&sweep(3, 1, 5)));
        assert_ne!(trials(&sweep(3, 1, 5)), trials(&sweep(3, 1, 6)));
    }

    #[test]
    fn blocks_are_shared_out_among_invocations_in_order() {
        let invocations = |rounds, invocations| -> Vec<u32> {
            trials(&sweep(rounds, invocations, 1))
                .chunks(6)
                .map(|block| block[0].invocation)
                .collect()
        };
        assert_eq!(invocations(6, 3), [0, 0, 1, 1, 2, 2]);
        assert_eq!(invocations(5, 3), [0, 0, 1, 1, 2]);
        assert_eq!(invocations(2, 2), [0, 1]);
    }
}
