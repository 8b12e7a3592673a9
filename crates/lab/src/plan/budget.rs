//! Estimates how long a sweep will take, before anything of it was seen.

use std::time::Duration;

use crate::plan::{Cell, Load};
use crate::spec::{Amount, Sweep, Target};

/// Starting a driver and hearing its hello.
const INVOCATION: f64 = 0.3;

/// Preparing a cell, reading accounts, opening and closing the page.
const VISIT: f64 = 0.02;

/// One request of the probe, or of opening connections, with a slow client.
const REQUEST: f64 = 0.000_15;

/// Finding out how many requests of a cell fill a round takes about this part of a round.
const CALIBRATION: f64 = 0.5;

/// After the first round of a cell, one in so many has a proof beside it, which takes as long as a round.
pub const ROUNDS_OF_A_PROOF: f64 = 6.0;

/// So many times the warm-up takes the look after the last round.
const LATER: f64 = 4.0;

/// A round at a rate begins so long after the command to the driver.
const LEAD: f64 = 0.1;

/// Requests per second of a client whose number of requests is fixed, which says nothing of its speed.
const FIXED_RATE: f64 = 1500.0;

/// How long the user's service takes for a request, as its first client saw before the first round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServiceTime {
    /// For one request, while no other is in flight.
    pub alone: Duration,
    /// From one response to the next, with as many in flight as there ever are. A service that does one thing after
    /// another gains nothing by more in flight.
    pub together: Duration,
}

impl ServiceTime {
    /// Seconds for so many requests.
    fn seconds(self, requests: u64, concurrency: usize) -> f64 {
        let each = (self.alone.as_secs_f64() / concurrency as f64).max(self.together.as_secs_f64());
        requests as f64 * each
    }
}

/// About the shortest that the whole run can take: what clients need to get ready is unknown until they do it. None for
/// a service of the user's own, as long as nobody knows how fast it is.
pub fn estimate(sweep: &Sweep, service: Option<ServiceTime>) -> Option<Duration> {
    let clients = (sweep.client_names().len() + usize::from(sweep.again().is_some())) as f64;
    let start = INVOCATION + warm_up(sweep);
    let invocations = clients * f64::from(sweep.invocations) * start;
    let trials = |cells: &[Cell]| -> Option<f64> {
        let each = cells.iter();
        each.map(|cell| trial(sweep, &cell.load, service)).sum()
    };
    let block = trials(&sweep.cells)? + trials(&sweep.controls)?;
    let calibrated = sweep.cells.iter();
    let calibrated = calibrated.filter(|cell| is_calibrated(sweep, &cell.load));
    let calibration = trials(&calibrated.cloned().collect::<Vec<_>>())?;
    let proofs = match sweep.target {
        Target::TestServer => 1.0 + f64::from(sweep.rounds.saturating_sub(1)) / ROUNDS_OF_A_PROOF,
        Target::Foreign { .. } => 0.0,
    };
    let measured = block * (f64::from(sweep.rounds) + proofs) + CALIBRATION * calibration;
    Some(Duration::from_secs_f64(
        invocations + measured + later(sweep).as_secs_f64(),
    ))
}

/// Whether it must be found out how many requests fill a round.
fn is_calibrated(sweep: &Sweep, load: &Load) -> bool {
    let is_open = match sweep.target {
        Target::TestServer => true,
        Target::Foreign { requests, .. } => requests == 0,
    };
    is_open && load.requests.is_none()
}

/// Warming up a process, in seconds. A service of the user's own is sent no requests for that.
fn warm_up(sweep: &Sweep) -> f64 {
    match sweep.target {
        Target::TestServer => sweep.warm_up.as_secs_f64(),
        Target::Foreign { .. } => 0.0,
    }
}

/// The look at every client after its last round.
pub fn later(sweep: &Sweep) -> Duration {
    Duration::from_secs_f64(sweep.clients.len() as f64 * LATER * warm_up(sweep))
}

/// One round of a load in seconds; none where the service's time is needed and unknown.
fn trial(sweep: &Sweep, load: &Load, service: Option<ServiceTime>) -> Option<f64> {
    match &sweep.target {
        Target::TestServer => Some(trial_here(sweep, load)),
        Target::Foreign { requests, .. } => Some(trial_there(sweep, load, *requests, service?)),
    }
}

/// One round at a service: `requests` of them, or with 0 as many as fill its time.
fn trial_there(sweep: &Sweep, load: &Load, requests: u64, service: ServiceTime) -> f64 {
    let concurrency = load.concurrency;
    let requests = load.requests.or(Some(requests).filter(|given| *given > 0));
    let wave = service.seconds(concurrency as u64, concurrency);
    let measured = match requests {
        Some(requests) if load.rate.is_some() => requests as f64 / per_second(load, service) + LEAD,
        None if load.rate.is_some() => sweep.round_time.as_secs_f64() + LEAD,
        Some(requests) => {
            let waves = requests.div_ceil(concurrency as u64);
            service.seconds(waves * concurrency as u64, concurrency)
        }
        // Each connection carries at least three requests, however short the round.
        None => sweep.round_time.as_secs_f64().max(3.0 * wave),
    };
    // One wave opens the connections.
    VISIT + wave + measured
}

/// The rate of a load, or if it has none, the speed of the closed loop.
fn per_second(load: &Load, service: ServiceTime) -> f64 {
    let own = 1.0 / service.seconds(1, load.concurrency).max(1e-6);
    match load.rate.map(|rate| rate.amount) {
        Some(Amount::PerSecond(number)) => f64::from(number),
        Some(Amount::Percent(percent)) => own * f64::from(percent) / 100.0,
        None => own,
    }
}

/// One round at the test server.
fn trial_here(sweep: &Sweep, load: &Load) -> f64 {
    let concurrency = load.concurrency as f64;
    let trips = if load.keepalive { 1 } else { 3 };
    let wait = (load.delay.mean() + trips * load.round_trip()).as_secs_f64();
    let measured = match load.requests {
        None if load.rate.is_some() => sweep.round_time.as_secs_f64() + LEAD,
        Some(batch) if load.mode.is_some() => {
            ((batch as f64 / concurrency).ceil() + 1.0) * (wait + REQUEST)
        }
        Some(requests) => requests as f64 * (1.0 / FIXED_RATE).max(wait / concurrency),
        // Each connection carries at least three requests, however short the round.
        None => sweep.round_time.as_secs_f64().max(3.0 * wait),
    };
    VISIT + 2.0 * concurrency * REQUEST + measured
}

#[cfg(test)]
mod tests {
    use hecaton_test_server::Delay;

    use super::*;
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
            of_the_test_server(&requested)
        };
        assert!((25.0..27.0).contains(&fixed("0")), "{}", fixed("0"));
        assert!((375.0..377.0).contains(&fixed("10ms")), "{}", fixed("10ms"));
    }

    #[test]
    fn rounds_dominate() {
        let estimate = of_the_test_server(&sweep("0", 1000));
        assert!((12.5..14.5).contains(&estimate), "{estimate}");
    }

    #[test]
    fn a_long_delay_makes_rounds_longer_than_requested() {
        let estimate = of_the_test_server(&sweep("1s", 100));
        assert!(estimate > 30.0, "{estimate}");
    }

    fn of_the_test_server(sweep: &Sweep) -> f64 {
        estimate(sweep, None).unwrap().as_secs_f64()
    }

    /// Seconds for ten rounds of `requests` at a service.
    fn at_service(requests: u64, concurrency: usize, alone_ms: u64, together_ms: u64) -> f64 {
        let mut sweep = sweep("0", 1000);
        sweep.target = Target::Foreign {
            method: "GET".into(),
            url: "http://127.0.0.1/".into(),
            requests,
            extras: Default::default(),
        };
        sweep.warm_up = Duration::from_secs(100); // a service is sent none
        sweep.cells[0].load.concurrency = concurrency;
        assert_eq!(estimate(&sweep, None), None);
        let service = ServiceTime {
            alone: Duration::from_millis(alone_ms),
            together: Duration::from_millis(together_ms),
        };
        estimate(&sweep, Some(service)).unwrap().as_secs_f64()
    }

    #[test]
    fn a_service_takes_its_own_time() {
        let near = |seconds: f64, expected: f64| (expected..expected + 1.0).contains(&seconds);
        // Ten rounds of 500 requests, and one more to open the connection.
        assert!(near(at_service(500, 1, 40, 40), 10.0 * 501.0 * 0.04));
        // 20 in flight need 25 waves, and one more opens the connections. The first service takes all requests at once,
        // the second takes one after another.
        assert!(near(at_service(500, 20, 40, 2), 10.0 * 26.0 * 0.04));
        assert!(near(at_service(500, 20, 40, 40), 10.0 * 520.0 * 0.04));
        // As many as fill a second, but three waves at least.
        assert!(near(at_service(0, 1, 40, 40), 10.5 * 1.04));
        assert!(near(at_service(0, 1, 2000, 2000), 10.5 * 8.0));
    }

    #[test]
    fn a_number_of_requests_at_a_rate_takes_as_long_as_the_rate_says() {
        let service = ServiceTime {
            alone: Duration::from_millis(40),
            together: Duration::from_millis(10),
        };
        let lasting = |rate: &str| {
            let load = Load {
                concurrency: 8,
                rate: Some(rate.parse().unwrap()),
                ..Load::PLAIN
            };
            trial_there(&sweep("0", 1000), &load, 500, service) - VISIT - LEAD - 0.08
        };
        assert!((lasting("250") - 2.0).abs() < 1e-9, "{}", lasting("250"));
        assert!((lasting("50%") - 10.0).abs() < 1e-9, "{}", lasting("50%"));
    }
}
