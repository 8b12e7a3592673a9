//! Cookies: only for clients with a cookie jar, on every hop of a redirect, and shared by clients with one jar.

use std::time::Duration;

use hecaton::{Batch, Cookies, Request, Retry};

use crate::World;
use crate::scripted::{Scripted, response_text};

fn login() -> Scripted {
    Scripted::new(|_| {
        let sets =
            "location: /\r\nset-cookie: session=1; HttpOnly\r\nset-cookie: theme=dark; Path=/x\r\n";
        vec![
            ("/login", response_text(302, sets, "")),
            ("/", response_text(200, "", "")),
            (
                "/again",
                response_text(307, "location: /again\r\nset-cookie: seen=1\r\n", ""),
            ),
        ]
    })
}

fn get(world: &World, server: &Scripted, path: &str) -> u16 {
    let request = Request::get(&format!("{}{path}", server.url)).unwrap();
    world.send(request).unwrap().status()
}

fn last(server: &Scripted) -> String {
    server.arrived().pop().unwrap()
}

fn world(jar: &Cookies) -> World {
    World::with(|config| {
        config.cookies = Some(jar.clone());
        config.redirects = 2;
    })
}

#[test]
fn none_are_stored_without_a_jar() {
    let (world, server) = (World::new(), login());
    get(&world, &server, "/login");
    get(&world, &server, "/");
    assert!(!last(&server).contains("Cookie"), "{}", last(&server));
}

#[test]
fn a_cookie_of_a_redirect_is_sent_on_the_next_hop() {
    let (jar, server) = (Cookies::new(), login());
    let world = world(&jar);
    assert_eq!(get(&world, &server, "/login"), 200);
    assert!(
        last(&server).contains("\r\nCookie: session=1\r\n"),
        "{}",
        last(&server)
    );
    assert_eq!(get(&world, &server, "/x/y"), 404);
    assert!(
        last(&server).contains("\r\nCookie: theme=dark; session=1\r\n"),
        "{}",
        last(&server)
    );
    let names: Vec<_> = jar.list().into_iter().map(|cookie| cookie.name).collect();
    assert_eq!(names, ["session", "theme"]);
    jar.clear();
    get(&world, &server, "/");
    assert!(!last(&server).contains("Cookie"));
}

#[test]
fn cookies_do_not_reach_another_host() {
    let jar = Cookies::new();
    let (world, server) = (world(&jar), login());
    get(&world, &server, "/login");
    let elsewhere = server.url.replace("127.0.0.1", "localhost");
    world.send(Request::get(&elsewhere).unwrap()).unwrap();
    assert!(!last(&server).contains("Cookie"), "{}", last(&server));
}

#[test]
fn a_redirect_to_its_own_url_works_with_a_cookie_but_not_without_end() {
    let (world, server) = (world(&Cookies::new()), login());
    let error = world
        .send(Request::get(&format!("{}/again", server.url)).unwrap())
        .unwrap_err();
    assert!(error.detail().contains("allowed 2"), "{error}");
    assert!(last(&server).contains("Cookie: seen=1"));
}

#[test]
fn every_try_may_set_cookies() {
    let jar = Cookies::new();
    let world = World::with(|config| {
        config.cookies = Some(jar.clone());
        config.retry = Some(Retry {
            statuses: vec![503],
            interval: Duration::ZERO,
            ..Retry::default()
        });
    });
    let response = world.get("/status/503?Set-Cookie=a%3Db%3B%20Path%3D/");
    assert_eq!((response.attempts().len(), jar.list().len()), (3, 1));
    assert!(String::from_utf8_lossy(world.get("/cookies").body()).contains("\"a\""));
}

#[test]
fn clients_with_the_same_jar_share_it_and_batches_use_it() {
    let (jar, server) = (Cookies::new(), login());
    get(&world(&jar), &server, "/login");
    let other = world(&jar);
    let mut batch = Batch::new(other.client.clone(), 2);
    (0..4).for_each(|tag| batch.push(tag, Request::get(&server.url).unwrap()));
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        other.run(batch.wait(&mut outcomes));
    }
    let arrived = server.arrived();
    assert!(
        arrived[2..]
            .iter()
            .all(|request| request.contains("Cookie: session=1"))
    );
    assert_eq!((outcomes.len(), arrived.len()), (4, 6));
    assert!(jar.copy().list() == jar.list() && jar.copy() != jar);
}
