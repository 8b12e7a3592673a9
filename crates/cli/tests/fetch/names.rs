//! Names: each is looked up once, not for each of its connections, and one of others leads nobody into one's own network.

use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::process::Command;
use std::sync::{Arc, Mutex};

use nix::sched::{CloneFlags, unshare};

use crate::support::{World, count};

/// Runs this where nobody else is: a network and mounts of its own, whose name server is on 127.0.0.1. None when this
/// user may not.
fn alone<T: Send>(home: &std::path::Path, run: impl FnOnce() -> T + Send) -> Option<T> {
    let resolv = home.join("resolv.conf");
    let switch = home.join("nsswitch.conf");
    std::fs::write(&resolv, "nameserver 127.0.0.1\n").expect("written");
    std::fs::write(&switch, "hosts: dns\n").expect("written");
    let did = |program: &str, arguments: &[&str]| {
        let ran = Command::new(program).args(arguments).status();
        ran.is_ok_and(|status| status.success())
    };
    let bind = |from: &std::path::Path, to: &str| {
        did("mount", &["--bind", &from.display().to_string(), to])
    };
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).ok()?;
            let is_ready = did("mount", &["--make-rprivate", "/"])
                && bind(&resolv, "/etc/resolv.conf")
                && bind(&switch, "/etc/nsswitch.conf")
                && did("ip", &["link", "set", "lo", "up"]);
            is_ready.then(run)
        });
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// A name server on port 53. Every name resolves to 127.0.0.1, and each query is noted. A name that moves resolves to
/// 127.0.0.9 the first time, where nobody listens.
fn names() -> Arc<Mutex<BTreeMap<String, u32>>> {
    let socket = UdpSocket::bind("127.0.0.1:53").expect("the port is free where nobody else is");
    let requested: Arc<Mutex<BTreeMap<String, u32>>> = Arc::default();
    let noted = requested.clone();
    std::thread::spawn(move || {
        let mut packet = [0; 512];
        while let Ok((length, from)) = socket.recv_from(&mut packet) {
            let question = &packet[12..length];
            let end = question
                .iter()
                .position(|byte| *byte == 0)
                .expect("a name ends");
            let name: String = String::from_utf8_lossy(&question[1..end])
                .chars()
                .map(|c| if c.is_ascii_graphic() { c } else { '.' })
                .collect();
            let is_ipv4 = question[end + 2] == 1;
            let mut times = 0;
            if is_ipv4 {
                let mut noted = noted.lock().unwrap();
                times = *noted
                    .entry(name.clone())
                    .and_modify(|times| *times += 1)
                    .or_insert(1);
            }
            let last = if name.starts_with("moves") && times == 1 {
                9
            } else {
                1
            };
            let mut reply = packet[..2].to_vec();
            reply.extend([0x81, 0x80, 0, 1, 0, u8::from(is_ipv4), 0, 0, 0, 0]);
            reply.extend(&question[..end + 5]);
            if is_ipv4 {
                reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, last]);
            }
            let _ = socket.send_to(&reply, from);
        }
    });
    requested
}

#[test]
fn a_name_of_no_use_is_looked_up_again() {
    let home = tempfile::tempdir().unwrap();
    let ran = alone(home.path(), || {
        let requested = names();
        let world = World::new();
        let port = world.port();
        let url = |n: u32| format!("http://moves.names.test:{port}/close?{n}");
        let list = world.write("urls.txt", (0..20).map(url));
        world.run(&list, &["--i-own-these-hosts", "--per-host", "1"]);
        let records = world.records();
        assert_eq!(count(&records, "response"), 20, "{:?}", records[&0]);
        let tries = records
            .values()
            .map(|record| record["attempts"].as_u64().unwrap());
        assert_eq!(tries.sum::<u64>(), 21, "one was tried where nobody listens");
        assert_eq!(requested.lock().unwrap()["moves.names.test"], 2);
    });
    if ran.is_none() {
        eprintln!("skipped: this user may not make a network of its own");
    }
}

#[test]
fn a_name_is_looked_up_once_and_not_for_each_connection() {
    let home = tempfile::tempdir().unwrap();
    let ran = alone(home.path(), || {
        let requested = names();
        let world = World::new();
        let port = world.port();
        // Every response ends its connection.
        let url = |n: u32| format!("http://h{}.names.test:{port}/close?{n}", n % 20);
        let list = world.write("urls.txt", (0..400).map(url));
        world.run(
            &list,
            &["--i-own-these-hosts", "--per-host", "3", "--retries", "0"],
        );
        let records = world.records();
        assert_eq!(count(&records, "response"), 400, "{:?}", records[&0]);
        assert_eq!(world.server.summary().connections, 400);
        let requested = requested.lock().unwrap().clone();
        assert_eq!(requested.len(), 20, "{requested:?}");
        assert!(requested.values().all(|times| *times == 1), "{requested:?}");
    });
    if ran.is_none() {
        eprintln!("skipped: this user may not make a network of its own");
    }
}

#[test]
fn a_name_of_others_does_not_lead_into_ones_own_network() {
    let home = tempfile::tempdir().unwrap();
    let ran = alone(home.path(), || {
        let _requested = names();
        let world = World::new();
        let port = world.port();
        let url = |n: u32| format!("http://inside.names.example:{port}/r/{n}");
        let list = world.write("urls.txt", (0..5).map(url));
        world.run_to(3, &list, &["--retries", "0"]);
        for record in world.records().values() {
            let message = record["error"]["message"].as_str().expect("a message");
            assert!(message.contains("forbids 127.0.0.1"), "{message}");
        }
        assert_eq!(world.server.summary().requests, 0);
        let mut again = crate::support::hecaton(&["fetch", "again", "--allow-address", "any"]);
        let meant = crate::support::ending(again.arg(world.out()));
        assert_eq!(meant.status, Some(0), "{}", meant.stderr);
        assert_eq!(world.server.summary().requests, 5);
    });
    if ran.is_none() {
        eprintln!("skipped: this user may not make a network of its own");
    }
}
