//! Ranking tells clients apart: equal ones seldom, those that differ by a tenth reliably, and twins of kept runs
//! never.

use std::path::Path;

use hecaton_lab::findings::{Ranking, ranking};
use hecaton_lab::ledger::Document;
use hecaton_lab::run::Round;
use hecaton_test_server::{Delay, Times};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use crate::synthetic::{Machine, judge};

/// A machine as they are: it slows down while a run lasts, others come and go, every process has its own luck, and one
/// round in ten is slow.
struct Noisy {
    random: StdRng,
    blocks: u32,
    invocations: u32,
    /// Standard deviation of one round's logarithm; outliers, drift and luck come on top, in proportion.
    noise: f64,
}

impl Noisy {
    /// An experiment with these clients, at these speeds.
    fn experiment(&mut self, speeds: &[(&str, f64)]) -> Vec<Round> {
        let still = Machine {
            blocks: self.blocks,
            noise: 0.0,
            drift: 0.0,
            ..Machine::default()
        };
        let mut clients: Vec<Vec<Round>> = speeds
            .iter()
            .map(|(name, speed)| still.rounds(name, 133, &[(1, (*speed, 50.0))]))
            .collect();
        let (mut luck, mut last) = (vec![0.0; clients.len()], None);
        let mut weather = 0.0;
        for block in 0..self.blocks {
            let invocation = block * self.invocations / self.blocks;
            if last.replace(invocation) != Some(invocation) {
                luck.fill_with(|| 0.4 * self.noise * normal(&mut self.random));
            }
            let mut order: Vec<usize> = (0..clients.len()).collect();
            order.shuffle(&mut self.random);
            for client in order {
                weather = 0.9 * weather + self.noise * normal(&mut self.random);
                let drift = 3.0 * self.noise * f64::from(block) / f64::from(self.blocks);
                let slowness = weather + drift + luck[client] + self.of_round();
                let round = &mut clients[client][block as usize];
                round.invocation = invocation;
                round.wall_ns = (round.wall_ns as f64 * slowness.exp()) as u64;
                round.claim.latencies_us = Times::new();
            }
        }
        clients.into_iter().flatten().collect()
    }

    /// The noise of one round: heavier tails than a normal distribution, above all on the slow side.
    fn of_round(&mut self) -> f64 {
        let spread = if self.random.random::<f64>() < 0.1 {
            3.0
        } else {
            1.0
        };
        let noise = spread * self.noise * normal(&mut self.random);
        match self.random.random::<f64>() < 0.1 {
            true => noise + 5.0 * self.noise,
            false => noise,
        }
    }
}

fn normal(random: &mut StdRng) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

fn rank(rounds: &[Round]) -> Ranking {
    let findings = judge(rounds, &Delay::None);
    ranking(rounds, &[], &findings.rows, "one", 2)
}

fn share_a_letter(ranking: &Ranking, one: &str, other: &str) -> bool {
    let letters = |name: &str| {
        let mut found = ranking
            .ranked
            .iter()
            .filter(|entry| entry.row.client == name);
        found
            .next()
            .map(|entry| entry.letters.as_str())
            .unwrap_or_else(|| panic!("{name} is not ranked"))
    };
    // Capitals come after the small letters.
    let index = |letter: char| {
        ('a'..='z')
            .chain('A'..='Z')
            .position(|of| of == letter)
            .unwrap()
    };
    let positions = |text: &str| -> Vec<usize> {
        let all: Vec<usize> = text.chars().filter(|c| *c != '–').map(index).collect();
        match text.contains('–') {
            true => (all[0]..=all[1]).collect(),
            false => all,
        }
    };
    let other = positions(letters(other));
    positions(letters(one))
        .iter()
        .any(|letter| other.contains(letter))
}

/// In how many of `experiments` the first two clients are told apart.
fn told_apart(mut machine: Noisy, experiments: u32, speeds: &[(&str, f64)]) -> u32 {
    let (one, other) = (speeds[0].0, speeds[1].0);
    let apart = |_: &u32| !share_a_letter(&rank(&machine.experiment(speeds)), one, other);
    (0..experiments).filter(apart).count() as u32
}

fn machine(seed: u64, blocks: u32, invocations: u32, noise: f64) -> Noisy {
    Noisy {
        random: StdRng::seed_from_u64(seed),
        blocks,
        invocations,
        noise,
    }
}

/// Two names of one client, beside one that is a third faster: at most 5 % of 1,000 experiments may tell them apart.
#[test]
fn one_client_under_two_names_is_seldom_called_different() {
    let speeds = [("one", 1000.0), ("same", 1000.0), ("other", 1333.0)];
    let apart: u32 = std::thread::scope(|scope| {
        let half = |seed| scope.spawn(move || told_apart(machine(seed, 12, 4, 0.03), 500, &speeds));
        let halves = [2, 3].map(half);
        halves.into_iter().map(|half| half.join().unwrap()).sum()
    });
    assert!(apart <= 50, "{apart} of 1,000");
    let apart = told_apart(machine(1, 6, 3, 0.1), 60, &speeds);
    assert!(
        apart <= 3,
        "{apart} of 60 with six rounds on a rough machine"
    );
}

/// Among twelve clients that are all the same, no two may be told apart in 95 of 100 experiments.
#[test]
fn of_many_equal_clients_seldom_any_two_are_called_different() {
    let names: Vec<String> = (0..12).map(|n| format!("same-{n:02}")).collect();
    let speeds: Vec<(&str, f64)> = names.iter().map(|name| (name.as_str(), 1000.0)).collect();
    let mut machine = machine(6, 12, 4, 0.03);
    let wrong = (0..20).filter(|_| {
        let ranking = rank(&machine.experiment(&speeds));
        ranking.ranked.iter().any(|entry| entry.letters != "a")
    });
    let wrong = wrong.count();
    assert!(wrong <= 2, "{wrong} of 20");
}

/// Where single rounds scatter by 6 %: among three clients in twelve rounds, among twelve in twenty.
#[test]
fn a_difference_of_a_tenth_is_found() {
    let names: Vec<String> = (2..12).map(|n| format!("other-{n:02}")).collect();
    let mut speeds = vec![("one", 1000.0), ("slower", 909.0)];
    speeds.extend(names.iter().map(|name| (name.as_str(), 1500.0)));
    let reported = told_apart(machine(7, 12, 4, 0.02), 20, &speeds[..3]);
    assert!(reported >= 17, "{reported} of 20");
    let reported = told_apart(machine(8, 20, 4, 0.02), 10, &speeds);
    assert!(reported >= 8, "{reported} of 10");
}

fn kept(folder: &str) -> Document {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
    hecaton_lab::ledger::read(&root.join(folder)).unwrap()
}

/// Eight clients and their tuned twins, which at one request at a time do the same.
#[test]
fn twins_of_a_kept_shootout_share_a_letter() {
    let run = kept("2026-11-24-shootout");
    let ranking = rank(&run.rounds);
    let names = || ranking.ranked.iter().map(|entry| entry.row.client.as_str());
    let twins: Vec<(&str, String)> = names()
        .map(|name| (name, format!("{name}-tuned")))
        .filter(|(_, tuned)| names().any(|name| name == tuned))
        .collect();
    assert!(twins.len() >= 8, "{twins:?}");
    for (one, tuned) in &twins {
        assert!(share_a_letter(&ranking, one, tuned), "{one}");
    }
    assert!(!share_a_letter(&ranking, "hecaton-rust", "net-http"));
}

/// Machines that compile while they run were measured cold in that run; programs that do not were not.
#[test]
fn rows_of_a_recorded_shootout_that_were_still_warming_get_a_warning() {
    let run = kept("2026-11-24-shootout");
    let ranking = rank(&run.rounds);
    let entries = || ranking.ranked.iter().map(|entry| &entry.row);
    let warned: Vec<&str> = entries()
        .filter(|row| row.warming.is_some())
        .map(|row| &*row.client)
        .collect();
    for name in ["jruby-net-http", "node-http", "undici", "fetch-tuned"] {
        assert!(warned.contains(&name), "{name} of {warned:?}");
    }
    for name in [
        "curb",
        "net-http",
        "hecaton-ruby",
        "requests",
        "go-net-http",
        "reqwest",
        "httpx",
    ] {
        assert!(!warned.contains(&name), "{name} of {warned:?}");
    }
    let warming = entries()
        .find(|row| row.client == "jruby-net-http")
        .unwrap()
        .warming
        .unwrap();
    assert!(warming.steady > 1.8 * warming.first, "{warming:?}");
    assert!(
        ranking.notes[0].contains("Still warming"),
        "{:?}",
        ranking.notes
    );
}
