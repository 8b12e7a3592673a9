//! Cores: one for all drivers, another for the test server.

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
    let cores = allowed::cores();
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
            stay_on(core);
            work()
        });
        worker
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// From now on, the calling thread and what it starts use only this core, if there is one and the system allows that.
pub fn stay_on(core: Option<usize>) {
    if let Some(core) = core {
        allowed::only(core);
    }
}

/// The cores that the calling thread may use.
#[cfg(target_os = "linux")]
mod allowed {
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::unistd::Pid;

    /// All of them; none if the system does not say.
    pub fn cores() -> Vec<usize> {
        let Ok(allowed) = sched_getaffinity(Pid::from_raw(0)) else {
            return Vec::new();
        };
        (0..CpuSet::count())
            .filter(|&core| allowed.is_set(core).unwrap_or(false))
            .collect()
    }

    /// No other than this one from now on, if the system allows that.
    pub fn only(core: usize) {
        let mut set = CpuSet::new();
        if set.set(core).is_ok() {
            let _ = sched_setaffinity(Pid::from_raw(0), &set);
        }
    }
}

/// Other systems let no thread choose its core.
#[cfg(not(target_os = "linux"))]
mod allowed {
    pub fn cores() -> Vec<usize> {
        Vec::new()
    }

    pub fn only(_core: usize) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_work_sees_its_core_and_the_caller_keeps_all() {
        let before = allowed::cores();
        let Some(Pinning { server_core, .. }) = choose_cores() else {
            return;
        };
        assert_eq!(on_core(Some(server_core), allowed::cores), [server_core]);
        assert_eq!(allowed::cores(), before);
    }
}
