//! The processes of a driver: which they are, whether they are where they should be, and who left.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::process::Child;
use std::sync::{Mutex, MutexGuard, PoisonError};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{Pid, getpgid, getpgrp};

use super::Seen;

/// From here on whoever loses its parent below this process becomes its child: nobody leaves the tree. Nobody of the
/// same user may look into the memory of this process either.
pub fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_child_subreaper(true);
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_dumpable(false);
}

/// The process and its descendants.
pub fn tree(pid: i32) -> Vec<i32> {
    let mut found = vec![pid];
    let mut next = 0;
    while next < found.len() {
        found.extend(children(found[next]));
        next += 1;
    }
    found
}

fn children(pid: i32) -> Vec<i32> {
    let list = |thread: i32| fs::read_to_string(format!("/proc/{pid}/task/{thread}/children"));
    let lists = threads(pid).into_iter().filter_map(|it| list(it).ok());
    let children = |list: String| {
        let pids = list.split_whitespace().map(str::parse);
        pids.flatten().collect::<Vec<i32>>()
    };
    lists.flat_map(children).collect()
}

/// Processes without a parent that this process adopted and that nobody has claimed. A process that was listed once
/// is known. Drivers are known, and what this process starts otherwise is in its own group.
pub fn orphans() -> Vec<i32> {
    let own = getpgrp();
    let strange = |pid: &i32| getpgid(Some(Pid::from_raw(*pid))).is_ok_and(|group| group != own);
    // First the lock, then the list: whoever starts a driver meanwhile has noted it before it can be listed.
    let mut known = known();
    let all = children(std::process::id() as i32).into_iter();
    let all = all.filter(strange);
    all.filter(|pid| known.insert(*pid)).collect()
}

/// Children of this process that are accounted for.
static KNOWN: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn known() -> MutexGuard<'static, BTreeSet<i32>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a child that is known from its first moment on. The lock is the innermost: take those of [`super::cgroup`] first.
///
/// # Errors
/// Those of `spawn`.
pub fn start(spawn: impl FnOnce() -> io::Result<Child>) -> io::Result<Child> {
    let mut known = known();
    let child = spawn()?;
    known.insert(child.id() as i32);
    Ok(child)
}

/// Notes that this process is known from now on.
pub fn enrol(pid: i32) {
    known().insert(pid);
}

/// It has ended.
pub fn dismiss(pid: i32) {
    known().remove(&pid);
}

/// Ends processes for certain; those that this process adopted leave nothing behind.
pub fn end(pids: &[i32]) {
    for pid in pids {
        let pid = Pid::from_raw(*pid);
        let _ = kill(pid, Signal::SIGKILL);
        let _ = waitpid(pid, None); // an error says that it was not adopted
        dismiss(pid.as_raw());
    }
}

/// Whether it still runs: not ended, nor waiting to be waited for.
pub fn lives(pid: i32) -> bool {
    field(pid, pid, 3).is_some_and(|state| !"ZX".contains(&state))
}

/// Whether it is stopped.
pub fn is_stopped(pid: i32) -> bool {
    field(pid, pid, 3).is_some_and(|state| "Tt".contains(&state))
}

/// Whether a thread of these processes runs, or waits for its core or the disk.
pub fn are_awake(pids: &[i32]) -> bool {
    let is_awake = |pid: i32, thread: i32| {
        let state = field(pid, thread, 3);
        state.is_some_and(|state| matches!(state.as_str(), "R" | "D"))
    };
    let any = |pid: &i32| threads(*pid).into_iter().any(|it| is_awake(*pid, it));
    pids.iter().any(any)
}

/// What a process does at this moment, in words (the states of proc_pid_stat(5)).
pub fn doing(pid: i32) -> &'static str {
    match field(pid, pid, 3).as_deref() {
        Some("R") => "was running, or waited for its core",
        Some("S" | "I") => "slept",
        Some("D") => "waited for the disk or the kernel",
        Some("T" | "t") => "was stopped",
        _ => "had ended",
    }
}

/// Sends a signal to processes, those that have ended left out.
pub fn signal(pids: &[i32], signal: Signal) {
    for pid in pids {
        let _ = kill(Pid::from_raw(*pid), signal);
    }
}

/// How often it was stopped or resumed since the last call, as far as the system reports: once of each at most.
#[cfg(target_os = "linux")]
pub fn stirrings(pid: i32) -> usize {
    use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
    let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WCONTINUED | WaitPidFlag::WNOHANG;
    let mut count = 0;
    while let Ok(WaitStatus::Stopped(..) | WaitStatus::Continued(_)) =
        waitid(Id::Pid(Pid::from_raw(pid)), flags)
    {
        count += 1;
    }
    count
}

/// Measurements are refused there.
#[cfg(not(target_os = "linux"))]
pub fn stirrings(_pid: i32) -> usize {
    0
}

/// A thread of some processes that may use another core than the shared one.
pub fn out_of_place(pids: &[i32], core: usize) -> Option<Seen> {
    let cores = pids.iter().flat_map(|pid| {
        let allowed = move |thread| allowed_cores(*pid, thread);
        threads(*pid).into_iter().filter_map(allowed)
    });
    let mut others = cores.filter(|cores| *cores != core.to_string());
    others.next().map(|cores| Seen::OtherCores { cores, core })
}

/// Bytes that these processes, and their children that ended, have written to files, pipes and sockets.
pub fn written(pids: &[i32]) -> u64 {
    let of_one = |pid: &i32| {
        let text = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("wchar: "));
        line?.trim().parse::<u64>().ok()
    };
    pids.iter().filter_map(of_one).sum()
}

/// Descriptors that are open in these processes.
pub fn descriptors(pids: &[i32]) -> usize {
    let entries = |pid: &i32| fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    pids.iter().map(entries).sum()
}

fn threads(pid: i32) -> Vec<i32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten();
    let names = entries.flatten().map(|entry| entry.file_name());
    names
        .filter_map(|name| name.to_str()?.parse().ok())
        .collect()
}

fn allowed_cores(pid: i32, thread: i32) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/task/{thread}/status")).ok()?;
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.map(|cores| cores.trim().to_string())
}

/// A field of a thread's `stat`, by its number from 3 on (proc_pid_stat(5)). The second is a name in brackets, which
/// may hold blanks.
fn field(pid: i32, thread: i32, number: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/task/{thread}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(number - 3).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use super::super::cgroup::at_home;
    use super::*;

    fn child(program: &str, arguments: &[&str]) -> std::process::Child {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped());
        at_home(|| command.spawn()).unwrap()
    }

    fn until(done: impl Fn() -> bool) {
        while !done() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    #[test]
    fn a_child_is_found_and_its_stops_are_counted() {
        let mut cat = child("cat", &[]);
        let pid = cat.id() as i32;
        assert!(tree(std::process::id() as i32).contains(&pid) && lives(pid));
        assert_eq!((is_stopped(pid), stirrings(pid)), (false, 0));
        kill(Pid::from_raw(pid), Signal::SIGSTOP).unwrap();
        until(|| is_stopped(pid));
        assert_eq!(doing(pid), "was stopped");
        assert_eq!((stirrings(pid), stirrings(pid)), (1, 0));
        kill(Pid::from_raw(pid), Signal::SIGCONT).unwrap();
        until(|| !is_stopped(pid));
        assert_eq!(stirrings(pid), 1);
        drop(cat.stdin.take());
        cat.wait().unwrap();
        assert!(!lives(pid));
        assert_eq!(doing(pid), "had ended");
    }

    #[test]
    fn a_driver_is_no_orphan_from_its_first_moment_on() {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).process_group(0);
        let mut cat = at_home(|| start(|| command.spawn())).unwrap();
        let pid = cat.id() as i32;
        let found = orphans();
        found.iter().for_each(|other| dismiss(*other)); // those of tests beside this one
        assert!(!found.contains(&pid));
        dismiss(pid);
        assert!(orphans().contains(&pid), "it is in a group of its own");
        drop(cat.stdin.take());
        cat.wait().unwrap();
        dismiss(pid);
    }

    #[test]
    fn cores_are_seen() {
        let mut cat = child("cat", &[]);
        let pid = [cat.id() as i32];
        let allowed = allowed_cores(pid[0], pid[0]).unwrap();
        let one = allowed.parse().ok();
        assert_eq!(one.and_then(|core| out_of_place(&pid, core)), None);
        let other = out_of_place(&pid, 999).unwrap();
        assert!(
            matches!(&other, Seen::OtherCores { cores, core: 999 } if *cores == allowed),
            "{other:?}"
        );
        drop(cat.stdin.take());
        cat.wait().unwrap();
    }

    #[test]
    fn what_a_process_wrote_is_counted() {
        let writes = "head -c 3000000 /dev/zero > /dev/null; echo done; read x";
        let mut shell = Command::new("sh");
        shell.args(["-c", writes]).stdin(Stdio::piped());
        let mut shell = at_home(|| shell.stdout(Stdio::piped()).spawn()).unwrap();
        std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        // The child that wrote has ended, and counts to its parent.
        assert!(written(&[shell.id() as i32]) >= 3_000_000);
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }
}
