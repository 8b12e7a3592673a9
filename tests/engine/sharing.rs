//! Clients with settings of their own on the connections of another.

use std::time::Duration;

use hecaton::{Client, Config, Cookies, Kind, Phase};

use crate::World;
use crate::scripted::{Scripted, response_text};

pub fn derived(client: &Client, change: impl FnOnce(&mut Config)) -> Client {
    let mut config = client.config().clone();
    change(&mut config);
    client.with(&client.settings(config).unwrap(), None)
}

#[test]
fn connections_limits_and_counts_are_shared() {
    let world = World::with(|config| config.per_origin = Some(1));
    let other = derived(&world.client, |config| config.user_agent = "other/1".into());
    for client in [&world.client, &other, &derived(&other, |_| {})] {
        let response = world.run(client.send(world.request("/echo"))).unwrap();
        let text = String::from_utf8_lossy(response.body()).into_owned();
        assert_eq!(
            text.contains("other/1"),
            client.config().user_agent == "other/1"
        );
    }
    let stats = other.stats();
    assert_eq!((stats.requests, stats.opened, stats.reused), (3, 1, 2));
    assert_eq!(stats, world.client.stats());
    other.close_idle();
    assert_eq!(world.client.idle_connections(), 0);
    assert_eq!(world.get("/r/1").status(), 200);
}

#[test]
fn request_settings_are_each_clients_own() {
    let world = World::new();
    let server = Scripted::new(|_| {
        vec![
            (
                "/a",
                response_text(302, "location: /b\r\nset-cookie: c=d\r\n", ""),
            ),
            ("/b", response_text(200, "", "")),
        ]
    });
    let get = |client: &Client, path: &str| {
        let request = hecaton::Request::get(&format!("{}{path}", server.url)).unwrap();
        world.run(client.send(request))
    };
    let mut config = world.client.config().clone();
    config.redirects = 1;
    let settings = world.client.settings(config).unwrap();
    let other = world.client.with(&settings, Some(Cookies::new()));
    assert_eq!(get(&other, "/a").unwrap().status(), 200);
    assert_eq!(get(&world.client, "/a").unwrap().status(), 302);
    let arrived = server.arrived();
    let with_cookie: Vec<_> = arrived
        .iter()
        .map(|request| request.contains("Cookie: c=d"))
        .collect();
    assert_eq!(with_cookie, [false, true, false]);
    let small = derived(&world.client, |config| config.max_body = 1);
    let error = world
        .run(small.send(world.request("/bytes/10")))
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Body);
    let hasty = derived(&world.client, |config| {
        config.timeout = Duration::from_millis(1)
    });
    let error = world
        .run(hasty.send(world.request("/delay/5000")))
        .unwrap_err();
    assert_eq!((error.kind(), error.phase()), (Kind::Timeout, Phase::Total));
}

#[test]
fn connection_settings_are_refused_by_name() {
    let world = World::new();
    let mut config = world.client.config().clone();
    config.per_origin = Some(3);
    config.verify = false;
    let error = world
        .client
        .settings(config.clone())
        .err()
        .unwrap()
        .to_string();
    assert!(error.starts_with("per_origin, verify: "), "{error}");
    let config = config.with_connections_of(world.client.config());
    assert!(world.client.settings(config).is_ok());
    let mut config = world.client.config().clone();
    config.concurrency = 0;
    assert!(world.client.settings(config).is_err());
}

#[test]
fn changed_settings_of_a_separate_client_are_checked() {
    let world = World::new();
    let made = world.client.separate_with(|config| config.concurrency = 0);
    let why = made.err().unwrap().to_string();
    assert!(why.contains("concurrency is 0"), "{why}");
    assert!(
        world
            .client
            .separate_with(|config| config.per_origin = Some(1))
            .is_ok()
    );
}
