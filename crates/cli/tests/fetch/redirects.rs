//! Redirects: each is a request of its own host, with that host's limits, and credentials stay at their origin.

use hecaton_e2e::peer::Peer;

use crate::sites::Site;
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
fn where_redirects_lead_no_more_are_in_flight_than_requested() {
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
    let target_url = format!("{}/echo?x", world.server.base_url());
    assert_eq!(record["location"], target_url);
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
    // The headers of a host follow the same rule, and those of the host where a redirect leads do not count.
    let own = |world: &World, language| {
        let host = world.server.base_url().replace("http://", "");
        let fields = format!("\"X-Shop: env:SHOP\", \"Accept-Language: {language}\"");
        format!("[{host:?}]\nheaders = [{fields}]\nbearer = \"env:SHOP\"")
    };
    let tables = [own(&world, "ga-IE"), own(&other, "fr-CA")];
    let hosts = world.write("hosts.toml", tables.into_iter());
    std::fs::remove_dir_all(world.out()).unwrap();
    let hosts = ["--hosts", hosts.to_str().unwrap()];
    world.run(&list, &[&arguments[..], &hosts].concat());
    let records = world.records();
    let echo = |n: u64| records[&n]["body"]["text"].as_str().unwrap().to_lowercase();
    for (n, credentials) in [(0, true), (1, false)] {
        let languages = ["ga-ie", "fr-ca"].map(|language| echo(n).contains(language));
        assert_eq!(languages, [true, false], "{}", echo(n));
        for name in ["x-shop", "authorization"] {
            assert_eq!(echo(n).contains(name), credentials, "{}", echo(n));
        }
    }
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

/// A URL on the first host that redirects to each of the others in turn, and ends at `/r/<id>` of the last.
fn chain(port: &str, status: u16, hosts: &[u64], id: u64) -> String {
    let base = |host: u64| format!("http://h{host}.localhost:{port}");
    let (last, before) = hosts.split_last().unwrap();
    let end = format!("{}/r/{id}", base(*last));
    before.iter().rev().fold(end, |url, host| {
        let to: String = url.bytes().map(|byte| format!("%{byte:02X}")).collect();
        format!("{}/redirect/{status}/1?to={to}", base(*host))
    })
}

/// Lists with redirects of one, two and three steps, to hosts of whatever part.
fn chains(world: &World) -> Vec<String> {
    let port = world.port();
    let own = (0..32).map(|n| chain(&port, 302, &[n % 16], n));
    let one = (0..16).map(|n| chain(&port, 302, &[n, (n + 5) % 16], 100 + n));
    let two = (0..16).map(|n| chain(&port, 301, &[n, (n + 3) % 16, (n + 7) % 16], 200 + n));
    // There and back.
    let back = (0..16).map(|n| chain(&port, 307, &[n, (n + 3) % 16, n, (n + 1) % 16], 300 + n));
    own.chain(one).chain(two).chain(back).collect()
}

#[test]
fn redirects_to_any_host_have_the_same_result_with_any_number_of_parts() {
    let mut results = Vec::new();
    for (part_size, parts) in [("1000", 1), ("4", 8), ("20", 2)] {
        let world = World::new();
        let list = world.write("urls.txt", chains(&world).into_iter());
        let arguments = ["--redirects-to", "any", "--part-size", part_size];
        world.run(
            &list,
            &[&arguments[..], &["--final-tables", "csv"]].concat(),
        );
        assert!(crate::support::files(&world.out().join("results")).len() >= parts);
        let port = world.port();
        let records = world.records();
        let facts = records.iter().map(|(number, record)| {
            let location = record["location"].as_str().unwrap_or_default();
            let location = location.replace(&port, "PORT");
            (
                *number,
                record["outcome"].clone(),
                record["ok"].clone(),
                record["attempts"].clone(),
                location,
            )
        });
        results.push(facts.collect::<Vec<_>>());
        assert_eq!((records.len(), count(&records, "response")), (80, 80));
        let seen = world.server.summary();
        assert_eq!(seen.requests, 32 + 2 * 16 + 3 * 16 + 4 * 16);
        assert!(!world.out().join("again").exists());
        let table = std::fs::read_to_string(world.out().join("table.csv")).unwrap();
        assert_eq!(table.matches(",response,").count(), 80, "{table}");
        // Nothing is left to do.
        world.run(&list, &arguments);
        assert_eq!(world.server.summary().requests, seen.requests);
    }
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
}

#[test]
fn the_limit_of_redirects_holds_over_rounds() {
    for part_size in ["1000", "1"] {
        let world = World::new();
        let port = world.port();
        let lines = (0..16).map(|n| chain(&port, 302, &[n, (n + 3) % 16, (n + 7) % 16, n], n));
        let list = world.write("urls.txt", lines);
        let arguments = [
            "--redirects-to",
            "any",
            "--redirects",
            "2",
            "--part-size",
            part_size,
        ];
        world.run_to(3, &list, &arguments);
        let records = world.records();
        assert_eq!(count(&records, "error"), 16);
        for record in records.values() {
            let message = record["error"]["message"].as_str().unwrap();
            assert!(message.contains("allowed 2"), "{message}");
        }
        assert_eq!(world.server.summary().requests, 48);
    }
}

#[test]
fn a_post_over_parts_is_sent_once_at_each_step_and_again_follows_too() {
    let world = World::new();
    let port = world.port();
    let lines = (0..16).map(|n| chain(&port, 307, &[n, (n + 5) % 16], n));
    let list = world.write("urls.txt", lines);
    let arguments = [
        "-X",
        "POST",
        "--body",
        "x",
        "--redirects-to",
        "any",
        "--part-size",
        "1",
    ];
    world.run(&list, &arguments);
    assert_eq!(count(&world.records(), "response"), 16);
    assert_eq!(world.server.summary().requests, 32);
    let mut again = hecaton(&["fetch", "again"]);
    let ended = ending(again.arg(world.out()).args(["--where", "n < 8"]));
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert_eq!(count(&world.records(), "response"), 16);
    assert_eq!(world.server.summary().requests, 48);
}

#[test]
fn single_parts_leave_redirects_to_the_command_that_ends_the_job() {
    let world = World::new();
    let list = world.write("urls.txt", chains(&world).into_iter());
    let mut plan = hecaton(&["fetch", "plan"]);
    plan.arg(&list).arg("-o").arg(world.out());
    let planned = ending(plan.args(["--part-size", "10", "--redirects-to", "any"]));
    let parts: u32 = planned.stdout.trim().parse().unwrap();
    for part in 0..parts {
        let mut run = hecaton(&["fetch", "run-part"]);
        let ended = ending(run.arg(world.out()).arg(part.to_string()));
        assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    }
    let records = world.records();
    assert!(count(&records, "onward") > 0);
    let status = ending(hecaton(&["fetch", "status"]).arg(world.out())).stdout;
    assert!(status.contains("outcome == 'onward'"), "{status}");
    let ended = ending(hecaton(&["fetch", "-o"]).arg(world.out()));
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    assert_eq!(count(&world.records(), "response"), 80);
}

#[test]
fn a_post_is_not_done_by_a_get_of_another_page() {
    let world = World::new();
    let moved = [301, 302].map(|status| to(&world, status, "/echo"));
    let list = world.write("urls.txt", moved.into_iter());
    let request = ["-X", "POST", "--body", "letter"];
    world.run_to(3, &list, &request);
    for (number, status) in [(0, 301), (1, 302)] {
        let record = &world.records()[&number];
        assert_eq!(
            (&record["outcome"], &record["ok"], &record["status"]),
            (&"response".into(), &false.into(), &status.into())
        );
        assert_eq!(
            record["location"],
            format!("{}/echo", world.server.base_url())
        );
        let why = record["why"].as_str().unwrap();
        assert!(why.contains("would go on as a GET"), "{why}");
    }
    assert_eq!(world.server.summary().requests, 2);
    // Nothing sends such a request again but a condition that names it.
    let ended = ending(hecaton(&["fetch", "again"]).arg(world.out()));
    assert_eq!(world.server.summary().requests, 2, "{}", ended.stderr);
    // A condition can call the redirect good.
    std::fs::remove_dir_all(world.out()).unwrap();
    world.run_to(
        0,
        &list,
        &[&request[..], &["--check", "status < 400"]].concat(),
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
    let target_url = format!("{}/r/1", other.server.base_url());
    let list = world.write("urls.txt", std::iter::once(to(&world, 302, &target_url)));
    world.run_to(3, &list, &[]);
    let record = &world.records()[&0];
    assert_eq!(
        (&record["error"]["kind"], &record["location"]),
        (&"redirect".into(), &target_url.into())
    );
    let message = record["error"]["message"].as_str().unwrap();
    assert!(message.contains("--redirects-to any"), "{message}");
    assert_eq!(other.server.summary().requests, 0);
}

#[test]
fn where_a_redirect_led_is_in_conditions_and_in_tables() {
    let world = World::new();
    let target_url = format!("{}/r/7", world.server.base_url());
    let plain = format!("{}/r/8", world.server.base_url());
    let list = world.write(
        "urls.txt",
        [to(&world, 302, &target_url), plain].into_iter(),
    );
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
        cells.contains(&target_url.as_str()) && cells.contains(&""),
        "{table}"
    );
}

#[test]
fn a_redirect_that_is_refused_has_its_status_and_one_in_latin_1_is_followed() {
    let world = World::new();
    let site = Site::start(&[]);
    let abroad = format!("http://{}/page", site.address);
    let list = world.write("urls.txt", [to(&world, 302, &abroad)].into_iter());
    world.run_to(3, &list, &[]);
    let record = &world.records()[&0];
    assert_eq!(
        (&record["error"]["kind"], &record["status"]),
        (&"redirect".into(), &302.into())
    );
    let latin = World::new();
    let peer = latin_1();
    let address = peer.address();
    let list = latin.write("urls.txt", [format!("http://{address}/")].into_iter());
    latin.run(&list, &[]);
    let record = &latin.records()[&0];
    assert_eq!(
        (&record["status"], &record["location"]),
        (&200.into(), &format!("http://{address}/caf%e9").into())
    );
}

/// A server whose redirect has a path in ISO 8859-1, where everything else is a page.
fn latin_1() -> Peer {
    Peer::responding(|request| {
        let response: &[u8] = match request.target() {
            "/" => b"302 Found\r\nLocation: /caf\xe9",
            "/caf%e9" => b"200 OK",
            _ => b"404 Not Found",
        };
        [b"HTTP/1.1 ", response, b"\r\nContent-Length: 0\r\n\r\n"].concat()
    })
}
