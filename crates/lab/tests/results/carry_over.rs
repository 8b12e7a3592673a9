//! A client that slows the rounds after its own gets a warning, and no other client does.

use hecaton_lab::run::Round;
use hecaton_test_server::Delay;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use crate::synthetic::{Machine, judge};

const CLIENTS: [(&str, f64); 6] = [
    ("a", 900.0),
    ("bb", 1500.0),
    ("ccc", 700.0),
    ("dddd", 4000.0),
    ("harms", 1200.0),
    ("baseline-loader", 9000.0),
];

/// Rounds in random order. Those that follow `harms` are this many times as long.
fn rounds(seed: u64, blocks: u32, longer: f64) -> Vec<Round> {
    let machine = |name: &str| Machine {
        seed: seed * 1000 + name.len() as u64,
        blocks,
        noise: 0.03,
        drift: 0.06,
    };
    let of = |(name, speed): &(&str, f64)| {
        machine(name).rounds(name, 133, &[(1, (*speed, 50.0)), (10, (2.0 * speed, 50.0))])
    };
    let mut all: Vec<Round> = CLIENTS.iter().flat_map(of).collect();
    let mut random = StdRng::seed_from_u64(seed);
    all.shuffle(&mut random);
    all.sort_by_key(|round| round.block);
    let mut after_harm = false;
    for (order, round) in (0..).zip(&mut all) {
        round.order = order;
        let harms = round.cell.client == "harms";
        if after_harm && !harms {
            round.wall_ns = (round.wall_ns as f64 * longer) as u64;
        }
        after_harm = harms;
    }
    all
}

/// The clients that are said to harm others, and the words.
fn accused(rounds: &[Round]) -> Vec<(String, String)> {
    let rows = judge(rounds, &Delay::None).rows;
    let words = |warnings: &[String]| {
        warnings
            .iter()
            .find(|words| words.contains("that follow its own"))
            .cloned()
    };
    let mut found: Vec<(String, String)> = rows
        .iter()
        .filter_map(|row| Some((row.client.clone(), words(&row.warnings)?)))
        .collect();
    found.dedup();
    found
}

#[test]
fn a_client_that_slows_what_follows_gets_a_warning() {
    for seed in 1..=5 {
        let found = accused(&rounds(seed, 12, 1.1));
        let [(client, words)] = &found[..] else {
            panic!("{seed}: {found:?}");
        };
        assert!(client == "harms" && words.contains("% slower"), "{words}");
    }
}

#[test]
fn chance_accuses_nobody() {
    for seed in 1..=20 {
        assert_eq!(accused(&rounds(seed, 12, 1.0)), [], "{seed}");
    }
}

/// Three blocks cannot show it, however slow the rounds are that follow by chance.
#[test]
fn a_faster_round_or_too_few_of_them_accuse_nobody() {
    assert_eq!(accused(&rounds(1, 12, 0.8)), []);
    assert_eq!(accused(&rounds(1, 1, 1.1)), []);
}
