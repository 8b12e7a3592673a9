//! Hostile responses, TLS, proxies and cookies: bombs, bodies without end.

use hecaton_test_server::Options;

use crate::support::{World, count};

fn one(world: &World, path: &str) -> std::path::PathBuf {
    let url = format!("{}{path}", world.server.base_url());
    world.write("urls.txt", std::iter::once(url))
}

#[test]
fn a_bomb_and_a_body_without_end_are_errors_and_the_rest_continues() {
    let world = World::with(Options {
        faults: true,
        ..Options::default()
    });
    let base = world.server.base_url().to_owned();
    let bad = [
        "/bomb/gzip/512",
        "/bomb/br/512",
        "/bomb/zstd/512",
        "/bytes/9000000",
        "/pieces/100000/1000/0",
        "/encoded/gzip-corrupt/5000",
    ];
    let good = (0..20).map(|n| format!("/r/{n}"));
    let paths = bad.map(str::to_owned).into_iter().chain(good);
    let list = world.write("urls.txt", paths.map(|path| format!("{base}{path}")));
    world.run(&list, &["--max-body", "100000", "--retries", "0"]);
    let records = world.records();
    for n in 0..bad.len() as u64 {
        assert_eq!(records[&n]["error"]["kind"], "body", "{}", records[&n]);
    }
    assert_eq!(count(&records, "response"), 20);
}

#[test]
fn bodies_that_do_not_fit_into_memory_together_come_one_after_the_other() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let list = world.write(
        "urls.txt",
        (0..60).map(|n| format!("{base}/bytes/1000000?{n}")),
    );
    // One body with its decoder always fits, and all of them take more than three times as much.
    let limits = ["-c", "60", "--max-body", "1000000", "--max-buffered", "1"];
    world.run(&list, &limits);
    assert_eq!(count(&world.records(), "response"), 60);
}

#[test]
fn an_address_at_which_clouds_tell_secrets_is_not_connected_to() {
    let world = World::new();
    let url = "http://169.254.169.254/latest/meta-data".to_owned();
    let list = world.write("urls.txt", std::iter::once(url));
    world.run_to(3, &list, &["--retries", "0", "--timeout", "60s"]);
    let records = world.records();
    let message = records[&0]["error"]["message"].as_str().expect("a message");
    assert!(
        message.contains("allow_address forbids 169.254.169.254"),
        "{message}"
    );
    assert_eq!(records[&0]["sent"], false);
}

#[test]
fn all_values_of_a_header_are_recorded() {
    let world = World::new();
    let list = one(
        &world,
        "/headers?x-a=1&x-b=3&x-a=2&set-cookie=c%3D1&set-cookie=d%3D2",
    );
    world.run(
        &list,
        &[
            "--keep-header",
            "X-A",
            "--keep-header",
            "set-cookie",
            "--check",
            "header.x-a == '1, 2'",
        ],
    );
    let records = world.records();
    assert_eq!(records[&0]["headers"]["x-a"], "1, 2");
    assert_eq!(records[&0]["headers"]["set-cookie"], "c=1\nd=2");
}

#[test]
fn a_host_that_stalls_takes_its_time_and_no_more() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    let stalling = (0..4).map(|n| format!("{base}/pieces/1000/10/60000?{n}"));
    let list = world.write(
        "urls.txt",
        stalling.chain((0..20).map(|n| format!("{base}/r/{n}"))),
    );
    world.run(&list, &["--read-timeout", "300ms", "--retries", "0"]);
    let records = world.records();
    for n in 0..4 {
        assert_eq!(records[&n]["error"]["kind"], "timeout", "{}", records[&n]);
    }
    assert_eq!(count(&records, "response"), 20);
}

#[test]
fn an_authority_of_ones_own_is_trusted_when_it_is_named() {
    let world = World::with(Options {
        tls: Some(hecaton_test_server::Tls::default()),
        ..Options::default()
    });
    let list = one(&world, "/r/1");
    world.run_to(3, &list, &["--retries", "0"]);
    assert_eq!(world.records()[&0]["error"]["kind"], "tls");
    std::fs::remove_dir_all(world.out()).unwrap();
    let authority = world.write(
        "ca.pem",
        std::iter::once(world.server.ca_pem().expect("a server with TLS").to_owned()),
    );
    world.run(&list, &["--ca", authority.to_str().unwrap()]);
    assert_eq!(world.records()[&0]["status"], 200);
}

#[test]
fn a_proxy_gets_the_requests_of_the_host() {
    let world = World::new();
    // The test server responds for any host, as a proxy would.
    let list = world.write(
        "urls.txt",
        std::iter::once("http://nowhere.invalid/r/3".to_owned()),
    );
    let proxy = world.server.base_url().to_owned();
    let mut command = world.fetch(&list, &["--proxy", &proxy]);
    let ended = crate::support::ending(command.env_remove("no_proxy"));
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert_eq!(world.server.summary().requests, 1);
    assert_ne!(world.records()[&0]["outcome"], "invalid");
}

#[test]
fn cookies_are_stored_when_the_option_says_so() {
    let world = World::new();
    let base = world.server.base_url().to_owned();
    // The order of requests to one host is not promised: some of them come after the first one, which sets the
    // cookie.
    let set = (0..40).map(|n| format!("{base}/cookies/set?tea=green&n={n}"));
    let get = (0..40).map(|n| format!("{base}/cookies?n={n}"));
    let list = world.write("urls.txt", set.chain(get));
    let said = |arguments: &[&str]| {
        let _ = std::fs::remove_dir_all(world.out());
        world.run(
            &list,
            &[&["-c", "1", "--keep-body", "inline"], arguments].concat(),
        );
        let records = world.records();
        assert_eq!(count(&records, "response"), 80);
        let echoes = records.range(40..);
        echoes
            .map(|(_, record)| record["body"]["text"].to_string())
            .collect::<String>()
    };
    assert!(said(&["--cookies"]).contains("green"));
    assert!(!said(&[]).contains("green"));
}

#[test]
fn a_connection_of_each_host_stays_while_others_get_their_requests() {
    let world = World::new();
    let base = world.server.base_url();
    let port = base.rsplit(':').next().unwrap();
    let urls = (0..600).map(|n| format!("http://h{}.internal:{port}/r/{n}", n % 200));
    let list = world.write("urls.txt", urls);
    let known = format!("*:{port}:127.0.0.1");
    world.run(&list, &["--resolve", &known, "-c", "5", "--threads", "1"]);
    assert_eq!(world.records().len(), 600);
    let connections = world.server.summary().connections;
    assert!((200..=300).contains(&connections), "{connections}");
}
