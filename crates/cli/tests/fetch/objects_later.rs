//! A job in object storage that one command does, that gets more inputs, and some of whose inputs are sent again.

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use hecaton_test_server::{Delay, Options};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::objects::{JOB, good, planned, records, run_part};
use crate::s3::{Fault, Proxy, S3};
use crate::support::{Ending, World, end_of, hecaton, until};

/// Parts of about ten inputs, and a table.
const SMALL: [&str; 4] = ["--part-size", "10", "--final-tables", "csv"];

fn fetch(list: &Path, job: &str, more: &[&str]) -> Command {
    let mut command = hecaton(&["fetch", "-o", job]);
    command.arg(list).args(SMALL).args(more);
    command
}

fn again(job: &str, more: &[&str]) -> Command {
    let mut command = hecaton(&["fetch", "again", job]);
    command.args(more);
    command
}

fn add(job: &str, list: &Path) -> Command {
    let mut command = hecaton(&["fetch", "add", job]);
    command.arg(list);
    command
}

fn refused(ended: &Ending, why: &str) {
    assert_eq!(ended.status, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains(why), "{}", ended.stderr);
}

/// The table in the bucket is made of the records as they are.
fn is_fresh(s3: &S3, proxy: &Proxy, job: &str) {
    let exported = proxy.run(hecaton(&["fetch", "export", "--csv", "-"]).arg(job));
    good(&exported);
    let path = job.strip_prefix("s3:/").unwrap();
    let table = s3.get(&format!("{path}/table.csv")).expect("a table");
    assert!(
        table == exported.stdout.as_bytes(),
        "the table of {job} is stale"
    );
}

#[test]
fn one_command_plans_a_job_in_a_bucket_and_does_it() {
    let s3 = S3::start();
    let (world, proxy) = (World::new(), Proxy::start(&s3));
    let list = world.list(0..40);
    let ended = proxy.run(&mut fetch(&list, JOB, &[]));
    good(&ended);
    assert!(ended.stderr.contains("40 records"), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("planned 40 inputs"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("s3://bucket/job/table.csv"),
        "{}",
        ended.stderr
    );
    records(&proxy, JOB, 40);
    is_fresh(&s3, &proxy, JOB);
    for mut same in [fetch(&list, JOB, &[]), hecaton(&["fetch", "-o", JOB])] {
        let resumed = proxy.run(&mut same);
        good(&resumed);
        assert!(
            resumed.stderr.contains("resuming 40 inputs"),
            "{}",
            resumed.stderr
        );
    }
    assert_eq!(world.server.summary().requests, 40);
    let other = fetch(&list, JOB, &["-X", "POST"]);
    refused(&proxy.run(&mut { other }), "another job");
    let list = world.list(0..41);
    let grown = proxy.run(&mut fetch(&list, JOB, &[]));
    refused(&grown, "`hecaton fetch add s3://bucket/job LIST`");
}

#[test]
fn the_job_of_one_command_survives_a_kill_at_any_put() {
    let s3 = S3::start();
    let proxy = Proxy::start(&s3);
    for at in 1.. {
        let world = World::new();
        let list = world.list(0..24);
        let job = format!("s3://bucket/one-{at}");
        let mut command = fetch(&list, &job, &["-X", "POST", "-c", "4"]);
        proxy.set(Fault::Kill(at, at % 2 == 0));
        let killed = proxy.run(&mut command);
        proxy.set(Fault::None);
        let repeated = proxy.run(&mut command);
        // Some of them, or all, may be unknown.
        let said = &repeated.stderr;
        assert!(matches!(repeated.status, Some(0 | 3 | 4)), "{at}: {said}");
        let advice = format!("`hecaton fetch again {job} ");
        assert!(
            repeated.status != Some(4) || said.contains(&advice),
            "{said}"
        );
        records(&proxy, &job, 24);
        is_fresh(&s3, &proxy, &job);
        assert_eq!(world.server.summary().duplicates, 0, "{at}");
        if killed.status.is_some() {
            assert!(at > 10, "{at} puts are too few");
            break;
        }
    }
}

/// A list of which every other URL responds with 500.
fn half_bad(world: &World, inputs: u64) -> std::path::PathBuf {
    let base = world.server.base_url();
    let url = |n: u64| match n % 2 {
        0 => format!("{base}/r/{n}"),
        _ => format!("{base}/status/500?{n}"),
    };
    world.write("urls.txt", (0..inputs).map(url))
}

const ONCE: [&str; 4] = ["--retries", "0", "--breaker", "0"];

/// The times of the requests by which the records were made.
fn times(found: &[Value]) -> Vec<String> {
    let mut times: Vec<_> = found
        .iter()
        .map(|record| (record["n"].as_u64(), record["at"].to_string()))
        .collect();
    times.sort();
    times.into_iter().map(|(_, at)| at).collect()
}

#[test]
fn what_failed_in_a_bucket_is_sent_again_and_its_record_replaces_the_old_one() {
    let s3 = S3::start();
    let (world, proxy) = (World::new(), Proxy::start(&s3));
    let list = half_bad(&world, 40);
    let undone = proxy.run(&mut again(JOB, &[]));
    refused(&undone, "no job");
    good(&proxy.run(&mut fetch(&list, JOB, &ONCE)));
    let before = times(&records(&proxy, JOB, 40));
    let nothing = proxy.run(&mut again(JOB, &["--where", "status == 404"]));
    good(&nothing);
    assert!(nothing.stderr.contains("no record matches"));
    let round = proxy.run(&mut again(JOB, &ONCE));
    good(&round);
    assert!(
        round.stderr.contains("planned 20 inputs"),
        "{}",
        round.stderr
    );
    let after = times(&records(&proxy, JOB, 40));
    assert_eq!(world.server.summary().requests, 60);
    for n in 0..40 {
        assert_eq!(before[n] != after[n], n % 2 == 1, "input {n}");
    }
    is_fresh(&s3, &proxy, JOB);
    // Another round, by parts that any scheduler hands out.
    let plan = proxy.run(&mut again(JOB, &["--plan", "--where", "status == 200"]));
    good(&plan);
    let parts: u32 = plan.stdout.trim().parse().unwrap();
    let other = proxy.run(&mut again(JOB, &["--where", "status == 500"]));
    refused(&other, "a round for 'status == 200' is not done yet");
    refused(&proxy.run(&mut add(JOB, &list)), "is not done");
    let status = proxy.run(hecaton(&["fetch", "status"]).arg(JOB)).stdout;
    assert!(status.contains("status == 200"), "{status}");
    for part in 0..parts {
        good(&proxy.run(&mut run_part(JOB, part)));
    }
    records(&proxy, JOB, 40);
    is_fresh(&s3, &proxy, JOB);
    assert_eq!(world.server.summary().requests, 80);
    let status = proxy.run(hecaton(&["fetch", "status"]).arg(JOB)).stdout;
    assert!(
        status.contains("20 good responses, 20 other responses"),
        "{status}"
    );
    assert!(!status.contains("again"), "{status}");
}

#[test]
fn a_round_in_a_bucket_survives_a_kill_at_any_put() {
    let s3 = S3::start();
    let proxy = Proxy::start(&s3);
    for at in 1.. {
        let world = World::new();
        let list = world.list(0..24);
        let job = format!("s3://bucket/again-{at}");
        proxy.set(Fault::None);
        good(&proxy.run(&mut fetch(&list, &job, &[])));
        let before = times(&records(&proxy, &job, 24));
        let round = ["--where", "line > 6", "-c", "4"];
        proxy.set(Fault::Kill(at, at % 2 == 0));
        let killed = proxy.run(&mut again(&job, &round));
        proxy.set(Fault::None);
        good(&proxy.run(&mut again(&job, &round)));
        let after = times(&records(&proxy, &job, 24));
        for n in 0..24 {
            assert_eq!(before[n] != after[n], n >= 6, "{at}: input {n}");
        }
        is_fresh(&s3, &proxy, &job);
        if killed.status.is_some() {
            assert!(at > 10, "{at} puts are too few");
            break;
        }
    }
}

#[test]
fn bodies_of_a_round_are_beside_those_of_the_job() {
    let s3 = S3::start();
    let (world, proxy) = (World::new(), Proxy::start(&s3));
    let base = world.server.base_url();
    let urls = (0..6).map(|n| format!("{base}/bytes/{}", 1000 + n));
    let list = world.write("urls.txt", urls);
    good(&proxy.run(&mut fetch(&list, JOB, &["--keep-body", "files"])));
    good(&proxy.run(&mut again(JOB, &["--where", "line > 3"])));
    for record in records(&proxy, JOB, 6) {
        let file = record["body"]["file"].as_str().expect("a file");
        let body = s3.get(&format!("/bucket/job/{file}")).expect("its body");
        assert_eq!(record["bytes"], body.len());
        let digest = blake3::hash(&body).to_hex();
        let known = record["hash"].as_str().expect("a digest");
        assert!(known.ends_with(&digest[..]), "{record}");
    }
}

#[test]
fn inputs_are_added_to_a_job_in_a_bucket() {
    let s3 = S3::start();
    let (world, proxy) = (World::new(), Proxy::start(&s3));
    let list = world.list(0..20);
    good(&proxy.run(&mut fetch(&list, JOB, &[])));
    good(&proxy.run(&mut again(JOB, &["--where", "line == 1"])));
    let base = world.server.base_url();
    // Five of them are there already.
    let more = world.write("more.txt", (15..30).map(|n| format!("{base}/r/{n}")));
    let ended = proxy.run(&mut add(JOB, &more));
    good(&ended);
    assert!(ended.stderr.contains("added 15 inputs"), "{}", ended.stderr);
    let found = records(&proxy, JOB, 35);
    let skipped = found.iter().filter(|record| record["outcome"] == "skipped");
    assert_eq!(skipped.count(), 5);
    is_fresh(&s3, &proxy, JOB);
    assert_eq!(world.server.summary().requests, 31);
    // The same command adds nothing, and a list that grew adds its new lines.
    good(&proxy.run(&mut add(JOB, &more)));
    let grown = (15..33).map(|n| format!("{base}/r/{n}"));
    let more = world.write("more.txt", grown);
    good(&proxy.run(add(JOB, &more).arg("--plan")));
    let parts = proxy.run(&mut fetch(&list, JOB, &[]));
    good(&parts);
    records(&proxy, JOB, 38);
    is_fresh(&s3, &proxy, JOB);
    good(&proxy.run(&mut again(JOB, &["--where", "line == 2"])));
    records(&proxy, JOB, 38);
    is_fresh(&s3, &proxy, JOB);
    // Line 2 of both lists.
    assert_eq!(world.server.summary().requests, 36);
}

#[test]
fn an_addition_survives_a_kill_at_any_put() {
    let s3 = S3::start();
    let proxy = Proxy::start(&s3);
    for at in 1.. {
        let world = World::new();
        let job = format!("s3://bucket/add-{at}");
        proxy.set(Fault::None);
        planned(&world, &proxy, &job, 12, &SMALL);
        let base = world.server.base_url();
        let more = world.write("more.txt", (12..24).map(|n| format!("{base}/r/{n}")));
        proxy.set(Fault::Kill(at, at % 2 == 0));
        let killed = proxy.run(&mut add(&job, &more));
        proxy.set(Fault::None);
        good(&proxy.run(&mut add(&job, &more)));
        let found = records(&proxy, &job, 24);
        assert!(found.iter().all(|record| record["outcome"] == "response"));
        is_fresh(&s3, &proxy, &job);
        if killed.status.is_some() {
            assert!(at > 10, "{at} puts are too few");
            break;
        }
    }
}

/// A server with which a job of four parts takes some seconds.
fn slow() -> (World, [&'static str; 2]) {
    let world = World::with(Options {
        delay: Delay::Fixed(Duration::from_millis(100)),
        ..Options::default()
    });
    (world, ["-c", "4"])
}

fn begun(proxy: &Proxy, command: &mut Command) -> Child {
    proxy.with(command).spawn().expect("it starts")
}

fn signal(process: &Child, signal: Signal) {
    kill(Pid::from_raw(process.id() as i32), signal).expect("it is our child");
}

/// Two processes with a command, the second of which has taken a part over from the first.
fn taken_over(s3: &S3, proxy: &Proxy, world: &World, command: &mut Command) -> [Child; 2] {
    let first = begun(proxy, command);
    world.wait_for(40);
    // It must not be done before the second has begun.
    signal(&first, Signal::SIGSTOP);
    let second = begun(proxy, command);
    let claimed = |part: u32| {
        let claim = format!("/bucket/job/parts/{part:06}/attempt-2/claim");
        s3.get(&claim).is_some()
    };
    until(|| (0..4).any(claimed));
    signal(&first, Signal::SIGCONT);
    [first, second]
}

#[test]
fn two_processes_that_do_one_job_in_a_bucket_both_end_well() {
    let s3 = S3::start();
    let proxy = Proxy::start(&s3);
    let (world, small) = slow();
    let list = world.list(0..300);
    let mut command = fetch(&list, JOB, &small);
    let [first, second] = taken_over(&s3, &proxy, &world, &mut command).map(end_of);
    good(&first);
    good(&second);
    assert!(
        first.stderr.contains("taken over by another worker"),
        "{}",
        first.stderr
    );
    let found = records(&proxy, JOB, 300);
    assert!(found.iter().all(|record| record["outcome"] == "response"));
    is_fresh(&s3, &proxy, JOB);
}

#[test]
fn two_processes_that_plan_one_job_in_a_bucket_at_once_both_end_well() {
    let s3 = S3::start();
    let proxy = Proxy::start(&s3);
    let (world, small) = slow();
    let list = world.list(0..100);
    let both = [(); 2].map(|()| begun(&proxy, &mut fetch(&list, JOB, &small)));
    for ended in both.map(end_of) {
        good(&ended);
    }
    records(&proxy, JOB, 100);
}

#[test]
fn parts_that_a_killed_process_took_over_are_taken_back() {
    let s3 = S3::start();
    let proxy = Proxy::start(&s3);
    let (world, small) = slow();
    let list = world.list(0..300);
    let mut command = fetch(&list, JOB, &small);
    let [first, second] = taken_over(&s3, &proxy, &world, &mut command);
    signal(&second, Signal::SIGKILL);
    assert_eq!(end_of(second).status, None);
    good(&end_of(first));
    records(&proxy, JOB, 300);
}
