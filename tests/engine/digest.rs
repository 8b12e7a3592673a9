//! Digest authentication: the client responds to a challenge once, with a count of its own, in time, and with the
//! right login. The hashes are those of the RFC's examples (`message/digest/response.rs`); real servers check them
//! in the gem's tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hecaton::{Client, Config, Defaults, Ending, Kind, Login, Phase, Proxy, Request, Template};

use crate::http2_peer::Peer;
use crate::scripted::{Scripted, response_text};
use crate::uploads::Pieces;
use crate::{World, http2, with_growing};

fn demand(rest: &str) -> String {
    let field = format!("www-authenticate: Digest realm=\"r\", qop=\"auth\"{rest}\r\n");
    response_text(401, &field, "who are you?")
}

/// A parameter of the request's `Authorization`.
fn parameter(request: &str, name: &str) -> Option<String> {
    let field = request
        .lines()
        .find_map(|line| line.strip_prefix("Authorization: Digest "))?;
    let start = field.find(&format!("{name}="))? + name.len() + 1;
    let value = field[start..].split(',').next()?;
    Some(value.trim_matches('"').to_owned())
}

/// A server that sends a challenge with the nonce `n` to each request without one.
fn strict() -> Scripted {
    Scripted::responding(|request| match parameter(request, "nonce") {
        Some(_) => response_text(200, "", "welcome"),
        None => demand(", nonce=\"n\", opaque=\"o\""),
    })
}

fn login() -> Login {
    Login::new("user", "password").unwrap()
}

fn request(method: &str, server: &Scripted, path: &str) -> Request {
    let request = Request::new(method, &format!("{}{path}", server.url)).unwrap();
    request.digest_auth(login())
}

fn endings(attempts: &[hecaton::Attempt]) -> Vec<Ending> {
    attempts
        .iter()
        .map(|attempt| attempt.ending.clone())
        .collect()
}

fn numbers(server: &Scripted) -> Vec<Option<String>> {
    let arrived = server.arrived();
    arrived
        .iter()
        .map(|request| parameter(request, "nc"))
        .collect()
}

const DEMANDED: Ending = Ending::Status(401);
const WELCOME: Ending = Ending::Status(200);

#[test]
fn a_challenge_gets_credentials_and_the_next_request_has_them_at_once() {
    let (world, server) = (World::new(), strict());
    let response = world.send(request("GET", &server, "/a?b=c")).unwrap();
    assert_eq!(endings(response.attempts()), [DEMANDED, WELCOME]);
    assert!(
        response.attempts()[1].reused,
        "the demand's body is passed over"
    );
    let response = world
        .send(request("POST", &server, "/d").body("x"))
        .unwrap();
    assert_eq!(endings(response.attempts()), [WELCOME]);
    assert_eq!(response.body(), "welcome");
    let some = |number: &str| Some(number.to_owned());
    assert_eq!(numbers(&server), [None, some("00000001"), some("00000002")]);
    let authorized = &server.arrived()[1];
    for (name, value) in [
        ("username", "user"),
        ("realm", "r"),
        ("uri", "/a?b=c"),
        ("opaque", "o"),
        ("qop", "auth"),
    ] {
        assert_eq!(
            parameter(authorized, name).as_deref(),
            Some(value),
            "{name}"
        );
    }
    assert_eq!(world.client.stats().retries, 0);
}

#[test]
fn a_login_that_is_refused_is_sent_once() {
    let world = World::new();
    let server = Scripted::responding(|_| demand(", nonce=\"n\""));
    let response = world.send(request("GET", &server, "/")).unwrap();
    assert_eq!(response.status(), 401);
    assert_eq!(response.body(), "who are you?");
    assert_eq!(endings(response.attempts()), [DEMANDED, DEMANDED]);
    // The known nonce is tried first, and then the new one.
    let response = world.send(request("GET", &server, "/")).unwrap();
    assert_eq!(response.attempts().len(), 2);
}

#[test]
fn an_old_nonce_is_replaced_but_not_for_ever() {
    let world = World::new();
    let server = Scripted::responding(|request| {
        let stale = |nonce| demand(&format!(", nonce=\"{nonce}\", stale=true"));
        match parameter(request, "nonce").as_deref() {
            None => demand(", nonce=\"0\""),
            Some("0") => stale(1),
            Some("1") if request.starts_with("GET /once") => response_text(200, "", ""),
            Some(_) => stale(9),
        }
    });
    let response = world.send(request("GET", &server, "/once")).unwrap();
    assert_eq!(endings(response.attempts()), [DEMANDED, DEMANDED, WELCOME]);
    let response = world.send(request("GET", &server, "/ever")).unwrap();
    assert_eq!(
        endings(response.attempts()),
        [DEMANDED, DEMANDED, DEMANDED, DEMANDED]
    );
}

#[test]
fn a_challenge_that_the_client_cannot_satisfy_is_the_response() {
    let world = World::new();
    for (field, digest) in [
        ("Basic realm=\"r\"", true),
        ("Digest realm=\"r\", nonce=\"n\", algorithm=SHA3", true),
        ("Digest realm=\"r\", nonce=\"n\", qop=\"later\"", true),
        ("Digest realm=\"r\", nonce=\"n\", qop=\"auth\"", false),
    ] {
        let server = Scripted::responding(move |_| {
            response_text(401, &format!("www-authenticate: {field}\r\n"), "no")
        });
        let request = match digest {
            true => request("GET", &server, "/"),
            false => Request::get(&server.url).unwrap(),
        };
        let response = world.send(request).unwrap();
        assert_eq!(
            (response.status(), response.attempts().len()),
            (401, 1),
            "{field}"
        );
        assert_eq!(response.body(), "no");
    }
}

#[test]
fn a_body_is_sent_again_or_the_error_says_why_not() {
    let (world, server) = (World::new(), strict());
    let pieces = || Pieces::new(&["some", "thing"]);
    let again = request("PUT", &server, "/a").body_from(pieces().again(), Some(9));
    let response = world.send(again).unwrap();
    assert_eq!(endings(response.attempts()), [DEMANDED, WELCOME]);
    assert!(server.arrived()[1].ends_with("\r\n\r\nsomething"));

    let (world, server) = (World::new(), strict());
    let once = request("PUT", &server, "/a").body_from(pieces(), Some(9));
    let error = world.send(once).unwrap_err();
    assert_eq!((error.kind(), error.sent()), (Kind::Body, true), "{error}");
    assert!(error.detail().contains("digest authentication"), "{error}");
    assert_eq!(endings(error.attempts()), [DEMANDED]);
    // Once the nonce is known, the body is sent only once.
    world.send(request("GET", &server, "/b")).unwrap();
    let once = request("PUT", &server, "/a").body_from(pieces(), Some(9));
    assert_eq!(world.send(once).unwrap().attempts().len(), 1);
}

#[test]
fn the_hash_of_the_body_is_sent_where_the_server_requires_it() {
    let world = World::new();
    let field = "www-authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth-int\"\r\n";
    let server = Scripted::responding(move |request| match parameter(request, "qop") {
        Some(_) => response_text(200, "", ""),
        None => response_text(401, field, ""),
    });
    let response = world
        .send(request("PUT", &server, "/").body("whole"))
        .unwrap();
    assert_eq!(endings(response.attempts()), [DEMANDED, WELCOME]);
    let pieces = Pieces::new(&["in pieces"]).again();
    let response = world.send(request("PUT", &server, "/").body_from(pieces, None));
    assert_eq!(endings(response.unwrap().attempts()), [DEMANDED]);
}

#[test]
fn both_attempts_count_for_one_deadline() {
    let (world, silent) = (
        World::new(),
        std::net::TcpListener::bind("127.0.0.1:0").unwrap(),
    );
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let server = Scripted::responding(move |_| {
        // A redirect to a server that never responds.
        let redirect = format!("location: {url}\r\n");
        response_text(307, &redirect, "")
    });
    let limited = request("GET", &server, "/").timeout(Duration::from_millis(300));
    let error = world.send(limited.redirects(1)).unwrap_err();
    assert_eq!((error.kind(), error.phase()), (Kind::Timeout, Phase::Total));
    // Until the test is over.
    let (over, is_over) = std::sync::mpsc::channel::<()>();
    let is_over = std::sync::Mutex::new(is_over);
    let slow = Scripted::responding(move |request| {
        if parameter(request, "nonce").is_some() {
            let _ = is_over.lock().unwrap().recv();
        }
        demand(", nonce=\"n\"")
    });
    // The server ends after this.
    let over = over;
    let error = with_growing(Duration::from_millis(300), |limit| {
        let limited = request("GET", &slow, "/").timeout(limit);
        let error = world.send(limited).unwrap_err();
        assert_eq!((error.kind(), error.phase()), (Kind::Timeout, Phase::Total));
        (error.attempts().len() == 2).then_some(error)
    });
    drop(over);
    assert_eq!(endings(error.attempts()), [DEMANDED, Ending::Unfinished]);
}

#[test]
fn a_redirect_to_another_origin_gets_no_credentials() {
    let world = World::new();
    let other = strict();
    let there = other.url.clone();
    let server = Scripted::responding(move |request| {
        match (
            parameter(request, "nonce"),
            request.starts_with("GET /away"),
        ) {
            (None, _) => demand(", nonce=\"n\""),
            (_, true) => response_text(302, &format!("location: {there}/b\r\n"), ""),
            (_, false) => response_text(302, "location: /away\r\n", ""),
        }
    });
    let response = world
        .send(request("GET", &server, "/here").redirects(5))
        .unwrap();
    assert_eq!((response.status(), response.attempts().len()), (401, 4));
    assert_eq!(server.requests(), ["GET /here", "GET /here", "GET /away"]);
    assert_eq!(other.requests(), ["GET /b"]);
    assert_eq!(numbers(&other), [None]);
}

#[test]
fn the_server_may_name_the_next_nonce() {
    let world = World::new();
    let server = Scripted::responding(|request| match parameter(request, "nonce").as_deref() {
        None => demand(", nonce=\"0\""),
        Some("0") => response_text(
            200,
            "authentication-info: nextnonce=\"1\", qop=auth\r\n",
            "",
        ),
        Some(_) => response_text(200, "", ""),
    });
    for _ in 0..3 {
        world.send(request("GET", &server, "/")).unwrap();
    }
    let nonces: Vec<_> = server
        .arrived()
        .iter()
        .map(|request| parameter(request, "nonce"))
        .collect();
    let expected = [None, Some("0"), Some("1"), Some("1")];
    assert_eq!(nonces, expected.map(|nonce| nonce.map(String::from)));
}

#[test]
fn retries_and_streams_have_numbers_of_their_own() {
    let world = World::with(|config| {
        config.retry = Some(hecaton::Retry {
            statuses: vec![503],
            interval: Duration::from_millis(1),
            ..Default::default()
        });
    });
    let busy = Arc::new(AtomicUsize::new(1));
    let server = Scripted::responding(move |request| match parameter(request, "nonce") {
        None => demand(", nonce=\"n\""),
        Some(_) if busy.fetch_sub(1, Ordering::Relaxed) == 1 => response_text(503, "", "busy"),
        Some(_) => response_text(200, "", "body"),
    });
    let body = world.run(async {
        let mut stream = world
            .client
            .open(request("GET", &server, "/"))
            .await
            .unwrap();
        assert_eq!(
            endings(stream.attempts()),
            [DEMANDED, Ending::Status(503), WELCOME]
        );
        stream.chunk().await.unwrap().unwrap()
    });
    assert_eq!(body, "body");
    let some = |number: &str| Some(number.to_owned());
    assert_eq!(numbers(&server), [None, some("00000001"), some("00000002")]);
}

#[test]
fn a_clients_login_goes_where_its_headers_go() {
    let (world, server, other) = (World::new(), strict(), strict());
    let template = |defaults| Arc::new(Template::new(&defaults).unwrap());
    let based = template(Defaults {
        base_url: Some(format!(
            "{}/v1/",
            server.url.replace("http://", "http://u:p@")
        )),
        digest_auth: Some(login()),
        ..Defaults::default()
    });
    let get = |template: &Arc<Template>, url: String| world.send(template.get(url.into()).unwrap());
    assert_eq!(get(&based, "users".into()).unwrap().status(), 200);
    assert_eq!(
        get(&based, format!("{}/x", other.url)).unwrap().status(),
        401
    );
    assert_eq!(server.requests(), ["GET /v1/users"; 2]);
    assert!(
        !server.arrived()[0].contains("Authorization"),
        "neither as a header"
    );
    let everywhere = template(Defaults {
        digest_auth: Some(login()),
        ..Defaults::default()
    });
    assert_eq!(
        get(&everywhere, format!("{}/x", other.url))
            .unwrap()
            .status(),
        200
    );
    let own = everywhere.get(format!("{}/x", other.url).into()).unwrap();
    let own = own.header("Authorization", b"Bearer x").unwrap();
    assert_eq!(world.send(own).unwrap().attempts().len(), 1);
    let none = everywhere.get(format!("{}/x", other.url).into()).unwrap();
    let none = none.without("authorization").unwrap();
    assert_eq!(world.send(none).unwrap().status(), 401);
    let with_user = format!("{}/x", other.url.replace("http://", "http://u:p@"));
    let response = get(&everywhere, with_user).unwrap();
    assert_eq!((response.status(), response.attempts().len()), (401, 1));
    assert!(
        other
            .arrived()
            .last()
            .unwrap()
            .contains("Authorization: Basic dTpw\r\n")
    );
}

#[test]
fn digest_works_over_http2_too() {
    let peer = Peer::start(10);
    let (client, reactor) = http2::client(|_| {});
    let request = || {
        Request::get(&format!("{}/digest/1", peer.url))
            .unwrap()
            .digest_auth(login())
    };
    let response = reactor.block_on(client.send(request())).unwrap();
    assert_eq!(endings(response.attempts()), [DEMANDED, WELCOME]);
    let response = reactor.block_on(client.send(request())).unwrap();
    assert_eq!(endings(response.attempts()), [WELCOME]);
    assert_eq!(peer.seen(|seen| seen.connections), 1);
}

#[test]
fn many_requests_at_once_succeed_and_no_count_is_used_twice() {
    let (world, server) = (World::new(), strict());
    let mut batch = hecaton::Batch::new(world.client.clone(), 20);
    for number in 0..200 {
        batch.push(number, request("GET", &server, "/"));
    }
    let mut outcomes = Vec::new();
    world.run(async {
        while !batch.is_empty() {
            batch.wait(&mut outcomes).await;
        }
    });
    let welcome = outcomes
        .iter()
        .filter(|(_, outcome)| outcome.as_ref().unwrap().status() == 200);
    assert_eq!(welcome.count(), 200);
    // Each challenge has the same nonce, but begins a session with a new nonce of the client.
    let arrived = server.arrived();
    let mut seen: Vec<_> = arrived
        .iter()
        .filter_map(|request| Some((parameter(request, "cnonce")?, parameter(request, "nc")?)))
        .collect();
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!((count, seen.len()), (200, 200));
}

#[test]
fn credentials_are_not_shown() {
    let request = Request::get("http://host/").unwrap().digest_auth(login());
    let mut config = Config::new(Duration::from_secs(1));
    config.proxy = Proxy::Off;
    drop(Client::new(config));
    let shown = format!("{request:?} {:?}", login());
    assert!(
        !shown.contains("password\"") && !shown.contains("\"user\""),
        "{shown}"
    );
}
