//! The test server on another machine: on loopback, and between two network namespaces where the kernel allows them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::{Ending, document, hecaton, run};

const TOKEN: &str = "a-token-of-a-test";

/// `hecaton serve --remote`, in a network namespace or here.
struct Server {
    address: String,
    child: Child,
}

impl Server {
    fn start(command: &mut Command, listen: &str) -> Server {
        command.args(["serve", "--remote", TOKEN, "--listen", listen]);
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        Server {
            address: line.trim().to_owned(),
            child,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = nix::unistd::Pid::from_raw(self.child.id() as i32);
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
        let _ = self.child.wait();
    }
}

fn sweep(command: &mut Command, server: &str, token: &str, options: &str, folder: &Path) -> Ending {
    let line = format!(
        "sweep --client honest -c 1,4 -b 133 -d 0 --rounds 2 --server {server} --server-token {token} --quiet{options}"
    );
    command.args(line.split(' '));
    run(command.arg("--out").arg(folder))
}

fn assert_verified(folder: &Path, server: &str) {
    let document = document(folder);
    let rows = document["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for row in rows {
        assert_eq!(
            (&row["verified"], &row["rejected"]),
            (&true.into(), &Value::Null),
            "{row}"
        );
    }
    for round in document["rounds"].as_array().unwrap() {
        assert_eq!(round["seen"]["distinct"], round["count"], "{round}");
    }
    assert_eq!(document["environment"]["test_server"], server);
    let text = std::fs::read_to_string(folder.join("run.json")).unwrap();
    assert!(!text.contains(TOKEN), "the token is in run.json");
}

#[test]
fn requests_to_a_server_elsewhere_are_verified_as_here() {
    let server = Server::start(&mut hecaton("cheats"), "127.0.0.1:0");
    let folder = tempfile::tempdir().unwrap();
    // One run after another: the servers of the first have ended with it.
    for name in ["first", "second"] {
        let out = folder.path().join(name);
        sweep(&mut hecaton("cheats"), &server.address, TOKEN, "", &out).assert(0, &[]);
        assert_verified(&out, &server.address);
    }
}

/// A driver that claims what it has not done is caught by the log of the other machine.
#[test]
fn a_cheat_is_caught_by_the_log_of_the_other_machine() {
    let server = Server::start(&mut hecaton("cheats"), "127.0.0.1:0");
    let folder = tempfile::tempdir().unwrap();
    let mut command = hecaton("cheats");
    let line = format!(
        "sweep --client counts-without-sending -c 4 -b 133 -d 0 --rounds 2 --json --quiet --server {} --server-token {TOKEN}",
        server.address
    );
    let ending = run(command
        .args(line.split(' '))
        .arg("--out")
        .arg(folder.path()));
    let printed: Value = serde_json::from_str(&ending.stdout).expect(&ending.stderr);
    let mut rows = printed["rows"].as_array().unwrap().iter();
    let row = rows
        .find(|row| row["client"] == "counts-without-sending")
        .unwrap();
    assert!(
        row["rejected"].to_string().contains("never arrived"),
        "{row}"
    );
}

#[test]
fn another_token_a_rate_and_nobody_are_refused_with_a_sentence() {
    let server = Server::start(&mut hecaton("cheats"), "127.0.0.1:0");
    let folder = tempfile::tempdir().unwrap();
    let refused = |address: &str, token: &str, options: &str, status: i32, words: &[&str]| {
        sweep(
            &mut hecaton("cheats"),
            address,
            token,
            options,
            folder.path(),
        )
        .assert(status, words);
    };
    refused(
        &server.address,
        "another-token",
        "",
        1,
        &["the token or the version is another"],
    );
    refused(
        &server.address,
        TOKEN,
        " --rate 50",
        2,
        &["another machine has another clock"],
    );
    refused("127.0.0.1:1", TOKEN, "", 1, &["hecaton serve --remote"]);
    run(hecaton("cheats").args(["serve", "--remote", "short"])).assert(2, &["choose a longer one"]);
    // A stranger gets one line and no server.
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream
        .write_all(b"{\"cmd\":\"start\",\"tls\":false,\"delay\":\"0\",\"seed\":1}\n")
        .unwrap();
    let mut says = String::new();
    stream.read_to_string(&mut says).unwrap();
    assert!(
        says.contains("the token or the version is another"),
        "{says}"
    );
    let out = folder.path().join("after");
    sweep(&mut hecaton("cheats"), &server.address, TOKEN, "", &out).assert(0, &[]);
}

/// Two network namespaces with a cable between them: two machines, as far as the network goes.
struct Network {
    names: [String; 2],
}

impl Network {
    /// None where the kernel or the user does not allow it.
    fn new() -> Option<Network> {
        let number = std::process::id();
        let network = Network {
            names: ["a", "b"].map(|side| format!("hecaton-{number}-{side}")),
        };
        let [a, b] = &network.names;
        let ip = |line: String| {
            let ran = Command::new("ip")
                .args(line.split(' '))
                .stderr(Stdio::null())
                .status();
            ran.is_ok_and(|status| status.success())
        };
        let did = ip(format!("netns add {a}"))
            && ip(format!("netns add {b}"))
            && ip(format!(
                "link add va netns {a} type veth peer name vb netns {b}"
            ))
            && ip(format!("-n {a} addr add 10.77.0.1/24 dev va"))
            && ip(format!("-n {b} addr add 10.77.0.2/24 dev vb"))
            && [("va", a), ("vb", b), ("lo", a), ("lo", b)]
                .iter()
                .all(|(name, side)| ip(format!("-n {side} link set {name} up")));
        did.then_some(network)
    }

    /// The command on one side.
    fn hecaton(&self, side: usize) -> Command {
        let here = hecaton("cheats");
        let mut command = Command::new("ip");
        command
            .args(["netns", "exec", &self.names[side]])
            .arg(here.get_program());
        command.envs(
            here.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip")
                .args(["netns", "del", name])
                .stderr(Stdio::null())
                .status();
        }
    }
}

#[test]
fn two_machines_measure_as_one() {
    let Some(network) = Network::new() else {
        eprintln!("skipped: this kernel or user makes no network namespaces with a veth pair");
        return;
    };
    let server = Server::start(&mut network.hecaton(1), "10.77.0.2:0");
    let folder = tempfile::tempdir().unwrap();
    sweep(
        &mut network.hecaton(0),
        &server.address,
        TOKEN,
        "",
        folder.path(),
    )
    .assert(0, &[]);
    assert_verified(folder.path(), &server.address);
}
