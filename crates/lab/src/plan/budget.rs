//! Estimates how long a sweep will take.

use std::time::Duration;

use crate::plan::Cell;
use crate::spec::{Sweep, Target};

/// Starting a driver and hearing its hello.
const INVOCATION: f64 = 0.3;

/// Preparing a cell, reading accounts, opening and closing the page.
const VISIT: f64 = 0.02;

/// One request of the probe, or of opening connections, with a slow client.
const REQUEST: f64 = 0.000_15;

/// Finding out how many requests of a cell fill a round takes about this part of a round.
const CALIBRATION: f64 = 0.5;

/// So many times the warm-up takes the look after the last round.
const LATER: f64 = 4.0;

/// Requests per second of a client whose number of requests is fixed, which says nothing of its speed.
const FIXED_RATE: f64 = 1500.0;

/// Requests per second and connection that a foreign server is thought to answer.
const FOREIGN_RATE: f64 = 500.0;

/// A guess of the whole run's length; it tends to be too long rather than too short.
pub fn estimate(sweep: &Sweep) -> Duration {
    let clients = (sweep.client_names().len() + usize::from(sweep.again().is_some())) as f64;
    let bodies = sweep.body_bytes.len() as f64;
    let series: f64 = sweep
        .client_names()
        .iter()
        .map(|client| sweep.ways_to_connect(client).len() as f64 * bodies)
        .sum();
    if !sweep.cells.is_empty() {
        return of_cells(sweep, clients);
    }
    let invocations =
        clients * f64::from(sweep.invocations) * (INVOCATION + sweep.warm_up.as_secs_f64());
    let block: f64 = sweep
        .concurrency
        .iter()
        .map(|&concurrency| trial(sweep, concurrency))
        .sum();
    let calibration = match sweep.target {
        Target::TestServer if sweep.requests.is_none() => CALIBRATION * block,
        _ => 0.0,
    };
    let controls = controls(sweep) * f64::from(sweep.rounds) + later(sweep);
    let measured = series * (block * f64::from(sweep.rounds) + calibration);
    Duration::from_secs_f64(invocations + measured + controls)
}

/// The estimate for cells that are not a grid.
fn of_cells(sweep: &Sweep, clients: f64) -> Duration {
    let invocations =
        clients * f64::from(sweep.invocations) * (INVOCATION + sweep.warm_up.as_secs_f64());
    let foreign = matches!(sweep.target, Target::Foreign { .. });
    let block: f64 = sweep
        .cells
        .iter()
        .map(|cell| of_cell(sweep, cell, foreign))
        .sum();
    let blocks = (block + controls(sweep)) * f64::from(sweep.rounds);
    Duration::from_secs_f64(invocations + blocks + later(sweep))
}

/// The look at every client after its last round.
fn later(sweep: &Sweep) -> f64 {
    let each = LATER * sweep.warm_up.as_secs_f64();
    match sweep.target {
        Target::TestServer => sweep.clients.len() as f64 * each,
        Target::Foreign { .. } => 0.0,
    }
}

/// The controls of one block.
fn controls(sweep: &Sweep) -> f64 {
    let each = sweep
        .controls
        .iter()
        .map(|cell| trial(sweep, cell.concurrency));
    each.sum()
}

fn of_cell(sweep: &Sweep, cell: &Cell, foreign: bool) -> f64 {
    let trips = if cell.keepalive { 1 } else { 3 };
    let delay = cell.overrides.delay.unwrap_or(sweep.delay).mean();
    let wait = match foreign {
        true => 1.0 / FOREIGN_RATE,
        false => (delay + trips * cell.round_trip()).as_secs_f64() + REQUEST,
    };
    let concurrency = cell.concurrency as f64;
    let measured = match cell.overrides.requests {
        Some(requests) => (requests as f64 / concurrency).ceil() * wait + wait,
        None => sweep.round_time.as_secs_f64().max(3.0 * wait),
    };
    VISIT + 2.0 * concurrency * REQUEST + measured
}

fn trial(sweep: &Sweep, concurrency: usize) -> f64 {
    let concurrency = concurrency as f64;
    let measured = match sweep.target {
        Target::TestServer if sweep.requests.is_some() => {
            let requests = sweep.requests.unwrap_or(0) as f64;
            requests * (1.0 / FIXED_RATE).max(sweep.delay.mean().as_secs_f64() / concurrency)
        }
        // Each connection carries at least three requests, however short the round.
        Target::TestServer => sweep
            .round_time
            .as_secs_f64()
            .max(3.0 * sweep.delay.mean().as_secs_f64()),
        Target::Foreign { requests, .. } => {
            requests as f64 / (FOREIGN_RATE * concurrency.min(20.0))
        }
    };
    VISIT + 2.0 * concurrency * REQUEST + measured
}

#[cfg(test)]
mod tests {
    use hecaton_test_server::Delay;

    use super::*;

    fn sweep(delay: &str, round_ms: u64) -> Sweep {
        Sweep {
            clients: vec![],
            concurrency: vec![1],
            body_bytes: vec![133],
            cells: Vec::new(),
            controls: Vec::new(),
            keepalive: vec![true],
            job: crate::spec::Job::Plain,
            requests: None,
            tls: false,
            baseline_loader: true,
            delay: delay.parse::<Delay>().unwrap(),
            rounds: 10,
            invocations: 1,
            round_time: Duration::from_millis(round_ms),
            warm_up: Duration::ZERO,
            seed: 1,
            target: Target::TestServer,
        }
    }

    #[test]
    fn a_fixed_number_of_requests_takes_its_time_however_long_rounds_are() {
        let fixed = |delay: &str| {
            let asked = Sweep {
                requests: Some(3000),
                ..sweep(delay, 10)
            };
            estimate(&asked).as_secs_f64()
        };
        assert!((20.0..22.0).contains(&fixed("0")), "{}", fixed("0"));
        assert!((300.0..302.0).contains(&fixed("10ms")), "{}", fixed("10ms"));
    }

    #[test]
    fn rounds_dominate() {
        let estimate = estimate(&sweep("0", 1000)).as_secs_f64();
        assert!((10.0..12.0).contains(&estimate), "{estimate}");
    }

    #[test]
    fn a_long_delay_makes_rounds_longer_than_asked() {
        let estimate = estimate(&sweep("1s", 100)).as_secs_f64();
        assert!(estimate > 30.0, "{estimate}");
    }
}
