//! Pages: each response names the next one, and each page has a record of its input.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::paged_server::PagedServer;
use crate::scripted_server::{Scripted, response};
use crate::sites::Site;
use crate::support::{World, end_of, ending, files, hecaton, until};

const NEXT: [&str; 2] = ["--next", "json:/next"];

/// The pages of each input, in order; all but the last say that more follow.
fn pages(world: &World) -> BTreeMap<u64, Vec<Value>> {
    let mut inputs: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
    for line in world.lines() {
        let number = line["n"].as_u64().expect("a number");
        inputs.entry(number).or_default().push(line);
    }
    for pages in inputs.values() {
        let more = pages.iter().map(|page| page["more"] == true);
        let last = pages.len() - 1;
        assert!(
            more.eq((0..pages.len()).map(|page| page < last)),
            "{pages:?}"
        );
    }
    inputs
}

fn numbers(pages: &[Value]) -> Vec<u64> {
    pages
        .iter()
        .filter_map(|page| page["page"].as_u64())
        .collect()
}

#[test]
fn each_page_is_a_record_of_its_input() {
    for (form, next) in [
        ("json", "json:/next"),
        ("link", "link:next"),
        ("json", "re:\"next\":\"([^\"]*)"),
    ] {
        let (world, server) = (World::new(), PagedServer::start());
        let list = world.write("urls.txt", server.urls(form, 6, 3));
        world.run(&list, &["--next", next, "--part-size", "2"]);
        let inputs = pages(&world);
        assert_eq!(inputs.len(), 6, "{next}");
        for (number, pages) in &inputs {
            assert_eq!(numbers(pages), [1, 2, 3], "{next}");
            assert!(
                pages
                    .iter()
                    .all(|page| page["ok"] == true && page["attempts"] == 1)
            );
            assert!(pages[0]["location"].is_null());
            let third = format!("/{form}/{number}/3/3");
            assert!(pages[2]["location"].as_str().unwrap().ends_with(&third));
        }
        let requests = server.requests();
        assert!(
            requests.len() == 18 && requests.values().all(|count| *count == 1),
            "{requests:?}"
        );
        let mut export = hecaton(&["fetch", "export", "--csv", "-"]);
        let table = ending(export.arg(world.out()));
        assert_eq!(table.stdout.lines().count(), 19, "{}", table.stderr);
        assert!(
            table.stdout.lines().next().unwrap().contains(",page,"),
            "{}",
            table.stdout
        );
        let mut show = hecaton(&["fetch", "show", "--where", "page == 2 and more"]);
        assert_eq!(ending(show.arg(world.out())).stdout.lines().count(), 6);
    }
}

#[test]
fn the_next_page_is_where_the_page_and_its_header_say() {
    let server = Scripted::start(|path, _| match path {
        "/cat/1" => response(200, "", "<base href='/shop/'><a class=next href=2>more</a>"),
        "/link" => response(200, "Link: </last>; rel='next'\r\n", ""),
        "/torn" => response(200, "Link: </last; rel=next\r\n", ""),
        "/shop/2" | "/last" => response(200, "", ""),
        _ => response(404, "", ""),
    });
    for (path, next, last) in [
        ("/cat/1", "css:a.next@href", "/shop/2"),
        ("/link", "link:next", "/last"),
    ] {
        let world = World::new();
        let list = world.write("urls.txt", std::iter::once(server.url(path)));
        world.run_to(0, &list, &["--next", next]);
        assert_eq!(world.records()[&0]["location"], server.url(last));
    }
    let world = World::new();
    let list = world.write("urls.txt", std::iter::once(server.url("/torn")));
    world.run_to(3, &list, &["--next", "link:next"]);
    let why = world.records()[&0]["why"].to_string();
    assert!(why.contains("nobody knows the next page"), "{why}");
}

#[test]
fn pages_end_where_nobody_may_or_can_follow() {
    for (form, requests, why) in [
        ("forever", 4, "more pages than the allowed 4"),
        ("loop", 3, "was fetched before"),
        ("away", 1, "leads to another site"),
        ("text", 1, "is not JSON"),
    ] {
        let (world, server) = (World::new(), PagedServer::start());
        let list = world.write("urls.txt", server.urls(form, 2, 3));
        world.run_to(3, &list, &[&NEXT[..], &["--max-pages", "4"]].concat());
        assert_eq!(server.count(), 2 * requests, "{form}");
        for pages in pages(&world).values() {
            assert_eq!(numbers(pages), (1..=requests).collect::<Vec<_>>(), "{form}");
            let (last, others) = pages.split_last().unwrap();
            assert!(others.iter().all(|page| page["ok"] == true));
            assert_eq!((&last["ok"], &last["status"]), (&false.into(), &200.into()));
            let told = last["why"].as_str().unwrap();
            assert!(told.contains(why), "{form}: {told}");
            let location = last["location"].as_str();
            let is_named = location.is_some_and(|location| told.contains(location));
            assert_eq!(is_named, form != "text", "{form}: {last}");
        }
    }
}

#[test]
fn pages_on_many_hosts_are_the_same_with_any_number_of_parts() {
    let mut all = Vec::new();
    for size in ["1000", "2"] {
        let (world, server) = (World::new(), PagedServer::start());
        let urls = server.urls("hop", 6, 5);
        let urls = urls.enumerate().map(|(input, url)| {
            let host = format!("h{input}.test");
            url.replace("127.0.0.1", &host)
        });
        let list = world.write("urls.txt", urls);
        let resolve = format!("*:{}:127.0.0.1", server.port);
        let ended = world.run(
            &list,
            &[
                &NEXT[..],
                &["--part-size", size, "--redirects-to", "any"],
                &["--resolve", &resolve, "--allow-address", "any"],
            ]
            .concat(),
        );
        assert_eq!(ended.status, Some(0), "{}", ended.stderr);
        let parts = files(&world.out().join("results")).len();
        assert_eq!(parts > 1, size == "2", "{parts} parts");
        assert_eq!(server.count(), 30);
        let inputs = pages(&world);
        for pages in inputs.values() {
            assert_eq!(numbers(pages), [1, 2, 3, 4, 5]);
        }
        let path = |page: &Value| {
            let url = page["location"].as_str().or(page["url"].as_str());
            url.and_then(|url| url.split("/hop").nth(1))
                .map(str::to_owned)
        };
        let paths = inputs.values().flatten().map(path);
        all.push(paths.collect::<Vec<_>>());
    }
    assert_eq!(all[0], all[1]);
}

#[test]
fn a_page_may_be_redirected() {
    let (world, server) = (World::new(), PagedServer::start());
    let list = world.write("urls.txt", server.urls("redirect", 2, 3));
    world.run(&list, &NEXT);
    for pages in pages(&world).values() {
        assert_eq!(numbers(pages), [1, 2, 3]);
        let ends: Vec<&str> = pages
            .iter()
            .filter_map(|page| page["location"].as_str())
            .collect();
        assert!(
            ends[0].ends_with("/3") && ends[1].ends_with("/4"),
            "{ends:?}"
        );
    }
}

#[test]
fn a_page_that_fails_is_the_last_and_again_begins_with_the_first() {
    let (world, server) = (World::new(), PagedServer::start());
    let list = world.write(
        "urls.txt",
        server.urls("broken", 3, 3).chain(server.urls("json", 1, 2)),
    );
    world.run(&list, &NEXT);
    let first = pages(&world);
    assert_eq!(
        first.values().map(Vec::len).collect::<Vec<_>>(),
        [2, 2, 2, 2]
    );
    assert_eq!(
        (&first[&0][1]["status"], &first[&0][1]["ok"]),
        (&404.into(), &false.into())
    );
    server.is_broken.store(false, Ordering::SeqCst);
    let mut again = hecaton(&["fetch", "again", "--where", "status == 404"]);
    let again = ending(again.arg(world.out()));
    assert_eq!(again.status, Some(0), "{}", again.stderr);
    for (number, pages) in pages(&world) {
        let expected: &[u64] = if number < 3 { &[1, 2, 3] } else { &[1, 2] };
        assert_eq!(numbers(&pages), expected);
    }
}

#[test]
fn a_table_of_items_names_the_inputs_that_lack_pages() {
    let (world, server) = (World::new(), PagedServer::start());
    let list = world.write(
        "urls.txt",
        server.urls("json", 1, 2).chain(server.urls("broken", 2, 3)),
    );
    let ended = world.run_to(
        4,
        &list,
        &[&NEXT[..], &["--take", "pages[]=/page"]].concat(),
    );
    assert!(
        ended.stderr.contains("3 records and 3 earlier pages"),
        "{}",
        ended.stderr
    );
    let export = || {
        let mut command = hecaton(&["fetch", "export", "--items", "pages", "--csv", "-"]);
        ending(command.arg(world.out()))
    };
    let ended = export();
    assert_eq!(ended.status, Some(4), "{}", ended.stderr);
    let says =
        "items are missing of 2 inputs, which have no good response or not all pages (n 1, 2)";
    assert!(ended.stderr.contains(says), "{}", ended.stderr);
    server.is_broken.store(false, Ordering::SeqCst);
    let mut again = hecaton(&["fetch", "again", "--where", "not ok"]);
    assert_eq!(ending(again.arg(world.out())).status, Some(0));
    let ended = export();
    assert_eq!((ended.status, ended.stdout.lines().count()), (Some(0), 9));
}

#[test]
fn the_progress_counts_pages() {
    let server = Scripted::start(|path, _| {
        let number: u32 = path[1..].parse().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        response(200, "", &format!("{{\"next\":\"/{}\"}}", number + 1))
    });
    let world = World::new();
    let list = world.write("urls.txt", std::iter::once(server.url("/0")));
    let arguments = ["--max-pages", "100", "--log-every", "1ms"];
    let ended = world.run_to(3, &list, &[&NEXT[..], &arguments].concat());
    let lines = ended.stderr.lines().filter(|line| line.starts_with('{'));
    let lines: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of_pages = |line: &&Value| line["pages"].as_u64() > Some(0) && line["records"] == 0;
    let with_pages: Vec<_> = lines.iter().filter(of_pages).collect();
    assert!(!with_pages.is_empty(), "{lines:?}");
    assert!(
        with_pages
            .iter()
            .any(|line| line["rate"].as_f64() > Some(0.0)),
        "{lines:?}"
    );
}

#[test]
fn kills_between_pages_leave_each_page_once() {
    const INPUTS: u32 = 60;
    const PAGES: u32 = 8;
    let (world, server) = (World::new(), PagedServer::start());
    let list = world.write("urls.txt", server.urls("json", INPUTS, PAGES));
    let arguments = [
        &NEXT[..],
        &["-c", "4", "--rate", "200", "--part-size", "30"],
    ]
    .concat();
    for kills in 1..=4 {
        let at = server.count() + 30 + 17 * kills;
        let child = world.fetch(&list, &arguments).spawn().unwrap();
        until(|| server.count() >= at);
        kill(Pid::from_raw(child.id() as i32), Signal::SIGKILL).unwrap();
        assert_eq!(end_of(child).status, None, "kill {kills} came too late");
    }
    world.run(&list, &arguments);
    let inputs = pages(&world);
    assert_eq!(inputs.len(), INPUTS as usize);
    let all: Vec<u64> = (1..=u64::from(PAGES)).collect();
    for (number, pages) in &inputs {
        assert_eq!(numbers(pages), all, "input {number}");
    }
    // An input with a record was not requested again. Only inputs in flight or in an unwritten frame were.
    let repeated = server.count() - u64::from(INPUTS * PAGES);
    assert!(
        repeated < u64::from(INPUTS * PAGES),
        "{repeated} were repeated"
    );
}

#[test]
fn pages_are_requests_like_any_other() {
    let (world, server) = (World::new(), PagedServer::start());
    let list = world.write("urls.txt", server.urls("json", 4, 3));
    world.run(&list, &[&NEXT[..], &["--robots"]].concat());
    let inputs = pages(&world);
    assert_eq!(numbers(&inputs[&2]), [1, 2, 3]);
    let forbidden = &inputs[&3];
    assert_eq!(
        (forbidden.len(), &forbidden[1]["why"]),
        (2, &"robots".into())
    );
    // At one request in a thousand seconds, the second page is not sent after the first.
    let (world, server) = (World::new(), PagedServer::start());
    let list = world.write("urls.txt", server.urls("json", 1, 3));
    let slow = world
        .fetch(&list, &[&NEXT[..], &["--rate", "0.001"]].concat())
        .spawn();
    let mut slow = slow.unwrap();
    until(|| server.count() > 0);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(server.count(), 1);
    // Until its last page is there, an input is not done, and a table says so.
    let export = || ending(hecaton(&["fetch", "export", "--csv", "-"]).arg(world.out()));
    until(|| export().stdout.lines().count() == 2);
    let said = export().stderr;
    let words = "the job is not done: the table has all records of 0 of 1 input";
    assert!(said.contains(words), "{said}");
    slow.kill().unwrap();
    slow.wait().unwrap();
}

#[test]
fn a_page_of_a_stranger_does_not_lead_into_ones_own_network() {
    let (world, server) = (World::new(), PagedServer::start());
    let port = server.port;
    let list = world.write(
        "urls.txt",
        std::iter::once(format!("http://shop.example:{port}/away/0/3/1")),
    );
    let known = format!("shop.example:{port}:127.0.0.1");
    world.run_to(
        3,
        &list,
        &[&NEXT[..], &["--resolve", &known, "--redirects-to", "any"]].concat(),
    );
    let pages = &pages(&world)[&0];
    let why = pages[0]["why"].as_str().unwrap();
    assert!(why.contains("network of your own"), "{why}");
    assert_eq!(server.count(), 1);
}

#[test]
fn the_bodies_of_all_pages_are_archived() {
    let (world, server) = (World::new(), PagedServer::start());
    let urls = server.urls("json", 3, 3).chain(server.urls("long", 2, 3));
    let list = world.write("urls.txt", urls);
    let arguments = ["--keep-body", "warc", "--proxy", "none"];
    world.run(&list, &[&NEXT[..], &arguments].concat());
    let bodies = world.out().join("bodies");
    // The last pages of the two long inputs are equal, so that one refers to the other.
    for (line, expected) in [
        ("WARC-Type: response", "14"),
        ("WARC-Type: revisit", "1"),
        ("WARC-IP-Address: 127.0.0.1", "15"),
    ] {
        let how = format!("cat {}/* | zcat | grep -ac '{line}'", bodies.display());
        let found = ending(
            Command::new("sh")
                .args(["-c", &how])
                .stdout(std::process::Stdio::piped()),
        );
        assert_eq!(found.stdout.trim(), expected, "{line}");
    }
    let mut places: Vec<String> = world
        .lines()
        .iter()
        .map(|page| page["body"].to_string())
        .collect();
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), 14);
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let (world, server) = (World::new(), PagedServer::start());
    let list = world.write("urls.txt", server.urls("json", 1, 3));
    for (arguments, word) in [
        (&["--next", "/next"][..], "json:/POINTER"),
        (&["--next", "link:next", "-X", "POST"], "GET requests"),
        (
            &["--next", "link:next", "--keep-body", "files"],
            "inline, warc or none",
        ),
        (&["--next", "link:next", "--max-pages", "0"], "max_pages 0"),
    ] {
        let refused = world.run_to(2, &list, arguments);
        assert!(refused.stderr.contains(word), "{}", refused.stderr);
    }
    assert_eq!(server.count(), 0);
}

#[test]
fn a_cursor_or_a_number_goes_into_a_parameter_and_is_not_taken_for_a_url() {
    let site = Site::start(&[
        (
            "/list?l=5",
            "{\"cursor\":\"a/b=\",\"page\":1,\"time\":1.50e3}",
        ),
        ("/list?l=5&after=a%2Fb%3D", "{\"cursor\":null}"),
        ("/list?l=5&page=1", "{\"page\":null}"),
        ("/list?l=5&time=1.50e3", "{\"time\":null}"),
    ]);
    let url = format!("http://{}/list?l=5", site.address);
    for (next, second) in [
        ("json:/cursor -> ?after={}", "after=a%2Fb%3D"),
        ("json:/page -> ?page={}", "page=1"),
        ("json:/time -> ?time={}", "time=1.50e3"),
    ] {
        let world = World::new();
        let list = world.write("urls.txt", [url.clone()].into_iter());
        world.run(&list, &["--next", next]);
        let pages = &pages(&world)[&0];
        assert_eq!(numbers(pages), [1, 2], "{next}");
        assert_eq!(pages[1]["location"], format!("{url}&{second}"));
    }
    let world = World::new();
    let list = world.write("urls.txt", [url].into_iter());
    world.run_to(3, &list, &["--next", "json:/cursor"]);
    let why = world.records()[&0]["why"].to_string();
    assert!(why.contains("json:/cursor -> ?cursor={}"), "{why}");
}
