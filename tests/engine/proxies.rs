//! Requests through proxies: what each proxy receives, what the test server sees of it, and the text of refusals.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::Duration;

use hecaton::{
    Addresses, Batch, Client, Config, Error, Kind, Phase, Protocol, Proxy, Reactor, Request,
    Response,
};
use hecaton_test_server::{Http2, Options, TestServer};

use crate::proxy_server::{self, read_head};
use crate::tls_server::{Authority, Server, keep_alive};
use crate::{World, json};

/// A world whose client uses this proxy. Its test server is called `origin.invalid`, a name that only the proxy can
/// resolve.
pub fn through(
    scheme: &str,
    proxy: &proxy_server::Proxy,
    change: impl FnOnce(&mut Config),
) -> World {
    let url = format!("{scheme}://user:secret@127.0.0.1:{}", proxy.port);
    World::with(|config| {
        config.proxy = Proxy::Url(url);
        change(config);
    })
}

pub fn request(world: &World, path: &str) -> Request {
    let url = world
        .server
        .base_url()
        .replace("127.0.0.1", "origin.invalid");
    Request::get(&format!("{url}{path}")).unwrap()
}

pub fn get(world: &World, path: &str) -> Response {
    world.send(request(world, path)).expect("a response")
}

/// The failure of a request through a proxy that responds like this function.
fn refusal(scheme: &str, serve: fn(&mut std::net::TcpStream)) -> Error {
    refusal_of(&format!("{scheme}://user:secret@127.0.0.1"), serve)
}

/// The failure of a request through a proxy at this URL, which has no port.
pub fn refusal_of(url: &str, serve: fn(&mut std::net::TcpStream)) -> Error {
    refusal_within(Duration::from_secs(60), url, serve)
}

/// The same, where connecting may take this long.
fn refusal_within(limit: Duration, url: &str, serve: fn(&mut std::net::TcpStream)) -> Error {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("{url}:{}", listener.local_addr().unwrap().port());
    let server = std::thread::spawn(move || serve(&mut listener.accept().unwrap().0));
    let mut config = Config::new(Duration::from_secs(60));
    config.proxy = Proxy::Url(url);
    config.connect_timeout = limit;
    let request = Request::get("https://origin.invalid/").unwrap();
    let error = Reactor::new()
        .unwrap()
        .block_on(Client::new(config).send(request));
    server.join().unwrap();
    let error = error.expect_err("a refusal");
    assert!(!error.to_string().contains("secret"), "{error}");
    assert_eq!(
        (error.phase(), error.sent()),
        (Phase::Connect, false),
        "{error}"
    );
    assert!(
        error.to_string().contains("proxy") || error.kind() == Kind::Timeout,
        "{error}"
    );
    error
}

#[test]
fn an_http_proxy_is_handed_the_request_with_its_whole_url() {
    let proxy = proxy_server::Proxy::http();
    let world = through("http", &proxy, |_| {});
    let seen = json(&get(&world, "/echo?a=b"));
    assert!(
        get(&world, "/r/1").attempts()[0].reused,
        "one connection for both"
    );
    assert_eq!(proxy.accepted(), 1);
    let heads = proxy.requests();
    let host = request(&world, "/").origin().clone();
    let line = format!(
        "GET http://origin.invalid:{}/echo?a=b HTTP/1.1\r\n",
        host.port
    );
    assert!(heads[0].starts_with(&line), "{}", heads[0]);
    assert!(heads[0].contains("Proxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\n"));
    assert!(heads[0].contains(&format!("\r\nHost: origin.invalid:{}\r\n", host.port)));
    assert!(
        !seen.to_string().to_lowercase().contains("proxy-auth"),
        "the origin sees none of it"
    );
}

#[test]
fn tls_goes_through_a_tunnel_in_which_the_proxy_sees_nothing() {
    let authority = Authority::new();
    let server = Server::start(authority.sign(&["origin.invalid"]).server_any(), keep_alive);
    let url = format!("https://origin.invalid:{}/secret-path", server.port);
    for (scheme, proxy) in [
        ("http", proxy_server::Proxy::http()),
        ("socks5h", proxy_server::Proxy::socks()),
    ] {
        let world = through(scheme, &proxy, |config| {
            config.ca = Some(authority.pem.as_str().into());
        });
        for reused in [false, true] {
            let response = world.send(Request::get(&url).unwrap()).unwrap();
            assert_eq!(response.body().as_ref(), b"ok");
            let attempt = &response.attempts()[0];
            assert_eq!(
                (attempt.reused, attempt.tls_time.is_some()),
                (reused, !reused)
            );
        }
        let heads = proxy.requests().join("\n");
        assert!(
            heads.contains(&format!("origin.invalid:{}", server.port)),
            "{heads}"
        );
        assert!(!heads.contains("secret-path"), "{heads}");
        assert_eq!(proxy.accepted(), 1);
    }
}

#[test]
fn a_tunnel_is_requested_with_credentials_that_only_the_proxy_receives() {
    let proxy = proxy_server::Proxy::http();
    let mut world = through("http", &proxy, |config| config.http = Protocol::Http2);
    let http2 = Some(Http2::default());
    world.server = TestServer::start(Options {
        http2,
        ..Options::default()
    })
    .unwrap();
    // HTTP/2 without TLS goes through a tunnel too.
    let response = get(&world, "/echo");
    assert!(
        !json(&response)
            .to_string()
            .to_lowercase()
            .contains("proxy-auth")
    );
    let heads = proxy.requests();
    assert!(
        heads[0].starts_with("CONNECT origin.invalid:"),
        "{}",
        heads[0]
    );
    assert!(heads[0].contains("Proxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\n"));
}

#[test]
fn socks5h_leaves_the_name_to_the_proxy_and_socks5_resolves_it_here() {
    let proxy = proxy_server::Proxy::socks();
    let world = through("socks5h", &proxy, |_| {});
    assert_eq!(get(&world, "/r/1").status(), 200);
    let port = request(&world, "/").origin().port;
    assert_eq!(
        *proxy.requests(),
        ["user:secret".into(), format!("origin.invalid:{port}")]
    );

    let here = proxy_server::Proxy::socks();
    let world = through("socks5", &here, |_| {});
    let error = world.send(request(&world, "/r/1")).unwrap_err();
    assert_eq!(
        (error.kind(), error.phase()),
        (Kind::Resolve, Phase::Resolve)
    );
    let known = |port: u16| {
        let mut known = Addresses::default();
        known
            .add(&format!("origin.invalid:{port}"), &["::1", "127.0.0.1"])
            .unwrap();
        known
    };
    // The URL is the same, but the client knows its address.
    let mut config = world.client.config().clone();
    config.resolve = known(request(&world, "/").origin().port);
    let response = world.run(Client::new(config).send(request(&world, "/r/1")));
    assert_eq!(response.unwrap().status(), 200);
    assert!(
        here.requests()[1].starts_with("127.0.0.1:"),
        "{:?}",
        here.requests()
    );
}

#[test]
fn exceptions_are_connected_to_directly() {
    let proxy = proxy_server::Proxy::http();
    let world = through("http", &proxy, |config| {
        config.no_proxy = Some(vec!["127.0.0.0/8".into()]);
    });
    assert_eq!(world.get("/r/1").status(), 200);
    assert_eq!(proxy.accepted(), 0);
    assert_eq!(get(&world, "/r/2").status(), 200);
    assert_eq!(proxy.accepted(), 1);
}

#[test]
fn a_refusal_says_who_refused_what_and_no_secret() {
    let error = refusal("http", |client| {
        assert!(
            read_head(client)
                .unwrap()
                .starts_with("CONNECT origin.invalid:443 HTTP/1.1\r\n")
        );
        client
            .write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            .unwrap();
    });
    assert_eq!(error.kind(), Kind::Connect);
    assert!(
        error.to_string().contains("407") && error.to_string().contains("user"),
        "{error}"
    );
    let error = refusal("http", |client| {
        read_head(client).unwrap();
        client
            .write_all(b"HTTP/1.1 503 Busy\r\ncontent-length: 4\r\n\r\nbody")
            .unwrap();
    });
    assert!(error.to_string().contains("status 503"), "{error}");
    let error = refusal("socks5h", |client| client.write_all(&[5, 0xff]).unwrap());
    assert!(error.to_string().contains("neither user"), "{error}");
    let error = refusal("socks5h", |client| {
        client.write_all(b"HTTP/1.1 400\r\n\r\n").unwrap()
    });
    assert!(error.to_string().contains("not SOCKS 5"), "{error}");
}

#[test]
fn a_proxy_that_says_nothing_hits_the_limit_of_connecting() {
    for scheme in ["http", "socks5h"] {
        let limit = Duration::from_millis(1500);
        let url = format!("{scheme}://user:secret@127.0.0.1");
        let error = refusal_within(limit, &url, |client| {
            // Reads until the client has had enough.
            let _ = std::io::copy(client, &mut std::io::sink());
        });
        assert_eq!(error.kind(), Kind::Timeout);
        assert!(error.elapsed() >= limit);
    }
}

#[test]
fn a_proxy_that_is_not_there_is_named() {
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let world = World::with(|config| {
        config.proxy = Proxy::Url(format!("http://user:secret@127.0.0.1:{port}"));
    });
    let error = world.send(request(&world, "/")).unwrap_err();
    assert_eq!(
        (error.kind(), error.phase()),
        (Kind::Connect, Phase::Connect)
    );
    let message = error.to_string();
    assert!(
        message.contains(&format!("the proxy 127.0.0.1 port {port}")),
        "{message}"
    );
    assert!(!message.contains("secret"), "{message}");
}

/// Ends the first response half way and the next ten connections before a response, two for each request that waits, since
/// a GET is sent again once; then it is well again.
fn dies_and_returns(client: &mut TcpStream, served: &Mutex<Vec<String>>) -> io::Result<()> {
    let before = served.lock().unwrap().len();
    served.lock().unwrap().push(read_head(client)?);
    match before {
        0 => client.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nha"),
        1..=10 => Ok(()),
        _ => client.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nwhole"),
    }
}

#[test]
fn no_request_waits_for_a_proxy_that_died_and_the_next_one_uses_it_again() {
    let proxy = proxy_server::Proxy::start(dies_and_returns);
    let mut config = Config::new(Duration::from_secs(60));
    config.proxy = Proxy::Url(format!("http://127.0.0.1:{}", proxy.port));
    // All but the first wait for its connection.
    config.per_origin = Some(1);
    let (client, reactor) = (Client::new(config), Reactor::new().unwrap());
    let request = || Request::get("http://origin.invalid/").unwrap();
    let mut batch = Batch::new(client.clone(), 6);
    (0..6).for_each(|tag| batch.push(tag, request()));
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        reactor.block_on(batch.wait(&mut outcomes));
    }
    assert_eq!(outcomes.len(), 6);
    for (_, outcome) in outcomes {
        let error = outcome.unwrap_err();
        assert!(
            matches!(error.kind(), Kind::Body | Kind::Protocol),
            "{error}"
        );
    }
    let response = reactor.block_on(client.send(request())).unwrap();
    assert_eq!(response.body(), "whole");
    assert_eq!(proxy.accepted(), 12);
}

#[test]
fn a_proxy_that_can_not_be_used_is_refused_when_the_client_is_made() {
    for url in ["socks5://u:@h", "socks4a://u:secret@h", "ftp://u:secret@h"] {
        let mut config = Config::new(Duration::from_secs(1));
        config.proxy = Proxy::Url(url.into());
        assert!(!format!("{config:?}").contains("secret"));
        let error = Client::try_new(config)
            .err()
            .expect("a refusal")
            .to_string();
        assert!(
            error.starts_with("proxy: ") && !error.contains("secret"),
            "{error}"
        );
    }
    let mut config = Config::new(Duration::from_secs(1));
    config.proxy = Proxy::Url("http://h".into());
    config.unix_socket = Some("/tmp/x".into());
    assert!(Client::try_new(config).is_err());
}
