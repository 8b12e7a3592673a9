//! Whether a client harms the rounds that follow its own: by timers, caches, or heat.
//!
//! The order of a block is drawn at random. A round is therefore as likely to follow one client as another, and what follows a client is as
//! fast as what follows others, unless it leaves something behind. The test is a permutation test in each block, with the p-value of
//! Phipson and Smyth (Statistical Applications in Genetics and Molecular Biology 9, 2010, article 39). It stops as soon as the result is
//! certain (Besag and Clifford, Biometrika 78, 1991, 301–304).

use std::collections::{BTreeMap, BTreeSet};

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::cells::speed;
use super::rows::Row;
use super::stats::median;
use super::words::percent;
use crate::plan::{Cell, Load};
use crate::run::Round;
use crate::spec::together;

/// The probability that chance alone makes a run accuse any of its clients.
const CHANCE: f64 = 0.01;

/// Permutations for each client of the run: enough that a p-value can be small for all clients together.
const TRIES: usize = 200;

/// A round, and the client whose round came before it.
struct Sample<'a> {
    client: &'a str,
    follows: &'a str,
    /// Rounds of one block and similar load may change places.
    stratum: (u32, Load),
    /// The logarithm of its speed, less what is usual in its cell.
    residual: f64,
}

/// Adds a warning to the rows of each client that slows what follows it.
pub(super) fn warn(rows: &mut [Row], rounds: &[Round]) {
    for (client, slower) in found(rounds) {
        let words = format!(
            "rounds that follow its own are {} slower than rounds that follow others: it leaves something behind, and its rivals pay",
            percent(slower)
        );
        let own = rows.iter_mut().filter(|row| row.client == client);
        own.for_each(|row| row.warnings.push(words.clone()));
    }
}

/// The clients that slow what follows them, and by which share.
fn found(rounds: &[Round]) -> Vec<(String, f64)> {
    let samples = samples(rounds);
    let clients: BTreeSet<&str> = samples.iter().map(|sample| sample.follows).collect();
    let slows = |client: &&str| {
        Some((
            (*client).to_owned(),
            slower_after(client, &samples, clients.len())?,
        ))
    };
    clients.iter().filter_map(slows).collect()
}

fn samples<'a>(rounds: &'a [Round]) -> Vec<Sample<'a>> {
    let mut in_order: Vec<&Round> = rounds.iter().collect();
    in_order.sort_by_key(|round| (round.block, round.order));
    let mut by_cell: BTreeMap<&Cell, Vec<f64>> = BTreeMap::new();
    for round in rounds.iter().filter(|round| round.claim.done > 0) {
        by_cell
            .entry(&round.cell)
            .or_default()
            .push(speed(round).ln());
    }
    let usual: BTreeMap<&Cell, Option<f64>> = by_cell
        .into_iter()
        .map(|(cell, speeds)| (cell, median(&speeds)))
        .collect();
    let sample = |pair: &[&'a Round]| {
        let (before, round) = (pair[0], pair[1]);
        let usual = usual.get(&round.cell).copied().flatten()?;
        (round.claim.done > 0).then(|| Sample {
            client: &round.cell.client,
            follows: &before.cell.client,
            stratum: (round.block, together(&round.cell.load)),
            residual: speed(round).ln() - usual,
        })
    };
    in_order.windows(2).filter_map(sample).collect()
}

/// The rounds of others in one block: what is left of their speeds, and how many follow the client.
#[derive(Default)]
struct Stratum {
    residuals: Vec<f64>,
    following: usize,
    /// The sum over those that follow it.
    sum: f64,
}

/// By which share the rounds of others are slower after this client; none where chance may be the reason. `clients` are tested.
fn slower_after(client: &str, samples: &[Sample<'_>], clients: usize) -> Option<f64> {
    let mut strata: BTreeMap<(u32, Load), Stratum> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| sample.client != client) {
        let stratum = strata.entry(sample.stratum).or_default();
        stratum.residuals.push(sample.residual);
        if sample.follows == client {
            stratum.following += 1;
            stratum.sum += sample.residual;
        }
    }
    let mut strata: Vec<Stratum> = strata.into_values().collect();
    let (mut following, mut difference) = (0, 0.0);
    for stratum in &strata {
        let all: f64 = stratum.residuals.iter().sum();
        let rest = stratum.residuals.len() - stratum.following;
        if stratum.following > 0 && rest > 0 {
            let after = stratum.sum / stratum.following as f64;
            difference += stratum.following as f64 * (after - (all - stratum.sum) / rest as f64);
            following += stratum.following;
        }
    }
    let slower = difference < 0.0 && !may_be_chance(&mut strata, clients);
    slower.then(|| 1.0 - (difference / following as f64).exp())
}

/// Whether as small a sum comes up too often when the rounds of each block change places.
fn may_be_chance(strata: &mut [Stratum], clients: usize) -> bool {
    let observed: f64 = strata.iter().map(|stratum| stratum.sum).sum();
    let tries = TRIES * clients;
    let mut random = StdRng::seed_from_u64(0);
    let mut as_small = 0;
    for _ in 0..tries {
        let draw = strata.iter_mut().map(|stratum| {
            let drawn = stratum
                .residuals
                .partial_shuffle(&mut random, stratum.following);
            drawn.0.iter().sum::<f64>()
        });
        // Sums of the same numbers in another order differ by rounding.
        if draw.sum::<f64>() <= observed + 1e-9 {
            as_small += 1;
            let p = f64::from(as_small + 1) / (tries + 1) as f64;
            if p * clients as f64 > CHANCE {
                return true;
            }
        }
    }
    false
}
