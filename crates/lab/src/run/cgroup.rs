//! A control group (version 2) for one driver. Every process that the driver starts stays in it, so the lab can count
//! its time, and stop or end all processes at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long the processes of a group may take to end.
const TO_END: Duration = Duration::from_millis(500);

/// This whole process, with all of its threads, enters a group while it starts a driver there. A thread that reads the
/// group of the process meanwhile, or starts another program, gets that group instead of its own. So both need this
/// lock.
static MOVING: Mutex<()> = Mutex::new(());

/// Does what starts a program that belongs to no group, while this process is in none of its drivers' groups.
pub fn at_home<T>(work: impl FnOnce() -> T) -> T {
    let _moving = moving();
    work()
}

/// The lock guards no data, so a panic under it spoils nothing.
fn moving() -> MutexGuard<'static, ()> {
    MOVING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A group of its own, below that of this process; gone with all its processes when it is dropped.
#[derive(Debug)]
pub struct Group {
    path: PathBuf,
    /// The group of this process.
    home: PathBuf,
}

/// CPU time of a group since it was made, that of processes which have ended included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// In user mode.
    pub user: Duration,
    /// In the kernel.
    pub system: Duration,
}

impl Group {
    /// Makes one; none where the system has no control groups of version 2, or this process may not make any.
    pub fn create() -> Option<Group> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        if std::env::var_os("HECATON_CGROUPS").is_some_and(|wish| wish == "off") {
            return None;
        }
        let home = at_home(home)?;
        clear_up(&home);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = home.join(format!("hecaton-{}-{number}", std::process::id()));
        fs::create_dir(&path).ok()?;
        let group = Group { path, home };
        group.used().is_some().then_some(group)
    }

    /// Does what starts a process while this one is in the group, so that what it starts is in it from its first moment
    /// on. None when this process cannot enter it.
    pub fn around<T>(&self, work: impl FnOnce() -> T) -> Option<T> {
        let _moving = moving();
        move_to(&self.path)?;
        let done = work();
        // Should the way back be barred, nothing may be stopped here any more: this process would be.
        if move_to(&self.home).is_none() {
            eprintln!(
                "hecaton: the control group {} cannot be left",
                self.path.display()
            );
        }
        Some(done)
    }

    /// CPU time of all that ran in it.
    pub fn used(&self) -> Option<Used> {
        let text = fs::read_to_string(self.path.join("cpu.stat")).ok()?;
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key));
            line?.trim().parse().ok().map(Duration::from_micros)
        };
        Some(Used {
            user: value("user_usec ")?,
            system: value("system_usec ")?,
        })
    }

    /// Its processes.
    pub fn processes(&self) -> Vec<i32> {
        let text = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        let own = std::process::id() as i32;
        let all = text.lines().filter_map(|line| line.parse().ok());
        all.filter(|pid| *pid != own).collect()
    }

    /// Stops all of it, or resumes it.
    pub fn freeze(&self, frozen: bool) {
        let ours = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        let own = std::process::id().to_string();
        if ours.lines().all(|pid| pid != own) {
            let _ = fs::write(
                self.path.join("cgroup.freeze"),
                if frozen { "1" } else { "0" },
            );
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if fs::write(self.path.join("cgroup.kill"), "1").is_err() {
            for pid in self.processes() {
                let _ = nix::sys::signal::kill(
                    nix::unistd::Pid::from_raw(pid),
                    nix::sys::signal::Signal::SIGKILL,
                );
            }
        }
        let deadline = Instant::now() + TO_END;
        while fs::remove_dir(&self.path).is_err() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Takes away what a lab left behind that was killed.
fn clear_up(home: &Path) {
    for entry in fs::read_dir(home).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix("hecaton-")?.split('-').next());
        let gone = |pid: &str| !Path::new("/proc").join(pid).exists();
        if owner.is_some_and(|pid| pid.parse::<u32>().is_ok() && gone(pid)) {
            let _ = fs::write(entry.path().join("cgroup.kill"), "1");
            let _ = fs::remove_dir(entry.path()); // only when nothing is in it
        }
    }
}

fn move_to(group: &Path) -> Option<()> {
    fs::write(group.join("cgroup.procs"), "0").ok()
}

/// The group of this process, where groups of version 2 are mounted.
fn home() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    home_of(&mounts, &own)
}

fn home_of(mounts: &str, own: &str) -> Option<PathBuf> {
    let mount = mounts.lines().find_map(|line| {
        let mut fields = line.split(' ');
        let (_, mount, kind) = (fields.next()?, fields.next()?, fields.next()?);
        (kind == "cgroup2").then_some(mount)
    })?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(Path::new(mount).join(path))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_group_of_this_process_is_found_where_it_is_mounted() {
        let mounts = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n";
        let own = "1:cpu:/\n0::/user.slice/x.scope\n";
        let expected = PathBuf::from("/sys/fs/cgroup/user.slice/x.scope");
        assert_eq!(home_of(mounts, own), Some(expected));
        assert_eq!(home_of("proc /proc proc rw 0 0\n", own), None);
        assert_eq!(home_of(mounts, "1:cpu:/\n"), None);
    }

    #[test]
    fn what_is_started_in_a_group_stays_and_ends_with_it() {
        let Some(group) = Group::create() else {
            return; // not possible on this machine
        };
        // The grandchild leaves its session and its parent.
        let child = "setsid sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; exec sleep 100' & wait $!";
        let started = group.around(|| Command::new("sh").args(["-c", child]).spawn());
        let mut child = started.unwrap().unwrap();
        while group.processes().len() < 2 || group.used().unwrap().user < Duration::from_millis(20)
        {
            std::thread::sleep(Duration::from_millis(5));
        }
        let path = group.path.clone();
        drop(group);
        child.wait().unwrap();
        assert!(!path.exists());
    }

    /// A group that was made while this process was in another would be below that one, and this process would stay
    /// there and end with it.
    #[test]
    fn groups_of_several_threads_are_not_taken_for_home() {
        let Some(group) = Group::create() else {
            return; // not possible on this machine
        };
        let home = group.home.clone();
        drop(group);
        let one = || {
            for _ in 0..40 {
                let group = Group::create().unwrap();
                assert_eq!(group.home, home);
                let child = group.around(|| Command::new("true").spawn());
                child.unwrap().unwrap().wait().unwrap();
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(one);
            }
        });
        assert_eq!(at_home(super::home), Some(home));
    }
}
