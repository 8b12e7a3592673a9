//! The use of a driver's processes: CPU time to the nanosecond, and the peak of their memory.

use std::fs;
use std::time::Duration;

use super::cgroup::Used;

/// CPU time of some processes since they began.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Account {
    /// Exact time of all threads, those that ended included.
    total: Duration,
    /// The system's count of time in user mode, in ticks or microseconds.
    user_ticks: u64,
    /// The system's count of time in the kernel, in ticks or microseconds.
    system_ticks: u64,
}

impl Account {
    /// Reads the clocks of processes; one that is gone counts nothing.
    pub fn read(pids: &[i32]) -> Account {
        let mut account = Account::default();
        pids.iter().for_each(|pid| account.add(*pid));
        account
    }

    /// Reads the clock of a control group, which counts whatever was ever in it.
    pub fn of_group(used: Used) -> Account {
        Account {
            total: used.user + used.system,
            user_ticks: used.user.as_micros() as u64,
            system_ticks: used.system.as_micros() as u64,
        }
    }

    fn add(&mut self, pid: i32) {
        self.total += cpu_time(pid).unwrap_or_default();
        if let Some([user, system, of_children_user, of_children_system]) = ticks(pid) {
            self.user_ticks += user + of_children_user;
            self.system_ticks += system + of_children_system;
            // Children that were waited for have no clock any more: only their ticks are left.
            self.total += ticks_to_time(of_children_user + of_children_system);
        }
    }

    /// All time since `earlier`.
    pub fn total_since(&self, earlier: &Account) -> Duration {
        self.total.saturating_sub(earlier.total)
    }

    /// Time in user mode and in the kernel since `earlier`: the exact total, split as the ticks are.
    pub fn since(&self, earlier: &Account) -> (Duration, Duration) {
        // A child that nobody waits for takes its time with it, so less may be known than before.
        let total = self.total_since(earlier);
        let recent = (
            self.user_ticks.saturating_sub(earlier.user_ticks),
            self.system_ticks.saturating_sub(earlier.system_ticks),
        );
        // A short round may fall between two ticks; then the life so far says how the client divides its time.
        let (user, system) = match recent {
            (0, 0) => (self.user_ticks, self.system_ticks),
            recent => recent,
        };
        let share = match user + system {
            0 => 1.0,
            all => user as f64 / all as f64,
        };
        let user = total.mul_f64(share);
        (user, total.saturating_sub(user))
    }
}

/// The exact CPU time of a process that has not ended.
#[cfg(target_os = "linux")]
fn cpu_time(pid: i32) -> Option<Duration> {
    let clock = nix::time::clock_getcpuclockid(nix::unistd::Pid::from_raw(pid)).ok()?;
    clock.now().ok().map(Duration::from)
}

/// Measurements are refused there.
#[cfg(not(target_os = "linux"))]
fn cpu_time(_pid: i32) -> Option<Duration> {
    None
}

fn ticks_to_time(ticks: u64) -> Duration {
    // USER_HZ is 100 on every Linux that programs can see, whatever the kernel uses inside.
    Duration::from_millis(ticks * 10)
}

/// Fields 14 to 17 of `/proc/PID/stat`: ticks in user mode and in the kernel, of the process and of its ended children.
fn ticks(pid: i32) -> Option<[u64; 4]> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the name in brackets, which may hold blanks; after it comes field 3.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse().ok();
    Some([next()?, next()?, next()?, next()?])
}

/// Starts the peak of resident memory of processes anew.
pub fn reset_peak_memory(pids: &[i32]) {
    for member in pids {
        // When the system refuses, the peak since the start is reported: larger, but never flattering.
        let _ = fs::write(format!("/proc/{member}/clear_refs"), "5");
    }
}

/// Peak of resident memory since the reset, in KiB, of processes together.
pub fn peak_memory_kib(pids: &[i32]) -> u64 {
    pids.iter().copied().filter_map(high_water_mark).sum()
}

/// Never `ru_maxrss`: a child inherits that from whoever started it.
fn high_water_mark(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::process::{Command, Stdio};

    use super::super::cgroup::at_home;
    use super::*;

    fn me() -> i32 {
        std::process::id() as i32
    }

    #[test]
    fn counts_the_work_of_this_process() {
        let before = Account::read(&[me()]);
        // A quantity of work and not of time: a busy machine may give most of the time to other programs.
        for step in 0..40_000_000_u64 {
            black_box(step);
        }
        let (user, system) = Account::read(&[me()]).since(&before);
        assert!(
            user + system > Duration::from_millis(5),
            "{user:?} {system:?}"
        );
    }

    #[test]
    fn finds_the_memory_of_a_child() {
        let mut cat = Command::new("cat");
        let mut child = at_home(|| cat.stdin(Stdio::piped()).spawn()).unwrap();
        assert!(peak_memory_kib(&[child.id() as i32]) > 0);
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn the_peak_forgets_after_a_reset() {
        let grows = "v=$(head -c 40000000 /dev/zero | tr '\\0' x); unset v; echo; read x";
        let mut shell = Command::new("sh");
        shell.args(["-c", grows]).stdin(Stdio::piped());
        let mut child = at_home(|| shell.stdout(Stdio::piped()).spawn()).unwrap();
        let pid = [child.id() as i32];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let high = peak_memory_kib(&pid);
        reset_peak_memory(&pid);
        let low = peak_memory_kib(&pid);
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(high > 30_000 && low < high, "{high} {low}");
    }
}
