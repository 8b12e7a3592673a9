//! Many requests under one limit: a queue that may be refilled while it runs.
//!
//! Memory follows what is queued and in flight, not what has been done: an outcome is handed over
//! and forgotten.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};

use crate::client::{Client, Outcome};
use crate::request::Request;

type InFlight<T> = Pin<Box<dyn Future<Output = (T, Outcome)> + Send>>;

/// Requests run together, each known by a tag of the caller's choice.
///
/// Dropping the batch gives up what is in flight and closes those connections.
pub struct Batch<T> {
    client: Client,
    concurrency: usize,
    waiting: VecDeque<(T, Request)>,
    in_flight: FuturesUnordered<InFlight<T>>,
}

impl<T: Send + 'static> Batch<T> {
    /// An empty batch that keeps `concurrency` requests in flight (0 counts as 1).
    pub fn new(client: Client, concurrency: usize) -> Batch<T> {
        let in_flight = FuturesUnordered::new();
        Batch {
            client,
            concurrency: concurrency.max(1),
            waiting: VecDeque::new(),
            in_flight,
        }
    }

    /// Queues a request at the end. Its deadline starts when its turn comes.
    pub fn push(&mut self, tag: T, request: Request) {
        self.waiting.push_back((tag, request));
    }

    /// Requests queued or in flight.
    pub fn len(&self) -> usize {
        self.waiting.len() + self.in_flight.len()
    }

    /// Whether nothing is queued or in flight.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives up everything: closes the connections of what is in flight, and returns the tags of
    /// what had not been started.
    pub fn clear(&mut self) -> Vec<T> {
        self.in_flight = FuturesUnordered::new();
        self.waiting.drain(..).map(|(tag, _)| tag).collect()
    }

    /// Waits until at least one request has ended, and adds all that have to `outcomes`.
    /// Returns at once when the batch is empty.
    pub async fn wait(&mut self, outcomes: &mut Vec<(T, Outcome)>) {
        poll_fn(|cx| self.poll_wait(cx, outcomes)).await
    }

    fn poll_wait(&mut self, cx: &mut Context<'_>, outcomes: &mut Vec<(T, Outcome)>) -> Poll<()> {
        self.start();
        let before = outcomes.len();
        // One that ended leaves its place to the next at once, whether or not the caller looks.
        while let Poll::Ready(Some(ended)) = self.in_flight.poll_next_unpin(cx) {
            outcomes.push(ended);
            self.start();
        }
        if outcomes.len() > before || self.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    fn start(&mut self) {
        while self.in_flight.len() < self.concurrency {
            let Some((tag, request)) = self.waiting.pop_front() else {
                return;
            };
            let sending = self.client.send(request);
            self.in_flight
                .push(Box::pin(sending.map(|outcome| (tag, outcome))));
        }
    }
}
