//! Lists that are elsewhere: over HTTP and in an object store.

use std::sync::{Arc, Mutex};

use hecaton_e2e::peer::{Peer, Reply};

use crate::support::{Ending, World, ending, hecaton};

/// A server whose content a test may change; it keeps its requests.
struct ListServer {
    peer: Peer,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    body: Vec<u8>,
    /// The server says that there are so many bytes more than it sends.
    cut: usize,
}

impl ListServer {
    fn start() -> ListServer {
        let shared = Arc::<Mutex<Shared>>::default();
        let content = shared.clone();
        let peer = Peer::responding(move |request| {
            let shared = content.lock().unwrap();
            let (status, more, body) = match request.target() {
                "/moved" => ("302 Found", "Location: /list.txt\r\n", &b""[..]),
                "/none" => ("404 Not Found", "", &b"no"[..]),
                _ => ("200 OK", "", &shared.body[..]),
            };
            let length = body.len() + shared.cut;
            let head = format!(
                "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{more}\r\n"
            );
            Reply::Closed([head.as_bytes(), body].concat())
        });
        ListServer { peer, shared }
    }

    fn holds(&self, body: impl Into<Vec<u8>>) {
        self.shared.lock().unwrap().body = body.into();
    }
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
    let list = server.peer.url("/moved");
    good(&fetch(&world, &list));
    assert_eq!(world.records().len(), 20);
    assert_eq!(server.peer.requests().len(), 2);
    // The plan has all inputs, so that the list is not read again.
    good(&fetch(&world, &list));
    assert_eq!(server.peer.requests().len(), 2);
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
    good(&fetch(&world, &server.peer.url("/list.csv.zst?token=a.b")));
    let records = world.records();
    assert_eq!(records[&0]["columns"]["sku"], "7", "{records:?}");
}

#[test]
fn a_list_that_does_not_come_whole_plans_nothing() {
    let (world, server) = (World::new(), ListServer::start());
    let text = urls(&world, 20);
    server.holds(&text[..text.len() - 30]);
    let list = server.peer.url("/list.txt");
    for (list, cut, why) in [
        (&*list, 30, "cut"),
        (&server.peer.url("/none"), 0, "status 404"),
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
