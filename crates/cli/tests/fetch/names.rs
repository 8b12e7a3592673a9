//! Names: each is looked up once, not for each of its connections, and one of others leads nobody into one's own
//! network.

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
/// 127.0.0.9 the first time, where nobody listens, and `secrets` to the address at which clouds give them out.
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
            let address = match &*name {
                name if name.starts_with("moves") && times == 1 => [127, 0, 0, 9],
                name if name.starts_with("secrets") => [169, 254, 169, 254],
                _ => [127, 0, 0, 1],
            };
            let mut reply = packet[..2].to_vec();
            reply.extend([0x81, 0x80, 0, 1, 0, u8::from(is_ipv4), 0, 0, 0, 0]);
            reply.extend(&question[..end + 5]);
            if is_ipv4 {
                reply.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
                reply.extend(address);
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

/// The inputs of a list whose connection was forbidden.
fn forbidden(world: &World) -> Vec<u64> {
    let records = world.records().into_iter();
    let forbidden = records.filter(|(_, record)| {
        let message = record["error"]["message"].as_str().unwrap_or_default();
        message.contains("allow_address forbids")
    });
    forbidden.map(|(number, _)| number).collect()
}

#[test]
fn a_host_of_ones_own_opens_the_network_to_no_other_host_of_its_list() {
    let home = tempfile::tempdir().unwrap();
    let ran = alone(home.path(), || {
        let _requested = names();
        let world = World::new();
        let port = world.port();
        let own = ["127.0.0.1", "printer.local", "known.names.example"];
        let others = [
            "inside.names.example",
            "other.names.example",
            "secrets.internal",
        ];
        let hosts = own.into_iter().chain(others).enumerate();
        let list = world.write(
            "urls.txt",
            hosts.map(|(n, host)| format!("http://{host}:{port}/r/{n}")),
        );
        let known = format!("known.names.example:{port}:127.0.0.1");
        world.run(&list, &["--retries", "0", "--resolve", &known]);
        assert_eq!(forbidden(&world), [3, 4, 5], "{:?}", world.records());
        assert_eq!(count(&world.records(), "response"), 3);
        assert_eq!(world.server.summary().requests, 3);
    });
    if ran.is_none() {
        eprintln!("skipped: this user may not make a network of its own");
    }
}

#[test]
fn a_redirect_of_ones_own_host_does_not_open_the_network_to_others() {
    let home = tempfile::tempdir().unwrap();
    let ran = alone(home.path(), || {
        let _requested = names();
        let world = World::new();
        let port = world.port();
        let from = |host: &str, to: &str| {
            format!("http://{host}:{port}/redirect/302/1?to=http%3A%2F%2F{to}%3A{port}%2Fr%2F1")
        };
        let redirects = [
            from("localhost", "inside.names.example"),
            from("shop.names.example", "inside.names.example"),
            // The site of an input is the user's if its host is.
            from("shop.names.example", "www.shop.names.example"),
            from("localhost", "printer.local"),
        ];
        let list = world.write("urls.txt", redirects.into_iter());
        let arguments = [
            "--i-own-these-hosts",
            "--redirects-to",
            "any",
            "--retries",
            "0",
        ];
        world.run(&list, &arguments);
        assert_eq!(forbidden(&world), [0, 1], "{:?}", world.records());
        assert_eq!(count(&world.records(), "response"), 2);
    });
    if ran.is_none() {
        eprintln!("skipped: this user may not make a network of its own");
    }
}

#[test]
fn a_list_of_ones_own_server_is_not_read_from_where_others_lead_in_ones_network() {
    let home = tempfile::tempdir().unwrap();
    let ran = alone(home.path(), || {
        let _requested = names();
        let world = World::new();
        let port = world.port();
        let to = |host: &str| {
            let list = format!(
                "http://localhost:{port}/redirect/302/1?to=http%3A%2F%2F{host}%3A{port}%2Fr%2F1"
            );
            let mut command = crate::support::hecaton(&["fetch", "plan", &list, "-o"]);
            crate::support::ending(command.arg(world.path(host)))
        };
        let refused = to("inside.names.example");
        assert_eq!(refused.status, Some(1), "{}", refused.stderr);
        assert!(
            refused.stderr.contains("forbids 127.0.0.1"),
            "{}",
            refused.stderr
        );
        let followed = to("printer.local");
        assert_eq!(followed.status, Some(0), "{}", followed.stderr);
    });
    if ran.is_none() {
        eprintln!("skipped: this user may not make a network of its own");
    }
}
