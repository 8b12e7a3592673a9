//! Ctrl-C keeps what was measured, and however the command ends, no driver survives it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{document, hecaton, run};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// Waits until `done` holds; the limit is far above what any machine needs.
fn wait_until(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{what} did not happen"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A sweep that takes long, with some rounds already made.
fn long_sweep(folder: &Path) -> Child {
    let mut command: Command = hecaton("cheats");
    command.args([
        "sweep",
        "--client",
        "honest",
        "--concurrency",
        "1,2",
        "--body",
        "133",
        "--rounds",
        "5000",
    ]);
    let child = command
        .args(["--time", "20ms", "--out"])
        .arg(folder)
        .spawn()
        .unwrap();
    let rounds = folder.join("rounds.jsonl");
    wait_until("the third round", || {
        std::fs::read_to_string(&rounds).is_ok_and(|text| text.lines().count() > 3)
    });
    child
}

fn children(pid: u32) -> Vec<String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let lists = tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace()
                .map(str::to_string)
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Neither running nor stopped; a zombie that nobody has waited for yet is gone as well.
fn is_gone(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "))
}

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id() as i32), signal).unwrap();
}

#[test]
fn an_interrupted_sweep_keeps_its_rounds() {
    let temporary = tempfile::tempdir().unwrap();
    let child = long_sweep(temporary.path());
    let drivers = children(child.id());
    assert_eq!(drivers.len(), 2);
    send(&child, Signal::SIGINT);
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(
        stderr.contains("rounds are in") && stderr.contains("stopped on request"),
        "{stderr}"
    );
    let document = document(temporary.path());
    let rounds = document["rounds"].as_array().unwrap().len();
    assert!(rounds > 3 && document["recommendations"] == Value::Array(Vec::new()));
    assert_eq!(document["unfinished"], 20_000);
    let stamp = format!("INCOMPLETE {rounds}/20000");
    assert!(stderr.contains(&stamp), "{stderr}");
    for form in [&["--html", "/dev/stdout"][..], &["--md"], &[]] {
        let again = run(hecaton("cheats")
            .arg("report")
            .arg(temporary.path())
            .args(form));
        again.assert(0, &[&stamp]);
        assert!(
            again.stdout.contains(&stamp) && !again.stdout.contains(": use concurrency"),
            "{form:?}"
        );
    }
    wait_until("the end of the drivers", || {
        drivers.iter().all(|pid| is_gone(pid))
    });
}

#[test]
fn drivers_end_even_when_the_command_is_killed() {
    let temporary = tempfile::tempdir().unwrap();
    let mut child = long_sweep(temporary.path());
    let drivers = children(child.id());
    assert_eq!(drivers.len(), 2);
    send(&child, Signal::SIGKILL);
    child.wait().unwrap();
    wait_until("the end of the drivers", || {
        drivers.iter().all(|pid| is_gone(pid))
    });
    let rounds = std::fs::read_to_string(temporary.path().join("rounds.jsonl")).unwrap();
    let first: Value = serde_json::from_str(rounds.lines().next().unwrap()).unwrap();
    assert!(first["wall_ns"].as_u64().unwrap() > 0);
}

#[test]
fn serve_prints_its_url_and_at_the_end_its_ledger() {
    let mut child = hecaton("cheats")
        .arg("serve")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut url = String::new();
    out.read_line(&mut url).unwrap();
    let address = url.trim().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .write_all(b"GET /r/1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    send(&child, Signal::SIGTERM);
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let summary: Value = serde_json::from_str(&rest).unwrap();
    assert_eq!(
        (&summary["requests"], &summary["distinct"]),
        (&Value::from(1), &Value::from(1))
    );
}
