//! Sites describe themselves: robots.txt and sitemaps.

use std::io::Write;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use hecaton_e2e::peer::{Peer, Reply, Requests, response as text};
use serde_json::Value;

use crate::scripted_server::{Scripted, Sent, response};
use crate::support::{Ending, World, count, ending, files, hecaton, until};

/// A server that knows some paths, and notes what is requested.
pub struct Site {
    /// Where it listens.
    pub address: SocketAddr,
    peer: Peer,
}

impl Site {
    /// One with these pages, in which `BASE` is its own address, and a page for every path that begins with `/page`.
    pub fn start(pages: &'static [(&'static str, &'static str)]) -> Site {
        let peer = Peer::responding(move |request| {
            let path = request.target();
            let page = pages.iter().find(|(known, _)| *known == path);
            let here = format!("http://{}", request.field("host").unwrap_or_default());
            let body = page.map_or(String::new(), |(_, page)| page.replace("BASE", &here));
            let status = match page.is_some() || path.starts_with("/page") {
                true => 200,
                false => 404,
            };
            Reply::Closed(text(status, "connection: close\r\n", &body).into())
        });
        let address = peer.address();
        Site { address, peer }
    }

    /// The paths of all requests so far.
    pub fn paths(&self) -> Vec<String> {
        let requests = self.peer.requests().into_iter();
        requests.map(|it| it.target().to_owned()).collect()
    }

    /// The heads of all requests so far.
    pub fn heads(&self) -> Vec<String> {
        let requests = self.peer.requests().into_iter();
        requests.map(|it| it.text).collect()
    }
}

#[test]
fn what_robots_txt_forbids_is_skipped_and_it_is_fetched_first_and_once() {
    let world = World::new();
    let site = Site::start(&[("/robots.txt", "User-agent: *\nDisallow: /page/secret\n")]);
    let paths = (0..20).map(|n| {
        if n % 4 == 0 {
            format!("secret/{n}")
        } else {
            format!("{n}")
        }
    });
    let list = world.write(
        "urls.txt",
        paths.map(|path| format!("http://{}/page/{path}", site.address)),
    );
    world.run(&list, &["--robots"]);
    let records = world.records();
    assert_eq!(records.len(), 20);
    assert_eq!(
        (count(&records, "response"), count(&records, "skipped")),
        (15, 5)
    );
    assert_eq!(records[&4]["why"], "robots");
    let paths = site.paths();
    assert_eq!(paths[0], "/robots.txt");
    assert_eq!(paths.len(), 16, "{paths:?}");
    assert!(!paths.iter().any(|path| path.contains("secret")));
}

#[test]
fn a_crawl_delay_is_time_between_two_requests() {
    let world = World::new();
    let site = Site::start(&[("/robots.txt", "User-agent: *\nCrawl-delay: 0.3\n")]);
    let list = world.write(
        "urls.txt",
        (0..4).map(|n| format!("http://{}/page/{n}", site.address)),
    );
    let begun = SystemTime::now();
    world.run(&list, &["--robots"]);
    // A start that is late does not put off those after it, so each is compared with the beginning.
    let starts = starts(&world, begun);
    for (index, since) in starts.iter().enumerate() {
        assert!(*since >= index as u128 * 300, "{starts:?}");
    }
}

/// When each request was sent, in milliseconds since then and in order. Records have whole milliseconds.
fn starts(world: &World, begun: SystemTime) -> Vec<u128> {
    let records = world.records();
    let starts = records.values().map(|record| {
        let at = humantime::parse_rfc3339(record["at"].as_str().unwrap()).unwrap();
        at.duration_since(begun).unwrap_or_default().as_millis() + 2
    });
    let mut starts: Vec<u128> = starts.collect();
    starts.sort_unstable();
    starts
}

#[test]
fn a_crawl_delay_holds_over_all_threads() {
    const DELAY: u128 = 100;
    let world = World::new();
    let site = Site::start(&[("/robots.txt", "User-agent: *\nCrawl-delay: 0.1\n")]);
    let urls = (0..40).map(|n| format!("http://{}/page/{n}", site.address));
    let list = world.write("urls.txt", urls);
    let shards = ["--robots", "--per-host", "4", "--part-size", "10"];
    let begun = SystemTime::now();
    world.run(&list, &[&shards[..], &["--threads", "4"]].concat());
    assert_eq!(files(&world.out().join("results")).len(), 4);
    assert_eq!(count(&world.records(), "response"), 40);
    // Each of the four parts may begin at once, and is then four times as slow.
    let starts = starts(&world, begun);
    for (index, since) in starts.iter().enumerate() {
        let may_be = 4 + since / DELAY;
        assert!(
            index as u128 <= may_be,
            "{index} after {since} ms: {starts:?}"
        );
    }
}

#[test]
fn robots_that_hang_let_nobody_in_and_end() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let list = world.write(
        "urls.txt",
        (0..5).map(|n| format!("http://{address}/page/{n}")),
    );
    world.run_to(
        3,
        &list,
        &["--robots", "--timeout", "300ms", "--retries", "0"],
    );
    let records = world.records();
    assert_eq!(count(&records, "unreached"), 5);
    assert_eq!(records[&0]["why"], "its host's robots.txt could not be had");
    // The default condition of `again` has unreached inputs.
    let again = ending(hecaton(&["fetch", "again", "--plan"]).arg(world.out()));
    assert_eq!(again.stdout.trim(), "1", "{}", again.stderr);
}

/// A server whose robots.txt is a redirect to this URL, or path, and whose `/rules` forbid `/page/secret`.
fn redirecting(location: String) -> Peer {
    Peer::responding(move |request| match request.target() {
        "/robots.txt" => text(302, &format!("location: {location}\r\n"), ""),
        "/rules" => text(200, "", "User-agent: *\nDisallow: /page/secret\n"),
        _ => text(200, "", "page"),
    })
}

#[test]
fn a_robots_txt_that_is_elsewhere_is_found_but_not_in_ones_own_network() {
    let inside = Site::start(&[("/robots.txt", "User-agent: *\nDisallow: /\n")]);
    for (location, secrets) in [
        ("/rules".to_owned(), 1),
        (format!("http://{}/robots.txt", inside.address), 0),
    ] {
        let world = World::new();
        let peer = redirecting(location.clone());
        let port = peer.port();
        let urls =
            ["a", "secret", "b"].map(|page| format!("http://host.example:{port}/page/{page}"));
        let list = world.write("urls.txt", urls.into_iter());
        let known = format!("host.example:{port}:127.0.0.1");
        world.run(&list, &["--robots", "--resolve", &known]);
        let records = world.records();
        assert_eq!(count(&records, "skipped"), secrets, "{location}");
        assert_eq!(count(&records, "response"), 3 - secrets, "{location}");
    }
    assert_eq!(inside.paths(), [""; 0]);
}

/// A server whose robots.txt forbids `/page/0` and then has comments without end; it counts the bytes that it sent.
fn endless() -> (Peer, Arc<AtomicUsize>) {
    let sent = Arc::new(AtomicUsize::new(0));
    let count = sent.clone();
    let peer = Peer::playing(move |mut stream, _| {
        let head = stream.head().unwrap_or_default();
        if !head.starts_with("GET /robots.txt ") {
            let _ = stream.write_all(text(200, "connection: close\r\n", "").as_bytes());
            return;
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nUser-agent: *\nDisallow: /page/0\n");
        let rubbish = b"# a comment that goes on\n".repeat(4096);
        while stream.write_all(&rubbish).is_ok() {
            count.fetch_add(rubbish.len(), Ordering::SeqCst);
        }
    });
    (peer, sent)
}

#[test]
fn a_robots_txt_without_end_counts_as_far_as_it_is_read() {
    let world = World::new();
    let (peer, sent) = endless();
    let urls = (0..5).map(|n| peer.url(&format!("/page/{n}")));
    let list = world.write("urls.txt", urls);
    world.run(&list, &["--robots", "--max-body", "1000"]);
    let records = world.records();
    assert_eq!(records[&0]["why"], "robots");
    assert_eq!(count(&records, "response"), 4, "{records:?}");
    // The socket buffers take some bytes that nobody reads.
    let sent = sent.load(Ordering::SeqCst);
    assert!((512 << 10..64 << 20).contains(&sent), "{sent}");
}

#[test]
fn rules_of_more_hosts_than_fit_hold() {
    let world = World::new();
    let long = format!("Disallow: /{}\n", "x".repeat(1000)).repeat(500);
    let robots = format!("User-agent: *\nDisallow: /page/secret\n{long}");
    let page: &'static [(&str, &str)] = Box::leak(Box::new([(
        "/robots.txt",
        &*Box::leak(robots.into_boxed_str()),
    )]));
    let site = Site::start(page);
    let hosts = 80;
    // Hosts in turns, and inputs so long that few of them wait at once.
    let query = "q".repeat(8000);
    let url = |n: u32| {
        let path = match n % 400 {
            0 => "secret",
            _ => "open",
        };
        let (host, port) = (n % hosts, site.address.port());
        format!("http://h{host}.localhost:{port}/page/{path}/{n}?{query}")
    };
    let list = world.write("urls.txt", (0..4000).map(url));
    // On a busy machine, 40 MB of rules may take longer than the usual limit of a request.
    world.run(&list, &["--robots", "--timeout", "10m"]);
    let records = world.records();
    let other = |record: &&Value| {
        !["response", "skipped"]
            .map(Value::from)
            .contains(&record["outcome"])
    };
    assert_eq!(
        (count(&records, "response"), count(&records, "skipped")),
        (3990, 10),
        "{:?}",
        records.values().find(other)
    );
    let paths = site.paths();
    assert!(!paths.iter().any(|path| path.contains("secret")));
    let robots = paths.iter().filter(|path| *path == "/robots.txt").count();
    // Those that had to go are fetched again, if no input of their host waited meanwhile.
    assert!(robots >= hosts as usize, "{robots}");
}

/// A sitemap that lists others.
fn index(server: &str, names: &[&str]) -> String {
    let of = |name: &&str| format!("<sitemap><loc>{server}/{name}</loc></sitemap>");
    let listed: String = names.iter().map(of).collect();
    format!("<sitemapindex>{listed}</sitemapindex>")
}

fn sitemap(world: &World, verb: &[&str], url: &str, arguments: &[&str]) -> Ending {
    let mut command = hecaton(verb);
    command.arg(world.out()).args(["--sitemap", url]);
    ending(command.args(arguments))
}

/// The paths that were requested, and when.
type Times = Arc<Mutex<Vec<(String, Instant)>>>;

/// A site whose sitemap lists others, and when each of its paths was requested. One of them has no answer until then.
fn site_of_sitemaps(late: usize) -> (Scripted, Times) {
    let came = Times::default();
    let (noted, home) = (came.clone(), Arc::new(Mutex::new(String::new())));
    let base = home.clone();
    let server = Scripted::start(move |path, before| {
        noted
            .lock()
            .unwrap()
            .push((path.to_owned(), Instant::now()));
        let base = base.lock().unwrap().clone();
        match path {
            "/robots.txt" => response(
                200,
                "",
                "User-agent: *\nDisallow: /no.xml\nCrawl-delay: 0.1\n",
            ),
            "/index.xml" => response(200, "", &index(&base, &["no.xml", "late.xml", "gone.xml"])),
            "/late.xml" if before < late => Sent::Closed(Vec::new()),
            "/late.xml" | "/other.xml" => response(200, "", &format!("{base}/1\n{base}{path}-2\n")),
            "/gone.xml" => response(404, "", ""),
            _ => response(200, "", "page"),
        }
    });
    *home.lock().unwrap() = server.url("");
    (server, came)
}

#[test]
fn sitemaps_obey_robots_txt_and_its_delay_and_are_tried_until_wait_out_has_passed() {
    let (server, came) = site_of_sitemaps(4);
    let world = World::new();
    let arguments = ["--robots", "--retries", "1"];
    let begun = Instant::now();
    let ended = sitemap(
        &world,
        &["fetch", "-o"],
        &server.url("/index.xml"),
        &arguments,
    );
    assert_eq!(ended.status, Some(4), "{}", ended.stderr);
    let records = world.records();
    assert_eq!(
        (count(&records, "response"), count(&records, "invalid")),
        (2, 2)
    );
    let whys: Vec<_> = records
        .values()
        .filter_map(|record| record["why"].as_str())
        .collect();
    assert!(
        whys.iter().any(|why| why.contains("robots.txt forbids it")),
        "{whys:?}"
    );
    assert!(whys.iter().any(|why| why.contains("404")), "{whys:?}");
    let came = came.lock().unwrap();
    assert_eq!(came[0].0, "/robots.txt");
    let paced = came.iter().filter(|(path, _)| path != "/robots.txt");
    let times: Vec<_> = paced.map(|(_, at)| *at).collect();
    assert_eq!((times.len(), server.count("/no.xml")), (1 + 5 + 1 + 2, 0));
    for (index, at) in times.iter().enumerate() {
        // The server may be late, but not with those after it, so each is compared with the beginning.
        let least = Duration::from_millis(100) * index as u32;
        assert!(*at - begun >= least, "{index}: {came:?}");
    }
}

/// Two origins, whose robots.txt forbid different paths. Sitemaps of the first lead to the second in all ways.
fn two_origins() -> [Scripted; 2] {
    let home = Arc::new(Mutex::new(String::new()));
    let base = home.clone();
    let second = Scripted::start(move |path, _| match path {
        "/robots.txt" => response(200, "", "User-agent: *\nDisallow: /no\n"),
        page => response(
            200,
            "",
            &format!("{}/page{page}\n", base.lock().unwrap().clone()),
        ),
    });
    let [here, there] = [home.clone(), Arc::new(Mutex::new(second.url("")))];
    let first = Scripted::start(move |path, _| {
        let [here, there] = [&here, &there].map(|base| base.lock().unwrap().clone());
        let to = |url: String| response(301, &format!("Location: {url}\r\n"), "");
        match path {
            "/robots.txt" => response(200, "", "User-agent: *\nDisallow: /secret\n"),
            "/index.xml" => {
                let own =
                    ["hidden.xml", "away.xml", "far.xml"].map(|name| format!("{here}/{name}"));
                let others = ["secret/b.xml", "no/b.xml"].map(|name| format!("{there}/{name}"));
                let of = |url: &String| format!("<sitemap><loc>{url}</loc></sitemap>");
                let listed: String = own.iter().chain(&others).map(of).collect();
                response(200, "", &format!("<sitemapindex>{listed}</sitemapindex>"))
            }
            "/hidden.xml" => to(format!("{here}/secret/a.xml")),
            "/away.xml" => to(format!("{there}/open.xml")),
            "/far.xml" => to(format!("{there}/no/a.xml")),
            _ => response(200, "", "page"),
        }
    });
    *home.lock().unwrap() = first.url("");
    [first, second]
}

#[test]
fn each_request_of_a_sitemap_obeys_the_robots_txt_of_its_own_origin_which_is_read_once() {
    let [first, second] = two_origins();
    let world = World::new();
    let fetch = ["fetch", "-o"];
    let ended = sitemap(&world, &fetch, &first.url("/index.xml"), &["--robots"]);
    assert_eq!(ended.status, Some(4), "{}", ended.stderr);
    let paths = |server: &Scripted| {
        let came = server.came();
        came.into_iter().map(|came| came.path).collect::<Vec<_>>()
    };
    assert_eq!(
        paths(&second),
        ["/robots.txt", "/open.xml", "/secret/b.xml"]
    );
    let came = paths(&first);
    assert!(
        !came.iter().any(|path| path.contains("secret/a")),
        "{came:?}"
    );
    assert_eq!(first.count("/robots.txt"), 1, "{came:?}");
    let records = world.records();
    let invalid = records.values().filter(|one| one["outcome"] == "invalid");
    let whys: Vec<_> = invalid.map(|one| one["why"].as_str().unwrap()).collect();
    assert_eq!(whys.len(), 3, "{whys:?}");
    assert!(
        whys.iter().all(|why| why.contains("robots.txt forbids it")),
        "{whys:?}"
    );
    assert_eq!(count(&records, "response"), 2);
    for named in ["/hidden.xml", "/far.xml"] {
        let other = World::new();
        let ended = sitemap(&other, &fetch, &first.url(named), &["--robots"]);
        assert_eq!(ended.status, Some(1), "{}", ended.stderr);
        assert!(
            ended.stderr.contains("robots.txt forbids it"),
            "{}",
            ended.stderr
        );
        assert!(!other.out().join("plan.json").exists());
    }
}

#[test]
fn the_crawl_delay_of_the_origin_that_a_sitemap_is_redirected_to_holds() {
    let second = Scripted::start(|path, _| match path {
        "/robots.txt" => response(200, "", "User-agent: *\nCrawl-delay: 3600\n"),
        _ => response(200, "", "<urlset/>"),
    });
    let there = second.url("/map.xml");
    let first = Scripted::start(move |path, _| match path {
        "/robots.txt" => response(404, "", ""),
        _ => response(301, &format!("Location: {there}\r\n"), ""),
    });
    let world = World::new();
    let ended = sitemap(
        &world,
        &["fetch", "-o"],
        &first.url("/map.xml"),
        &["--robots"],
    );
    assert_eq!(ended.status, Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("--max-crawl-delay"),
        "{}",
        ended.stderr
    );
    assert_eq!(second.count("/map.xml"), 0);
}

#[test]
fn a_sitemap_without_an_answer_plans_nothing_and_the_same_command_requests_it_again() {
    let (server, _) = site_of_sitemaps(3);
    let world = World::new();
    let arguments = ["--retries", "0", "--wait-out", "1ms"];
    let fetch = || {
        sitemap(
            &world,
            &["fetch", "-o"],
            &server.url("/index.xml"),
            &arguments,
        )
    };
    let ended = fetch();
    assert_eq!(ended.status, Some(1), "{}", ended.stderr);
    let says = "/late.xml: ";
    assert!(ended.stderr.contains(says), "{}", ended.stderr);
    assert!(
        ended
            .stderr
            .contains("the same command reads all sitemaps again")
    );
    assert!(!world.out().join("plan.json").exists());
    until(|| fetch().status == Some(4));
    assert_eq!(count(&world.records(), "response"), 2);
}

#[test]
fn there_may_be_several_sitemaps_and_more_later() {
    let (server, _) = site_of_sitemaps(0);
    let world = World::new();
    let [late, other] = ["/late.xml", "/other.xml"].map(|path| server.url(path));
    let ended = sitemap(&world, &["fetch", "-o"], &late, &["--sitemap", &late]);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let numbers: Vec<_> = world.records().into_keys().collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
    let added = sitemap(&world, &["fetch", "add"], &other, &[]);
    assert_eq!(added.status, Some(0), "{}", added.stderr);
    assert!(added.stderr.contains("added 1 input\n"), "{}", added.stderr);
    assert_eq!(count(&world.records(), "response"), 3);
    let table = World::new();
    let row = format!("{},1", server.url("/1"));
    let list = table.write("table.csv", ["url,x".to_owned(), row].into_iter());
    table.run(&list, &[]);
    let refused = sitemap(&table, &["fetch", "add"], &other, &[]);
    assert_eq!(refused.status, Some(2), "{}", refused.stderr);
}

#[test]
fn the_same_sitemap_adds_only_what_it_got_meanwhile() {
    let (home, versions) = (Arc::new(Mutex::new(String::new())), AtomicUsize::new(0));
    let base = home.clone();
    let server = Scripted::start(move |path, before| {
        let base = base.lock().unwrap().clone();
        match path {
            "/index.xml" => {
                versions.store(before, Ordering::SeqCst);
                let foreign = "<sitemap><loc>http://other.example/x.xml</loc></sitemap>";
                let index = index(&base, &["pages.xml", "gone.xml"]);
                let index = index.replace("</sitemapindex>", foreign);
                response(200, "", &format!("{index}</sitemapindex>"))
            }
            "/pages.xml" => {
                let most = if versions.load(Ordering::SeqCst) < 2 {
                    3
                } else {
                    5
                };
                let pages = [0, 1, 2, 0, 3, 4].map(|page| format!("{base}/{page}\n"));
                response(200, "", &pages[..=most].concat())
            }
            "/gone.xml" => response(404, "", ""),
            _ => response(200, "", "page"),
        }
    });
    *home.lock().unwrap() = server.url("");
    let world = World::new();
    let list = world.write("urls.txt", [server.url("/first")].into_iter());
    world.run(&list, &[]);
    // Three pages, one of them twice, a sitemap that is gone, and one of another host.
    for (added, says) in [
        (5, "added 5 inputs\n"),
        (0, "added 0 inputs\n"),
        (2, "added 2 inputs\n"),
    ] {
        let before = world.records().len();
        let ended = sitemap(&world, &["fetch", "add"], &server.url("/index.xml"), &[]);
        assert_eq!(ended.status, Some(4), "{}", ended.stderr);
        assert!(ended.stderr.contains(says), "{}", ended.stderr);
        assert_eq!(world.records().len(), before + added);
    }
    let records = world.records();
    assert_eq!(
        (count(&records, "response"), count(&records, "invalid")),
        (6, 2)
    );
    for page in ["/0", "/4"] {
        assert_eq!(server.count(page), 1);
    }
    let planned = std::fs::read_dir(world.out().join("plan")).unwrap();
    let names = planned.map(|file| file.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().all(|name| !name.starts_with("page")));
}

#[test]
fn a_document_without_urls_is_no_sitemap_and_a_sitemap_without_pages_is_named() {
    let server = Scripted::start(|path, _| match path {
        "/json" => response(200, "", "{\"pages\": [\"http://127.0.0.1/\"]}"),
        "/text" => response(200, "", "Not here\n"),
        _ => response(200, "", "<urlset></urlset>"),
    });
    for path in ["/json", "/text"] {
        let world = World::new();
        let ended = sitemap(&world, &["fetch", "-o"], &server.url(path), &[]);
        assert_eq!(ended.status, Some(1), "{}", ended.stderr);
        assert!(ended.stderr.contains("is no sitemap"), "{}", ended.stderr);
        assert!(!world.out().join("plan.json").exists());
    }
    let world = World::new();
    let empty = server.url("/empty.xml");
    let ended = sitemap(&world, &["fetch", "-o"], &empty, &[]);
    assert_eq!(ended.status, Some(0), "{}", ended.stderr);
    let says = format!("the sitemap {empty} lists no page");
    assert!(ended.stderr.contains(&says), "{}", ended.stderr);
    let world = World::new();
    let planned = sitemap(&world, &["fetch", "plan", "-o"], &empty, &[]);
    assert_eq!(planned.status, Some(0), "{}", planned.stderr);
    assert!(planned.stderr.contains(&says), "{}", planned.stderr);
}

#[test]
fn a_sitemap_is_an_input() {
    let world = World::new();
    let site = Site::start(&[
        (
            "/sitemap.xml",
            "<sitemapindex><sitemap><loc>BASE/more.xml</loc></sitemap></sitemapindex>",
        ),
        (
            "/more.xml",
            "<urlset><url><loc>BASE/page/1</loc></url><url><loc>BASE/page/2</loc></url></urlset>",
        ),
    ]);
    let sitemap = format!("http://{}/sitemap.xml", site.address);
    let fetch = |sitemap: &str| {
        let mut command = hecaton(&["fetch", "--sitemap", sitemap, "-o"]);
        ending(command.arg(world.out()))
    };
    let done = fetch(&sitemap);
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert_eq!(world.records().len(), 2);
    assert!(world.out().join("report.html").is_file());
    std::fs::remove_dir_all(world.out()).unwrap();
    let missing = fetch(&format!("http://{}/none.xml", site.address));
    assert_eq!(missing.status, Some(1));
    assert!(missing.stderr.contains("404"), "{}", missing.stderr);
}
