//! The retry rules of single requests, and the retry predicate, which is called for each outcome that
//! another try can follow.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hecaton::{Batch, Changes, Ending, Hooks, Kind, Outcome, Request, Retry, Upcoming};

use crate::World;
use crate::scripted::{Scripted, response_text};
use crate::uploads::Pieces;

/// Accepts the first `most` retries, and records its calls.
struct Notes {
    calls: Mutex<Vec<(usize, String)>>,
    most: usize,
}

impl Notes {
    fn new(most: usize) -> Arc<Notes> {
        let calls = Mutex::default();
        Arc::new(Notes { calls, most })
    }

    fn calls(&self) -> Vec<(usize, String)> {
        self.calls.lock().unwrap().clone()
    }
}

impl Hooks for Notes {
    fn again(&self, number: usize, outcome: Outcome) -> Pin<Box<dyn Future<Output = bool> + Send>> {
        let said = match outcome {
            Ok(response) => {
                let body = String::from_utf8_lossy(response.body()).into_owned();
                format!("{} {body} {}", response.status(), response.attempts().len())
            }
            Err(error) => format!("{:?} {}", error.kind(), error.attempts().len()),
        };
        let mut calls = self.calls.lock().unwrap();
        calls.push((number, said));
        let again = calls.len() <= self.most;
        Box::pin(async move { again })
    }
}

fn quick(max: u32) -> Option<Retry> {
    Some(Retry {
        max,
        interval: Duration::from_millis(1),
        ..Retry::default()
    })
}

fn busy() -> Scripted {
    Scripted::responding(|_| response_text(503, "", "busy"))
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
fn a_request_may_say_itself_when_it_is_sent_again() {
    let server = busy();
    let statuses = |max| {
        quick(max).map(|retry| Retry {
            statuses: vec![503],
            ..retry
        })
    };
    let request = || Request::get(&server.url).unwrap();
    let tries = |world: &World, request| endings(&world.send(request)).len();
    let world = World::new();
    assert_eq!(tries(&world, request()), 1);
    assert_eq!(tries(&world, request().retry(statuses(3))), 4);
    let world = World::with(|config| config.retry = statuses(1));
    assert_eq!(tries(&world, request()), 2);
    assert_eq!(tries(&world, request().retry(None)), 1);
    assert_eq!(
        tries(&world, request().retry(quick(5))),
        1,
        "it names no status"
    );
    assert_eq!(server.arrived().len(), 9);
}

#[test]
fn a_predicate_is_called_for_each_outcome_that_a_try_can_follow() {
    let (world, server) = (World::new(), busy());
    let predicate = Notes::new(usize::MAX);
    let client = world.client.with_hooks(predicate.clone());
    let request = |method: &str| Request::new(method, &server.url).unwrap().retry(quick(2));
    let outcome = world.run(client.send(request("POST").body("x").call_retry_predicate(7)));
    assert_eq!(endings(&outcome), [const { Ending::Status(503) }; 3]);
    let expected = [(7, "503 busy 1".to_owned()), (7, "503 busy 2".to_owned())];
    assert_eq!(predicate.calls(), expected);
    assert_eq!(client.stats().retries, 2);
    world.run(client.send(request("GET"))).unwrap();
    world
        .run(client.send(request("GET").retry(None).call_retry_predicate(8)))
        .unwrap();
    assert_eq!(
        predicate.calls(),
        expected,
        "the predicate is called for no other request"
    );
}

#[test]
fn a_predicate_that_refuses_ends_the_retries() {
    let (world, server) = (World::with(|config| config.retry = quick(9)), busy());
    let client = world.client.with_hooks(Notes::new(1));
    let outcome =
        world.run(client.send(Request::get(&server.url).unwrap().call_retry_predicate(0)));
    assert_eq!(endings(&outcome).len(), 2);
    assert_eq!(outcome.unwrap().body(), "busy");
}

#[test]
fn errors_reach_the_predicate_but_the_deadline_does_not() {
    let world = World::with(|config| config.reconnect = false);
    let predicate = Notes::new(usize::MAX);
    let client = world.client.with_hooks(predicate.clone());
    let send = |path, timeout| {
        let request = world.request(path).retry(quick(1)).call_retry_predicate(1);
        world.run(client.send(request.timeout(timeout)))
    };
    let outcome = send("/fault/truncate", Duration::from_secs(60));
    assert_eq!(endings(&outcome), [Ending::Failed, Ending::Failed]);
    assert_eq!(predicate.calls().len(), 1);
    let error = send("/delay/60000", Duration::from_millis(50)).unwrap_err();
    assert_eq!(error.kind(), Kind::Timeout);
    assert_eq!(predicate.calls().len(), 1);
}

#[test]
fn no_wait_passes_the_deadline_and_a_body_readable_once_is_not_sent_again() {
    let world = World::new();
    let server = Scripted::responding(|_| response_text(503, "retry-after: 3600\r\n", "later"));
    let predicate = Notes::new(usize::MAX);
    let client = world.client.with_hooks(predicate.clone());
    let request = Request::get(&server.url)
        .unwrap()
        .retry(quick(5))
        .call_retry_predicate(0);
    assert_eq!(world.run(client.send(request)).unwrap().attempts().len(), 1);
    assert!(predicate.calls().is_empty());
    let server = busy();
    let request = || {
        Request::new("PUT", &server.url)
            .unwrap()
            .retry(quick(1))
            .call_retry_predicate(0)
    };
    let once = request().body_from(Pieces::new(&["a"]), Some(1));
    assert_eq!(world.run(client.send(once)).unwrap().attempts().len(), 1);
    let again = request().body_from(Pieces::new(&["a"]).again(), Some(1));
    assert_eq!(world.run(client.send(again)).unwrap().attempts().len(), 2);
}

#[test]
fn a_retry_follows_the_redirects_again() {
    let world = World::with(|config| config.redirects = 3);
    let server = Scripted::responding(|request| match request.starts_with("GET /first") {
        true => response_text(302, "location: /second\r\n", ""),
        false => response_text(500, "", ""),
    });
    let client = world.client.with_hooks(Notes::new(1));
    let url = format!("{}/first", server.url);
    let request = Request::get(&url)
        .unwrap()
        .retry(quick(4))
        .call_retry_predicate(0);
    let response = world.run(client.send(request)).unwrap();
    assert_eq!(server.requests(), ["GET /first", "GET /second"].repeat(2));
    assert_eq!(
        (response.redirects().len(), response.attempts().len()),
        (1, 4)
    );
}

#[test]
fn in_a_batch_the_predicate_gets_each_requests_number_and_each_ends_once() {
    let (world, server) = (World::new(), busy());
    let predicate = Notes::new(usize::MAX);
    let mut batch = Batch::new(world.client.clone(), 4);
    batch.with_hooks(predicate.clone());
    for number in 0..10 {
        let request = Request::get(&server.url).unwrap();
        batch.push(
            number,
            match number % 2 {
                0 => request.retry(quick(1)).call_retry_predicate(number),
                _ => request,
            },
        );
    }
    let mut outcomes = Vec::new();
    world.run(async {
        while !batch.is_empty() {
            batch.wait(&mut outcomes).await;
        }
    });
    assert_eq!(outcomes.len(), 10);
    for (number, outcome) in &outcomes {
        assert_eq!(endings(outcome).len(), 2 - number % 2, "{number}");
    }
    let mut calls: Vec<_> = predicate
        .calls()
        .into_iter()
        .map(|(number, _)| number)
        .collect();
    calls.sort_unstable();
    assert_eq!(calls, [0, 2, 4, 6, 8]);
}

#[test]
fn the_predicate_gets_the_head_of_a_stream() {
    let (world, server) = (World::new(), busy());
    let predicate = Notes::new(1);
    let client = world.client.with_hooks(predicate.clone());
    let request = Request::get(&server.url)
        .unwrap()
        .retry(quick(3))
        .call_retry_predicate(0);
    world.run(async {
        let mut stream = client.open(request).await.unwrap();
        assert_eq!(stream.attempts().len(), 2);
        assert_eq!(stream.chunk().await.unwrap().unwrap(), "busy");
    });
    assert_eq!(predicate.calls()[0].1, "503  1");
}

/// Gives each attempt its number as a header, and stops the one with this number.
struct Numbers(usize);

impl Hooks for Numbers {
    fn again(&self, _: usize, _: Outcome) -> Pin<Box<dyn Future<Output = bool> + Send>> {
        Box::pin(async { false })
    }

    fn before_attempt(
        &self,
        number: usize,
        attempt: Upcoming,
    ) -> Pin<Box<dyn Future<Output = Option<Changes>> + Send>> {
        assert_eq!((number, attempt.has_body), (7, false));
        assert!(attempt.headers.iter().any(|(name, _)| name == "User-Agent"));
        let number = attempt.number.to_string().into_bytes();
        let changes = vec![("X-Number".into(), Some(number)), ("x-own".into(), None)];
        let changes = (attempt.number != self.0).then_some(changes);
        Box::pin(async move { changes })
    }
}

#[test]
fn each_attempt_of_a_request_may_have_other_headers() {
    let world = World::with(|config| {
        config.retry = quick(2).map(|retry| Retry {
            statuses: vec![503],
            ..retry
        });
    });
    let server = busy();
    let run = |stop| {
        let client = world.client.with_hooks(Arc::new(Numbers(stop)));
        let request = Request::get(&server.url).unwrap().header("X-Own", b"1");
        world.run(client.send(request.unwrap().call_before_attempt(7)))
    };
    assert_eq!(endings(&run(0)).len(), 3);
    let arrived = server.arrived();
    for (number, head) in arrived.iter().enumerate() {
        let expected = format!("x-number: {}\r\n", number + 1);
        assert!(head.to_lowercase().contains(&expected), "{head}");
        assert!(!head.to_lowercase().contains("x-own"), "{head}");
    }
    let error = run(2).unwrap_err();
    assert_eq!((error.attempts().len(), server.arrived().len()), (1, 4));
    assert!(error.to_string().contains("stopped"), "{error}");
}
