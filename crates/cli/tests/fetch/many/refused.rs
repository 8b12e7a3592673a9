//! Wrong usage is refused with a sentence, before anything is sent.

use std::io::{Read, Write};
use std::net::TcpListener;

use hecaton_test_server::ClosedPort;

use super::{Nats, plan, worker};
use crate::support::{World, ending, hecaton};

/// One part in a folder.
fn planned() -> World {
    let world = World::new();
    let list = world.list(0..3);
    plan(&world, &list, &[]);
    world
}

#[test]
fn a_server_must_be_named_be_there_and_have_jetstream() {
    let world = planned();
    for verb in ["worker", "enqueue"] {
        let work = |more: &[&str]| ending(hecaton(&["fetch", verb]).arg(world.out()).args(more));
        for nameless in [work(&[]), work(&["--nats"])] {
            assert_eq!(nameless.status, Some(2), "{}", nameless.stderr);
            assert!(
                nameless
                    .stderr
                    .contains("needs the URL of a NATS server: `nats-server -js")
            );
        }
        let closed = ClosedPort::take().unwrap();
        let free = closed.address();
        let nobody = work(&["--nats", &format!("nats://me:secret@{free}")]);
        assert_eq!(nobody.status, Some(1), "{}", nobody.stderr);
        assert!(
            nobody
                .stderr
                .contains("cannot reach NATS at nats://127.0.0.1"),
            "{}",
            nobody.stderr
        );
        assert!(nobody.stderr.contains("nats-server -js") && !nobody.stderr.contains("secret"));
        let plain = Nats::with(&[]);
        let without = work(&["--nats", &plain.url()]);
        assert_eq!(without.status, Some(1), "{}", without.stderr);
        assert!(
            without
                .stderr
                .contains("runs without JetStream: start it with -js"),
            "{}",
            without.stderr
        );
    }
    assert_eq!(world.server.summary().requests, 0);
}

#[test]
fn an_old_server_is_refused() {
    let world = planned();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let old = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let greeting = r#"{"server_id":"X","version":"2.8.4","max_payload":1048576,"headers":true,"jetstream":true,"proto":1}"#;
        stream
            .write_all(format!("INFO {greeting}\r\n").as_bytes())
            .unwrap();
        let mut received = Vec::new();
        let mut bytes = [0; 1024];
        while let Ok(count @ 1..) = stream.read(&mut bytes) {
            received.extend_from_slice(&bytes[..count]);
            if received.windows(4).any(|four| four == b"PING") {
                received.clear();
                stream.write_all(b"PONG\r\n").unwrap();
            }
        }
    });
    let mut command = hecaton(&["fetch", "worker"]);
    command
        .arg(world.out())
        .args(["--nats", &format!("nats://{address}")]);
    let refused = ending(&mut command);
    assert_eq!(refused.status, Some(1), "{}", refused.stderr);
    assert!(
        refused
            .stderr
            .contains("is version 2.8.4, and 2.9.0 or newer is needed"),
        "{}",
        refused.stderr
    );
    old.join().unwrap();
}

#[test]
fn a_folder_without_a_plan_is_refused() {
    let (world, nats) = (World::new(), Nats::start());
    let refused = ending(&mut worker(&world, &nats));
    assert_eq!(refused.status, Some(2));
    assert!(
        refused.stderr.contains("there is no folder"),
        "{}",
        refused.stderr
    );
}
