//! Lists that are elsewhere: over HTTP and in an object store.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::support::{Ending, World, ending, hecaton};

/// A server whose content a test may change; it keeps the paths of its requests.
struct ListServer {
    base: String,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    body: Vec<u8>,
    /// The server says that there are so many bytes more than it sends.
    cut: usize,
    seen: Vec<String>,
}

impl ListServer {
    fn start() -> ListServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::<Mutex<Shared>>::default();
        let responding = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                respond(stream, &responding);
            }
        });
        ListServer { base, shared }
    }

    fn holds(&self, body: impl Into<Vec<u8>>) {
        self.shared.lock().unwrap().body = body.into();
    }

    fn requests(&self) -> usize {
        self.shared.lock().unwrap().seen.len()
    }
}

/// Responds to one request and closes; none is a client that has gone.
fn respond(mut stream: TcpStream, shared: &Mutex<Shared>) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let first = lines.next()?.ok()?;
    lines
        .map_while(Result::ok)
        .take_while(|line| !line.is_empty())
        .count();
    let path = first.split(' ').nth(1)?.to_owned();
    let mut shared = shared.lock().unwrap();
    shared.seen.push(path.clone());
    let (status, more, body) = match &*path {
        "/moved" => ("302 Found", "Location: /list.txt\r\n", &b""[..]),
        "/none" => ("404 Not Found", "", &b"no"[..]),
        _ => ("200 OK", "", &shared.body[..]),
    };
    let length = body.len() + shared.cut;
    let head =
        format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{more}\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body).ok()
}

/// So many URLs of the test server, a line each.
fn urls(world: &World, count: u64) -> String {
    let base = world.server.base_url();
    let lines = (0..count).map(|id| format!("{base}/r/{id}\n"));
    lines.collect()
}

fn fetch(world: &World, list: &str) -> Ending {
    ending(&mut world.fetch(list.as_ref(), &[]))
}

fn good(ended: &Ending) {
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
}

#[test]
fn a_list_is_read_from_a_url_once_and_added_to_later() {
    let (world, server) = (World::new(), ListServer::start());
    server.holds(urls(&world, 20));
    // A redirect is followed.
    let list = format!("{}/moved", server.base);
    good(&fetch(&world, &list));
    assert_eq!(world.records().len(), 20);
    assert_eq!(server.requests(), 2);
    // The plan has all inputs, so that the list is not read again.
    good(&fetch(&world, &list));
    assert_eq!(server.requests(), 2);
    server.holds(urls(&world, 25));
    good(&ending(
        hecaton(&["fetch", "add"]).arg(world.out()).arg(&list),
    ));
    assert_eq!(world.records().len(), 25);
    server.holds("http://127.0.0.1:1/else\n");
    let changed = ending(hecaton(&["fetch", "add"]).arg(world.out()).arg(&list));
    assert_eq!(changed.status, Some(2), "{}", changed.stderr);
    assert_eq!(world.server.summary().duplicates, 0);
    assert_eq!(world.server.summary().requests, 25);
}

#[test]
fn the_format_of_a_list_is_that_of_its_name_and_its_first_bytes() {
    let (world, server) = (World::new(), ListServer::start());
    let table = format!("sku,url\n7,{}/r/7\n", world.server.base_url());
    server.holds(zstd::encode_all(table.as_bytes(), 1).unwrap());
    good(&fetch(
        &world,
        &format!("{}/list.csv.zst?token=a.b", server.base),
    ));
    let records = world.records();
    assert_eq!(records[&0]["columns"]["sku"], "7", "{records:?}");
}

#[test]
fn a_list_that_does_not_come_whole_plans_nothing() {
    let (world, server) = (World::new(), ListServer::start());
    let text = urls(&world, 20);
    server.holds(&text[..text.len() - 30]);
    let list = format!("{}/list.txt", server.base);
    for (list, cut, why) in [
        (&*list, 30, "cut"),
        (&format!("{}/none", server.base), 0, "status 404"),
        ("http://127.0.0.1:1/list.txt", 0, "127.0.0.1"),
    ] {
        server.shared.lock().unwrap().cut = cut;
        let ended = fetch(&world, list);
        assert_eq!(ended.status, Some(1), "{}", ended.stderr);
        assert!(ended.stderr.contains(why), "{}", ended.stderr);
        assert!(!world.out().join("plan.json").exists());
    }
    assert_eq!(world.server.summary().requests, 0);
    server.holds(text);
    good(&fetch(&world, &list));
    assert_eq!(world.records().len(), 20);
}
