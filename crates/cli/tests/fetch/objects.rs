//! Object storage: lists that are read from it, and jobs in it whose workers are killed, put to sleep or refused.

use std::path::Path;
use std::process::Command;

use hecaton_test_server::{Delay, Options};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::s3::{Fault, Proxy, S3};
use crate::support::{Ending, World, end_of, ending, hecaton, until};

#[test]
fn a_list_is_read_from_a_bucket_in_pieces() {
    let s3 = S3::start();
    let world = World::new();
    let base = world.server.base_url();
    // Longer than a piece: the same ten requests, each with a comment behind it.
    let filler = "f".repeat(100_000);
    let lines = (0..100).map(|id| format!("{base}/r/{}#{filler}{id}\n", id % 10));
    s3.put("/bucket/lists/urls.txt", &lines.collect::<String>());
    let list = Path::new("s3://bucket/lists/urls.txt");
    for _ in 0..2 {
        let ended = ending(s3.with(&mut world.fetch(list, &[])));
        assert_eq!(ended.status, Some(0), "{}", ended.stderr);
        assert_eq!(world.records().len(), 100);
        assert_eq!(world.server.summary().requests, 10);
    }
    let other = World::new();
    let missing = Path::new("s3://bucket/lists/none.txt");
    let ended = ending(s3.with(&mut other.fetch(missing, &[])));
    assert_eq!(ended.status, Some(1), "{}", ended.stderr);
    assert!(ended.stderr.contains("no such object"), "{}", ended.stderr);
}

pub const JOB: &str = "s3://bucket/job";

pub fn planned(world: &World, s3: &Proxy, job: &str, inputs: u64, more: &[&str]) {
    let list = world.list(0..inputs);
    let mut command = hecaton(&["fetch", "plan", "-o", job]);
    let ended = s3.run(command.arg(list).args(more));
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
}

pub fn run_part(job: &str, part: u32) -> Command {
    hecaton(&["fetch", "run-part", job, &part.to_string()])
}

pub fn good(ended: &Ending) {
    assert!(ended.is_done(), "{}", ended.stderr);
}

/// The records of a job, each once.
pub fn records(s3: &Proxy, job: &str, inputs: u64) -> Vec<Value> {
    let ended = s3.run(&mut hecaton(&["fetch", "show", job]));
    good(&ended);
    let lines = ended.stdout.lines();
    let records: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut numbers: Vec<u64> = records
        .iter()
        .map(|record| record["n"].as_u64().unwrap())
        .collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..inputs));
    records
}

#[test]
fn a_job_in_a_bucket_is_done_part_by_part_and_read_as_any_other() {
    let s3 = S3::start();
    let (world, s3) = (World::new(), Proxy::start(&s3));
    for _ in 0..2 {
        planned(&world, &s3, JOB, 40, &["--part-size", "10"]);
    }
    for part in [0, 1, 2, 3, 2] {
        good(&s3.run(&mut run_part(JOB, part)));
    }
    records(&s3, JOB, 40);
    let table = s3.run(hecaton(&["fetch", "export", "--csv", "-"]).arg(JOB));
    assert_eq!(table.stdout.lines().count(), 41, "{}", table.stderr);
    assert_eq!(world.server.summary().requests, 40);
    for (arguments, why) in [
        (&["fetch", "status", "s3://bucket/nothing"][..], "no job"),
        (&["fetch", "again", "s3://bucket/nothing"], "no job"),
        (&["fetch", "add", "s3://bucket/nothing", "-"], "no job"),
        (&["fetch", "-o", "s3://bucket/nothing"], "no job"),
        (&["fetch", "run-part", JOB, "9"], "part"),
        (&["fetch", "run-part", "s3://bucket/nothing", "0"], "no job"),
    ] {
        let refused = s3.run(&mut hecaton(arguments));
        assert_eq!(refused.status, Some(2), "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
    let mut other = hecaton(&["fetch", "-o", JOB, "--part-size", "5"]);
    let refused = s3.run(other.arg(world.list(0..40)));
    assert_eq!(refused.status, Some(2), "{}", refused.stderr);
    let said = format!("{JOB} holds another job");
    assert!(refused.stderr.contains(&said), "{}", refused.stderr);
}

#[test]
fn what_needs_a_folder_is_refused_with_what_to_use() {
    let s3 = S3::start();
    let (world, s3) = (World::new(), Proxy::start(&s3));
    let list = world.list(0..3);
    for (option, value, why) in [
        ("--keep-body", "warc", "--keep-body inline or files"),
        ("--keep-body", "tar", "--keep-body inline or files"),
        ("--redirects-to", "any", "--redirects-to site"),
    ] {
        for verb in [&["fetch", "plan", "-o", JOB][..], &["fetch", "-o", JOB]] {
            let mut command = hecaton(verb);
            let refused = s3.run(command.arg(&list).args([option, value]));
            assert_eq!(refused.status, Some(2), "{verb:?}: {}", refused.stderr);
            assert!(refused.stderr.contains(why), "{}", refused.stderr);
        }
    }
    assert_eq!(world.server.summary().requests, 0);
}

#[test]
fn a_job_is_seen_on_its_way_and_its_products_are_in_the_bucket() {
    let s3 = S3::start();
    let (world, proxy) = (World::new(), Proxy::start(&s3));
    let tables = ["--part-size", "10", "--final-tables", "csv"];
    planned(&world, &proxy, JOB, 20, &tables);
    good(&proxy.run(&mut run_part(JOB, 1)));
    let status = || {
        let ended = proxy.run(&mut hecaton(&["fetch", "status", "--json", JOB]));
        good(&ended);
        serde_json::from_str::<Value>(&ended.stdout).unwrap()
    };
    let on_the_way = status();
    assert_eq!(on_the_way["parts_done"], 1);
    let records = on_the_way["tally"]["records"].as_u64().unwrap();
    assert!((1..20).contains(&records), "{records} of two parts");
    let said = proxy.run(&mut hecaton(&["fetch", "status", JOB])).stdout;
    assert!(said.contains("run-part s3://bucket/job N"), "{said}");
    assert_eq!(s3.get("/bucket/job/table.csv"), None);
    let early = proxy.run(&mut hecaton(&["fetch", "report", JOB]));
    assert_eq!(
        early.stdout, "s3://bucket/job/report.html\n",
        "{}",
        early.stderr
    );
    // The products are made by the worker of the last part, or after a crash by who comes next.
    proxy.set(Fault::KillAt("table.csv"));
    let killed = proxy.run(&mut run_part(JOB, 0));
    assert_eq!(killed.status, None, "{}", killed.stderr);
    proxy.set(Fault::None);
    good(&proxy.run(&mut run_part(JOB, 0)));
    let text = |name: &str| {
        let body = s3.get(&format!("/bucket/job/{name}"));
        String::from_utf8(body.expect("it is there")).unwrap()
    };
    assert_eq!(text("table.csv").lines().count(), 21);
    assert!(text("report.html").contains("</html>"));
    assert_eq!(status()["tally"]["records"], 20);
}

#[test]
fn bodies_are_objects_and_a_worker_that_is_killed_leaves_none_out() {
    let s3 = S3::start();
    let (world, proxy) = (World::new(), Proxy::start(&s3));
    let base = world.server.base_url();
    // One is longer than a piece of an upload.
    let urls = (0..9).map(|n| format!("{base}/bytes/{}", 1000 + n));
    let urls = urls.chain([format!("{base}/bytes/20000000")]);
    let list = world.write("urls.txt", urls);
    for at in 1.. {
        let job = format!("s3://bucket/{at}");
        let mut plan = hecaton(&["fetch", "plan", "-o", &job, "--keep-body", "files"]);
        proxy.set(Fault::None);
        good(&proxy.run(plan.arg(&list)));
        proxy.set(Fault::Kill(at * 3, at % 2 == 0));
        let killed = proxy.run(&mut run_part(&job, 0));
        proxy.set(Fault::None);
        good(&proxy.run(&mut run_part(&job, 0)));
        for record in records(&proxy, &job, 10) {
            let file = record["body"]["file"].as_str().expect("a file");
            let body = s3.get(&format!("/bucket/{at}/{file}")).expect("its body");
            assert_eq!(record["bytes"], body.len());
            let digest = blake3::hash(&body).to_hex();
            let known = record["hash"].as_str().expect("a digest");
            assert!(known.ends_with(&digest[..]), "{record}");
        }
        if killed.status.is_some() {
            assert!(at > 3, "{at} kills are too few");
            break;
        }
    }
}

#[test]
fn of_workers_that_begin_a_part_at_once_none_sends_twice() {
    let s3 = S3::start();
    let (world, s3) = (World::new(), Proxy::start(&s3));
    planned(&world, &s3, JOB, 60, &["-X", "POST", "-c", "4"]);
    let workers = [(); 6].map(|()| s3.with(&mut run_part(JOB, 0)).spawn().unwrap());
    // All but one may end because another took the part over.
    let ended = workers.map(end_of);
    assert!(ended.iter().any(|ended| ended.status == Some(0)));
    good(&s3.run(&mut run_part(JOB, 0)));
    records(&s3, JOB, 60);
    assert_eq!(world.server.summary().duplicates, 0);
}

#[test]
fn a_store_that_is_killed_and_started_again_loses_nothing() {
    let mut s3 = S3::start();
    if !s3.is_durable() {
        return println!("this server keeps nothing when it is killed; this test tried nothing");
    }
    let world = World::with(Options {
        delay: Delay::Fixed(std::time::Duration::from_millis(5)),
        ..Options::default()
    });
    let proxy = Proxy::start(&s3);
    planned(&world, &proxy, JOB, 600, &["-X", "POST", "-c", "4"]);
    let mut worker = proxy.with(&mut run_part(JOB, 0)).spawn().unwrap();
    for _ in 0..3 {
        let seen = world.server.summary().requests;
        let has_come = || world.server.summary().requests >= seen + 50;
        until(|| has_come() || worker.try_wait().unwrap().is_some());
        if !has_come() {
            break;
        }
        s3.kill();
        // More requests than the crate that sends them repeats by itself.
        let before = proxy.requests();
        until(|| proxy.requests() > before + 40 || worker.try_wait().unwrap().is_some());
        s3.again();
    }
    good(&end_of(worker));
    let found = records(&proxy, JOB, 600);
    assert!(found.iter().all(|record| record["outcome"] == "response"));
    assert_eq!(world.server.summary().requests, 600);
}

#[test]
fn a_worker_that_is_killed_at_any_put_loses_nothing_and_sends_no_post_twice() {
    let s3 = S3::start();
    let s3 = Proxy::start(&s3);
    let mut tried = 0;
    for method in ["GET", "POST"] {
        for before in [true, false] {
            for at in 1.. {
                let world = World::new();
                let job = format!("s3://bucket/{method}-{before}-{at}");
                s3.set(Fault::None);
                planned(&world, &s3, &job, 12, &["-X", method, "-c", "4"]);
                s3.set(Fault::Kill(at, before));
                let killed = s3.run(&mut run_part(&job, 0));
                s3.set(Fault::None);
                let repeated = s3.run(&mut run_part(&job, 0));
                good(&repeated);
                let found = records(&s3, &job, 12);
                if method == "POST" {
                    assert_eq!(world.server.summary().duplicates, 0);
                } else {
                    assert!(found.iter().all(|record| record["outcome"] == "response"));
                }
                tried += 1;
                if killed.status.is_some() {
                    good(&killed);
                    break;
                }
            }
        }
    }
    println!("{tried} kills");
    assert!(tried > 16, "{tried} kills are too few to show anything");
}

#[test]
fn a_longer_part_needs_no_more_lists_of_its_pieces() {
    let s3 = S3::start();
    let s3 = Proxy::start(&s3);
    let lists = [20, 120].map(|inputs| {
        let (world, job) = (World::new(), format!("s3://bucket/{inputs}"));
        planned(&world, &s3, &job, inputs, &["-X", "POST", "-c", "1"]);
        s3.lists();
        good(&s3.run(&mut run_part(&job, 0)));
        let lists = s3.lists();
        records(&s3, &job, inputs);
        lists
    });
    assert_eq!(lists[0], lists[1]);
}

#[test]
fn planning_that_is_killed_at_any_put_is_repeated() {
    let s3 = S3::start();
    let (world, s3) = (World::new(), Proxy::start(&s3));
    let list = world.list(0..12);
    for at in 1.. {
        let job = format!("s3://bucket/plan-{at}");
        let plan = || {
            let mut command = hecaton(&["fetch", "plan", "-o", &job]);
            command.arg(&list);
            command
        };
        s3.set(Fault::Kill(at, at % 2 == 0));
        let killed = s3.run(&mut plan());
        s3.set(Fault::None);
        good(&s3.run(&mut plan()));
        good(&s3.run(&mut run_part(&job, 0)));
        records(&s3, &job, 12);
        if killed.status.is_some() {
            assert!(at > 3, "{at} puts are too few");
            break;
        }
    }
}

#[test]
fn lost_responses_and_refusals_of_the_store_change_nothing() {
    let s3 = S3::start();
    let s3 = Proxy::start(&s3);
    for (number, fault) in [
        Fault::Lose("claim"),
        Fault::Lose("000000000000"),
        Fault::Lose("commits/part-000000"),
        Fault::Lose("plan.json"),
        Fault::SlowDown,
    ]
    .into_iter()
    .enumerate()
    {
        let world = World::new();
        let job = format!("s3://bucket/fault-{number}");
        s3.set(fault);
        planned(&world, &s3, &job, 12, &["-X", "POST"]);
        let ended = s3.run(&mut run_part(&job, 0));
        good(&ended);
        assert!(!ended.stderr.contains("taken over"), "{}", ended.stderr);
        s3.set(Fault::None);
        let found = records(&s3, &job, 12);
        assert!(found.iter().all(|record| record["outcome"] == "response"));
        assert_eq!(world.server.summary().requests, 12);
    }
}

#[test]
fn a_worker_that_sleeps_while_another_does_its_part_sends_nothing_more() {
    sleeps(Fault::None);
}

#[test]
fn a_worker_that_fails_when_another_has_done_its_part_ends_well() {
    sleeps(Fault::Forbid);
}

/// A worker sleeps while another does its part, and the store does this to it when it wakes.
fn sleeps(fault: Fault) {
    let s3 = S3::start();
    let s3 = Proxy::start(&s3);
    let world = World::with(Options {
        delay: Delay::Fixed(std::time::Duration::from_millis(20)),
        ..Options::default()
    });
    planned(&world, &s3, JOB, 200, &["-X", "POST", "-c", "4"]);
    let sleeper = s3.with(&mut run_part(JOB, 0)).spawn().unwrap();
    world.wait_for(20);
    let pid = Pid::from_raw(sleeper.id() as i32);
    kill(pid, Signal::SIGSTOP).unwrap();
    good(&s3.run(&mut run_part(JOB, 0)));
    let before = records(&s3, JOB, 200);
    let seen = world.server.summary().requests;
    s3.set(fault);
    kill(pid, Signal::SIGCONT).unwrap();
    good(&end_of(sleeper));
    s3.set(Fault::None);
    assert_eq!(records(&s3, JOB, 200), before);
    let summary = world.server.summary();
    assert_eq!(summary.duplicates, 0);
    // The other worker does not know the requests that this one had begun to send before it slept.
    assert!(
        summary.requests - seen <= 4,
        "{} more",
        summary.requests - seen
    );
}
