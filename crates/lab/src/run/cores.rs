//! Cores: one for all drivers, another for the test server.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// The cores of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pinning {
    /// The core of all drivers.
    pub client_core: usize,
    /// The core of the test server.
    #[serde(alias = "origin_core")]
    pub server_core: usize,
}

/// The first and the last core that this process may use; none when there is only one.
pub fn choose_cores() -> Option<Pinning> {
    let allowed = sched_getaffinity(Pid::from_raw(0)).ok()?;
    let cores: Vec<usize> = (0..CpuSet::count())
        .filter(|&core| allowed.is_set(core).unwrap_or(false))
        .collect();
    match cores[..] {
        [client_core, .., server_core] => Some(Pinning {
            client_core,
            server_core,
        }),
        _ => None,
    }
}

/// Runs `work` in a thread that may use only `core`, so that processes started there inherit it.
///
/// Without a core, or when the system refuses, the work is done on any core: a measurement that is a little
/// noisier is better than none.
pub fn on_core<T: Send>(core: Option<usize>, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            if let Some(core) = core {
                let mut set = CpuSet::new();
                if set.set(core).is_ok() {
                    let _ = sched_setaffinity(Pid::from_raw(0), &set);
                }
            }
            work()
        });
        worker
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_sees_its_core_and_the_caller_keeps_all() {
        let before = sched_getaffinity(Pid::from_raw(0)).unwrap();
        let Some(Pinning { server_core, .. }) = choose_cores() else {
            return;
        };
        let inside = on_core(Some(server_core), || {
            sched_getaffinity(Pid::from_raw(0)).unwrap()
        });
        let cores: Vec<usize> = (0..CpuSet::count())
            .filter(|&core| inside.is_set(core).unwrap())
            .collect();
        assert_eq!(cores, [server_core]);
        assert_eq!(sched_getaffinity(Pid::from_raw(0)).unwrap(), before);
    }
}
