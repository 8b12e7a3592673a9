//! Proxies that use TLS themselves, SOCKS 4, and credentials that a program adds by itself.

use std::io::Write;
use std::time::Duration;

use hecaton::{Client, Config, Kind, Phase, Protocol, Proxy, Request};
use hecaton_test_server::{Http2, Options, TestServer};

use crate::proxies::{get, refusal_of, request, through};
use crate::proxy_server::{self, TlsFront};
use crate::tls_server::{Authority, Server, keep_alive, read_whole_head};
use crate::{World, json};

#[test]
fn credentials_given_as_a_header_go_to_the_proxy_alone() {
    let own = |request: Request| {
        request
            .header("Proxy-Authorization", b"Bearer own-secret")
            .unwrap()
    };
    let has =
        |text: &str| text.to_lowercase().contains("proxy-auth") || text.contains("own-secret");
    // A proxy that forwards requests receives the header. The test server does not, with an exception
    // or without a proxy.
    let proxy = proxy_server::Proxy::http();
    let world = through("http", &proxy, |config| {
        config.no_proxy = Some(vec!["127.0.0.1".into()])
    });
    let seen = world.send(own(request(&world, "/echo"))).unwrap();
    assert!(proxy.requests()[0].contains("Proxy-Authorization: Bearer own-secret\r\n"));
    assert!(!has(&json(&seen).to_string()));
    let seen = world.send(own(world.request("/echo"))).unwrap();
    assert!(!has(&json(&seen).to_string()), "an exception");
    let direct = World::new();
    let seen = direct.send(own(direct.request("/echo"))).unwrap();
    assert!(!has(&json(&seen).to_string()), "no proxy");
    // Through tunnels.
    for (scheme, proxy) in [
        ("http", proxy_server::Proxy::http()),
        ("socks5h", proxy_server::Proxy::socks()),
    ] {
        let mut world = through(scheme, &proxy, |config| config.http = Protocol::Http2);
        let http2 = Some(Http2::default());
        world.server = TestServer::start(Options {
            http2,
            ..Options::default()
        })
        .unwrap();
        let seen = world.send(own(request(&world, "/echo"))).unwrap();
        assert!(!has(&json(&seen).to_string()), "{scheme}");
    }
    let authority = Authority::new();
    let server = Server::start(
        authority.sign(&["origin.invalid"]).server_any(),
        |session| {
            let head = read_whole_head(session);
            let body = head.to_lowercase().contains("proxy-auth").to_string();
            let response = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            let _ = session
                .write_all(response.as_bytes())
                .and_then(|()| session.flush());
        },
    );
    let proxy = proxy_server::Proxy::http();
    let world = through("http", &proxy, |config| {
        config.ca = Some(authority.pem.as_str().into());
    });
    let url = format!("https://origin.invalid:{}/", server.port);
    let response = world.send(own(Request::get(&url).unwrap())).unwrap();
    assert_eq!(response.body().as_ref(), b"false");
}

#[test]
fn a_proxy_may_use_tls_itself() {
    let authority = Authority::new();
    let mut shown = authority.sign(&["proxy.localhost"]).server_any();
    shown.send_tls13_tickets = 4;
    let front = TlsFront::new(shown);
    let server = Server::start(authority.sign(&["origin.invalid"]).server_any(), keep_alive);
    let client = |change: &dyn Fn(&mut Config)| {
        World::with(|config| {
            config.ca = Some(authority.pem.as_str().into());
            config.proxy = Proxy::Url(format!(
                "https://user:secret@proxy.localhost:{}",
                front.port
            ));
            change(config);
        })
    };
    let world = client(&|_| {});
    // Twice on one connection to the proxy, with or without tickets of TLS.
    for reused in [false, true, true] {
        let response = get(&world, "/echo");
        assert_eq!(response.attempts()[0].reused, reused);
        assert!(!json(&response).to_string().contains("proxy-auth"));
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(front.proxy.requests()[0].contains("Proxy-Authorization: Basic dXNlcjpzZWNyZXQ=\r\n"));
    // TLS in TLS.
    let url = format!("https://origin.invalid:{}/", server.port);
    for reused in [false, true, true] {
        let response = world.send(Request::get(&url).unwrap()).unwrap();
        assert_eq!(
            (response.body().as_ref(), response.attempts()[0].reused),
            (&b"ok"[..], reused)
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(front.proxy.accepted(), 2);
    // Large bodies both ways, as plaintext HTTP inside the proxy's TLS.
    let body: Vec<u8> = (0..1_000_000_u32).map(|n| (n % 251) as u8).collect();
    let tunnelled = client(&|config| {
        config.http = Protocol::Http2;
        config.timeout = Duration::from_secs(60);
    });
    let http2 = Some(Http2::default());
    let origin = TestServer::start(Options {
        http2,
        ..Options::default()
    })
    .unwrap();
    let url = origin.base_url().replace("127.0.0.1", "origin.invalid");
    let post = Request::new("POST", &format!("{url}/echo"))
        .unwrap()
        .body(body);
    assert_eq!(tunnelled.send(post).unwrap().status(), 200);
    let large = Request::get(&format!("{url}/bytes/3000000")).unwrap();
    let large = tunnelled.send(large).unwrap();
    assert_eq!((large.status(), large.body().len()), (200, 3_000_000));
    // The test server's pins are not the proxy's, and an untrusted proxy does not receive the password.
    let pin = authority.sign(&["x"]).pin;
    let pinned = client(&|config| config.pins = vec![pin.clone()]);
    assert_eq!(get(&pinned, "/r/1").status(), 200);
    let before = front.proxy.requests().len();
    let strict = client(&|config| config.ca = Some(Authority::new().pem.into()));
    let error = strict.send(request(&strict, "/r/1")).unwrap_err();
    assert_eq!(
        (error.kind(), error.phase(), error.sent()),
        (Kind::Tls, Phase::Connect, false)
    );
    let message = error.to_string();
    assert!(
        message.contains("the proxy") && message.contains("unknown issuer"),
        "{message}"
    );
    assert!(!message.contains("secret"), "{message}");
    assert_eq!(front.proxy.requests().len(), before);
}

#[test]
fn socks4a_leaves_the_name_to_the_proxy_and_socks4_resolves_it_here() {
    let proxy = proxy_server::Proxy::socks4();
    let client = |scheme: &str| {
        World::with(|config| {
            config.proxy = Proxy::Url(format!("{scheme}://me@127.0.0.1:{}", proxy.port));
        })
    };
    let world = client("socks4a");
    assert_eq!(get(&world, "/r/1").status(), 200);
    let port = request(&world, "/").origin().port;
    assert_eq!(*proxy.requests(), [format!("me origin.invalid:{port}")]);
    let world = client("socks4");
    let mut config = world.client.config().clone();
    let host = format!("origin.invalid:{}", request(&world, "/").origin().port);
    config.resolve.add(&host, &["::1", "127.0.0.1"]).unwrap();
    let response = world.run(Client::new(config).send(request(&world, "/r/1")));
    assert_eq!(response.unwrap().status(), 200);
    assert!(
        proxy.requests()[1].starts_with("me 127.0.0.1:"),
        "{:?}",
        proxy.requests()
    );
    let error = world
        .send(Request::get("http://[::1]:1/").unwrap())
        .unwrap_err();
    assert_eq!((error.kind(), error.sent()), (Kind::Connect, false));
    assert!(
        error
            .to_string()
            .contains("cannot connect to IPv6 addresses"),
        "{error}"
    );
    let refused = refusal_of("socks4a://127.0.0.1", |client| {
        client.write_all(&[0, 91, 0, 0, 0, 0, 0, 0]).unwrap();
    });
    assert!(refused.to_string().contains("rejected"), "{refused}");
}
