//! Every phase ends within 50 ms of its limit: once, never doubled, and the server sees one attempt.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use hecaton::{Config, Ending, Error, Kind, Phase, Protocol, Request};
use hecaton_e2e::peer::Peer;
use hecaton_test_server::{Http2, Options, TestServer};

use crate::addresses::Lost;
use crate::{World, until, with_growing};

const LIMIT: Duration = Duration::from_millis(200);
/// The promised precision.
const LATE: Duration = Duration::from_millis(50);
/// The number of tries. Other processes may delay one try by more, but not every try.
const TRIES: usize = 10;
/// The same for short limits.
const SHORT_TRIES: usize = 100;

/// The first failure in time that got as far as this phase. The range goes from the tries that got so far to all tries:
/// a machine that stands still may end a try before. No failure may be early, re-sent, or twice as late.
fn in_time(phase: Phase, mut fail: impl FnMut() -> Error) -> (Error, RangeInclusive<usize>) {
    let mut far = 0;
    for tries in 1..=SHORT_TRIES {
        let error = fail();
        assert_eq!(error.kind(), Kind::Timeout, "{error}");
        assert_eq!(error.attempts().len(), 1, "{error}");
        assert!(error.elapsed() >= LIMIT, "early: {:?}", error.elapsed());
        let is_far = error.attempts()[0].phase == phase;
        far += usize::from(is_far);
        if is_far && error.elapsed() < LIMIT + LATE {
            return (error, far..=tries);
        }
    }
    panic!("more than {LATE:?} late, {SHORT_TRIES} times in a row");
}

/// A failure that came sooner than this in one of several tries. A doubled wait would be doubled in every try.
pub fn sooner_than(limit: Duration, mut fail: impl FnMut() -> Error) -> Error {
    let mut late = Vec::new();
    for _ in 0..TRIES {
        let error = fail();
        if error.elapsed() < limit {
            return error;
        }
        late.push(error.elapsed());
    }
    panic!("not once sooner than {limit:?}: {late:?}");
}

/// How a limit is set.
type Setting = fn(&mut Config);
const TOTAL: Setting = |config| config.timeout = LIMIT;

/// Checks the errors of the limit of a phase, and of the total deadline in that phase. `arrived` is the number of
/// requests or connections at the server.
fn holds(
    phase: Phase,
    own: Setting,
    http: Protocol,
    request: impl Fn(&World) -> Request,
    arrived: impl Fn(&World) -> usize,
) {
    for (setting, reported) in [(own, phase), (TOTAL, Phase::Total)] {
        let world = supporting(http, setting);
        let before = arrived(&world);
        let late = || world.send(request(&world)).expect_err("too late");
        let (error, tries) = in_time(phase, late);
        assert_eq!(error.phase(), reported, "{error}");
        let attempt = &error.attempts()[0];
        let ending = if reported == phase {
            Ending::Failed
        } else {
            Ending::Unfinished
        };
        assert_eq!(attempt.ending, ending);
        assert_eq!(error.sent(), phase as u8 >= Phase::Send as u8, "{error}");
        // Over HTTP/2 the server otherwise learns only at the next request that the last one was given up.
        world.client.close_idle();
        // The server may take a moment to see the last one.
        until(|| arrived(&world) - before >= *tries.start());
        let arrived = arrived(&world) - before;
        assert!(tries.contains(&arrived), "{arrived} of {tries:?}: {error}");
    }
}

/// A test server that supports both, and a client that uses this one.
fn supporting(http: Protocol, setting: Setting) -> World {
    let mut world = World::with(|config| {
        config.http = http;
        setting(config);
    });
    let options = Options {
        http2: Some(Http2::default()),
        ..Options::default()
    };
    world.server = TestServer::start(options).unwrap();
    world
}

/// Requests at the test server.
fn seen(world: &World) -> usize {
    let summary = world.server.summary();
    (summary.requests + summary.aborted) as usize
}

#[test]
fn a_wait_for_a_connection_ends_in_time_and_sends_nothing() {
    for (own, reported) in [(Some(LIMIT), Phase::Queue), (None, Phase::Total)] {
        let world = World::with(|config| {
            config.per_origin = Some(1);
            config.queue_timeout = own;
        });
        let holder = world.run(world.client.open(world.request("/bytes/5000000")));
        let holder = holder.unwrap();
        let (error, _) = in_time(Phase::Queue, || {
            let mut request = world.request("/r/1");
            if own.is_none() {
                request = request.timeout(LIMIT);
            }
            world.send(request).unwrap_err()
        });
        assert_eq!((error.phase(), error.sent()), (reported, false), "{error}");
        drop(holder);
        assert_eq!(world.get("/r/1").status(), 200);
        assert_eq!(world.server.stop().items, 1, "nothing of those that waited");
    }
}

#[test]
fn connecting_ends_in_time() {
    let lost = Lost::at(SocketAddr::from(([127, 0, 0, 2], 0)));
    let url = lost.url();
    for (setting, reported) in [
        (
            (|config| config.connect_timeout = LIMIT) as Setting,
            Phase::Connect,
        ),
        (TOTAL, Phase::Total),
    ] {
        let world = World::with(setting);
        let late = || world.send(Request::get(&url).unwrap()).unwrap_err();
        let (error, _) = in_time(Phase::Connect, late);
        assert_eq!((error.phase(), error.sent()), (reported, false), "{error}");
    }
}

#[test]
fn a_handshake_ends_in_time() {
    let peer = Peer::mute();
    let url = format!("https://{}/", peer.address());
    holds(
        Phase::Tls,
        |config| config.tls_timeout = Some(LIMIT),
        Protocol::Auto,
        |_| Request::get(&url).unwrap(),
        |_| peer.connections(),
    );
}

#[test]
fn sending_ends_in_time() {
    let peer = Peer::mute();
    let url = peer.url("/");
    let body = bytes::Bytes::from(vec![b'x'; 50_000_000]);
    holds(
        Phase::Send,
        |config| config.send_timeout = Some(LIMIT),
        Protocol::Http1,
        |_| Request::new("POST", &url).unwrap().body(body.clone()),
        |_| peer.connections(),
    );
}

#[test]
fn the_wait_for_a_response_ends_in_time() {
    for http in [Protocol::Http1, Protocol::Http2] {
        holds(
            Phase::FirstByte,
            |config| config.first_byte_timeout = Some(LIMIT),
            http,
            |world| world.request("/fault/stall-head"),
            seen,
        );
    }
}

#[test]
fn the_wait_for_more_of_a_body_ends_in_time() {
    for http in [Protocol::Http1, Protocol::Http2] {
        holds(
            Phase::Read,
            |config| config.read_timeout = Some(LIMIT),
            http,
            |world| world.request("/fault/stall-body"),
            seen,
        );
    }
}

#[test]
fn a_body_that_drips_ends_with_the_total_in_time() {
    let world = World::with(TOTAL);
    let late = || world.send(world.request("/fault/drip")).unwrap_err();
    let (error, _) = in_time(Phase::Read, late);
    assert_eq!(error.phase(), Phase::Total);
}

/// Timers count milliseconds, so both may expire in one turn, and the limit of the phase is checked first.
#[test]
fn when_the_total_and_a_phase_end_at_once_it_is_the_total_that_is_reported() {
    for path in ["/fault/stall-head", "/fault/stall-body"] {
        let world = World::with(|config| {
            config.timeout = Duration::from_millis(50);
            config.first_byte_timeout = Some(config.timeout);
            config.read_timeout = Some(config.timeout);
        });
        for _ in 0..10 {
            let whole = world.send(world.request(path)).unwrap_err();
            let opened = world.run(world.client.open(world.request(path)));
            let streamed = opened.and_then(|mut stream| {
                world.run(stream.chunk())?;
                world.run(stream.chunk())
            });
            for error in [whole, streamed.unwrap_err()] {
                assert_eq!(error.phase(), Phase::Total, "{error}");
            }
        }
    }
}

#[test]
fn the_deadline_says_what_it_ended() {
    let peer = Peer::mute();
    for (scheme, phase, doing) in [
        ("https", Phase::Tls, "agreeing on TLS"),
        ("http", Phase::FirstByte, "waiting for the response"),
    ] {
        let (limit, error) = with_growing(LIMIT, |limit| {
            let world = World::with(|config| config.timeout = limit);
            let request = Request::get(&format!("{scheme}://{}/", peer.address())).unwrap();
            let error = world.send(request).unwrap_err();
            (error.attempts().last()?.phase == phase).then_some((limit, error))
        });
        let sentence = format!("the deadline of {limit:?} passed while {doing}");
        assert_eq!(error.detail(), sentence, "{error}");
    }
}

#[test]
fn connecting_may_take_three_seconds_by_default() {
    let lost = Lost::at(SocketAddr::from(([127, 0, 0, 2], 0)));
    let url = lost.url();
    let error = sooner_than(Duration::from_secs(4), || {
        let error = World::new().send(Request::get(&url).unwrap()).unwrap_err();
        let failure = (error.kind(), error.phase());
        assert_eq!(failure, (Kind::Timeout, Phase::Connect), "{error}");
        error
    });
    assert!(error.elapsed() >= Duration::from_secs(3), "{error:?}");
}

#[test]
fn one_lost_syn_is_survived() {
    // The second SYN leaves after a second, and the third too late: in one of several tries the address has recovered before
    // the second.
    let in_time = (0..TRIES).find_map(|_| {
        let lost = Lost::at(SocketAddr::from(([127, 0, 0, 2], 0)));
        let request = Request::get(&lost.url()).unwrap();
        lost.recover_when_reached_for();
        World::new().send(request).ok()
    });
    let response = in_time.expect("a response");
    let connect = response.attempts()[0].connect_time.unwrap();
    assert_eq!((response.status(), response.attempts().len()), (204, 1));
    assert!(
        connect >= Duration::from_millis(800),
        "sent once more: {connect:?}"
    );
}

/// The next waiting request then opens the connection, after some of its own limit has passed.
#[test]
fn the_limit_of_connecting_does_not_begin_again_when_the_request_that_connects_for_all_gives_up() {
    let lost = Lost::at(SocketAddr::from(([127, 0, 0, 2], 0)));
    let url = lost.url();
    // A limit that began again would end after 2.5 s at least.
    let error = sooner_than(Duration::from_millis(2300), || outlasts_two_others(&url));
    assert!(error.elapsed() >= Duration::from_millis(1490), "{error:?}");
    let waited = error.attempts()[0].connect_time;
    assert!(waited >= Some(Duration::from_millis(900)), "{error:?}");
}

/// The error of a request that may take 1.5 s to connect, after two others gave up one after the other.
fn outlasts_two_others(url: &str) -> Error {
    let world = World::with(|config| {
        config.http = Protocol::Http2;
        config.connect_timeout = Duration::from_millis(1500);
    });
    let request = |limit| world.client.send(Request::get(url).unwrap().timeout(limit));
    let (first, second, third) = (
        request(Duration::from_millis(500)),
        request(Duration::from_millis(1000)),
        request(Duration::from_secs(60)),
    );
    let (first, second, third) = world.run(async { tokio::join!(first, second, third) });
    assert_eq!(first.unwrap_err().phase(), Phase::Total);
    assert_eq!(second.unwrap_err().phase(), Phase::Total);
    let error = third.unwrap_err();
    assert_eq!(
        (error.kind(), error.phase()),
        (Kind::Timeout, Phase::Connect),
        "{error}"
    );
    error
}
