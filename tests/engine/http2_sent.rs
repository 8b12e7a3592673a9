//! Whether a request over HTTP/2 was sent: it counts as unsent only if nothing of it leaves later either.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use hecaton::{Batch, Kind, Request};

use crate::http2::client;
use crate::http2_peer::{DATA, END_STREAM, HEADERS, Raw, SETTINGS, WINDOW_UPDATE};

/// A body without an end until it is told to end.
struct Endless(Arc<AtomicUsize>, Arc<AtomicBool>);

impl hecaton::Source for Endless {
    fn poll_piece(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<std::io::Result<bytes::Bytes>>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let more = !self.1.load(Ordering::SeqCst);
        std::task::Poll::Ready(more.then(|| Ok(vec![0; 16_384].into())))
    }
}

/// `h2` keeps the head of a request that is given up, and sends it before the reset of its stream.
#[test]
fn a_request_that_leaves_after_it_was_given_up_does_not_count_as_unsent() {
    let (given_up, seen) = (Arc::new(Barrier::new(2)), Arc::<Mutex<Vec<u32>>>::default());
    let script = (given_up.clone(), seen.clone());
    let url = Raw::serve(move |mut raw, _| {
        raw.frame(SETTINGS, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff]);
        raw.frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0, 0]);
        while let Some((kind, flags, stream, _)) = raw.read() {
            if kind == HEADERS {
                script.1.lock().unwrap().push(stream);
                if stream == 1 {
                    script.0.wait();
                }
            }
            if flags & END_STREAM != 0
                && (kind, stream) != (HEADERS, 3)
                && matches!(kind, HEADERS | DATA)
            {
                raw.respond(stream);
            }
        }
    });
    let (client, reactor) = client(|_| {});
    let (pieces, over) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
    let upload = Request::new("POST", &url).unwrap();
    let mut batch = Batch::new(client.clone(), 2);
    batch.push(
        0,
        upload.body_from(Endless(pieces.clone(), over.clone()), None),
    );
    let mut outcomes = Vec::new();
    // Until the kernel takes no more of it.
    let mut before = 0;
    while before == 0 || pieces.load(Ordering::SeqCst) > before {
        before = pieces.load(Ordering::SeqCst);
        reactor.block_on_at_most(batch.wait(&mut outcomes), Duration::from_millis(300));
    }
    let request = Request::new("POST", &url).unwrap();
    batch.push(1, request.timeout(Duration::from_millis(300)));
    while outcomes.is_empty() {
        reactor.block_on(batch.wait(&mut outcomes));
    }
    let (tag, outcome) = outcomes.pop().unwrap();
    let error = outcome.unwrap_err();
    assert_eq!((tag, error.kind()), (1, Kind::Timeout));
    over.store(true, Ordering::SeqCst);
    given_up.wait();
    reactor.block_on(batch.wait(&mut outcomes));
    assert!(outcomes.pop().unwrap().1.is_ok());
    assert!(
        reactor
            .block_on(client.send(Request::get(&url).unwrap()))
            .is_ok()
    );
    let seen = seen.lock().unwrap().clone();
    assert!(error.sent() || !seen.contains(&3), "{error}: {seen:?}");
}
