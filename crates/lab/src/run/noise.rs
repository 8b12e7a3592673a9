//! Other work of the machine during a round: time of other programs, and time that its host took away.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Time, in nanoseconds, that was neither the client's nor ours. Known in steps of 10 ms, the kernel's tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Noise {
    /// CPU time of all other programs.
    pub foreign_ns: u64,
    /// CPU time that the host gave to other guests.
    pub stolen_ns: u64,
}

/// The clocks of the machine and of this program at one moment.
pub struct Moment {
    busy: Duration,
    stolen: Duration,
    own: Duration,
}

impl Moment {
    /// Reads them; none where `/proc/stat` is not as Linux writes it.
    pub fn now() -> Option<Moment> {
        let text = std::fs::read_to_string("/proc/stat").ok()?;
        let (busy, stolen) = machine(&text)?;
        let own = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).ok()?;
        Some(Moment {
            busy,
            stolen,
            own: own.into(),
        })
    }

    /// The work of others since then: neither the lab's own nor `measured`, the time of the driver and of the user's service.
    pub fn noise_since(&self, measured: Duration) -> Option<Noise> {
        let now = Moment::now()?;
        let ours = measured + now.own.saturating_sub(self.own);
        let foreign = now.busy.saturating_sub(self.busy).saturating_sub(ours);
        let stolen = now.stolen.saturating_sub(self.stolen);
        Some(Noise {
            foreign_ns: nanoseconds(foreign),
            stolen_ns: nanoseconds(stolen),
        })
    }
}

/// Busy and stolen time of all cores since boot: user, nice, system, irq, softirq; then steal (proc_stat(5)).
fn machine(text: &str) -> Option<(Duration, Duration)> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line
        .split_whitespace()
        .map_while(|tick| tick.parse().ok())
        .collect();
    let &[user, nice, system, _idle, _waiting, irq, softirq, steal, ..] = ticks.as_slice() else {
        return None;
    };
    let time = |ticks: u64| Duration::from_millis(ticks * 10);
    Some((time(user + nice + system + irq + softirq), time(steal)))
}

/// A time in whole nanoseconds, as documents have it.
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::cgroup::at_home;
    use super::*;

    #[test]
    fn the_machines_time_is_read_as_the_manual_says() {
        let text = "cpu  100 10 50 900 5 3 2 7 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        let expected = (Duration::from_millis(1650), Duration::from_millis(70));
        assert_eq!(machine(text), Some(expected));
        assert_eq!(machine("cpu  1 2 3\n"), None);
        assert_eq!(machine(""), None);
    }

    #[test]
    fn the_work_of_others_is_noise_and_our_own_is_not() {
        let noise = |work: &dyn Fn()| {
            let moment = Moment::now().unwrap();
            work();
            moment.noise_since(Duration::ZERO).unwrap().foreign_ns
        };
        // The driver's account is left out here, so a child counts as another program.
        let other = noise(&|| {
            let loops = "i=0; while [ $i -lt 600000 ]; do i=$((i+1)); done";
            let mut shell = std::process::Command::new("sh");
            let started = at_home(|| shell.args(["-c", loops]).spawn());
            started.unwrap().wait().unwrap();
        });
        assert!(other > 30_000_000, "{other}");
    }
}
