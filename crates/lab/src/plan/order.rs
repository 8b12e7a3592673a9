//! Randomised complete blocks: every block visits each cell once, in an order drawn from the seed.
//!
//! What drifts while a run lasts (heat, other programs) then meets all clients alike, and cells of one block can
//! be compared in pairs.

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::{Cell, Own};
use crate::spec::Sweep;

/// One planned round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// What is measured.
    pub cell: Cell,
    /// Which process of the client, from 0.
    pub launch: u32,
    /// The block, from 0.
    pub block: u32,
    /// Position in the block, from 0.
    pub order: u32,
}

/// All visits of a sweep, in the order in which they are made.
pub fn visits(sweep: &Sweep) -> Vec<Visit> {
    let mut random = StdRng::seed_from_u64(sweep.seed);
    let mut cells = cells(sweep);
    cells.extend(sweep.controls.iter().cloned());
    let mut visits = Vec::with_capacity(cells.len() * sweep.rounds as usize);
    for block in 0..sweep.rounds {
        cells.shuffle(&mut random);
        let launch = launch_of(block, sweep);
        visits.extend(cells.iter().zip(0..).map(|(cell, order)| Visit {
            cell: cell.clone(),
            launch,
            block,
            order,
        }));
    }
    visits
}

/// Shares the blocks out among the launches, as evenly as whole blocks allow.
fn launch_of(block: u32, sweep: &Sweep) -> u32 {
    (u64::from(block) * u64::from(sweep.launches) / u64::from(sweep.rounds)) as u32
}

fn cells(sweep: &Sweep) -> Vec<Cell> {
    if !sweep.cells.is_empty() {
        return sweep.cells.clone();
    }
    let mut cells = Vec::new();
    for client in sweep.client_names() {
        for keepalive in sweep.ways_to_connect(&client) {
            for &body_bytes in &sweep.body_bytes {
                for &concurrency in &sweep.concurrency {
                    cells.push(Cell {
                        client: client.clone(),
                        body_bytes,
                        concurrency,
                        keepalive,
                        own: Own::default(),
                    });
                }
            }
        }
    }
    cells
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use hecaton_origin::Delay;

    use super::*;
    use crate::spec::Target;

    fn sweep(rounds: u32, launches: u32, seed: u64) -> Sweep {
        Sweep {
            clients: vec![],
            concurrency: vec![1, 2, 10],
            body_bytes: vec![133, 13801],
            cells: Vec::new(),
            controls: Vec::new(),
            keepalive: vec![true],
            job: crate::spec::Job::Plain,
            requests: None,
            tls: false,
            ceiling: true,
            delay: Delay::None,
            rounds,
            launches,
            round_time: Duration::from_millis(100),
            warm_up: Duration::ZERO,
            seed,
            target: Target::Origin,
        }
    }

    #[test]
    fn every_block_holds_every_cell_once() {
        let visits = visits(&sweep(4, 2, 1));
        assert_eq!(visits.len(), 4 * 6);
        for block in visits.chunks(6) {
            let cells: BTreeSet<&Cell> = block.iter().map(|visit| &visit.cell).collect();
            assert_eq!(cells.len(), 6);
            assert!(block.iter().map(|visit| visit.order).eq(0..6));
        }
    }

    #[test]
    fn the_seed_decides_the_order() {
        assert_eq!(visits(&sweep(3, 1, 5)), visits(&sweep(3, 1, 5)));
        assert_ne!(visits(&sweep(3, 1, 5)), visits(&sweep(3, 1, 6)));
    }

    #[test]
    fn blocks_are_shared_out_among_launches_in_order() {
        let launches = |rounds, launches| -> Vec<u32> {
            visits(&sweep(rounds, launches, 1))
                .chunks(6)
                .map(|block| block[0].launch)
                .collect()
        };
        assert_eq!(launches(6, 3), [0, 0, 1, 1, 2, 2]);
        assert_eq!(launches(5, 3), [0, 0, 1, 1, 2]);
        assert_eq!(launches(2, 2), [0, 1]);
    }
}
