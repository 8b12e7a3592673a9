//! Proxies of a few lines, HTTP and SOCKS 5, that record their requests. Every name leads to this machine.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection};

/// A proxy on a free port, for as long as the test's process runs.
pub struct Proxy {
    pub port: u16,
    heads: Arc<Mutex<Vec<String>>>,
    accepted: Arc<Mutex<usize>>,
}

type Serve = fn(&mut TcpStream, &Mutex<Vec<String>>) -> io::Result<()>;

impl Proxy {
    /// Forwards requests, and makes tunnels.
    pub fn http() -> Proxy {
        Proxy::start(serve_http)
    }

    /// Requires user and password if the client supports them.
    pub fn socks() -> Proxy {
        Proxy::start(serve_socks)
    }

    /// SOCKS 4 and 4a.
    pub fn socks4() -> Proxy {
        Proxy::start(serve_socks4)
    }

    pub fn start(serve: Serve) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Proxy {
            port: listener.local_addr().unwrap().port(),
            heads: Arc::default(),
            accepted: Arc::default(),
        };
        let (heads, accepted) = (proxy.heads.clone(), proxy.accepted.clone());
        thread::spawn(move || {
            for mut client in listener.incoming().map_while(Result::ok) {
                *accepted.lock().unwrap() += 1;
                let heads = heads.clone();
                let _ = client.set_read_timeout(Some(Duration::from_secs(20)));
                thread::spawn(move || serve(&mut client, &heads));
            }
        });
        proxy
    }

    /// The requests so far: heads of HTTP, and similar lines for SOCKS.
    pub fn requests(&self) -> MutexGuard<'_, Vec<String>> {
        self.heads.lock().unwrap()
    }

    pub fn accepted(&self) -> usize {
        *self.accepted.lock().unwrap()
    }
}

/// An HTTP proxy behind TLS of its own.
pub struct TlsFront {
    pub port: u16,
    pub proxy: Proxy,
}

impl TlsFront {
    pub fn new(config: ServerConfig) -> TlsFront {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let proxy = Proxy::http();
        let (behind, config) = (proxy.port, Arc::new(config));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let config = config.clone();
                thread::spawn(move || unwrap_tls(client, config, behind));
            }
        });
        TlsFront { port, proxy }
    }
}

/// Removes TLS on the way to a port. Each side is polled every millisecond.
fn unwrap_tls(mut client: TcpStream, config: Arc<ServerConfig>, port: u16) -> io::Result<()> {
    let mut tls = ServerConnection::new(config).map_err(io::Error::other)?;
    while tls.is_handshaking() {
        tls.complete_io(&mut client)?;
    }
    let mut behind = TcpStream::connect(("127.0.0.1", port))?;
    let patience = Some(Duration::from_millis(1));
    client.set_read_timeout(patience)?;
    behind.set_read_timeout(patience)?;
    let is_patience = |error: &io::Error| {
        matches!(
            error.kind(),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
        )
    };
    let mut piece = [0; 16 << 10];
    loop {
        match tls.read_tls(&mut client) {
            Ok(0) => return behind.shutdown(std::net::Shutdown::Both),
            Err(error) if !is_patience(&error) => return Err(error),
            _ => {}
        }
        tls.process_new_packets().map_err(io::Error::other)?;
        while let Ok(count @ 1..) = tls.reader().read(&mut piece) {
            behind.write_all(&piece[..count])?;
        }
        match behind.read(&mut piece) {
            Ok(0) => return client.shutdown(std::net::Shutdown::Both),
            Ok(count) => tls.writer().write_all(&piece[..count])?,
            Err(error) if is_patience(&error) => {}
            Err(error) => return Err(error),
        }
        while tls.wants_write() {
            tls.write_tls(&mut client)?;
        }
    }
}

/// Reads a head; empty at the end of the stream.
pub fn read_head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte)? == 0 {
            return Ok(String::new());
        }
        head.push(byte[0]);
    }
    Ok(String::from_utf8(head).expect("a head is text"))
}

fn here(authority: &str) -> io::Result<TcpStream> {
    let port = authority.rsplit(':').next().unwrap_or_default();
    TcpStream::connect(("127.0.0.1", port.parse().expect("a port")))
}

fn serve_http(client: &mut TcpStream, heads: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut upstream = None;
    loop {
        let head = read_head(client)?;
        let mut words = head.split(' ');
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Ok(());
        };
        heads.lock().unwrap().push(head.clone());
        if method == "CONNECT" {
            let there = here(target)?;
            client.write_all(b"HTTP/1.1 200 Connection established\r\nvia: test\r\n\r\n")?;
            return splice(client.try_clone()?, there);
        }
        let rest = target.strip_prefix("http://").expect("an absolute URL");
        let (authority, path) = rest.split_once('/').expect("a path");
        let there = match &mut upstream {
            Some(there) => there,
            None => upstream.insert(here(authority)?),
        };
        let own = head.replacen(target, &format!("/{path}"), 1);
        let forwarded = own
            .split_inclusive("\r\n")
            .filter(|line| !line.starts_with("Proxy-Authorization:"));
        there.write_all(forwarded.collect::<String>().as_bytes())?;
        let response = read_head(there)?;
        let length = response
            .lines()
            .find_map(|line| {
                line.to_lowercase()
                    .strip_prefix("content-length: ")?
                    .parse()
                    .ok()
            })
            .unwrap_or(0);
        let mut body = vec![0; length];
        there.read_exact(&mut body)?;
        client.write_all(response.as_bytes())?;
        client.write_all(&body)?;
    }
}

fn serve_socks(client: &mut TcpStream, heads: &Mutex<Vec<String>>) -> io::Result<()> {
    let note = |what: String| heads.lock().unwrap().push(what);
    let [_, count] = take::<2>(client)?;
    let mut methods = vec![0; count.into()];
    client.read_exact(&mut methods)?;
    if methods.contains(&2) {
        client.write_all(&[5, 2])?;
        take::<1>(client)?;
        let (user, password) = (take_text(client)?, take_text(client)?);
        note(format!("{user}:{password}"));
        client.write_all(&[1, u8::from(password != "secret")])?;
    } else {
        client.write_all(&[5, 0])?;
    }
    let [_, _, _, kind] = take::<4>(client)?;
    let host = match kind {
        1 => take::<4>(client)?.map(|part| part.to_string()).join("."),
        3 => take_text(client)?,
        _ => return Ok(()),
    };
    let port = u16::from_be_bytes(take(client)?);
    note(format!("{host}:{port}"));
    match here(&format!(":{port}")) {
        Ok(there) => {
            client.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 1])?;
            splice(client.try_clone()?, there)
        }
        Err(_) => client.write_all(&[5, 5, 0, 1, 0, 0, 0, 0, 0, 0]),
    }
}

fn serve_socks4(client: &mut TcpStream, heads: &Mutex<Vec<String>>) -> io::Result<()> {
    let [4, 1, high, low, a, b, c, d] = take::<8>(client)? else {
        return client.write_all(&[0, 91, 0, 0, 0, 0, 0, 0]);
    };
    let user = take_up_to_nul(client)?;
    let host = match [a, b, c, d] {
        [0, 0, 0, last] if last > 0 => take_up_to_nul(client)?,
        parts => parts.map(|part| part.to_string()).join("."),
    };
    let port = u16::from_be_bytes([high, low]);
    heads.lock().unwrap().push(format!("{user} {host}:{port}"));
    let there = here(&format!(":{port}"))?;
    client.write_all(&[0, 90, 0, 0, 0, 0, 0, 0])?;
    splice(client.try_clone()?, there)
}

fn take_up_to_nul(stream: &mut TcpStream) -> io::Result<String> {
    let mut text = Vec::new();
    loop {
        match take::<1>(stream)? {
            [0] => return Ok(String::from_utf8_lossy(&text).into_owned()),
            [byte] => text.push(byte),
        }
    }
}

fn take<const N: usize>(stream: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A text with its length in front.
fn take_text(stream: &mut TcpStream) -> io::Result<String> {
    let [length] = take(stream)?;
    let mut text = vec![0; length.into()];
    stream.read_exact(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn splice(one: TcpStream, other: TcpStream) -> io::Result<()> {
    let (mut from, mut to) = (one.try_clone()?, other.try_clone()?);
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(std::net::Shutdown::Write);
    });
    let (mut from, mut to) = (other, one);
    io::copy(&mut from, &mut to)?;
    to.shutdown(std::net::Shutdown::Write)
}
