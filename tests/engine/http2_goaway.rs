//! A GOAWAY over HTTP/2: the requests that it leaves out are sent again whatever its code, and the others get
//! responses.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use hecaton::{Batch, Ending, Outcome, Request};

use crate::http2::client;
use crate::http2_faults::endings;
use crate::http2_peer::{END_HEADERS, HEADERS, NO_ERROR, Raw};
use crate::with_growing;

/// Five requests to a server that ends its first connection after the first of them, with this code.
fn after_goaway(method: &'static str, code: u32) -> (Vec<Outcome>, usize) {
    let responses = Arc::new(AtomicUsize::new(0));
    let count = responses.clone();
    let url = Raw::serve(move |mut raw, number| {
        let first = raw.request();
        if number == 0 {
            for _ in 1..5 {
                raw.request();
            }
            raw.go_away(1, code);
            thread::sleep(Duration::from_millis(50)); // The response comes in another read.
            count.fetch_add(1, Ordering::SeqCst);
            raw.respond(1);
            return raw.wait_for_end();
        }
        let mut next = first;
        while let Some(stream) = next {
            count.fetch_add(1, Ordering::SeqCst);
            raw.respond(stream);
            next = raw.request();
        }
    });
    let (client, reactor) = client(|_| {});
    let mut batch = Batch::new(client, 5);
    (0..5).for_each(|tag| batch.push(tag, Request::new(method, &url).unwrap().body("abc")));
    let mut outcomes = Vec::new();
    while !batch.is_empty() {
        reactor.block_on(batch.wait(&mut outcomes));
    }
    let outcomes = outcomes.into_iter().map(|(_, outcome)| outcome).collect();
    (outcomes, responses.load(Ordering::SeqCst))
}

#[test]
fn streams_above_the_last_one_of_a_goaway_are_resent_and_the_others_get_responses() {
    // 103 is no code of HTTP/2: it has no meaning of its own (RFC 9113 §7). Apache's httpd sends such.
    for (method, code) in [
        ("GET", NO_ERROR),
        ("POST", NO_ERROR),
        ("GET", 103),
        ("POST", 103),
    ] {
        let (outcomes, responses) = after_goaway(method, code);
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
        let resent = |o: &&Outcome| endings(o) == [Ending::Resent, Ending::Status(200)];
        assert_eq!(outcomes.iter().filter(resent).count(), 4);
        assert_eq!(responses, 5, "each request got one response");
    }
}

#[test]
fn streams_above_the_last_one_of_a_goaway_are_resent_whatever_its_code() {
    let serve = |code| {
        Raw::serve(move |mut raw, number| {
            let first = raw.request();
            if number == 0 {
                raw.request();
                raw.go_away(1, code);
                return raw.wait_for_end();
            }
            let mut next = first;
            while let Some(stream) = next {
                raw.respond(stream);
                next = raw.request();
            }
        })
    };
    for code in [1, 2, 11, 14, u32::MAX] {
        let was_resent = |o: &Outcome| endings(o) == [Ending::Resent, Ending::Status(200)];
        with_growing(Duration::from_secs(1), |limit| {
            let url = serve(code);
            let (client, reactor) = client(|config| config.timeout = limit);
            let mut batch = Batch::new(client, 2);
            (0..2).for_each(|tag| batch.push(tag, Request::new("POST", &url).unwrap()));
            let mut outcomes = Vec::new();
            while !batch.is_empty() {
                reactor.block_on(batch.wait(&mut outcomes));
            }
            let resent = outcomes.iter().filter(|(_, outcome)| was_resent(outcome));
            let resent = resent.count();
            assert!(resent <= 1, "{code}: {outcomes:?}");
            (resent == 1).then_some(())
        });
    }
}

#[test]
fn a_code_that_http2_does_not_know_is_as_good_as_none() {
    // The server may have processed the request: only an idempotent one is sent again, as without a GOAWAY.
    for (method, expected) in [
        ("GET", &[Ending::Resent, Ending::Status(200)][..]),
        ("POST", &[Ending::Failed]),
    ] {
        let url = Raw::serve(|mut raw, number| {
            let stream = raw.request().unwrap();
            raw.respond(stream);
            if let (0, Some(second)) = (number, raw.request()) {
                return raw.go_away(second, 103);
            }
            raw.wait_for_end();
        });
        let (client, reactor) = client(|_| {});
        let send = |method| reactor.block_on(client.send(Request::new(method, &url).unwrap()));
        assert!(send("GET").is_ok());
        assert_eq!(endings(&send(method)), expected, "{method}");
    }
}

/// `:status: 103`, literal.
const INTERIM: &[u8] = &[8, 3, b'1', b'0', b'3'];

/// A way to say that a request was not processed.
type Denial = fn(&mut Raw, u32);

/// How many requests reach a server that responds to each POST with this, and how the POST's attempts end.
fn requests_of(denial: Denial) -> (usize, Vec<Ending>) {
    let requests = Arc::new(AtomicUsize::new(0));
    let count = requests.clone();
    let url = Raw::serve(move |mut raw, _| {
        while let Some(stream) = raw.request() {
            count.fetch_add(1, Ordering::SeqCst);
            denial(&mut raw, stream);
        }
    });
    let (client, reactor) = client(|_| {});
    let post = Request::new("POST", &url).unwrap().body("100 EUR");
    let endings = endings(&reactor.block_on(client.send(post)));
    (requests.load(Ordering::SeqCst), endings)
}

#[test]
fn a_request_whose_response_has_begun_is_not_resent_whatever_the_server_says_of_it() {
    let denials: [Denial; 2] = [
        |raw, _| raw.go_away(0, NO_ERROR),
        |raw, stream| raw.reset(stream, 7), // REFUSED_STREAM
    ];
    assert_eq!(requests_of(denials[0]).0, 5);
    assert_eq!(requests_of(denials[1]).0, 2);
    let begun: [Denial; 2] = [
        |raw, stream| {
            raw.frame(HEADERS, END_HEADERS, stream, INTERIM);
            raw.go_away(0, NO_ERROR);
        },
        |raw, stream| {
            raw.frame(HEADERS, END_HEADERS, stream, INTERIM);
            raw.reset(stream, 7);
        },
    ];
    for denial in begun {
        assert_eq!(requests_of(denial), (1, vec![Ending::Failed]));
    }
}

#[test]
fn a_goaway_that_is_taken_back_is_no_progress() {
    let (requests, _) = requests_of(|raw, stream| {
        raw.go_away(stream, NO_ERROR);
        thread::sleep(Duration::from_millis(20));
        raw.go_away(0, NO_ERROR);
    });
    assert!(requests <= 5, "{requests}");
}
