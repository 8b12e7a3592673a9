//! Workers that are killed without notice, at random moments and at every file operation: each input has one record.

use std::process::Command;
use std::time::Duration;

use hecaton_test_server::{Delay, Options};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{Nats, enqueue, plan, start};
use crate::crash_points::{NOTHING, SMALL, list};
use crate::crash_table::{Case, check};
use crate::support::{World, count, end_of, ending, files, hecaton};

/// No two kills come at the same moment.
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005);
        self.0 = self.0.wrapping_add(1442695040888963407);
        (self.0 >> 33) % most
    }
}

#[test]
fn two_workers_killed_nine_times_leave_each_input_once() {
    const HOSTS: u64 = 100;
    const INPUTS: u64 = 9000;
    let world = World::with(Options {
        delay: Delay::Fixed(Duration::from_millis(2)),
        ..Options::default()
    });
    let nats = Nats::start();
    let port = world.port();
    let hosts: Vec<String> = (0..HOSTS).map(|n| format!("h{n}.test:{port}")).collect();
    let urls = (0..INPUTS).map(|n| format!("http://{}/r/{n}", hosts[(n % HOSTS) as usize]));
    let list = world.write("urls.txt", urls);
    let resolve = hosts
        .iter()
        .flat_map(|host| ["--resolve".to_owned(), format!("{host}:127.0.0.1")]);
    let resolve: Vec<String> = resolve.collect();
    let mut arguments = vec!["--part-size", "36", "--i-own-these-hosts", "-c", "8"];
    arguments.extend(resolve.iter().map(String::as_str));
    let parts = plan(&world, &list, &arguments);
    assert!(parts >= 240, "{parts} parts");
    enqueue(&world, &nats, "2s");
    let mut draw = Draw(11);
    let mut workers = [start(&world, &nats), start(&world, &nats)];
    for _ in 0..9 {
        let seen = world.server.summary().requests;
        world.wait_for(seen + 50 + draw.below(600));
        let victim = &mut workers[draw.below(2) as usize];
        kill(Pid::from_raw(victim.id() as i32), Signal::SIGKILL).unwrap();
        let killed = end_of(std::mem::replace(victim, start(&world, &nats)));
        assert_eq!(killed.status, None, "the kill came too late");
    }
    for worker in workers {
        let ended = end_of(worker);
        assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    }
    assert_eq!(files(&world.out().join("results")).len(), parts as usize);
    let records = world.records();
    assert_eq!(records.len() as u64, INPUTS);
    assert_eq!(count(&records, "response") as u64, INPUTS);
    let status = ending(hecaton(&["fetch", "status", "--json"]).arg(world.out()));
    let status: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
    assert_eq!(status["tally"]["records"], INPUTS);
    let again = ending(hecaton(&["fetch", "again", "--where", "n == 17"]).arg(world.out()));
    assert_eq!(again.status, Some(0), "{}", again.stderr);
    assert_eq!(world.records().len() as u64, INPUTS);
}

/// A worker of the server that `around` started.
fn worker_of(world: &World) -> Command {
    let url = std::fs::read_to_string(world.path("nats")).expect("the server's URL");
    let mut command = hecaton(&["fetch", "worker"]);
    command.arg(world.out()).args(["--nats", &url]);
    command
}

#[test]
fn a_worker_survives_a_kill_at_any_operation() {
    check(&Case {
        name: "worker",
        list,
        around: |world| {
            let nats = Nats::start();
            std::fs::write(world.path("nats"), nats.url()).expect("a file");
            Box::new(nats)
        },
        before: |world, list| {
            assert!(plan(world, list, &SMALL) > 1, "one part proves little");
            let url = std::fs::read_to_string(world.path("nats")).expect("the server's URL");
            let mut enqueue = hecaton(&["fetch", "enqueue", "--lease", "2s"]);
            let enqueued = ending(enqueue.arg(world.out()).args(["--nats", &url]));
            assert_eq!(enqueued.status, Some(0), "{}", enqueued.stderr);
        },
        command: |world, _| worker_of(world),
        after: NOTHING,
        is_once: false,
    });
}
