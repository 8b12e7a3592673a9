//! Allowed addresses: a forbidden address is never connected to, whether a URL, a name or a redirect leads there.

use std::net::TcpListener;
use std::time::Duration;

use hecaton::{AllowAddress, Client, Config, Kind, Networks, Phase, Reactor, Request};

use crate::World;
use crate::addresses::{get, port};
use crate::proxies::{self, request, through};
use crate::proxy_server;
use crate::redirects::to;
use crate::scripted::{Scripted, response_text};

/// A listener that must not be connected to: it says whether it was.
struct Untouched(TcpListener);

impl Untouched {
    fn new() -> Untouched {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        Untouched(listener)
    }

    fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }
}

impl Drop for Untouched {
    /// A connecting client is in the queue before it knows of it.
    fn drop(&mut self) {
        assert!(self.0.accept().is_err(), "it was connected to");
    }
}

#[test]
fn an_address_that_is_not_public_is_not_connected_to_however_it_is_written() {
    let inside = Untouched::new();
    let port = inside.port();
    for host in [
        "127.0.0.1",
        "[::ffff:127.0.0.1]",
        "localhost",
        "a.localhost",
        "many.example",
    ] {
        let mut config = Config::new(Duration::from_secs(60));
        config.proxy = hecaton::Proxy::Off;
        config.allow_address = AllowAddress::Public;
        let many = format!("many.example:{port}");
        config
            .resolve
            .add(&many, &["127.0.0.1", "::ffff:7f00:1"])
            .unwrap();
        let request = Request::get(&format!("http://{host}:{port}/?secret")).unwrap();
        let error = Reactor::new()
            .unwrap()
            .block_on(Client::new(config).send(request))
            .unwrap_err();
        assert_eq!(
            (error.kind(), error.phase(), error.sent()),
            (Kind::Connect, Phase::Connect, false)
        );
        let message = error.to_string();
        assert!(
            message.contains("allow_address forbids") && !message.contains("secret"),
            "{message}"
        );
    }
}

#[test]
fn only_allowed_addresses_of_several_are_tried() {
    let world = World::new();
    // A server listens at the forbidden address, too.
    let forbidden = TcpListener::bind(("127.0.0.2", port(&world))).unwrap();
    forbidden.set_nonblocking(true).unwrap();
    for networks in [
        Networks::new(None, &["127.0.0.2"]).unwrap(),
        Networks::new(Some(&["127.0.0.1/32"]), &[]).unwrap(),
    ] {
        let response = get(port(&world), &["127.0.0.2", "127.0.0.1"], |config| {
            config.allow_address = AllowAddress::Networks(networks);
        });
        assert_eq!(response.unwrap().status(), 200);
        assert!(forbidden.accept().is_err(), "it was connected to");
    }
}

#[test]
fn an_origin_is_checked_where_it_is_resolved_and_the_proxy_itself_is_not() {
    let public = |config: &mut Config| config.allow_address = AllowAddress::Public;
    // The proxy is on loopback, and so is all that it leads to.
    for scheme in ["http", "socks5h"] {
        let proxy = match scheme {
            "http" => proxy_server::Proxy::http(),
            _ => proxy_server::Proxy::socks(),
        };
        let world = through(scheme, &proxy, public);
        assert_eq!(
            proxies::get(&world, "/r/1").status(),
            200,
            "{scheme}: the proxy resolves the name, so the proxy decides"
        );
        let near = world.server.base_url().replace("127.0.0.1", "localhost");
        for url in [world.server.base_url(), near] {
            let error = world.send(Request::get(&url).unwrap()).unwrap_err();
            assert_eq!((error.kind(), error.sent()), (Kind::Connect, false));
            assert!(
                error
                    .to_string()
                    .contains("allow_address forbids 127.0.0.1"),
                "{error}"
            );
        }
        assert_eq!(proxy.accepted(), 1, "{scheme}");
    }
    let proxy = proxy_server::Proxy::socks();
    let world = through("socks5", &proxy, |_| {});
    let mut config = world.client.config().clone();
    public(&mut config);
    let host = format!("origin.invalid:{}", request(&world, "/").origin().port);
    config
        .resolve
        .add(&host, &["10.0.0.1", "127.0.0.1"])
        .unwrap();
    let error = world
        .run(Client::new(config).send(request(&world, "/")))
        .unwrap_err();
    assert!(
        error.to_string().contains("allow_address forbids 10.0.0.1"),
        "{error}"
    );
    assert_eq!(proxy.accepted(), 0);
}

#[test]
fn redirects_lead_only_to_hosts_and_addresses_that_are_allowed() {
    let server = Scripted::new(|url| {
        let port = url.rsplit(':').next().unwrap();
        vec![
            ("/stays", to("/end")),
            ("/name", to(&format!("http://in.example:{port}/end"))),
            (
                "/other",
                to(&format!("http://out.example:{port}/end?secret")),
            ),
            ("/near", to(&format!("http://127.0.0.2:{port}/end"))),
            ("/end", response_text(200, "", "arrived")),
            ("/end?secret", response_text(200, "", "arrived")),
        ]
    });
    let port = server.url.rsplit(':').next().unwrap();
    let known = |config: &mut Config| {
        config.redirects = 3;
        for host in ["in.example", "out.example"] {
            config
                .resolve
                .add(&format!("{host}:{port}"), &["127.0.0.1"])
                .unwrap();
        }
    };
    let get = |world: &World, path: &str| {
        world.send(Request::get(&format!("{}{path}", server.url)).unwrap())
    };
    let world = World::with(|config| {
        known(config);
        config.redirect_hosts = Some(vec!["in.example".into()]);
    });
    assert_eq!(get(&world, "/stays").unwrap().status(), 200);
    assert_eq!(get(&world, "/name").unwrap().status(), 200);
    let error = get(&world, "/other").unwrap_err();
    assert_eq!(error.kind(), Kind::Redirect);
    let message = error.to_string();
    assert!(
        message.contains("http://out.example") && message.contains("redirect_hosts"),
        "{message}"
    );
    assert!(!message.contains("secret"), "{message}");

    let world = World::with(|config| {
        known(config);
        let networks = hecaton::Networks::new(Some(&["127.0.0.1"]), &[]).unwrap();
        config.allow_address = hecaton::AllowAddress::Networks(networks);
    });
    assert_eq!(get(&world, "/other").unwrap().status(), 200);
    let error = get(&world, "/near").unwrap_err();
    assert_eq!(error.kind(), Kind::Connect);
    assert!(
        error
            .to_string()
            .contains("allow_address forbids 127.0.0.2"),
        "{error}"
    );
}
