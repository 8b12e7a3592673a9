//! Redirects: each is a request of its own host, with that host's limits, and credentials stay at their origin.

use std::collections::BTreeSet;

use crate::support::{World, count, ending, hecaton};

/// A URL of the first that redirects to one of the second.
fn to(from: &World, status: u16, url: &str) -> String {
    let encoded: String = url
        .bytes()
        .map(|byte| match byte {
            b':' | b'/' | b'?' | b'=' => format!("%{byte:02X}"),
            _ => char::from(byte).to_string(),
        })
        .collect();
    format!(
        "{}/redirect/{status}/1?to={encoded}",
        from.server.base_url()
    )
}

#[test]
fn where_redirects_lead_no_more_are_in_flight_than_asked() {
    let (world, other) = (World::new(), World::new());
    let target = |n: u64| format!("{}/delay/3?{n}", other.server.base_url());
    let list = world.write("urls.txt", (0..60).map(|n| to(&world, 302, &target(n))));
    let arguments = ["--redirects-to", "any", "--per-host", "2", "-c", "30"];
    world.run(&list, &arguments);
    let records = world.records();
    assert_eq!(count(&records, "response"), 60);
    assert_eq!(records[&7]["status"], 200);
    assert_eq!(records[&7]["url"], to(&world, 302, &target(7)));
    assert_eq!(records[&7]["location"], target(7));
    assert_eq!(records[&7]["attempts"], 2);
    assert!(world.server.summary().peak_in_flight <= 2);
    assert_eq!(other.server.summary().peak_in_flight, 2);
    assert_eq!(other.server.summary().requests, 60);
}

#[test]
fn a_redirect_that_is_not_followed_is_recorded_and_is_not_good() {
    let world = World::new();
    let list = world.write("urls.txt", std::iter::once(to(&world, 301, "/echo?x")));
    world.run_to(3, &list, &["--redirects", "0"]);
    let record = &world.records()[&0];
    assert_eq!(
        (&record["status"], &record["outcome"], &record["ok"]),
        (&301.into(), &"response".into(), &false.into())
    );
    let place = format!("{}/echo?x", world.server.base_url());
    assert_eq!(record["location"], place);
    assert_eq!(world.server.summary().requests, 1);
}

#[test]
fn credentials_stay_with_their_origin() {
    let (world, other) = (World::new(), World::new());
    let home = format!("{}/echo", world.server.base_url());
    let abroad = format!("{}/echo", other.server.base_url());
    let list = world.write(
        "urls.txt",
        [to(&world, 307, &home), to(&world, 307, &abroad)].into_iter(),
    );
    let arguments = [
        "--redirects-to",
        "any",
        "-X",
        "POST",
        "--body",
        "letter",
        "-H",
        "X-Shop: env:SHOP",
        "-H",
        "Accept-Language: cy",
        "--keep-body",
        "inline",
    ];
    world.run(&list, &arguments);
    let records = world.records();
    let echo = |n: u64| records[&n]["body"]["text"].as_str().unwrap().to_lowercase();
    for n in 0..2 {
        assert!(echo(n).contains("post"), "{}", echo(n));
        assert!(echo(n).contains("accept-language"), "{}", echo(n));
    }
    assert!(echo(0).contains("x-shop"), "{}", echo(0));
    assert!(!echo(1).contains("x-shop"), "{}", echo(1));
}

#[test]
fn a_circle_ends_and_says_where() {
    let world = World::new();
    let list = world.write(
        "urls.txt",
        std::iter::once(format!("{}/redirect-loop", world.server.base_url())),
    );
    world.run_to(3, &list, &["--redirects", "4"]);
    let record = &world.records()[&0];
    assert_eq!(record["error"]["kind"], "redirect", "{record}");
    let message = record["error"]["message"].as_str().unwrap();
    assert!(message.contains("allowed 4"), "{message}");
    assert_eq!(world.server.summary().requests, 5);
}

#[test]
fn a_host_of_another_part_is_left_to_a_list_of_its_own() {
    let world = World::new();
    let address = world.server.base_url();
    let port = address.rsplit(':').next().unwrap();
    let base = |host: u64| format!("http://h{host}.localhost:{port}");
    let own = (0..64).map(|n| format!("{}/r/{n}", base(n % 16)));
    let leading = (0..16).map(|n| to(&world, 302, &format!("{}/r/{}", base(n), 100 + n)));
    let list = world.write("urls.txt", own.chain(leading));
    world.run(&list, &["--redirects-to", "any", "--part-size", "4"]);
    let records = world.records();
    assert_eq!(records.len(), 80);
    let left: BTreeSet<&str> = records
        .values()
        .filter(|record| record["error"]["kind"] == "redirect")
        .map(|record| {
            let message = record["error"]["message"].as_str().unwrap();
            assert!(message.contains("another part"), "{message}");
            record["location"].as_str().unwrap()
        })
        .collect();
    assert!(
        !left.is_empty(),
        "sixteen hosts were in one part of four inputs"
    );
    assert_eq!(count(&records, "error"), left.len());
    assert_eq!(
        world.server.summary().requests,
        96 - left.len() as u64,
        "what was followed, and no more"
    );
}

#[test]
fn what_becomes_a_get_says_nothing_of_a_body_that_it_does_not_have() {
    let world = World::new();
    let home = format!("{}/echo", world.server.base_url());
    let rows = [303, 307].map(|status| format!("{},deflate", to(&world, status, &home)));
    let rows = std::iter::once("url,coding".to_owned()).chain(rows);
    let list = world.write("urls.csv", rows);
    let request = ["-X", "POST", "--body", "letter", "-H", "X-Shop: env:SHOP"];
    let headers = [
        "-H",
        "Content-Type: text/x",
        "-H",
        "Content-Encoding: {coding}",
    ];
    let results = ["--redirects", "1", "--keep-body", "inline"];
    world.run(&list, &[&request[..], &headers, &results].concat());
    let records = world.records();
    let echo = |n: u64| records[&n]["body"]["text"].as_str().unwrap().to_lowercase();
    for (n, word, is_there) in [
        (0, "\"method\":\"get\"", true),
        (0, "x-shop", true),
        (0, "content-", false),
        (0, "letter", false),
        (1, "\"method\":\"post\"", true),
        (1, "text/x", true),
        (1, "deflate", true),
        (1, "letter", true),
    ] {
        assert_eq!(echo(n).contains(word), is_there, "{word}: {}", echo(n));
    }
}

#[test]
fn what_redirects_lead_to_does_not_depend_on_the_number_of_parts() {
    for (part_size, parts) in [("1000", 1), ("4", 10)] {
        let world = World::new();
        let port = world.port();
        let site = |n: u64| format!("s{n}.localhost:{port}");
        let lead = |n: u64| {
            let to = format!("http%3A%2F%2Fwww.{}%2Fr%2F{n}", site(n).replace(':', "%3A"));
            format!("http://{}/redirect/301/1?to={to}", site(n))
        };
        let list = world.write("urls.txt", (0..60).map(lead));
        world.run(&list, &["--part-size", part_size]);
        let records = world.records();
        let good = records.values().filter(|record| record["ok"] == true);
        assert_eq!(good.count(), 60, "{:?}", records[&0]);
        assert!(crate::support::files(&world.out().join("results")).len() >= parts);
        assert_eq!(
            records[&7]["location"],
            format!("http://www.{}/r/7", site(7))
        );
        assert_eq!(world.server.summary().requests, 120);
    }
}

#[test]
fn a_redirect_to_another_site_is_an_error_that_names_the_option() {
    let (world, other) = (World::new(), World::new());
    let place = format!("{}/r/1", other.server.base_url());
    let list = world.write("urls.txt", std::iter::once(to(&world, 302, &place)));
    world.run_to(3, &list, &[]);
    let record = &world.records()[&0];
    assert_eq!(
        (&record["error"]["kind"], &record["location"]),
        (&"redirect".into(), &place.into())
    );
    let message = record["error"]["message"].as_str().unwrap();
    assert!(message.contains("--redirects-to any"), "{message}");
    assert_eq!(other.server.summary().requests, 0);
}

#[test]
fn where_a_redirect_led_is_in_conditions_and_in_tables() {
    let world = World::new();
    let place = format!("{}/r/7", world.server.base_url());
    let plain = format!("{}/r/8", world.server.base_url());
    let list = world.write("urls.txt", [to(&world, 302, &place), plain].into_iter());
    world.run(
        &list,
        &["--check", "not location or location contains '/r/7'"],
    );
    assert!(world.records().values().all(|record| record["ok"] == true));
    let mut show = hecaton(&["fetch", "show", "--where", "location contains '/r/'"]);
    let shown = ending(show.arg(world.out()));
    assert_eq!(shown.stdout.lines().count(), 1, "{}", shown.stderr);
    let table = world.path("table.csv");
    let mut export = hecaton(&["fetch", "export", "--csv"]);
    let ended = ending(export.arg(&table).arg(world.out()));
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let table = std::fs::read_to_string(table).unwrap();
    let names: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let column = names.iter().position(|name| *name == "location").unwrap();
    let cells = table.lines().skip(1);
    let cells: Vec<&str> = cells.filter_map(|row| row.split(',').nth(column)).collect();
    assert!(
        cells.contains(&place.as_str()) && cells.contains(&""),
        "{table}"
    );
}
