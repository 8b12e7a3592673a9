//! Starts a driver's process without what it could harm others by. Whatever cannot be taken from it ends it before its first
//! word.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};

use nix::sys::resource::{Resource, getrlimit};

use super::cgroup::{Group, at_home};
use super::cores::stay_on;
use super::members;
use super::user::User;

/// The programs of util-linux that start a driver. Each becomes the next. `setsid` gives the driver a session of its own,
/// without a terminal. `setpriv` lets it get no rights from files, as `sudo` would give them, and has it killed with the
/// thread that started it.
const LAUNCHER: [&str; 7] = [
    "setsid",
    "setpriv",
    "--no-new-privs",
    "--pdeathsig",
    "KILL",
    "--",
    "prlimit",
];

/// The most that a driver may have.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Descriptors of each of its processes.
    descriptors: u64,
    /// Processes and threads of its user.
    tasks: u64,
}

impl Limits {
    /// So much that no client with this many requests in flight meets them, while ports and process ids are left for others.
    pub fn of(concurrency: usize) -> Limits {
        let concurrency = concurrency as u64;
        Limits {
            descriptors: 4096.max(16 * concurrency),
            tasks: 1024 + 4 * concurrency,
        }
    }
}

/// A started driver, and what belongs to it.
#[derive(Debug)]
pub struct Launched {
    /// Its first process.
    pub child: Child,
    /// The control group of all processes that it starts; none if the system has none for us.
    pub group: Option<Group>,
    /// While this lives, the thread that started it does.
    pub starter: Sender<()>,
}

/// The command that starts a program as `user`, or else as the lab's own.
pub fn launcher(program: &Command, user: Option<&User>, limits: Limits) -> Command {
    let mut command = Command::new(LAUNCHER[0]);
    // Nobody may have more than the lab itself.
    let most = |resource, wanted: u64| {
        let own = getrlimit(resource).map_or(u64::MAX, |(_, hard)| hard);
        let most = wanted.min(own);
        format!("{most}:{most}")
    };
    let descriptors = most(Resource::RLIMIT_NOFILE, limits.descriptors);
    command.args(&LAUNCHER[1..]);
    command.arg(format!("--nofile={descriptors}"));
    if let Some(user) = user {
        // The lab's own user has other programs, which would count. Other systems start no drivers.
        #[cfg(target_os = "linux")]
        command.arg(format!(
            "--nproc={}",
            most(Resource::RLIMIT_NPROC, limits.tasks)
        ));
        command.uid(user.id).gid(user.id);
        command.env("HOME", "/nonexistent");
    }
    command.arg("--").arg(program.get_program());
    command.args(program.get_args());
    if let Some(folder) = program.get_current_dir() {
        command.current_dir(folder);
    }
    command
}

/// Starts what [`launcher`] made, on one core if one is given.
///
/// # Errors
/// When the launcher or the program's folder cannot be used.
pub fn launch(mut command: Command, core: Option<usize>) -> io::Result<Launched> {
    let (tell, told) = channel();
    let (starter, ended) = channel();
    std::thread::Builder::new().spawn(move || {
        stay_on(core);
        let _ = tell.send(started(&mut command));
        let _ = ended.recv(); // until nobody needs the driver any more
    })?;
    let (child, group) = told.recv().map_err(io::Error::other)?.map_err(|error| {
        let why = format!("by util-linux's {}: {error}", LAUNCHER[0]);
        io::Error::new(error.kind(), why)
    })?;
    Ok(Launched {
        child,
        group,
        starter,
    })
}

fn started(command: &mut Command) -> io::Result<(Child, Option<Group>)> {
    let mut spawn = || members::start(|| command.spawn());
    let Some(group) = Group::create() else {
        return Ok((at_home(spawn)?, None));
    };
    match group.around(&mut spawn) {
        Some(child) => Ok((child?, Some(group))),
        None => Ok((at_home(spawn)?, None)),
    }
}
