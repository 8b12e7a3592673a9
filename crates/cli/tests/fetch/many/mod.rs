//! Many workers that NATS hands parts to: real processes and a real server, killed, stopped and started again.

mod again;
#[cfg(feature = "objects")]
mod elsewhere;
mod kills;
mod limits;
mod refused;
mod server;
mod takeover;
mod without;

use std::path::Path;
use std::process::{Child, Command};

use self::server::Nats;
use crate::support::{World, ending, hecaton};

/// Plans a list in small parts.
fn plan(world: &World, list: &Path, arguments: &[&str]) -> u32 {
    let mut command = hecaton(&["fetch", "plan"]);
    command.arg(list).arg("-o").arg(world.out()).args(arguments);
    let planned = ending(&mut command);
    assert_eq!(planned.status, Some(0), "{}", planned.stderr);
    planned.stdout.trim().parse().expect("a number of parts")
}

/// Enqueues the parts that are not done; what it says.
fn enqueue(world: &World, nats: &Nats, lease: &str) -> String {
    let mut command = hecaton(&["fetch", "enqueue"]);
    command
        .arg(world.out())
        .args(["--nats", &nats.url(), "--lease", lease]);
    let offered = ending(&mut command);
    assert_eq!(offered.status, Some(0), "{}", offered.stderr);
    offered.stdout
}

/// A worker; not started yet.
fn worker(world: &World, nats: &Nats) -> Command {
    let mut command = hecaton(&["fetch", "worker"]);
    command.arg(world.out()).args(["--nats", &nats.url()]);
    command
}

/// A worker that runs.
fn start(world: &World, nats: &Nats) -> Child {
    worker(world, nats).spawn().expect("the worker starts")
}
