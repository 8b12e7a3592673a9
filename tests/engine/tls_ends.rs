//! How TLS ends: the client sends close_notify on every connection that it closes (RFC 8446 §6.1).

use std::io::{Read, Write};
use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use fork::{Fork, Signal, current_process_id, fork, signal_process, waitpid};
use hecaton::{Client, Config, Protocol, Proxy, Reactor, Request};
use rustls::{ServerConnection, StreamOwned};

use crate::tls::ANY;
use crate::tls_server::{Authority, Session, keep_alive, read_head};
use crate::with_growing;

/// Long enough for a busy machine; every awaited event comes at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// A TLS server that reports for each connection whether it ended with close_notify.
struct Witness {
    port: u16,
    authority: Authority,
    ends: Receiver<bool>,
}

impl Witness {
    fn start(protocol: &str, serve: fn(&mut Session)) -> Witness {
        let authority = Authority::new();
        let mut config = authority.sign(&["localhost"]).server(ANY);
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (noted, ends) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (config, noted) = (config.clone(), noted.clone());
                thread::spawn(move || {
                    let connection = ServerConnection::new(config).unwrap();
                    let mut session = StreamOwned::new(connection, stream);
                    serve(&mut session);
                    let _ = noted.send(ends_well(&mut session));
                });
            }
        });
        Witness {
            port,
            authority,
            ends,
        }
    }

    fn client(&self, change: impl FnOnce(&mut Config)) -> Client {
        let mut config = Config::new(PATIENCE);
        config.ca = Some(self.authority.pem.as_str().into());
        config.proxy = Proxy::Off;
        change(&mut config);
        Client::try_new(config).expect("the settings are good")
    }

    fn get(&self, client: &Client, reactor: &Reactor) -> u16 {
        let url = format!("https://localhost:{}/", self.port);
        let response = reactor.block_on(client.send(Request::get(&url).unwrap()));
        response.unwrap().status()
    }

    /// Whether the next connection that ends does so with close_notify.
    fn end(&self) -> bool {
        self.ends.recv_timeout(PATIENCE).expect("a connection ends")
    }
}

/// Reads to the end, and says whether that was close_notify.
fn ends_well(session: &mut Session) -> bool {
    let mut piece = [0; 1024];
    loop {
        match session.read(&mut piece) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(_) => return false,
        }
    }
}

fn respond_once(session: &mut Session) {
    if read_head(session) {
        let response = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";
        let _ = session.write_all(response).and_then(|()| session.flush());
    }
}

fn begin_a_body(session: &mut Session) {
    if read_head(session) {
        let response = b"HTTP/1.1 200 OK\r\ncontent-length: 2000\r\n\r\nok";
        let _ = session.write_all(response).and_then(|()| session.flush());
    }
}

/// Responds to each request with 204, until the connection ends.
fn keep_http2(session: &mut Session) {
    const HEADERS: u8 = 1;
    let mut preface = [0; 24];
    if session.read_exact(&mut preface).is_err() {
        return;
    }
    let _ = session.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0]);
    let mut frame = [0; 9];
    while session.read_exact(&mut frame).is_ok() {
        let length = u32::from_be_bytes([0, frame[0], frame[1], frame[2]]);
        let mut payload = vec![0; length as usize];
        if session.read_exact(&mut payload).is_err() {
            return;
        }
        if frame[3] == HEADERS {
            let mut response = vec![0, 0, 1, HEADERS, 0b101];
            response.extend_from_slice(&frame[5..9]);
            response.push(0x89); // :status 204
            let _ = session.write_all(&response);
        }
        let _ = session.flush();
    }
}

#[test]
fn idle_connections_are_closed_with_close_notify() {
    let reactor = Reactor::new().unwrap();
    for (protocol, serve, versions) in [
        ("http/1.1", keep_alive as fn(&mut Session), Protocol::Http1),
        ("h2", keep_http2, Protocol::Http2),
    ] {
        let witness = Witness::start(protocol, serve);
        let client = witness.client(|config| config.http = versions);
        witness.get(&client, &reactor);
        reactor.block_on(async { client.close_idle() });
        assert!(witness.end(), "close_idle, {protocol}");

        witness.get(&client, &reactor);
        drop(client);
        assert!(witness.end(), "the client is dropped, {protocol}");

        let brief = witness.client(|config| {
            config.http = versions;
            config.idle_timeout = Duration::from_millis(1);
        });
        witness.get(&brief, &reactor);
        reactor.block_on(async {
            while brief.stats().idle > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        assert!(witness.end(), "idle_timeout, {protocol}");
    }
}

#[test]
fn close_notify_is_sent_though_nothing_drives_the_connection_any_more() {
    let reactor = Reactor::new().unwrap();
    let witness = Witness::start("http/1.1", keep_alive);
    let client = witness.client(|_| {});
    witness.get(&client, &reactor);
    drop(reactor);
    drop(client);
    assert!(witness.end());
}

#[test]
fn a_connection_that_is_closed_for_another_origin_sends_close_notify() {
    let reactor = Reactor::new().unwrap();
    let witness = Witness::start("http/1.1", keep_alive);
    let client = witness.client(|config| config.max_connections = Some(1));
    witness.get(&client, &reactor);
    // Another origin needs the only connection that the limit allows.
    let url = format!("https://127.0.0.1:{}/", witness.port);
    let refused = reactor.block_on(client.send(Request::get(&url).unwrap()));
    assert!(refused.is_err(), "the certificate is for another host");
    let ends = [witness.end(), witness.end()];
    assert!(ends.contains(&true), "the idle one");
}

#[test]
fn a_connection_with_connection_close_is_ended_by_close_notify() {
    let reactor = Reactor::new().unwrap();
    let witness = Witness::start("http/1.1", respond_once);
    let client = witness.client(|_| {});
    assert_eq!(witness.get(&client, &reactor), 200);
    assert!(witness.end());
}

#[test]
fn a_request_that_is_given_up_ends_tls_too() {
    let reactor = Reactor::new().unwrap();
    let witness = Witness::start("http/1.1", begin_a_body);
    let client = witness.client(|_| {});
    let url = format!("https://localhost:{}/", witness.port);
    // A connection may also be given up before TLS is agreed on.
    with_growing(Duration::from_millis(300), |limit| {
        let request = Request::get(&url).unwrap().timeout(limit);
        let error = reactor.block_on(client.send(request)).unwrap_err();
        let is_notified = witness.end();
        let is_secure = error.attempts()[0].tls_time.is_some();
        assert!(is_notified || !is_secure);
        is_secure.then_some(())
    });
}

#[test]
fn a_child_that_does_not_know_of_the_fork_writes_nothing_into_its_parents_tls() {
    let reactor = Reactor::new().unwrap();
    let witness = Witness::start("http/1.1", keep_alive);
    let client = witness.client(|_| {});
    witness.get(&client, &reactor);
    match fork().unwrap() {
        Fork::Child => {
            drop(client);
            // Nothing of the parent's may run, such as its handlers at the end of a process.
            let _ = signal_process(current_process_id(), Signal::KILL);
            unreachable!("the signal ends the child");
        }
        Fork::Parent(child) => waitpid(child).unwrap(),
    };
    assert!(!witness.end(), "the connection ends without close_notify");
}

/// A TLS server of one connection.
fn accept_one<T: Send + 'static>(
    serve: impl FnOnce(&mut Session) -> T + Send + 'static,
) -> (String, Client, thread::JoinHandle<T>) {
    let authority = Authority::new();
    let config = Arc::new(authority.sign(&["localhost"]).server(ANY));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (tcp, _) = listener.accept().unwrap();
        let connection = ServerConnection::new(config).unwrap();
        serve(&mut StreamOwned::new(connection, tcp))
    });
    // No deadline ends a request before the test has.
    let mut config = Config::new(60 * PATIENCE);
    config.ca = Some(authority.pem.as_str().into());
    config.proxy = Proxy::Off;
    let client = Client::try_new(config).expect("the settings are good");
    (format!("https://localhost:{port}/"), client, server)
}

/// The bytes of one end of a connection that its peer has not acknowledged, and those that nobody has read, both from
/// the kernel. The ports of the two ends name it. None if there is no such end.
fn end_of(own: u16, peers: u16) -> Option<(usize, usize)> {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let hexadecimal = |text: &str| usize::from_str_radix(text, 16).unwrap();
    table.lines().skip(1).find_map(|line| {
        let columns: Vec<_> = line.split_whitespace().collect();
        let port = |column: usize| hexadecimal(columns[column].split_once(':').unwrap().1);
        let (sending, receiving) = columns[4].split_once(':').unwrap();
        ((port(1), port(2)) == (own.into(), peers.into()))
            .then(|| (hexadecimal(sending), hexadecimal(receiving)))
    })
}

/// The ports of the server and of the client.
fn ports(session: &Session) -> (u16, u16) {
    let [own, clients] = [session.sock.local_addr(), session.sock.peer_addr()];
    (own.unwrap().port(), clients.unwrap().port())
}

#[test]
fn a_connection_with_unread_bytes_is_not_reset_when_it_is_closed() {
    let ((begin, begun), (write, written), (looked, close)) = (channel(), channel(), channel());
    let (url, client, server) = accept_one(move |session| {
        assert!(read_head(session));
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n";
        session
            .write_all(head)
            .and_then(|()| session.flush())
            .unwrap();
        begun.recv().unwrap();
        session
            .write_all(&[b'x'; 30_000])
            .and_then(|()| session.flush())
            .unwrap();
        let (own, clients) = ports(session);
        while end_of(own, clients).unwrap().0 > 0 {
            thread::yield_now();
        }
        write.send((own, clients)).unwrap();
        // Nothing may be lost with a reset.
        let well = ends_well(session);
        let _ = close.recv();
        well
    });
    let reactor = Reactor::new().unwrap();
    let stream = reactor.block_on(client.open(Request::get(&url).unwrap()));
    begin.send(()).unwrap();
    let (servers, own) = written.recv_timeout(PATIENCE).expect("all is written");
    assert!(end_of(own, servers).unwrap().1 >= 30_000, "unread");
    drop(stream);
    // A reset would have ended this side at once. It waits for the server's end.
    assert!(end_of(own, servers).is_some());
    looked.send(()).unwrap();
    assert!(server.join().unwrap());
}

#[test]
fn nothing_follows_the_part_of_a_record_that_was_written_before_a_request_was_given_up() {
    let ((tell, known), (stick, stuck), (drained, read)) = (channel(), channel(), channel());
    let (url, client, server) = accept_one(move |session| {
        assert!(read_head(session));
        let (own, clients) = ports(session);
        tell.send((clients, own)).unwrap();
        stuck.recv().unwrap();
        session.sock.set_nonblocking(true).unwrap();
        // A look at the kernel's queues takes long, so it reads all that has come before each look.
        let mut piece = vec![0; 1 << 20];
        while matches!(session.sock.read(&mut piece), Ok(1..))
            || end_of(clients, own).unwrap().0 + end_of(own, clients).unwrap().1 > 0
        {}
        session.sock.set_nonblocking(false).unwrap();
        drained.send(()).unwrap();
        let mut rest = Vec::new();
        let _ = session.sock.read_to_end(&mut rest);
        rest.len()
    });
    let reactor = Reactor::new().unwrap();
    let request = Request::new("POST", &url).unwrap();
    reactor.block_on(async {
        let mut sent = pin!(client.send(request.body(vec![b'x'; 64 << 20])));
        let mut turn = async || {
            let brief = Duration::from_millis(20);
            assert!(tokio::time::timeout(brief, sent.as_mut()).await.is_err());
        };
        let (clients, servers) = loop {
            match known.try_recv() {
                Ok(ports) => break ports,
                Err(_) => turn().await,
            }
        };
        // The server does not read, so at some point the kernel takes no more.
        let (mut before, mut unchanged) = (None, 0);
        while unchanged < 10 {
            turn().await;
            let now = end_of(clients, servers);
            unchanged = if now == before { unchanged + 1 } else { 0 };
            before = now;
        }
        stick.send(()).unwrap();
        read.recv_timeout(PATIENCE)
            .expect("the server has read all");
    });
    assert_eq!(server.join().unwrap(), 0);
}
