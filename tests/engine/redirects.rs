//! Redirects: off by default, followed as the RFC says, and never with credentials to another origin.

use std::time::{Duration, Instant};

use hecaton::{
    Batch, Config, Cookies, Ending, Kind, Pem, Phase, Redirect, Request, Retry, Version,
};
use hecaton_test_server::{Http2, Options, TestServer, Tls};

use crate::scripted::{Scripted, response_text};
use crate::{World, with_growing};

pub fn to(location: &str) -> String {
    response_text(302, &format!("location: {location}\r\n"), "body")
}

fn world() -> World {
    World::with(|config| config.redirects = 3)
}

fn three_hops() -> Scripted {
    Scripted::new(|url| {
        vec![
            ("/1", to("2")),
            (
                "/2",
                response_text(307, &format!("location: {url}/3?q=1\r\n"), ""),
            ),
            ("/3?q=1", to("/end#fragment")),
            ("/end", response_text(200, "", "arrived")),
            ("/round", to("/about")),
            ("/about", to("/round")),
        ]
    })
}

#[test]
fn a_redirect_is_a_response_by_default() {
    let server = three_hops();
    let world = World::new();
    let response = world
        .send(Request::get(&format!("{}/1", server.url)).unwrap())
        .unwrap();
    assert_eq!(
        (response.status(), &response.body()[..]),
        (302, &b"body"[..])
    );
    assert_eq!(
        (response.url(), response.redirects()),
        (format!("{}/1", server.url), &[][..])
    );
    let request = Request::get(&format!("{}/1", server.url))
        .unwrap()
        .redirects(3);
    assert_eq!(world.send(request).unwrap().status(), 200);
}

#[test]
fn each_url_may_be_sent_again_once_when_its_connection_ends() {
    let seen = std::sync::Mutex::new(Vec::new());
    let server = Scripted::responding(move |request| {
        let target = request.split(' ').nth(1).unwrap().to_owned();
        let mut seen = seen.lock().unwrap();
        seen.push(target.clone());
        match (seen.iter().filter(|one| **one == target).count(), &*target) {
            (1, _) => String::new(),
            (_, "/end") => response_text(200, "", "arrived"),
            _ => to("/end"),
        }
    });
    let request = Request::get(&format!("{}/begin", server.url)).unwrap();
    assert_eq!(world().send(request).unwrap().status(), 200);
    let expected = ["GET /begin", "GET /begin", "GET /end", "GET /end"];
    assert_eq!(server.requests(), expected);
}

#[test]
fn hops_are_followed_listed_and_counted() {
    let server = three_hops();
    let response = world()
        .send(Request::get(&format!("{}/1", server.url)).unwrap())
        .unwrap();
    assert_eq!(
        (response.status(), &response.body()[..]),
        (200, &b"arrived"[..])
    );
    let hop = |status, path: &str| Redirect {
        status,
        url: format!("{}{path}", server.url),
    };
    assert_eq!(
        response.redirects(),
        [hop(302, "/1"), hop(307, "/2"), hop(302, "/3?q=1")]
    );
    assert_eq!(response.url(), format!("{}/end", server.url));
    let endings: Vec<_> = response
        .attempts()
        .iter()
        .map(|attempt| attempt.ending.clone())
        .collect();
    assert_eq!(endings, [302, 307, 302, 200].map(Ending::Status));
    assert_eq!(
        server.requests(),
        ["GET /1", "GET /2", "GET /3?q=1", "GET /end"]
    );
    assert!(response.attempts()[3].reused);
}

#[test]
fn too_many_and_circles_are_errors() {
    let server = three_hops();
    let world = world();
    let get = |path: &str| Request::get(&format!("{}{path}", server.url)).unwrap();
    let error = world.send(get("/1").redirects(2)).unwrap_err();
    assert_eq!(
        (error.kind(), error.phase(), error.attempts().len()),
        (Kind::Redirect, Phase::Read, 3)
    );
    assert!(
        error.sent() && error.detail().contains("allowed 2"),
        "{error}"
    );
    assert!(
        error.url().ends_with("/3") && !error.to_string().contains("q=1"),
        "{error}"
    );
    let error = world.send(get("/round")).unwrap_err();
    assert!(
        error.kind() == Kind::Redirect && error.detail().contains("circle"),
        "{error}"
    );
    assert_eq!(server.requests().len(), 3 + 2);
}

#[test]
fn a_lenient_client_follows_a_circle_as_often_as_it_may() {
    let server = three_hops();
    let world = World::with(|config| (config.redirects, config.lenient) = (5, true));
    let request = Request::get(&format!("{}/round", server.url)).unwrap();
    let error = world.send(request).unwrap_err();
    assert!(error.detail().contains("allowed 5"), "{error}");
    assert_eq!((error.redirects().len(), server.requests().len()), (5, 6));
}

#[test]
fn a_post_becomes_a_get_or_goes_again_with_its_body() {
    let server = Scripted::new(|_| {
        let mut responses = vec![("/end", response_text(200, "", ""))];
        for (path, status) in [
            ("/301", 301),
            ("/302", 302),
            ("/303", 303),
            ("/307", 307),
            ("/308", 308),
        ] {
            responses.push((path, response_text(status, "location: /end\r\n", "")));
        }
        responses
    });
    let world = world();
    for (status, keeps) in [
        (301, false),
        (302, false),
        (303, false),
        (307, true),
        (308, true),
    ] {
        let post = Request::new("POST", &format!("{}/{status}", server.url)).unwrap();
        let post = post
            .header("Content-Type", b"text/plain")
            .unwrap()
            .body("payload");
        world.send(post).unwrap();
        let last = server.arrived().pop().unwrap();
        assert_eq!(last.starts_with("POST /end"), keeps, "{last}");
        assert_eq!(last.starts_with("GET /end"), !keeps, "{last}");
        assert_eq!(last.ends_with("\r\n\r\npayload"), keeps, "{last}");
        assert_eq!(
            last.to_lowercase().contains("content-type") || last.contains("Content-Length"),
            keeps,
            "{last}"
        );
    }
}

/// There is nothing that a server could agree to (RFC 9110 §10.1.1).
#[test]
fn a_request_without_a_body_expects_nothing() {
    let server = Scripted::new(|_| {
        vec![
            ("/end", response_text(200, "", "")),
            ("/303", response_text(303, "location: /end\r\n", "")),
        ]
    });
    let world = World::with(|config| {
        (config.redirects, config.expect_timeout) = (1, Duration::ZERO);
    });
    let expecting = |method: &str, path: &str| {
        let request = Request::new(method, &format!("{}{path}", server.url)).unwrap();
        request.header("Expect", b"100-continue").unwrap()
    };
    world
        .send(expecting("POST", "/303").body("payload"))
        .unwrap();
    world.send(expecting("GET", "/end")).unwrap();
    let expects: Vec<bool> = server
        .arrived()
        .iter()
        .map(|request| request.to_lowercase().contains("expect:"))
        .collect();
    assert_eq!(expects, [true, false, false]);
}

#[test]
fn credentials_and_host_do_not_reach_another_origin() {
    let far = Scripted::new(|_| vec![("/end", response_text(200, "", ""))]);
    let there = format!("{}/end", far.url);
    let near = Scripted::new(|_| {
        vec![
            ("/away", to(&there)),
            ("/end", response_text(200, "", "")),
            ("/home", to("/end")),
        ]
    });
    let world = world();
    for path in ["/away", "/home"] {
        let request = Request::get(&format!("{}{path}", near.url)).unwrap();
        let fields = [
            ("Authorization", "secret"),
            ("Cookie", "secret"),
            ("X-Api-Key", "secret"),
            ("Host", "virtual"),
            ("X-Functions-Key", "secret"),
            ("Range", "bytes=1-"),
        ];
        let request = fields.iter().fold(request, |request, (name, value)| {
            request.header(name, value.as_bytes()).unwrap()
        });
        assert_eq!(world.send(request).unwrap().status(), 200);
    }
    let last = far.arrived().pop().unwrap();
    assert!(
        !last.contains("secret")
            && !last.contains("virtual")
            && last.to_ascii_lowercase().contains("range: bytes=1-"),
        "{last}"
    );
    let last = near.arrived().pop().unwrap();
    assert!(
        last.starts_with("GET /end") && last.matches("secret").count() == 4,
        "{last}"
    );
    assert!(last.contains("Host: virtual"), "{last}");
}

#[test]
fn one_deadline_holds_for_all_hops() {
    let world = world();
    let stalls = format!("{}/fault/stall-head", world.server.base_url());
    let server = Scripted::new(|_| vec![("/", to(&stalls))]);
    let error = with_growing(Duration::from_millis(300), |limit| {
        let begun = Instant::now();
        let request = Request::get(&server.url).unwrap().timeout(limit);
        let error = world.send(request).unwrap_err();
        assert_eq!((error.kind(), error.phase()), (Kind::Timeout, Phase::Total));
        assert!(begun.elapsed() < limit + Duration::from_secs(30));
        (error.attempts().len() == 2).then_some(error)
    });
    assert_eq!(error.url(), stalls);
}

#[test]
fn each_hop_may_be_retried_and_every_try_is_listed() {
    let world = World::with(|config| {
        config.redirects = 1;
        config.retry = Some(Retry {
            statuses: vec![503],
            interval: Duration::from_millis(1),
            ..Retry::default()
        });
    });
    let busy = format!("{}/status/503", world.server.base_url());
    let server = Scripted::new(|_| vec![("/", to(&busy))]);
    let response = world.send(Request::get(&server.url).unwrap()).unwrap();
    assert_eq!((response.status(), response.attempts().len()), (503, 4));
    assert_eq!(world.server.stop().requests, 3);
}

#[test]
fn a_batch_follows_them_too() {
    let server = three_hops();
    let world = world();
    let mut batch = Batch::new(world.client.clone(), 4);
    (0..10).for_each(|tag| batch.push(tag, Request::get(&format!("{}/1", server.url)).unwrap()));
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        world.run(batch.wait(&mut outcomes));
    }
    assert_eq!(outcomes.len(), 10);
    for (_, outcome) in outcomes {
        let response = outcome.unwrap();
        assert_eq!((response.status(), response.redirects().len()), (200, 3));
    }
    assert_eq!(server.requests().len(), 40);
}

#[test]
fn a_stream_is_opened_where_the_redirects_end() {
    let server = three_hops();
    let world = world();
    let request = Request::get(&format!("{}/1", server.url)).unwrap();
    let mut stream = world.run(world.client.open(request)).unwrap();
    assert_eq!((stream.status(), stream.redirects().len()), (200, 3));
    assert_eq!(stream.url(), format!("{}/end", server.url));
    assert_eq!(world.run(stream.chunk()).unwrap().unwrap(), "arrived");
    // The bodies of the redirects were read, so one connection was enough.
    assert!(stream.attempts()[1..].iter().all(|attempt| attempt.reused));
    assert_eq!(world.client.idle_connections(), 1);
}

#[test]
fn a_stream_does_not_wait_for_the_body_of_a_redirect() {
    // It announces a body that never comes, and keeps the connection.
    let server = Scripted::new(|url| {
        let location = format!("location: {url}/end\r\ncontent-length: 9\r\n");
        vec![
            ("/stuck", format!("HTTP/1.1 302 X\r\n{location}\r\n")),
            ("/end", response_text(200, "", "arrived")),
        ]
    });
    let world = world();
    let request = Request::get(&format!("{}/stuck", server.url)).unwrap();
    let stream = world.run(world.client.open(request)).unwrap();
    assert_eq!(stream.status(), 200);
    assert!(stream.elapsed() < Duration::from_secs(30));
}

#[test]
fn attempts_have_their_time_and_the_number_of_redirects_before_them() {
    let server = three_hops();
    let world = world();
    let request = Request::get(&format!("{}/1", server.url)).unwrap();
    let response = world.send(request).unwrap();
    let attempts = response.attempts();
    let redirects: Vec<_> = attempts.iter().map(|attempt| attempt.redirects).collect();
    assert_eq!(redirects, [0, 1, 2, 3]);
    let mut end = Duration::ZERO;
    for attempt in attempts {
        assert!(attempt.begun >= end);
        end = attempt.ended.unwrap();
        assert!(end > attempt.begun);
    }
    assert_eq!(end, response.elapsed());
}

/// A test server with TLS and HTTP/2, and a world that trusts it.
fn secure(change: impl FnOnce(&mut Config)) -> (TestServer, World) {
    let server = TestServer::start(Options {
        tls: Some(Tls::default()),
        http2: Some(Http2::default()),
        ..Options::default()
    });
    let server = server.expect("a test server with TLS starts");
    let world = World::with(|config| {
        config.ca = Some(Pem::from(server.ca_pem().unwrap()));
        config.redirects = 3;
        change(config);
    });
    (server, world)
}

#[test]
fn https_leads_to_http_only_when_that_is_allowed() {
    for allowed in [false, true] {
        let (server, world) = secure(|config| config.redirects_to_http = allowed);
        let down = format!("{}/r/1?secret", world.server.base_url());
        let url = format!("{}/redirect/302/1?to={down}", server.base_url());
        let request = Request::get(&url).unwrap();
        let request = request.header("Authorization", b"secret").unwrap();
        match world.send(request) {
            Ok(response) => assert!(allowed && response.url() == down),
            Err(error) => {
                assert!(!allowed && error.kind() == Kind::Redirect, "{error}");
                let text = error.to_string();
                assert!(text.contains("https to http") && !text.contains("secret"));
            }
        }
        assert_eq!(world.server.stop().requests, u64::from(allowed));
    }
}

#[test]
fn redirects_and_cookies_hold_over_http2_too() {
    let (server, world) = secure(|config| config.cookies = Some(Cookies::new()));
    let get = |path: &str| {
        let url = format!("{}{path}", server.base_url());
        world.send(Request::get(&url).unwrap()).unwrap()
    };
    assert_eq!(get("/cookies/set?a=b%3B%20Secure").status(), 200);
    let response = get("/redirect/302/2?to=/cookies");
    let body = String::from_utf8_lossy(response.body()).into_owned();
    assert!(body.contains("\"a\"") && body.contains("\"b\""), "{body}");
    assert_eq!(response.redirects().len(), 2);
    let versions = response.attempts().iter().map(|attempt| attempt.version);
    assert!(
        versions
            .into_iter()
            .all(|version| version == Some(Version::Http2))
    );
    let summary = server.stop();
    assert_eq!((summary.requests, summary.connections), (4, 1));
}

#[test]
fn credentials_are_not_put_back_on_the_way_home() {
    let world = world();
    let home = format!("{}/echo", world.server.base_url());
    let away = Scripted::new(|_| vec![("/", to(&home))]);
    let url = format!(
        "{}/redirect/302/1?to={}/",
        world.server.base_url(),
        away.url
    );
    let request = Request::get(&url).unwrap();
    let request = request.header("Authorization", b"secret").unwrap();
    let response = world.send(request).unwrap();
    assert_eq!((response.url(), response.redirects().len()), (home, 2));
    let echo = String::from_utf8_lossy(response.body()).into_owned();
    assert!(!echo.contains("secret"), "{echo}");
}
