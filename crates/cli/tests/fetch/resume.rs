//! The same command again: what resumes, what is refused, and what bad lines become.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader};

use crate::scripted_server::Holding;
use crate::support::{World, count, end_of, ending, hecaton, until};

#[test]
fn a_run_stops_by_itself_and_the_same_command_resumes() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let list = world.write("urls.txt", (0..60).map(|n| format!("{base}/r/{n}")));
    let arguments = ["-c", "1", "--stop-after", "1kB"];
    let first = world.run_to(5, &list, &arguments);
    assert!(
        first.stderr.contains("stopped after 1kB") && !first.stderr.contains("Ctrl-C"),
        "{}",
        first.stderr
    );
    let mut runs = 1;
    loop {
        let ended = ending(&mut world.fetch(&list, &arguments));
        runs += 1;
        match ended.status {
            Some(0) => break,
            status => assert_eq!(status, Some(5), "{}", ended.stderr),
        }
        assert!(runs < 61, "each run has at least one response");
    }
    assert_eq!(world.records().len(), 60);
    assert_eq!(world.server.summary().requests, 60);
    let slow = World::new();
    let base = slow.server.base_url().to_owned();
    let list = slow.write("urls.txt", (0..5).map(|n| format!("{base}/delay/20?{n}")));
    slow.run_to(5, &list, &["-c", "1", "--stop-after", "1ms"]);
    assert!(slow.server.summary().requests < 5);
}

#[test]
fn every_input_has_one_record_and_a_second_run_sends_nothing() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let lines = (0..300).map(|id| format!("{base}/r/{id}"));
    let extra = [
        "",
        "no url",
        "ftp://host/x",
        "http://",
        &format!("{base}/r/7"),
    ]
    .map(str::to_owned);
    let list = world.write("urls.txt", lines.chain(extra));
    let ending = world.run(&list, &[]);
    assert!(
        ending
            .stderr
            .contains("300 good responses, 1 skipped, 3 invalid"),
        "{}",
        ending.stderr
    );
    let records = world.records();
    assert_eq!(records.len(), 304);
    assert_eq!(records[&300]["line"], 302);
    assert_eq!(records[&300]["outcome"], "invalid");
    assert_eq!(records[&303]["why"], "duplicate");
    assert_eq!(records[&5]["status"], 200);
    assert_eq!(world.server.summary().requests, 300);
    world.run(&list, &[]);
    assert_eq!(world.server.summary().requests, 300);
    assert_eq!(world.records(), records);
}

#[test]
fn duplicates_are_sent_when_they_are_to_be_kept() {
    let world = World::new();
    let list = world.list([1, 2, 1, 1].into_iter());
    world.run(&list, &["--keep-duplicates"]);
    assert_eq!(count(&world.records(), "response"), 4);
    assert_eq!(world.server.summary().requests, 4);
}

#[test]
fn a_changed_list_is_refused_with_what_changed() {
    let world = World::new();
    let list = world.list(0..10);
    world.run(&list, &[]);
    world.list(1..11);
    let refused = ending(&mut world.fetch(&list, &[]));
    assert_eq!(refused.status, Some(2));
    assert!(
        refused.stderr.contains("the input has changed"),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("other lines"), "{}", refused.stderr);
    assert_eq!(world.server.summary().requests, 10);
}

#[test]
fn another_job_is_refused_and_another_pace_is_not() {
    let world = World::new();
    let list = world.list(0..10);
    world.run(&list, &["-c", "5"]);
    world.run(&list, &["-c", "6"]);
    let refused = ending(&mut world.fetch(&list, &["-X", "PUT"]));
    assert_eq!(refused.status, Some(2));
    let reported = "request.method was \"GET\", is \"PUT\"";
    assert!(refused.stderr.contains(reported), "{}", refused.stderr);
}

#[test]
fn a_folder_with_something_else_in_it_is_left_alone() {
    let world = World::new();
    let list = world.list(0..10);
    std::fs::create_dir(world.out()).unwrap();
    std::fs::write(world.out().join("letter.txt"), "dear").unwrap();
    let refused = ending(&mut world.fetch(&list, &[]));
    assert_eq!(refused.status, Some(2));
    assert!(refused.stderr.contains("letter.txt"), "{}", refused.stderr);
}

#[test]
fn a_host_of_others_needs_a_rate_and_nothing_is_sent_before() {
    let world = World::new();
    let list = world.write(
        "urls.txt",
        (0..20).map(|n| format!("http://host.example/{n}")),
    );
    let refused = ending(&mut world.fetch(&list, &[]));
    assert_eq!(refused.status, Some(2));
    for word in [
        "host.example",
        "--rate",
        "--i-own-these-hosts",
        "nothing was sent",
    ] {
        assert!(refused.stderr.contains(word), "{}", refused.stderr);
    }
    assert!(!world.out().exists(), "nothing is left behind");
    // The same folder then takes the same list with a rate: names lead to this machine.
    let port = world.port();
    let list = world.write(
        "urls.txt",
        (0..12).map(|n| format!("http://host.example:{port}/r/{n}")),
    );
    let known = format!("host.example:{port}:127.0.0.1");
    world.run(&list, &["--rate", "1000", "--resolve", &known]);
    assert_eq!(count(&world.records(), "response"), 12);
}

#[test]
fn ctrl_c_ends_in_order_and_the_same_command_resumes() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let list = world.write("urls.txt", (0..400).map(|n| format!("{base}/delay/20?{n}")));
    let child = world.fetch(&list, &["-c", "4"]).spawn().unwrap();
    world.wait_for(20);
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let ended = end_of(child);
    assert_eq!(ended.status, Some(130), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("the same command resumes"),
        "{}",
        ended.stderr
    );
    let before = world.server.summary().requests;
    let shown = ending(hecaton(&["fetch", "show"]).arg(world.out()));
    assert_eq!(
        shown.stdout.lines().count() as u64,
        before,
        "what was in flight was recorded"
    );
    world.run(&list, &["-c", "4"]);
    assert_eq!(world.records().len(), 400);
    assert_eq!(world.server.summary().requests, 400);
}

#[test]
fn a_second_ctrl_c_ends_at_once_and_nothing_is_lost() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let slow = (0..4).map(|n| format!("{base}/delay/3600000?{n}"));
    let list = world.write(
        "urls.txt",
        (0..40).map(|n| format!("{base}/r/{n}")).chain(slow),
    );
    let mut child = world.fetch(&list, &["--timeout", "2h"]).spawn().unwrap();
    let known = || {
        let shown = ending(hecaton(&["fetch", "show"]).arg(world.out()));
        shown.stdout.lines().count()
    };
    until(|| known() == 40);
    let pid = Pid::from_raw(child.id() as i32);
    kill(pid, Signal::SIGINT).unwrap();
    // The first waits for what is in flight, which takes an hour.
    let mut said = String::new();
    let mut stderr = BufReader::new(child.stderr.as_mut().unwrap());
    while !said.contains("a second Ctrl-C ends at once") {
        assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "{said}");
    }
    kill(pid, Signal::SIGINT).unwrap();
    assert_eq!(end_of(child).status, Some(130));
    assert_eq!(known(), 40);
    world.run(&list, &["--timeout", "100ms", "--retries", "0"]);
    let records = world.records();
    assert_eq!(
        (count(&records, "response"), count(&records, "error")),
        (40, 4)
    );
}

#[test]
fn a_job_file_does_what_the_command_line_said_and_holds_no_secret() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let list = world.write(
        "urls.txt",
        std::iter::once(format!("{base}/basic/joe/hidden")),
    );
    let arguments = ["--auth", "env:LOGIN", "--print-job"];
    let mut print = hecaton(&["fetch"]);
    let printed = ending(print.arg(&list).args(arguments).env("LOGIN", "joe:hidden"));
    assert_eq!(printed.status, Some(0), "{}", printed.stderr);
    let job = world.write("job.toml", printed.stdout.lines().map(str::to_owned));
    let done = ending(world.fetch(&job, &[]).env("LOGIN", "joe:hidden"));
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert_eq!(world.records()[&0]["status"], 200);
    for file in ["job.toml", "plan.json"] {
        let text = std::fs::read_to_string(world.out().join(file)).unwrap();
        assert!(!text.contains("joe:hidden"), "{text}");
    }
    let missing = ending(&mut world.fetch(&job, &[]));
    assert_eq!(missing.status, Some(2));
    assert!(
        missing.stderr.contains("LOGIN is not set"),
        "{}",
        missing.stderr
    );
}

#[test]
fn status_shows_how_far_it_is_while_it_runs_and_after() {
    let (world, server) = (World::new(), Holding::after(60));
    let list = world.write("urls.txt", (0..100).map(|n| server.url(&format!("/{n}"))));
    let status = || ending(hecaton(&["fetch", "status"]).arg(world.out())).stdout;
    let child = world.fetch(&list, &["-c", "2"]).spawn().unwrap();
    until(|| server.count() > 60);
    let during = status();
    assert!(
        during.contains("of 100 done") && during.contains("works on it"),
        "{during}"
    );
    let second = ending(&mut world.fetch(&list, &[]));
    assert_eq!(second.status, Some(1));
    assert!(second.stderr.contains("works on"), "{}", second.stderr);
    server.go_on();
    assert_eq!(end_of(child).status, Some(0));
    let after = status();
    assert!(
        after.contains("100 of 100 done") && after.contains("1 of 1 part done"),
        "{after}"
    );
}
