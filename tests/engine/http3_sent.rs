//! Whether a request over HTTP/3 was sent, by how far it had got and how it ended. One of which nothing left is re-sent,
//! whatever its method.

use std::io;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use hecaton::{Batch, Kind, Outcome, Phase, Request, Source};
use quinn::TransportConfig;

use crate::http3_peer::{NO_ERROR, Peer, Raw, Seen, Stream, World3, respond_to_all};
use crate::with_growing;

/// How far the request gets.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// The server allows no stream.
    NoStream,
    /// Another request has used up the window of the connection, and frames of a third one leave meanwhile.
    NoWindow,
    /// Its head has left, and the server's window holds its body back.
    Begun,
    /// All of it has left.
    Whole,
}

/// How the request ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    /// By the limit of its phase.
    Limit,
    /// By its total time.
    Deadline,
    /// The server ends the connection.
    Connection,
}

/// The tag of the request in question.
const ASKED: usize = 2;

const LIMIT: Duration = Duration::from_millis(300);

/// A body that has no byte, and ends when it is told to.
#[derive(Clone, Default)]
struct Gate(Arc<Mutex<(bool, Option<Waker>)>>);

impl Gate {
    fn open(&self) {
        let mut state = self.0.lock().unwrap();
        state.0 = true;
        state.1.take().unwrap().wake();
    }

    /// Whether the body was asked for, which follows the writing of the head.
    fn is_polled(&self) -> bool {
        self.0.lock().unwrap().1.is_some()
    }
}

impl Source for Gate {
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let mut state = self.0.lock().unwrap();
        if state.0 {
            return Poll::Ready(None);
        }
        state.1 = Some(cx.waker().clone());
        Poll::Pending
    }

    fn rewind(&mut self) -> bool {
        true
    }
}

/// A server whose first connection stops at this state.
fn peer(state: State, end: End, seen: &Seen<&'static str>) -> Peer {
    let limits = move |transport: &mut TransportConfig| {
        let _ = match state {
            State::NoStream => transport.max_concurrent_bidi_streams(0_u32.into()),
            State::NoWindow => transport.receive_window(16_000_u32.into()),
            State::Begun => transport.stream_receive_window(1000_u32.into()),
            State::Whole => transport,
        };
    };
    let seen = seen.clone();
    Peer::with(limits, move |raw, number| {
        let seen = seen.clone();
        async move {
            if number > 0 {
                raw.connection.set_max_concurrent_bi_streams(100_u32.into());
                return respond_to_all(raw, number).await;
            }
            let held = reach(&raw, state, &seen).await;
            if end == End::Connection {
                raw.connection.close(NO_ERROR.into(), b"");
            }
            raw.closed().await;
            drop(held);
        }
    })
}

/// Returns once the client has got as far as that.
async fn reach(raw: &Raw, state: State, seen: &Seen<&'static str>) -> Vec<Stream> {
    let mut streams = Vec::new();
    if state == State::NoStream {
        return streams;
    }
    streams.push(raw.request().await.unwrap());
    if state == State::NoWindow {
        seen.lock().unwrap().push("a request");
        while raw.connection.stats().frame_rx.data_blocked == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        seen.lock().unwrap().push("no window");
        assert!(streams[0].frame().await.is_none());
        seen.lock().unwrap().push("its end");
    }
    streams
}

/// A client with some requests.
struct Stage {
    world: World3,
    batch: Batch<usize>,
    outcomes: Vec<(usize, Outcome)>,
}

impl Stage {
    /// Runs the requests until this is so.
    fn until(&mut self, done: impl Fn(&Stage) -> bool) {
        for _ in 0..6000 {
            if done(self) {
                return;
            }
            let wait = self.batch.wait(&mut self.outcomes);
            let reactor = &self.world.reactor;
            reactor.block_on_at_most(wait, Duration::from_millis(5));
        }
        panic!("what the test waits for did not come");
    }

    fn post(&mut self, tag: usize, change: impl FnOnce(Request) -> Request) {
        let request = self.world.request("POST", "/");
        self.batch.push(tag, change(request));
    }
}

/// The outcome of a POST that got as far as `state` before this end, where its limits are these.
fn outcome(state: State, end: End, limit: Duration) -> Outcome {
    let seen: Seen<&'static str> = Arc::default();
    let count = || seen.lock().unwrap().len();
    let world = World3::of(peer(state, end, &seen), |config| {
        if end == End::Limit {
            (config.send_timeout, config.first_byte_timeout) = (Some(limit), Some(limit));
        }
    });
    let mut stage = Stage {
        batch: Batch::new(world.client.clone(), 10),
        world,
        outcomes: Vec::new(),
    };
    let (held, own) = (Gate::default(), Gate::default());
    if state == State::NoWindow {
        stage.post(0, |request| request.body_from(held.clone(), None));
        stage.until(|_| count() == 1);
        stage.post(1, |request| request.body(vec![0; 1 << 20]));
        stage.until(|_| count() == 2);
    }
    let body = own.clone();
    stage.post(ASKED, |request| {
        let request = match state {
            State::NoStream | State::Whole => request,
            State::NoWindow => request.body_from(body, None),
            State::Begun => request.body(vec![0; 1 << 20]),
        };
        match end {
            End::Deadline => request.timeout(limit),
            _ => request,
        }
    });
    if state == State::NoWindow {
        stage.until(|_| own.is_polled());
        held.open();
    }
    let is_asked = |(tag, _): &(usize, Outcome)| *tag == ASKED;
    stage.until(|stage| stage.outcomes.iter().any(is_asked));
    stage.outcomes.into_iter().find(is_asked).unwrap().1
}

#[test]
fn a_request_is_unsent_only_if_nothing_of_it_left_whatever_ends_it() {
    for (state, phase, sent) in [
        (State::NoStream, Phase::Send, false),
        (State::NoWindow, Phase::Send, false),
        (State::Begun, Phase::Send, true),
        (State::Whole, Phase::FirstByte, true),
    ] {
        for (end, phase) in [(End::Limit, phase), (End::Deadline, Phase::Total)] {
            // The other upload would end by the same limit first, and give its window back.
            if (state, end) == (State::NoWindow, End::Limit) {
                continue;
            }
            let error = with_growing(LIMIT, |limit| {
                let error = outcome(state, end, limit).unwrap_err();
                // On a busy machine the deadline may come before the request has got as far.
                let is_early = end == End::Deadline && sent && !error.sent();
                (!is_early).then_some(error)
            });
            let found = (error.kind(), error.phase(), error.sent());
            assert_eq!(found, (Kind::Timeout, phase, sent), "{state:?} {end:?}");
        }
        match outcome(state, End::Connection, LIMIT) {
            Ok(response) => assert!(response.status() == 200 && !sent, "{state:?}"),
            Err(error) => assert!(error.sent() && sent, "{state:?} {error}"),
        }
    }
}
