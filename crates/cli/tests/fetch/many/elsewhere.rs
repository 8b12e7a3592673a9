//! Workers without a shared disk: the job is in a bucket, and NATS hands out its parts.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use hecaton_test_server::{Delay, Options};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::Nats;
use crate::s3::{Fault, Proxy, S3};
use crate::support::{Ending, World, end_of, ending, hecaton, until};

const JOB: &str = "s3://bucket/job";
const HOSTS: u64 = 30;
const LEASE: Duration = Duration::from_secs(2);

/// A worker with a scratch folder of its own.
fn start(world: &World, (s3, nats): (&S3, &Nats), name: &str) -> Child {
    let scratch = world.path(name);
    std::fs::create_dir_all(&scratch).unwrap();
    let mut command = hecaton(&["fetch", "worker", JOB, "--nats", &nats.url()]);
    command.env("TMPDIR", scratch);
    s3.with(&mut command).spawn().unwrap()
}

fn signal(worker: &Child, signal: Signal) {
    kill(Pid::from_raw(worker.id() as i32), signal).unwrap();
}

fn good(s3: &S3, command: &mut Command) -> String {
    let ended = ending(s3.with(command));
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    ended.stdout
}

/// `HECATON_S3_RECORDS=300000` has this test take its time.
#[test]
fn three_workers_share_a_bucket_while_one_is_killed_and_one_sleeps() {
    let inputs = std::env::var("HECATON_S3_RECORDS").ok();
    let inputs: u64 = inputs.map_or(3000, |inputs| inputs.parse().unwrap());
    let s3 = S3::start();
    let (nats, begun) = (Nats::start(), Instant::now());
    let world = World::with(Options {
        delay: Delay::Fixed(Duration::from_millis(2)),
        ..Options::default()
    });
    let port = world.port();
    let hosts: Vec<String> = (0..HOSTS).map(|n| format!("h{n}.test:{port}")).collect();
    let urls = (0..inputs).map(|n| format!("http://{}/r/{n}", hosts[(n % HOSTS) as usize]));
    let list = world.write("urls.txt", urls);
    let mut plan = hecaton(&["fetch", "plan", "-o", JOB, "-X", "POST", "-c", "64"]);
    plan.args(["--i-own-these-hosts", "--final-tables", "csv"]);
    plan.args(["--part-size", &(inputs / HOSTS).to_string()]);
    for host in &hosts {
        plan.args(["--resolve", &format!("{host}:127.0.0.1")]);
    }
    let parts: u64 = good(&s3, plan.arg(&list)).trim().parse().unwrap();
    assert!(parts > 9, "{parts} parts");
    let lease = humantime(LEASE);
    let enqueue = || {
        hecaton(&[
            "fetch",
            "enqueue",
            JOB,
            "--nats",
            &nats.url(),
            "--lease",
            &lease,
        ])
    };
    let said = good(&s3, &mut enqueue());
    assert!(said.contains(&format!("{parts} parts queued")), "{said}");
    assert!(good(&s3, &mut enqueue()).contains("0 parts queued"));
    let [killed, sleeper, last] =
        ["one", "two", "three"].map(|name| start(&world, (&s3, &nats), name));
    world.wait_for((inputs / 5).min(10_000));
    signal(&killed, Signal::SIGKILL);
    assert_eq!(end_of(killed).status, None, "the kill came too late");
    signal(&sleeper, Signal::SIGSTOP);
    let (slept, sent) = (Instant::now(), world.server.summary().requests);
    // Until others must have its parts.
    until(|| slept.elapsed() > 3 * LEASE);
    signal(&sleeper, Signal::SIGCONT);
    for worker in [sleeper, last] {
        ends_well(&end_of(worker));
    }
    let took = begun.elapsed();
    let lines = good(&s3, &mut hecaton(&["fetch", "show", JOB]));
    let records = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let (mut numbers, mut unknown) = (Vec::new(), 0);
    for record in records {
        numbers.push(record["n"].as_u64().unwrap());
        unknown += u64::from(record["outcome"] == "unknown");
        let outcome = record["outcome"].as_str().unwrap();
        assert!(["response", "unknown"].contains(&outcome), "{record}");
    }
    numbers.sort_unstable();
    assert!(
        numbers.into_iter().eq(0..inputs),
        "each input has one record"
    );
    let seen = world.server.summary();
    println!(
        "{inputs} records in {parts} parts, {took:.1?}; {} requests, {unknown} records are unknown",
        seen.requests
    );
    println!("{}", s3.requests());
    assert_eq!(seen.duplicates, 0);
    // Nobody knows what became of requests that the killed worker and the sleeper had sent last, or were about to send.
    assert!(unknown <= sent + 2 * 64, "{unknown} are unknown");
    assert!(seen.distinct + unknown >= inputs);
    let status = good(&s3, &mut hecaton(&["fetch", "status", "--json", JOB]));
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["tally"]["records"], inputs);
    assert_eq!(status["parts_done"], parts);
    let table = s3.get("/bucket/job/table.csv").expect("the table");
    let rows = table.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(rows as u64, inputs + 1);
    let said = good(&s3, &mut enqueue());
    assert!(said.ends_with(&format!(", {parts} done\n")), "{said}");
}

/// Every input has a good response, or a killed worker may have sent its POST.
fn ends_well(ended: &Ending) {
    let said = &ended.stderr;
    match ended.status {
        Some(4) => {
            let unknown = said.split_once("no good response (unknown ");
            let rest = unknown.expect(said).1;
            let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            assert!(digits.starts_with(')'), "{said}");
        }
        status => assert_eq!(status, Some(0), "{said}"),
    }
}

fn humantime(time: Duration) -> String {
    format!("{}s", time.as_secs())
}

#[test]
fn a_worker_of_a_bucket_survives_a_kill_at_any_put() {
    let s3 = S3::start();
    let (proxy, nats) = (Proxy::start(&s3), Nats::start());
    let mut tried = 0;
    // Every fifth put, before the server has it or after.
    for (at, before) in (1..).step_by(5).map(|at| (at, at % 2 == 0)) {
        let world = World::new();
        let job = format!("s3://bucket/{at}-{before}");
        let run = |arguments: &[&str]| proxy.run(hecaton(arguments).arg(&job));
        proxy.set(Fault::None);
        let list = world.list(0..30);
        let list = list.to_str().expect("a path");
        let parts = ["--per-host", "4", "-c", "4", "--part-size", "8"];
        let plan = [&["fetch", "plan", list, "-X", "POST"], &parts[..], &["-o"]].concat();
        assert_eq!(run(&plan).status, Some(0));
        let enqueue = ["fetch", "enqueue", "--lease", "1s", "--nats", &nats.url()];
        assert_eq!(run(&enqueue).status, Some(0));
        proxy.set(Fault::Kill(at, before));
        let worker = ["fetch", "worker", "--nats", &nats.url()];
        let killed = run(&worker);
        proxy.set(Fault::None);
        ends_well(&run(&worker));
        let shown = run(&["fetch", "show"]);
        let numbers = shown.stdout.lines().map(|line| {
            let record: Value = serde_json::from_str(line).unwrap();
            record["n"].as_u64().unwrap()
        });
        let mut numbers: Vec<u64> = numbers.collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..30), "killed at {at}, {before}");
        assert_eq!(world.server.summary().duplicates, 0);
        tried += 1;
        if killed.status.is_some() {
            ends_well(&killed);
            break;
        }
    }
    println!("{tried} kills");
    assert!(tried > 3, "{tried} kills are too few to show anything");
}

#[test]
fn a_worker_that_does_not_know_an_addition_leaves_its_parts_in_the_queue() {
    let s3 = S3::start();
    let (nats, world, proxy) = (Nats::start(), World::new(), Proxy::start(&s3));
    let mut plan = hecaton(&["fetch", "plan", "-o", JOB]);
    good(&s3, plan.arg(world.list(0..10)));
    let enqueue = || {
        let mut enqueue = hecaton(&["fetch", "enqueue", JOB, "--nats", &nats.url()]);
        good(&s3, &mut enqueue)
    };
    enqueue();
    let mut early = hecaton(&["fetch", "worker", JOB, "--nats", &nats.url()]);
    let early = proxy.stopped_at("commits/part-000000", &mut early);
    let base = world.server.base_url();
    let more = world.write("more.txt", (10..15).map(|id| format!("{base}/r/{id}")));
    let mut add = hecaton(&["fetch", "add", JOB, "--plan"]);
    good(&s3, add.arg(more));
    let queued = enqueue();
    assert!(queued.starts_with("1 part queued"), "{queued}");
    signal(&early, Signal::SIGCONT);
    let ended = end_of(early);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let queued = enqueue();
    assert!(
        queued.starts_with("0 parts queued, 1 in the queue already"),
        "{queued}"
    );
    let ended = end_of(start(&world, (&s3, &nats), "late"));
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert_eq!(world.server.summary().requests, 15);
}
