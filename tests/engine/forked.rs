//! A client that is dropped in a forked child does not touch descriptors that have the numbers of its parent's sockets.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use fork::{Fork, Signal, current_process_id, fork, signal_process, waitpid};
use hecaton::{Client, Reactor, forget_inherited};

use crate::World;
use crate::http2::World2;

/// Drops a client and its reactor in a child, where other sockets have the numbers of its connections by then. Returns
/// both to the parent, with what was written to those sockets.
pub fn dropped_in_a_child(client: Client, reactor: Reactor) -> (Client, Reactor, Vec<u8>) {
    let (mut results, mut writer) = UnixStream::pair().unwrap();
    match fork().unwrap() {
        Fork::Child => {
            forget_inherited();
            let others: Vec<_> = (0..64).map(|_| UnixStream::pair().unwrap()).collect();
            drop(client);
            drop(reactor);
            for end in others.iter().flat_map(|(one, other)| [one, other]) {
                end.set_nonblocking(true).unwrap();
                let mut written = Vec::new();
                let _ = (&mut &*end).read_to_end(&mut written);
                writer.write_all(&written).unwrap();
            }
            writer.write_all(b"end").unwrap();
            // Nothing of the parent's may run, such as its handlers at the end of a process.
            let _ = signal_process(current_process_id(), Signal::KILL);
            unreachable!("the signal ends the child");
        }
        Fork::Parent(child) => {
            drop(writer);
            let mut written = Vec::new();
            results.read_to_end(&mut written).unwrap();
            waitpid(child).unwrap();
            assert!(written.ends_with(b"end"), "the child ran to its end");
            written.truncate(written.len() - 3);
            (client, reactor, written)
        }
    }
}

#[test]
fn over_http2_nothing_is_written_and_the_parents_connection_lives() {
    let world = World2::new();
    world.get("/r/1").unwrap();
    let World2 {
        peer,
        client,
        reactor,
    } = world;
    let (client, reactor, written) = dropped_in_a_child(client, reactor);
    assert_eq!(written, b"");
    let world = World2 {
        peer,
        client,
        reactor,
    };
    assert!(world.get("/r/1").unwrap().attempts()[0].reused);
}

#[test]
fn over_http1_so_it_is() {
    let world = World::new();
    world.get("/r/1");
    let World {
        server,
        client,
        reactor,
    } = world;
    let (client, reactor, written) = dropped_in_a_child(client, reactor);
    assert_eq!(written, b"");
    let world = World {
        server,
        client,
        reactor,
    };
    assert!(world.get("/r/1").attempts()[0].reused);
}
