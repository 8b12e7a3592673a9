//! TLS: what is verified, what each refusal says, and connections that stay open, are closed or are cut.

use std::io::{Read, Write};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use hecaton::{
    Batch, Client, Config, Error, Kind, Outcome, Phase, Proxy, Reactor, Request, TlsVersion,
};
use hecaton_e2e::peer::Peer;
use rcgen::date_time_ymd;
use rustls::HandshakeKind;
use rustls::version::{TLS12, TLS13};

use crate::tls_server::{Authority, Identity, Server, Session, keep_alive, read_head};
use crate::until;

pub const ANY: &[&rustls::SupportedProtocolVersion] = &[&TLS12, &TLS13];

/// A client that trusts `authority` alone, and its reactor.
pub struct Trusting {
    client: Client,
    reactor: Reactor,
}

impl Trusting {
    pub fn new(authority: &Authority) -> Trusting {
        Trusting::with(authority, |_| {})
    }

    pub fn with(authority: &Authority, change: impl FnOnce(&mut Config)) -> Trusting {
        let mut config = Config::new(Duration::from_secs(60));
        config.ca = Some(authority.pem.as_str().into());
        config.proxy = Proxy::Off;
        change(&mut config);
        Trusting {
            client: Client::try_new(config).expect("the settings are good"),
            reactor: Reactor::new().unwrap(),
        }
    }

    pub fn send(&self, request: Request) -> Outcome {
        self.reactor.block_on(self.client.send(request))
    }

    pub fn get(&self, url: &str) -> Outcome {
        self.send(Request::get(url).unwrap())
    }

    /// This many GETs at once.
    pub fn batch(&self, url: &str, count: usize) -> Vec<Outcome> {
        let mut batch = Batch::new(self.client.clone(), count);
        (0..count).for_each(|tag| batch.push(tag, Request::get(url).unwrap()));
        let mut outcomes = Vec::new();
        while !batch.is_empty() {
            self.reactor.block_on(batch.wait(&mut outcomes));
        }
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }

    /// The failure of a GET, which sent nothing and says all of `words`.
    pub fn refuses(&self, url: &str, words: &[&str]) -> Error {
        let error = self.get(url).expect_err("a refusal");
        assert_eq!(error.kind(), Kind::Tls, "{error}");
        for word in words {
            assert!(error.to_string().contains(word), "no {word:?} in: {error}");
        }
        error
    }
}

pub fn serve(identity: &Identity) -> Server {
    Server::start(identity.server(ANY), keep_alive)
}

#[test]
fn a_certificate_of_a_trusted_authority_for_the_right_host_is_accepted() {
    let authority = Authority::new();
    let server = serve(&authority.sign(&["localhost"]));
    let response = Trusting::new(&authority).get(&server.url()).unwrap();
    assert_eq!(response.body().as_ref(), b"ok");
    let attempt = &response.attempts()[0];
    assert!(attempt.tls_time.is_some() && attempt.connect_time.is_some() && !attempt.reused);
    let seen = &server.seen()[0];
    assert_eq!(
        seen.name.as_deref(),
        Some("localhost"),
        "the name is indicated"
    );
}

#[test]
fn an_address_is_verified_and_not_indicated_as_a_name() {
    let authority = Authority::new();
    let server = serve(&authority.sign(&["127.0.0.1"]));
    let url = format!("https://127.0.0.1:{}/", server.port);
    assert_eq!(Trusting::new(&authority).get(&url).unwrap().status(), 200);
    assert_eq!(server.seen()[0].name, None);
    let other = serve(&authority.sign(&["localhost"]));
    let url = format!("https://127.0.0.1:{}/", other.port);
    Trusting::new(&authority).refuses(&url, &["another host", "localhost"]);
}

#[test]
fn each_bad_certificate_is_refused_before_anything_is_sent_and_says_which() {
    let authority = Authority::new();
    let expired = authority.sign_with(&["localhost"], |params| {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
    });
    let early = authority.sign_with(&["localhost"], |params| {
        params.not_before = date_time_ymd(4000, 1, 1);
        params.not_after = date_time_ymd(4001, 1, 1);
    });
    let cases: [(Identity, &[&str]); 5] = [
        (expired, &["expired", "2021"]),
        (early, &["not valid yet", "4000"]),
        (
            authority.sign(&["other.example"]),
            &["another host", "other.example"],
        ),
        (Identity::self_signed(&["localhost"]), &["self-signed"]),
        (Authority::new().sign(&["localhost"]), &["unknown issuer"]),
    ];
    for (identity, words) in cases {
        let server = serve(&identity);
        let error = Trusting::new(&authority).refuses(&server.url(), words);
        assert_eq!(
            (error.phase(), error.sent()),
            (Phase::Tls, false),
            "{error}"
        );
        assert_eq!(error.attempts().len(), 1);
        assert!(error.to_string().contains("localhost"), "{error}");
    }
}

#[test]
fn the_certificate_of_an_authority_is_refused_for_a_host() {
    let authority = Authority::new();
    let pretender = authority.sign_with(&["localhost"], |params| {
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    });
    Trusting::new(&authority).refuses(&serve(&pretender).url(), &["that of an authority"]);
}

#[test]
fn a_pin_is_checked_on_top_of_all_else() {
    let authority = Authority::new();
    let identity = authority.sign(&["localhost"]);
    let server = serve(&identity);
    let pinned = |pins: &[&String]| {
        let pins = pins.iter().map(|pin| pin.to_string()).collect();
        Trusting::with(&authority, |config| config.pins = pins)
    };
    let other = authority.sign(&["localhost"]).pin;
    assert!(pinned(&[&other, &identity.pin]).get(&server.url()).is_ok());
    let error = pinned(&[&other]).refuses(&server.url(), &["pins"]);
    assert_eq!((error.phase(), error.sent()), (Phase::Tls, false));
    // An authority's key in the chain proves nothing, because any server can send that certificate.
    pinned(&[&authority.pin]).refuses(&server.url(), &["pins"]);
    // A right pin does not make up for anything else that is wrong.
    let stranger = Identity::self_signed(&["localhost"]);
    pinned(&[&stranger.pin]).refuses(&serve(&stranger).url(), &["self-signed"]);
}

#[test]
fn without_verification_only_pins_hold() {
    let stranger = Identity::self_signed(&["other.example"]);
    let server = serve(&stranger);
    let careless = |pins: Vec<String>| {
        Trusting::with(&Authority::new(), |config| {
            config.verify = false;
            config.pins = pins;
        })
    };
    assert!(careless(Vec::new()).get(&server.url()).is_ok());
    assert!(
        careless(vec![stranger.pin.clone()])
            .get(&server.url())
            .is_ok()
    );
    let other = Authority::new().pin;
    careless(vec![other]).refuses(&server.url(), &["pins"]);
}

#[test]
fn the_lowest_allowed_version_holds() {
    let authority = Authority::new();
    let identity = authority.sign(&["localhost"]);
    let old = Server::start(identity.server(&[&TLS12]), keep_alive);
    let new = Server::start(identity.server(&[&TLS13]), keep_alive);
    let usual = Trusting::new(&authority);
    assert!(usual.get(&old.url()).is_ok() && usual.get(&new.url()).is_ok());
    let strict = Trusting::with(&authority, |config| config.tls_min = TlsVersion::Tls13);
    assert!(strict.get(&new.url()).is_ok());
    strict.refuses(&old.url(), &["version", "tls_min"]);
}

#[test]
fn a_client_certificate_is_shown_when_it_is_demanded_and_its_lack_is_reported() {
    let authority = Authority::new();
    let identity = authority.sign(&["localhost"]);
    let shown = authority.sign(&["client"]);
    for version in [&TLS12, &TLS13] {
        let config = identity.server_for(&authority, &[version]);
        let server = Server::start(config, keep_alive);
        let error = Trusting::new(&authority).refuses(&server.url(), &["client certificate"]);
        assert_eq!(error.attempts().len(), 1);
        let showing = Trusting::with(&authority, |config| {
            config.client_cert = Some(shown.pem.as_str().into());
            config.client_key = Some(shown.key_pem.as_str().into());
        });
        assert_eq!(showing.get(&server.url()).unwrap().status(), 200);
        let both = Trusting::with(&authority, |config| {
            config.client_cert = Some(format!("{}{}", shown.pem, shown.key_pem).into());
        });
        assert_eq!(both.get(&server.url()).unwrap().status(), 200);
        let wrong = Authority::new().sign(&["client"]);
        let stranger = Trusting::with(&authority, |config| {
            config.client_cert = Some(wrong.pem.as_str().into());
            config.client_key = Some(wrong.key_pem.as_str().into());
        });
        stranger.refuses(&server.url(), &["refused the client certificate"]);
    }
}

#[test]
fn a_key_of_another_certificate_is_refused_at_once() {
    let authority = Authority::new();
    let mut config = Config::new(Duration::from_secs(1));
    config.client_cert = Some(authority.sign(&["a"]).pem.into());
    config.client_key = Some(authority.sign(&["a"]).key_pem.into());
    let error = Client::try_new(config)
        .err()
        .expect("a refusal")
        .to_string();
    assert!(error.contains("not the key"), "{error}");
}

#[test]
fn a_connection_stays_open_whatever_tickets_come_on_it() {
    let authority = Authority::new();
    let mut config = authority.sign(&["localhost"]).server(ANY);
    config.send_tls13_tickets = 8;
    let server = Server::start(config, keep_alive);
    let trusting = Trusting::new(&authority);
    for _ in 0..5 {
        assert_eq!(trusting.get(&server.url()).unwrap().status(), 200);
        // Long enough that the client checks the socket before it reuses the connection.
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(server.seen().len(), 1, "one handshake for five requests");
}

fn once(session: &mut Session) {
    read_head(session);
    let _ = session.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    session.conn.send_close_notify();
    let _ = session.flush();
}

fn once_and_gone(session: &mut Session) {
    read_head(session);
    let _ = session.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
}

fn once_and_more(session: &mut Session) {
    read_head(session);
    let _ = session.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    thread::sleep(Duration::from_millis(10));
    let _ = session.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil");
    read_head(session);
}

#[test]
fn a_connection_that_was_closed_or_spoiled_meanwhile_is_not_used_again() {
    let authority = Authority::new();
    for serve in [once, once_and_gone, once_and_more] {
        let server = Server::start(authority.sign(&["localhost"]).server(ANY), serve);
        let trusting = Trusting::new(&authority);
        for _ in 0..2 {
            let response = trusting.get(&server.url()).unwrap();
            assert_eq!(response.body().as_ref(), b"ok");
            assert_eq!(response.attempts().len(), 1, "noticed before it was used");
            // Until the client has noticed that the server has closed or spoiled the connection.
            until(|| trusting.client.idle_connections() == 0);
        }
        assert_eq!(server.seen().len(), 2);
    }
}

#[test]
fn a_new_connection_resumes_the_session_of_an_earlier_one() {
    let authority = Authority::new();
    for version in [&TLS12, &TLS13] {
        let config = authority.sign(&["localhost"]).server(&[version]);
        let server = Server::start(config, keep_alive);
        let trusting = Trusting::with(&authority, |config| config.idle_timeout = Duration::ZERO);
        (0..3).for_each(|_| assert!(trusting.get(&server.url()).is_ok()));
        let seen = server.seen();
        let resumed = |index: usize| seen[index].kind == Some(HandshakeKind::Resumed);
        assert!(!resumed(0) && resumed(1) && resumed(2), "{seen:?}");
    }
}

fn cut(session: &mut Session) {
    read_head(session);
    let _ = session.write_all(b"HTTP/1.1 200 OK\r\n\r\nup to the end");
}

fn ended(session: &mut Session) {
    cut(session);
    session.conn.send_close_notify();
    let _ = session.flush();
}

#[test]
fn a_body_that_ends_with_its_connection_is_whole_only_if_tls_ended_too() {
    let authority = Authority::new();
    let identity = authority.sign(&["localhost"]);
    let trusting = Trusting::new(&authority);
    let whole = Server::start(identity.server(ANY), ended);
    assert_eq!(
        trusting.get(&whole.url()).unwrap().body().as_ref(),
        b"up to the end"
    );
    let short = Server::start(identity.server(ANY), cut);
    let error = trusting.get(&short.url()).unwrap_err();
    assert_eq!(
        (error.kind(), error.phase()),
        (Kind::Body, Phase::Read),
        "{error}"
    );
}

/// Reads as many bytes as the path says, and then sends as many.
fn bulk(session: &mut Session) {
    const SIZE: usize = 3_000_000;
    read_head(session);
    let mut body = vec![0; SIZE];
    if session.read_exact(&mut body).is_ok() {
        let _ = session
            .write_all(format!("HTTP/1.1 200 OK\r\ncontent-length: {SIZE}\r\n\r\n").as_bytes());
        let _ = session.write_all(&body);
        let _ = session.flush();
    }
}

#[test]
fn large_bodies_go_both_ways() {
    let authority = Authority::new();
    let server = Server::start(authority.sign(&["localhost"]).server(ANY), bulk);
    let body: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    let request = Request::new("POST", &server.url())
        .unwrap()
        .body(body.clone());
    let response = Trusting::new(&authority).send(request).unwrap();
    assert!(response.body().as_ref() == body);
}

#[test]
fn a_server_without_tls_has_an_error_of_its_own() {
    let held = Mutex::new(Vec::new());
    let peer = Peer::playing(move |mut stream, connection| {
        // First HTTP where TLS is expected, then the end, then nothing at all.
        match connection {
            0 => {
                let _ = stream.read(&mut [0; 512]);
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            }
            // The second handshake is tried once more.
            1 | 2 => drop(stream.read(&mut [0; 4096])),
            _ => held.lock().unwrap().push(stream.try_clone()),
        }
    });
    let url = format!("https://localhost:{}/", peer.port());
    let trusting = Trusting::new(&Authority::new());
    trusting.refuses(&url, &["not TLS", "plain HTTP"]);
    let error = trusting.get(&url).unwrap_err();
    assert_eq!(
        (error.kind(), error.phase(), error.sent()),
        (Kind::Connect, Phase::Tls, false)
    );
    let hasty = Trusting::with(&Authority::new(), |config| {
        config.tls_timeout = Some(Duration::from_millis(1500));
    });
    let error = hasty.get(&url).unwrap_err();
    assert_eq!(
        (error.kind(), error.phase(), error.sent()),
        (Kind::Timeout, Phase::Tls, false)
    );
    assert!(error.elapsed() >= Duration::from_millis(1500));
    assert!(error.attempts()[0].connect_time.is_some() && error.attempts()[0].tls_time.is_none());
}
