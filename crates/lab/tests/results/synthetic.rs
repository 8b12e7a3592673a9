//! Rounds of clients that never ran: seeded, honest, with drift and noise, in the shapes of a published sweep.

use std::time::Duration;

use hecaton_lab::findings::{self, Findings};
use hecaton_lab::ledger::Document;
use hecaton_lab::plan::{Cell, Load};
use hecaton_lab::run::{Claim, Round};
use hecaton_test_server::{Delay, Interval};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;

pub const GRID: [usize; 16] = [
    1, 2, 3, 4, 5, 10, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200,
];

/// (requests/s, CPU %) over [`GRID`]: Typhoeus on MRI 2.1.2 with 133-byte responses, as published in 2015.
pub const MRI_SHORT: [(f64, f64); 16] = [
    (68.98, 7.4),
    (93.2, 8.37),
    (161.13, 12.59),
    (233.41, 17.0),
    (304.86, 20.7),
    (624.21, 34.81),
    (1108.17, 50.85),
    (1377.56, 56.48),
    (1489.14, 56.43),
    (1690.68, 66.13),
    (1493.8, 57.35),
    (1597.41, 64.18),
    (1584.74, 61.88),
    (1422.99, 59.42),
    (1269.99, 59.23),
    (1331.68, 62.02),
];

/// MRI with 13,801-byte responses.
pub const MRI_MEDIUM: [(f64, f64); 16] = [
    (60.92, 8.79),
    (89.51, 11.62),
    (160.21, 19.11),
    (206.05, 24.36),
    (254.53, 28.07),
    (471.2, 40.74),
    (519.54, 45.48),
    (465.34, 43.74),
    (481.42, 49.69),
    (409.81, 44.3),
    (386.23, 45.72),
    (380.23, 47.3),
    (399.55, 50.55),
    (358.66, 49.35),
    (378.54, 54.54),
    (378.81, 54.78),
];

/// JRuby 1.7.19, 133 bytes.
pub const JRUBY_SHORT: [(f64, f64); 16] = [
    (75.7, 17.39),
    (134.47, 19.43),
    (214.0, 27.71),
    (295.48, 32.38),
    (350.77, 44.17),
    (670.44, 48.18),
    (1200.48, 70.7),
    (1791.86, 85.16),
    (1843.72, 72.87),
    (2015.35, 86.41),
    (2053.16, 113.48),
    (1761.43, 90.06),
    (2038.64, 106.95),
    (1700.96, 92.28),
    (1189.59, 77.73),
    (1603.21, 77.16),
];

/// JRuby 1.7.19, 13,801 bytes.
pub const JRUBY_MEDIUM: [(f64, f64); 16] = [
    (59.98, 12.8),
    (87.71, 14.39),
    (147.43, 24.2),
    (198.15, 27.6),
    (238.36, 33.47),
    (418.5, 56.02),
    (408.1, 47.92),
    (405.78, 47.66),
    (407.69, 49.13),
    (428.75, 63.96),
    (427.38, 66.76),
    (317.95, 45.96),
    (378.5, 58.76),
    (322.07, 54.14),
    (388.01, 63.38),
    (358.77, 60.35),
];

/// How the synthetic machine behaves.
pub struct Machine {
    pub seed: u64,
    pub blocks: u32,
    /// Standard deviation of the logarithm of speed from round to round.
    pub noise: f64,
    /// How much slower everything is at the end of the run.
    pub drift: f64,
}

impl Default for Machine {
    fn default() -> Self {
        Machine {
            seed: 1,
            blocks: 12,
            noise: 0.004,
            drift: 0.06,
        }
    }
}

impl Machine {
    /// Rounds of one client whose speed at each concurrency is given, as requests/s and CPU %.
    pub fn rounds(
        &self,
        client: &str,
        body_bytes: usize,
        shape: &[(usize, (f64, f64))],
    ) -> Vec<Round> {
        let mut random =
            StdRng::seed_from_u64(self.seed ^ client.len() as u64 ^ (body_bytes as u64) << 8);
        let mut rounds = Vec::new();
        for block in 0..self.blocks {
            let drift = 1.0 - self.drift * f64::from(block) / f64::from(self.blocks);
            for (order, (concurrency, (speed, cpu))) in shape.iter().enumerate() {
                let speed = speed * drift * (self.noise * normal(&mut random)).exp();
                let load = Load {
                    body_bytes,
                    concurrency: *concurrency,
                    ..Load::PLAIN
                };
                let cell = Cell::new(client, load);
                rounds.push(honest(cell, block, order as u32, speed, *cpu, &mut random));
            }
        }
        rounds
    }

    /// The rounds of a client at every concurrency of [`GRID`].
    pub fn sweep(&self, client: &str, body_bytes: usize, shape: &[(f64, f64); 16]) -> Vec<Round> {
        let shape: Vec<_> = GRID.into_iter().zip(*shape).collect();
        self.rounds(client, body_bytes, &shape)
    }
}

fn normal(random: &mut StdRng) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

/// A round in which claim and ledger agree, about one second long.
fn honest(cell: Cell, block: u32, order: u32, speed: f64, cpu: f64, random: &mut StdRng) -> Round {
    let c = cell.load.concurrency as u64;
    let count = (speed as u64).max(3 * c);
    let wall = count as f64 / speed;
    let mean_us = 1e6 * c as f64 / speed * 0.97;
    let latencies_us = (0..200)
        .map(|_| (mean_us * (0.9 + 0.2 * random.random::<f64>())) as u32)
        .collect();
    let busy = wall * cpu / 100.0 * 1e9;
    Round {
        invocation: block / 4,
        block,
        order,
        count,
        wall_ns: (wall * 1e9) as u64,
        cpu_user_ns: (busy * 0.6) as u64,
        cpu_system_ns: (busy * 0.4) as u64,
        peak_rss_kib: 20_000 + 40 * c,
        claim: Claim {
            done: count,
            bytes: count * cell.load.body_bytes as u64,
            sum: 0x5eed,
            latencies_us,
            ..Claim::default()
        },
        seen: Some(page(count, c, cell.load.body_bytes as u64)),
        reference: false,
        trusted: false,
        no_interim: false,
        logged: None,
        beside: None,
        left_open: None,
        server_cpu_ns: None,
        later: None,
        proof: None,
        probe: Some(Interval {
            connections_opened: c,
            ..page(2 * c, c, cell.load.body_bytes as u64)
        }),
        cell,
        lat_every: 0,
        facts: Vec::new(),
        isolation: None,
        disturbed: Vec::new(),
        noise: None,
        per_second: None,
    }
}

fn page(count: u64, concurrency: u64, body: u64) -> Interval {
    Interval {
        count,
        requests: count,
        distinct: count,
        connections_used: concurrency,
        peak_in_flight: concurrency,
        body_bytes_out: count * body,
        expected_sum: 0x5eed,
        ..Interval::default()
    }
}

/// Rounds without a log, as from a server that is not ours.
pub fn unwitnessed(mut rounds: Vec<Round>) -> Vec<Round> {
    for round in &mut rounds {
        (round.seen, round.probe) = (None, None);
    }
    rounds
}

/// The delay of the published sweep is not known; a request took 14.5 ms.
pub fn ten_ms() -> Delay {
    Delay::Fixed(Duration::from_millis(10))
}

/// Rounds of cells that have no delay of their own, as those of a plan with this one.
pub fn delayed(rounds: &[Round], delay: &Delay) -> Vec<Round> {
    let mut rounds = rounds.to_vec();
    let own = rounds.iter_mut().map(|round| &mut round.cell.load.delay);
    own.filter(|own| **own == Delay::None)
        .for_each(|own| *own = *delay);
    rounds
}

/// The findings of rounds as those of a plan with this delay.
pub fn judge(rounds: &[Round], delay: &Delay) -> Findings {
    let usual = Load {
        delay: *delay,
        ..Load::PLAIN
    };
    findings::judge(&delayed(rounds, delay), &usual)
}

/// Why such rounds are not ranked.
pub fn rejection(rounds: &[&Round], delay: &Delay) -> Option<String> {
    let rounds: Vec<Round> = rounds.iter().map(|round| (*round).clone()).collect();
    let rounds = delayed(&rounds, delay);
    findings::rejection(&rounds.iter().collect::<Vec<_>>())
}

/// The document around rounds.
pub fn document(rounds: Vec<Round>, delay: &str, target: serde_json::Value) -> Document {
    let rounds = delayed(&rounds, &delay.parse().expect("a delay"));
    let mut clients: Vec<&str> = rounds
        .iter()
        .map(|round| round.cell.client.as_str())
        .collect();
    clients.sort_unstable();
    clients.dedup();
    let blocks = rounds
        .iter()
        .map(|round| round.block + 1)
        .max()
        .unwrap_or(6);
    serde_json::from_value(json!({
        "schema": 1,
        "command": "hecaton sweep --client typhoeus --delay 10ms",
        "environment": {
            "date": "2026-01-02T03:04:05Z", "hecaton": "0.1.0", "revision": "0123456789ab", "system": "Debian GNU/Linux 12",
            "kernel": "6.1.0", "processor": "a processor", "cores": 2, "memory_kib": 8_000_000, "governor": null,
            "load_average": 0.1, "descriptors": 4096, "pinning": { "client_core": 0, "server_core": 1 },
            "clients": { "typhoeus": {
                "version": "1.4.0", "runtime": "ruby 3.1.2", "engine": "libcurl 7.88.1", "models": ["callbacks"], "retries": "off",
            } },
        },
        "plan": {
            "clients": clients, "concurrency": GRID, "body_bytes": [133, 13801], "delay": delay, "rounds": blocks, "invocations": 3,
            "round_seconds": 1.0, "warm_up_seconds": 0.3, "seed": "18446744073709551615", "target": target,
        },
        "rounds": rounds,
    }))
    .expect("the document of a run")
}
