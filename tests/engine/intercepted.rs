//! Requests to which a program responds in place of the network, by the rules for responses of the network.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hecaton::{
    Batch, Ending, Given, GivenFailure, GivenResponse, Hooks, Kind, Outcome, Phase, Request,
    Response, Retry, Upcoming,
};

use crate::World;
use crate::scripted::{Scripted, response_text};

/// Gives what a function says, and records its calls.
struct Stub<F> {
    give: F,
    calls: Mutex<Vec<(usize, String)>>,
    observed: Mutex<Vec<(u16, String)>>,
    /// The statuses after which its retry predicate sends a request again.
    again: Vec<u16>,
}

impl<F: Fn(&Upcoming) -> Given> Stub<F> {
    fn new(give: F) -> Arc<Stub<F>> {
        Stub::with_predicate(Vec::new(), give)
    }

    fn with_predicate(again: Vec<u16>, give: F) -> Arc<Stub<F>> {
        let (calls, observed) = Default::default();
        Arc::new(Stub {
            give,
            calls,
            observed,
            again,
        })
    }

    fn calls(&self) -> Vec<(usize, String)> {
        self.calls.lock().unwrap().clone()
    }
}

type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl<F: Fn(&Upcoming) -> Given + Send + Sync> Hooks for Stub<F> {
    fn again(&self, _: usize, outcome: Outcome) -> Later<bool> {
        let again = outcome.is_ok_and(|response| self.again.contains(&response.status()));
        Box::pin(async move { again })
    }

    fn respond(&self, number: usize, attempt: Upcoming) -> Later<Given> {
        let call = (number, format!("{} {}", attempt.method, attempt.url));
        self.calls.lock().unwrap().push(call);
        let given = (self.give)(&attempt);
        Box::pin(async move { given })
    }

    fn observe(&self, _: usize, response: Response) -> Later<()> {
        let body = String::from_utf8_lossy(response.body()).into_owned();
        self.observed
            .lock()
            .unwrap()
            .push((response.status(), body));
        Box::pin(async {})
    }
}

fn response(status: u16, headers: &[(&str, &str)], body: &'static str) -> Given {
    let headers = headers.iter();
    Given::Response(GivenResponse {
        status,
        headers: headers
            .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()))
            .collect(),
        body: vec![body.into()],
        ending: None,
        took: Duration::ZERO,
    })
}

fn failure(kind: Kind, phase: Phase) -> GivenFailure {
    GivenFailure {
        kind,
        phase,
        sent: phase != Phase::Queue,
        ended: false,
        detail: "given".into(),
    }
}

const NOWHERE: &str = "http://nowhere.invalid/";

fn request() -> Request {
    Request::get(NOWHERE).unwrap().intercepted(7)
}

fn endings(outcome: &Outcome) -> Vec<Ending> {
    let attempts = match outcome {
        Ok(response) => response.attempts(),
        Err(error) => error.attempts(),
    };
    attempts
        .iter()
        .map(|attempt| attempt.ending.clone())
        .collect()
}

#[test]
fn redirects_and_retries_of_given_responses_are_the_engines_and_do_not_wait() {
    let world = World::with(|config| {
        config.redirects = 3;
        config.timeout = Duration::from_secs(10_000);
        config.retry = Some(Retry {
            statuses: vec![503],
            interval: Duration::from_secs(1000),
            ..Retry::default()
        });
    });
    let stub = Stub::new(|attempt: &Upcoming| match attempt.number {
        1 => response(302, &[("Location", "/there")], ""),
        2 => response(503, &[("Retry-After", "1000")], "busy"),
        3 => Given::Failure(failure(Kind::Protocol, Phase::FirstByte)),
        _ => response(200, &[("X-Name", " value ")], "whole"),
    });
    let client = world.client.with_hooks(stub.clone());
    let outcome = world.run(client.send(request())).unwrap();
    assert_eq!(
        (outcome.status(), &outcome.body()[..]),
        (200, &b"whole"[..])
    );
    assert_eq!(outcome.header("x-name"), Some(&b"value"[..]));
    assert_eq!(outcome.url(), format!("{NOWHERE}there"));
    let there = (7, format!("GET {NOWHERE}there"));
    let calls = [
        (7, format!("GET {NOWHERE}")),
        there.clone(),
        there.clone(),
        there,
    ];
    assert_eq!(stub.calls(), calls);
    let last = outcome.attempts().last().unwrap();
    assert_eq!((last.connection, last.version, last.sent), (0, None, true));
}

fn waiting(seconds: u64, retries: u32) -> Option<Retry> {
    Some(Retry {
        max: retries,
        statuses: vec![503],
        interval: Duration::from_secs(seconds),
        backoff: 1.0,
        jitter: 0.0,
        ..Retry::default()
    })
}

#[test]
fn waits_after_given_responses_are_over_at_once_and_count_for_the_deadline() {
    let world = World::with(|config| {
        config.timeout = Duration::from_secs(10_000);
        config.retry = waiting(4000, 20);
    });
    let stub = Stub::with_predicate(vec![503], |_: &Upcoming| response(503, &[], ""));
    let client = world.client.with_hooks(stub);
    for request in [request(), request().call_retry_predicate(7)] {
        let outcome = world.run(client.send(request)).unwrap();
        // In thousands of seconds: the time that passes beside the waits counts too.
        let begun = outcome.attempts().iter();
        let begun = begun.map(|attempt| attempt.begun.as_secs() / 1000);
        assert_eq!(begun.collect::<Vec<_>>(), [0, 4, 8]);
        assert!(outcome.elapsed() >= Duration::from_secs(8000));
    }
}

#[test]
fn an_attempt_of_the_network_has_the_time_that_given_responses_have_left() {
    let world = World::with(|config| {
        config.timeout = Duration::from_secs(40);
        config.retry = waiting(39, 1);
    });
    let stub = Stub::new(|attempt: &Upcoming| match attempt.number {
        1 => response(503, &[], ""),
        _ => Given::Nothing { observed: false },
    });
    let client = world.client.with_hooks(stub);
    let url = format!("{}/fault/stall-head", world.server.base_url());
    let request = Request::get(&url).unwrap().intercepted(7);
    let error = world.run(client.send(request)).unwrap_err();
    assert_eq!(error.phase(), Phase::Total);
    // 79 s if the wait did not count.
    assert!(error.elapsed() < Duration::from_secs(70), "{error:?}");
}

#[test]
fn a_given_end_of_the_connection_is_re_sent_as_one_of_the_network() {
    let ended = || GivenFailure {
        ended: true,
        ..failure(Kind::Protocol, Phase::FirstByte)
    };
    for (method, reconnect, resent) in [
        ("GET", true, true),
        ("POST", true, false),
        ("GET", false, false),
    ] {
        let world = World::with(|config| config.reconnect = reconnect);
        let stub = Stub::new(move |attempt: &Upcoming| match attempt.number {
            1 => Given::Failure(ended()),
            _ => response(200, &[], ""),
        });
        let client = world.client.with_hooks(stub.clone());
        let request = Request::new(method, NOWHERE).unwrap().intercepted(7);
        let outcome = world.run(client.send(request));
        let expected = match resent {
            true => vec![Ending::Resent, Ending::Status(200)],
            false => vec![Ending::Failed],
        };
        assert_eq!(endings(&outcome), expected, "{method} {reconnect}");
        assert_eq!(stub.calls().len(), expected.len());
    }
    let world = World::new();
    let always = Stub::new(move |_: &Upcoming| Given::Failure(ended()));
    let outcome = world.run(world.client.with_hooks(always).send(request()));
    assert_eq!(endings(&outcome), [Ending::Resent, Ending::Failed]);
}

#[test]
fn limits_hold_for_given_responses() {
    let kind = |change: fn(&mut hecaton::Config), given: fn() -> Given| {
        let world = World::with(change);
        let client = world
            .client
            .with_hooks(Stub::new(move |_: &Upcoming| given()));
        let error = world.run(client.send(request())).unwrap_err();
        assert_eq!(error.attempts().len(), 1);
        (error.kind(), error.phase())
    };
    let whole = || response(200, &[], "four");
    let read = (Kind::Body, Phase::Read);
    assert_eq!(kind(|config| config.max_body = 3, whole), read);
    let fields = || response(200, &[("a", "b"), ("c", "d")], "");
    let head = (Kind::Protocol, Phase::FirstByte);
    assert_eq!(kind(|config| config.max_header_fields = 1, fields), head);
    assert_eq!(kind(|config| config.max_header_bytes = 11, fields), head);
    assert_eq!(kind(|_| (), || response(200, &[("a b", "c")], "")), head);
    assert_eq!(kind(|_| (), || response(200, &[("a", "b\nc")], "")), head);
    let slow = || match response(200, &[], "") {
        Given::Response(given) => Given::Response(GivenResponse {
            took: Duration::from_secs(9),
            ..given
        }),
        other => other,
    };
    let late =
        |config: &mut hecaton::Config| config.first_byte_timeout = Some(Duration::from_secs(8));
    assert_eq!(kind(late, slow), (Kind::Timeout, Phase::FirstByte));
}

#[test]
fn a_failure_before_the_attempt_ends_the_request_and_one_of_a_body_comes_behind_it() {
    let world = World::with(|config| config.retry = Some(Retry::default()));
    let refusing = Stub::new(|_: &Upcoming| Given::Failure(failure(Kind::Connect, Phase::Queue)));
    let outcome = world.run(world.client.with_hooks(refusing).send(request()));
    assert_eq!(endings(&outcome), []);
    let error = outcome.unwrap_err();
    assert!(error.is_given() && !error.sent(), "{error}");
    let world = World::new();
    let cut = Stub::new(|_: &Upcoming| match response(200, &[], "half") {
        Given::Response(given) => Given::Response(GivenResponse {
            ending: Some(failure(Kind::Body, Phase::Read)),
            ..given
        }),
        other => other,
    });
    let client = world.client.with_hooks(cut);
    let error = world.run(client.send(request())).unwrap_err();
    assert_eq!((error.kind(), error.is_given()), (Kind::Body, true));
    let mut stream = world.run(client.open(request())).unwrap();
    let chunks = [world.run(stream.chunk()), world.run(stream.chunk())];
    let [Ok(Some(piece)), Err(error)] = chunks else {
        panic!("{chunks:?}")
    };
    assert_eq!((&piece[..], error.is_given()), (&b"half"[..], true));
}

#[test]
fn responses_of_the_network_are_observed_if_another_attempt_may_follow() {
    let server = Scripted::responding(|path| match path.contains("/there") {
        true => response_text(200, "", "there"),
        false => response_text(302, "Location: /there\r\n", "moved"),
    });
    let world = World::with(|config| config.redirects = 1);
    let stub = Stub::new(|_: &Upcoming| Given::Nothing { observed: true });
    let client = world.client.with_hooks(stub.clone());
    let request = Request::get(&server.url).unwrap().intercepted(7);
    let outcome = world.run(client.send(request)).unwrap();
    assert_eq!(&outcome.body()[..], b"there");
    assert_eq!(stub.calls().len(), 2);
    assert_eq!(*stub.observed.lock().unwrap(), [(302, "moved".into())]);
}

#[test]
fn an_observed_stream_with_a_retry_predicate_is_not_read_first() {
    let world = World::with(|config| {
        config.timeout = Duration::from_secs(600);
        config.retry = waiting(0, 2);
    });
    let stub = Stub::with_predicate(vec![503], |_: &Upcoming| Given::Nothing { observed: true });
    let client = world.client.with_hooks(stub.clone());
    // Half of the body comes, and no more for as long as the client waits.
    let url = format!("{}/fault/stall-body", world.server.base_url());
    let request = Request::get(&url).unwrap();
    let request = request.intercepted(7).call_retry_predicate(7);
    let stream = world.run(client.open(request)).unwrap();
    assert_eq!((stream.status(), stream.attempts().len()), (200, 1));
    assert!(stub.observed.lock().unwrap().is_empty());
}

#[test]
fn a_replaced_response_whose_body_fails_is_not_observed_and_nothing_else_changes() {
    let server = Scripted::responding(|path| match path.contains("/there") {
        true => response_text(200, "", "there"),
        false => response_text(302, "Location: /there\r\n", "longer than allowed"),
    });
    let world = World::with(|config| {
        config.redirects = 1;
        config.max_body = 5;
    });
    let stub = Stub::new(|_: &Upcoming| Given::Nothing { observed: true });
    let client = world.client.with_hooks(stub.clone());
    for observed in [false, true] {
        let request = Request::get(&server.url).unwrap();
        let request = match observed {
            true => request.intercepted(7),
            false => request,
        };
        let outcome = world.run(client.send(request)).unwrap();
        assert_eq!(&outcome.body()[..], b"there");
    }
    assert!(stub.observed.lock().unwrap().is_empty());
}

#[test]
fn a_redirect_that_cannot_be_followed_is_observed() {
    let server =
        Scripted::responding(|_| response_text(302, "Location: ftp://nowhere/\r\n", "moved"));
    let world = World::with(|config| config.redirects = 1);
    let stub = Stub::new(|_: &Upcoming| Given::Nothing { observed: true });
    let client = world.client.with_hooks(stub.clone());
    let request = Request::get(&server.url).unwrap().intercepted(7);
    let error = world.run(client.send(request)).unwrap_err();
    assert_eq!(error.kind(), Kind::Redirect);
    assert_eq!(*stub.observed.lock().unwrap(), [(302, "moved".into())]);
}

#[test]
fn a_batch_calls_the_program_only_for_requests_that_are_to_be_intercepted() {
    let world = World::new();
    let stub = Stub::new(|_: &Upcoming| response(299, &[], ""));
    let mut batch = Batch::new(world.client.with_hooks(stub.clone()), 2);
    let url = format!("{}/status/204", world.server.base_url());
    batch.push(0, Request::get(&url).unwrap());
    batch.push(1, Request::get(&url).unwrap().intercepted(1));
    let mut ended = Vec::new();
    world.run(async {
        while !batch.is_empty() {
            batch.wait(&mut ended).await;
        }
    });
    ended.sort_by_key(|(tag, _)| *tag);
    let statuses = ended
        .iter()
        .map(|(_, outcome)| outcome.as_ref().unwrap().status());
    assert_eq!(statuses.collect::<Vec<_>>(), [204, 299]);
    assert_eq!(stub.calls(), [(1, format!("GET {url}"))]);
}
