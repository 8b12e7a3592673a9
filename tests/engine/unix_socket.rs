//! Requests over a Unix socket, as to a local daemon.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use hecaton::{Client, Config, Kind, Phase, Reactor, Request};
use hecaton_test_server::{Options, TestServer};

use crate::json;

/// A folder for one test's socket, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("hecaton-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn client(path: PathBuf) -> Client {
    let mut config = Config::new(Duration::from_secs(60));
    config.unix_socket = Some(path);
    Client::new(config)
}

#[test]
fn every_request_goes_to_the_socket_and_connections_are_reused() {
    let folder = Folder::new("unix");
    let path = folder.0.join("origin.sock");
    let options = Options {
        unix: Some(path.clone()),
        ..Options::default()
    };
    let server = TestServer::start(options).unwrap();
    let (client, reactor) = (client(path), Reactor::new().unwrap());
    // A host that does not exist, and need not.
    for host in ["docker.invalid", "docker.invalid", "other.invalid:99"] {
        let request = Request::get(&format!("http://{host}/echo")).unwrap();
        let response = reactor.block_on(client.send(request)).unwrap();
        assert!(
            json(&response).to_string().contains(host),
            "the Host is the URL's"
        );
        let attempt = &response.attempts()[0];
        assert!(attempt.resolve_time.is_none());
    }
    assert_eq!(
        client.stats().opened,
        2,
        "one for each host, and the first used twice"
    );
    assert_eq!(server.summary().requests, 3);
}

/// The kernel buffers some hundred KiB of a Unix socket at most, but megabytes of TCP, which would hide
/// what the engine holds.
#[test]
fn a_slow_reader_holds_a_mebibyte_at_most() {
    let folder = Folder::new("slow");
    let path = folder.0.join("slow.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let sent = Arc::new(AtomicUsize::new(0));
    let count = sent.clone();
    thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let _ = stream.read(&mut [0; 4096]);
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        while let Ok(more) = stream.write(&[b'x'; 8192]) {
            count.fetch_add(more, Ordering::SeqCst);
        }
    });
    let (client, reactor) = (client(path), Reactor::new().unwrap());
    let request = Request::get("http://any.example/").unwrap();
    let mut stream = reactor.block_on(client.open(request)).unwrap();
    let mut taken = 0;
    for _ in 0..10 {
        taken += reactor.block_on(stream.chunk()).unwrap().unwrap().len();
        // Long enough for the server to fill every buffer.
        thread::sleep(Duration::from_millis(50));
        let ahead = sent.load(Ordering::SeqCst).saturating_sub(taken);
        assert!(ahead <= 1 << 20, "{ahead} bytes are held");
    }
}

#[test]
fn a_socket_that_is_not_there_is_an_error_that_names_it() {
    let folder = Folder::new("nowhere");
    let path = folder.0.join("none.sock");
    let (client, reactor) = (client(path.clone()), Reactor::new().unwrap());
    let request = Request::get("http://localhost/").unwrap();
    let error = reactor.block_on(client.send(request)).unwrap_err();
    assert_eq!(
        (error.kind(), error.phase(), error.sent()),
        (Kind::Connect, Phase::Connect, false)
    );
    assert!(
        error.to_string().contains(path.to_str().unwrap()),
        "{error}"
    );
}
