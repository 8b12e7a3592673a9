//! What goes wrong by chance, as clients see it and as the ledger counts it.

mod support;

use std::io::Read;
use std::time::{Duration, Instant};

use hecaton_origin::{Options, Origin};
use support::{Client, eventually};

fn start(chaos: &str) -> Origin {
    let options = Options {
        chaos: Some(chaos.parse().unwrap()),
        ..Options::default()
    };
    Origin::start(options).expect("an origin on a free port")
}

/// All that comes on a new connection for one request, and whether the end was orderly.
fn raw(origin: &Origin, path: &str) -> (Vec<u8>, bool) {
    let mut client = Client::new(origin);
    client.request("GET", path, "Connection: close\r\n");
    let mut bytes = Vec::new();
    let orderly = client.socket.read_to_end(&mut bytes).is_ok();
    (bytes, orderly)
}

#[test]
fn each_mischief_is_seen_and_counted_under_its_name() {
    for name in ["reset", "truncate", "500", "garbage", "close", "slow"] {
        let origin = start(&format!("{name}=100%"));
        let start = Instant::now();
        let (bytes, orderly) = raw(&origin, "/r/3");
        let text = String::from_utf8_lossy(&bytes);
        let body = text
            .split_once("\r\n\r\n")
            .map_or(0, |(_, body)| body.len());
        assert_eq!(orderly, name != "reset", "{name}");
        match name {
            "reset" | "close" => assert_eq!(text, ""),
            "truncate" => assert_eq!(body, 500),
            "500" => assert!(text.starts_with("HTTP/1.1 500 "), "{text}"),
            "garbage" => assert!(!text.starts_with("HTTP/"), "{text}"),
            _ => {
                assert_eq!(body, 133);
                assert!(start.elapsed() >= Duration::from_millis(160));
            }
        }
        // Other paths are left alone.
        assert_eq!(Client::new(&origin).get("/bytes/5").body.len(), 5);
        let chaos = origin.summary().chaos.unwrap();
        let dealt = chaos[name];
        assert_eq!((dealt.count, dealt.ids, dealt.squares), (1, 3, 9), "{name}");
        assert_eq!(chaos["good"].count, 0);
    }
}

#[test]
fn a_stall_lasts_until_the_client_goes() {
    let origin = start("stall=100%");
    let mut client = Client::new(&origin);
    client.request("GET", "/r/1", "");
    eventually(&origin, |summary| summary.peak_in_flight == 1);
    drop(client);
    let summary = eventually(&origin, |summary| summary.aborted == 1);
    assert_eq!(summary.chaos.unwrap()["stall"].count, 1);
}

#[test]
fn what_was_dealt_adds_up_to_what_arrived() {
    let origin = start("500=20%,slow=5%");
    let mut client = Client::new(&origin);
    let (mut ids, mut squares, mut failed) = (0, 0, 0);
    for id in (0..100).chain(0..50) {
        failed += u64::from(client.get(&format!("/r/{id}")).status == 500);
        ids += id;
        squares += id * id;
    }
    let chaos = origin.summary().chaos.unwrap();
    assert_eq!(chaos["500"].count, failed);
    assert!(failed > 0);
    let all: Vec<_> = chaos.values().collect();
    assert_eq!(all.iter().map(|dealt| dealt.count).sum::<u64>(), 150);
    assert_eq!(all.iter().map(|dealt| dealt.ids).sum::<u64>(), ids);
    assert_eq!(all.iter().map(|dealt| dealt.squares).sum::<u64>(), squares);
}

#[test]
fn without_chaos_the_summary_has_none() {
    assert_eq!(support::origin().summary().chaos, None);
}
