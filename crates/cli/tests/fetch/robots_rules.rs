//! Which rules of a robots.txt apply to which URLs, and how slow a host may be.

use hecaton_fetch::run::Snapshot;
use serde_json::Value;

use crate::scripted_server::{Scripted, Sent, response};
use crate::sites::Site;
use crate::support::{World, count, ending, hecaton, until};

/// The rules of a site that has others for two robots.
const GROUPS: &[(&str, &str)] = &[(
    "/robots.txt",
    "User-agent: ExampleBot\nDisallow: /page/1\n\nUser-agent: other\nDisallow: /page/2\n\nUser-agent: *\nDisallow: /page/3\n",
)];

/// Why each input of a job of three pages was skipped, and what the command said.
fn skipped(site: &Site, world: &World, arguments: &[&str]) -> (Vec<u64>, String) {
    let urls = (1..=3).map(|page| format!("http://{}/page/{page}", site.address));
    let list = world.write("urls.txt", urls);
    let ended = world.run(&list, &[&["--robots"], arguments].concat());
    let records = world.records();
    let skipped = records
        .iter()
        .filter(|(_, record)| record["why"] == "robots");
    (
        skipped.map(|(number, _)| number + 1).collect(),
        ended.stderr,
    )
}

#[test]
fn the_rules_hold_that_name_the_user_agent_which_is_sent() {
    const BROWSER_LIKE: &str = "Mozilla/5.0 (compatible; ExampleBot/1.2; +https://e.example/bot)";
    let site = Site::start(GROUPS);
    let hosts = World::new();
    let own = format!(
        "[\"{}\"]\nheaders = [\"User-Agent: Other/1\"]\n",
        site.address
    );
    let file = hosts.write("hosts.toml", [own].into_iter());
    let header = format!("User-Agent: {BROWSER_LIKE}");
    for (arguments, page, name, sent) in [
        (&[][..], 3, "hecaton", "hecaton/"),
        (
            &["--user-agent", BROWSER_LIKE],
            1,
            "ExampleBot",
            BROWSER_LIKE,
        ),
        (&["-H", &header], 1, "ExampleBot", BROWSER_LIKE),
        (
            &["--hosts", file.to_str().unwrap()],
            2,
            "Other, hecaton",
            "Other/1",
        ),
        (&["--robots-name", "other"], 2, "other", "hecaton/"),
    ] {
        let world = World::new();
        let before = site.heads().len();
        let (pages, said) = skipped(&site, &world, arguments);
        assert_eq!(pages, [page], "{arguments:?}");
        assert!(
            said.contains(&format!("robots.txt is obeyed as {name}\n")),
            "{said}"
        );
        for head in &site.heads()[before..] {
            assert!(
                head.to_ascii_lowercase()
                    .contains(&format!("user-agent: {}", sent.to_ascii_lowercase())),
                "{head}"
            );
        }
    }
}

#[test]
fn a_url_is_judged_as_it_is_sent_and_as_a_server_may_read_it() {
    let world = World::new();
    let site = Site::start(&[(
        "/robots.txt",
        "User-agent: *\nDisallow: /page/private\nDisallow: /?\n",
    )]);
    let paths = [
        "?x=1",
        "/page/a/../private/x",
        "/%2e/page/private/y",
        "/page/./private",
        "/page//private",
        "/page%2Fprivate",
        "/page/x?/../y",
    ];
    let urls = paths.map(|path| format!("http://{}{path}", site.address));
    let list = world.write("urls.txt", urls.into_iter());
    world.run(&list, &["--robots"]);
    let skipped: Vec<bool> = world
        .records()
        .values()
        .map(|record| record["why"] == "robots")
        .collect();
    assert_eq!(skipped, [true, true, true, true, true, true, false]);
    assert_eq!(site.paths(), ["/robots.txt", "/page/x?/../y"]);
}

#[test]
fn a_host_that_demands_too_slow_a_pace_is_skipped() {
    let site = Site::start(&[("/robots.txt", "User-agent: *\nCrawl-delay: 61\n")]);
    let world = World::new();
    let list = world.write(
        "urls.txt",
        [format!("http://{}/page/1", site.address)].into_iter(),
    );
    world.run_to(3, &list, &["--robots"]);
    let record = &world.records()[&0];
    assert_eq!(
        (&record["outcome"], &record["why"]),
        (&Value::from("skipped"), &Value::from("crawl delay"))
    );
    std::fs::remove_dir_all(world.out()).unwrap();
    world.run(&list, &["--robots", "--max-crawl-delay", "2m"]);
    assert_eq!(world.records()[&0]["status"], 200);
}

#[test]
fn the_time_that_is_left_has_the_crawl_delay_in_it() {
    let world = World::new();
    let site = Site::start(&[("/robots.txt", "User-agent: *\nCrawl-delay: 30\n")]);
    let urls = (0..100).map(|page| format!("http://{}/page/{page}", site.address));
    let list = world.write("urls.txt", urls);
    let mut child = world.fetch(&list, &["--robots"]).spawn().unwrap();
    let mut seen = Snapshot::default();
    until(|| {
        let text = std::fs::read(world.out().join("progress.json")).unwrap_or_default();
        seen = serde_json::from_slice(&text).unwrap_or_default();
        seen.tally.records > 0
    });
    let status = ending(hecaton(&["fetch", "status"]).arg(world.out()));
    child.kill().unwrap();
    child.wait().unwrap();
    // 99 inputs wait, thirty seconds each.
    assert_eq!(
        seen.left().map(|left| left >= 2900.0),
        Some(true),
        "{seen:?}"
    );
    assert!(status.stdout.contains(" 49 min "), "{}", status.stdout);
}

#[test]
fn a_redirect_into_a_forbidden_path_says_what_was_sent() {
    let redirect = |to: &str| {
        let head = format!("HTTP/1.1 302 X\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
        Sent::Kept(head.into_bytes())
    };
    let rules = "User-agent: *\nDisallow: /secret\n";
    let other = Scripted::start(move |_, _| response(200, "", rules));
    let abroad = other.url("/secret/2");
    let server = Scripted::start(move |path, _| match path {
        "/robots.txt" => response(200, "", rules),
        "/near" => redirect("/secret/1"),
        "/twice" => redirect("/near"),
        "/far" => redirect(&abroad),
        _ => response(200, "", ""),
    });
    let world = World::new();
    let paths = ["/near", "/twice", "/far", "/secret/3"];
    let list = world.write("urls.txt", paths.iter().map(|path| server.url(path)));
    world.run_to(3, &list, &["--robots", "--redirects-to", "any"]);
    let records = world.records();
    let near = server.url("/secret/1");
    for (number, attempts, location) in [
        (0, 1, Some(near.clone())),
        (1, 2, Some(near)),
        (2, 1, Some(other.url("/secret/2"))),
        (3, 0, None),
    ] {
        let record = &records[&number];
        assert_eq!(
            (&record["outcome"], &record["why"]),
            (&"skipped".into(), &"robots".into())
        );
        assert_eq!(record["attempts"], attempts, "{record}");
        assert_eq!(record["location"].as_str(), location.as_deref(), "{record}");
    }
    let statuses: Vec<_> = (0..4)
        .map(|number| records[&number]["status"].as_u64())
        .collect();
    assert_eq!(statuses, [Some(302), Some(302), Some(302), None]);
    let forbidden = server.came().into_iter().chain(other.came());
    assert!(
        !forbidden
            .into_iter()
            .any(|came| came.path.starts_with("/secret"))
    );
}

/// How often a robots.txt was requested.
fn files(paths: &[String]) -> usize {
    paths.iter().filter(|path| *path == "/robots.txt").count()
}

#[test]
fn rules_are_fetched_once_a_host_however_many_hosts_take_turns() {
    const HOSTS: u32 = 1300;
    let world = World::new();
    let site = Site::start(&[("/robots.txt", "User-agent: *\nDisallow: /page/1x\n")]);
    // Inputs so long that few of them wait at once: between two of a host, it has none that waits.
    let query = "q".repeat(8000);
    let url = |number: u32| {
        let (turn, host, port) = (number / HOSTS, number % HOSTS, site.address.port());
        format!("http://h{host}.localhost:{port}/page/{turn}x?{query}")
    };
    let list = world.write("urls.txt", (0..3 * HOSTS).map(url));
    world.run(&list, &["--robots"]);
    let records = world.records();
    let hosts = HOSTS as usize;
    assert_eq!(count(&records, "response"), 2 * hosts);
    assert_eq!(count(&records, "skipped"), hosts);
    assert_eq!(files(&site.paths()), hosts);
}

#[test]
fn parts_that_share_a_host_share_its_rules() {
    let world = World::new();
    let site = Site::start(&[("/robots.txt", "User-agent: *\nDisallow: /page/secret\n")]);
    let page = |n: u32| match n % 4 {
        0 => format!("secret/{n}"),
        _ => n.to_string(),
    };
    let urls = (0..40).map(|n| format!("http://{}/page/{}", site.address, page(n)));
    let list = world.write("urls.txt", urls);
    let parts = ["--per-host", "4", "--part-size", "10", "--threads", "4"];
    world.run(&list, &[&["--robots"], &parts[..]].concat());
    let records = world.records();
    assert_eq!(
        (count(&records, "response"), count(&records, "skipped")),
        (30, 10)
    );
    let paths = site.paths();
    assert_eq!((&*paths[0], files(&paths)), ("/robots.txt", 1));
}

#[test]
fn redirects_into_another_part_find_the_rules_that_it_fetched() {
    let other = Scripted::start(|_, _| response(200, "", ""));
    let abroad = other.url("/page/2");
    let server = Scripted::start(move |path, _| match path {
        "/page/1" => response(302, &format!("Location: {abroad}\r\n"), ""),
        _ => response(200, "", ""),
    });
    let world = World::new();
    let urls = [server.url("/page/1"), other.url("/page/3")];
    let list = world.write("urls.txt", urls.into_iter());
    let parts = ["--redirects-to", "any", "--part-size", "1"];
    world.run(&list, &[&["--robots"], &parts[..]].concat());
    let paths = |server: &Scripted| {
        let came = server.came().into_iter();
        let mut paths: Vec<String> = came.map(|came| came.path).collect();
        paths.sort_unstable();
        paths
    };
    assert_eq!(paths(&server), ["/page/1", "/robots.txt"]);
    assert_eq!(paths(&other), ["/page/2", "/page/3", "/robots.txt"]);
}
