//! Estimates how long a sweep will take.

use std::time::Duration;

use crate::plan::Load;
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

/// A round at a rate begins so long after the command to the driver.
const LEAD: f64 = 0.1;

/// Requests per second of a client whose number of requests is fixed, which says nothing of its speed.
const FIXED_RATE: f64 = 1500.0;

/// Requests per second and connection that a foreign server is thought to respond to.
const FOREIGN_RATE: f64 = 500.0;

/// A guess of the whole run's length; it tends to be too long rather than too short.
pub fn estimate(sweep: &Sweep) -> Duration {
    let clients = (sweep.client_names().len() + usize::from(sweep.again().is_some())) as f64;
    let invocations =
        clients * f64::from(sweep.invocations) * (INVOCATION + sweep.warm_up.as_secs_f64());
    let cells = sweep.cells.iter().chain(&sweep.controls);
    let block: f64 = cells.map(|cell| trial(sweep, &cell.load)).sum();
    let calibrated = sweep
        .cells
        .iter()
        .filter(|cell| is_calibrated(sweep, &cell.load));
    let calibration: f64 = calibrated.map(|cell| trial(sweep, &cell.load)).sum();
    let measured = block * f64::from(sweep.rounds) + CALIBRATION * calibration;
    Duration::from_secs_f64(invocations + measured + later(sweep))
}

/// The time of a response that [`estimate`] assumes, because the lab does not know the service. None if it matters to no
/// round.
pub fn assumed_response(sweep: &Sweep) -> Option<Duration> {
    let Target::Foreign { requests, .. } = sweep.target else {
        return None;
    };
    let is_counted = |load: &Load| load.requests.is_some() || (requests > 0 && load.rate.is_none());
    let mut cells = sweep.cells.iter();
    let matters = cells.any(|cell| is_counted(&cell.load));
    matters.then(|| Duration::from_secs_f64(1.0 / FOREIGN_RATE))
}

/// Whether it must be found out how many requests fill a round.
fn is_calibrated(sweep: &Sweep, load: &Load) -> bool {
    sweep.target.is_test_server() && load.requests.is_none()
}

/// The look at every client after its last round.
fn later(sweep: &Sweep) -> f64 {
    let each = LATER * sweep.warm_up.as_secs_f64();
    match sweep.target {
        Target::TestServer => sweep.clients.len() as f64 * each,
        Target::Foreign { .. } => 0.0,
    }
}

/// One round of a load.
fn trial(sweep: &Sweep, load: &Load) -> f64 {
    let concurrency = load.concurrency as f64;
    let trips = if load.keepalive { 1 } else { 3 };
    let wait = (load.delay.mean() + trips * load.round_trip()).as_secs_f64();
    let measured = match (&sweep.target, load.requests) {
        (_, None) if load.rate.is_some() => sweep.round_time.as_secs_f64() + LEAD,
        (Target::Foreign { .. }, Some(batch)) => (batch as f64 / concurrency + 1.0) / FOREIGN_RATE,
        (Target::Foreign { requests: 0, .. }, None) => sweep.round_time.as_secs_f64(),
        (Target::Foreign { requests, .. }, None) => {
            *requests as f64 / (FOREIGN_RATE * concurrency.min(20.0))
        }
        (Target::TestServer, Some(batch)) if load.mode.is_some() => {
            ((batch as f64 / concurrency).ceil() + 1.0) * (wait + REQUEST)
        }
        (Target::TestServer, Some(requests)) => {
            requests as f64 * (1.0 / FIXED_RATE).max(wait / concurrency)
        }
        // Each connection carries at least three requests, however short the round.
        (Target::TestServer, None) => sweep.round_time.as_secs_f64().max(3.0 * wait),
    };
    VISIT + 2.0 * concurrency * REQUEST + measured
}

#[cfg(test)]
mod tests {
    use hecaton_test_server::Delay;

    use super::*;
    use crate::plan::Cell;
    use crate::spec::BASELINE_LOADER;

    fn sweep(delay: &str, round_ms: u64) -> Sweep {
        let usual = Load {
            body_bytes: 133,
            delay: delay.parse::<Delay>().unwrap(),
            ..Load::PLAIN
        };
        Sweep {
            budget: Default::default(),
            clients: vec![],
            cells: vec![Cell::new(BASELINE_LOADER, usual)],
            controls: Vec::new(),
            usual,
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
            let mut requested = sweep(delay, 10);
            requested.cells[0].load.requests = Some(3000);
            estimate(&requested).as_secs_f64()
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
    fn a_long_delay_makes_rounds_longer_than_requested() {
        let estimate = estimate(&sweep("1s", 100)).as_secs_f64();
        assert!(estimate > 30.0, "{estimate}");
    }
}
