//! Requests of a batch whose responses are handed over in parts: each continues when its previous part has been taken.
//!
//! A request that waits for its reader is never polled, so it reads nothing. It holds the part, and what a
//! [`Streaming`] holds by itself.
//!
//! The future of such a request ends with each part (head or piece). The next wait starts it again if the part was
//! taken. So no queue can grow, and a request that waits for its reader keeps its slot in the batch. Before the request
//! reads on, the sockets of all others and the timers get a turn, because a decoder can make endless pieces of few
//! bytes. These requests are stored apart from the others, which pay one comparison for it. A program that takes only
//! the head (`on_headers` in Ruby) gets the body with the outcome.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::in_flight::{Ended, InFlight};
use crate::client::Outcome;
use crate::client::streaming::Streaming;
use crate::message::error::Error;
use crate::message::origin::Origin;
use crate::message::response::Response;

/// The parts of a response that are handed over before its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InParts {
    /// Its head; the outcome has the body, under the client's `max_body`.
    Head,
    /// Its head, then each piece of the body; the outcome's own body is empty. `max_body` does not apply.
    HeadAndBody,
}

/// A part of a response.
#[derive(Clone, Debug)]
pub enum Part {
    /// The head, as a response without body; the first part.
    Head(Response),
    /// The next piece of the body: never empty, of at most a few hundred KiB, decoded.
    Piece(Bytes),
}

/// The requests of one batch that are handed over in parts.
pub(crate) struct Parts<T> {
    /// Not started yet.
    requested: HashMap<T, InParts>,
    going: FuturesUnordered<InFlight<T, Step>>,
    paused: Vec<Paused<T>>,
}

/// The reason why a request stopped: its end, or a part that must be taken before the request continues.
pub(crate) enum Step {
    Part(Part, Going),
    End(Outcome),
}

/// A response that is still being read.
pub(crate) struct Going {
    stream: Box<Streaming>,
    in_parts: InParts,
}

struct Paused<T> {
    tag: T,
    origin: Option<Arc<Origin>>,
    /// None once it was taken.
    part: Option<Part>,
    /// Whether its reader needs no more of it.
    is_enough: bool,
    /// Whether it waits although its part was taken.
    is_held: bool,
    going: Going,
}

impl<T: Eq + Hash> Parts<T> {
    pub fn new() -> Parts<T> {
        Parts {
            requested: HashMap::new(),
            going: FuturesUnordered::new(),
            paused: Vec::new(),
        }
    }

    /// Notes that a request is to be handed over in parts once it has started.
    pub fn request(&mut self, tag: T, in_parts: InParts) {
        self.requested.insert(tag, in_parts);
    }

    /// The parts that were requested for a request that starts now.
    pub fn requested(&mut self, tag: &T) -> Option<InParts> {
        self.requested.remove(tag)
    }

    /// Starts a request. `opening` waits for the head of its response.
    pub fn start(
        &mut self,
        tag: T,
        origin: Option<Arc<Origin>>,
        opening: impl Future<Output = Result<Streaming, Error>> + Send + 'static,
        in_parts: InParts,
    ) {
        let opening = async move {
            match opening.await {
                Ok(stream) => {
                    let stream = Box::new(stream);
                    let head = Part::Head(stream.response());
                    Step::Part(head, Going { stream, in_parts })
                }
                Err(error) => Step::End(Err(error)),
            }
        };
        self.going.push(InFlight::new(tag, origin, opening));
    }

    /// Continues the requests whose part has been taken; whether there are any.
    pub fn resume(&mut self) -> bool {
        let before = self.going.len();
        for paused in std::mem::take(&mut self.paused) {
            if paused.part.is_some() || paused.is_held {
                self.paused.push(paused);
            } else {
                let next = paused.going.next(paused.is_enough);
                self.going
                    .push(InFlight::new(paused.tag, paused.origin, next));
            }
        }
        self.going.len() > before
    }

    /// Reads no more of a request that waits for its reader.
    pub fn enough(&mut self, tag: &T) {
        let waiting = self.paused.iter_mut();
        for paused in waiting.filter(|paused| paused.tag == *tag) {
            (paused.is_enough, paused.part) = (true, None);
            paused.is_held = false;
        }
    }

    /// Has a request that waits for its reader wait on after its part was taken, or no longer.
    pub fn hold(&mut self, tag: &T, is_held: bool) {
        let waiting = self.paused.iter_mut();
        for paused in waiting.filter(|paused| paused.tag == *tag) {
            paused.is_held = is_held;
        }
    }

    /// A request that has ended. None if all others wait for the network, or for their part to be taken.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Option<Ended<T>> {
        while let Poll::Ready(Some(ended)) = self.going.poll_next_unpin(cx) {
            let Ended {
                tag,
                origin,
                result,
                slot: _,
            } = ended;
            let result = match result {
                Ok(Step::Part(part, going)) => {
                    let part = Some(part);
                    self.paused.push(Paused {
                        tag,
                        origin,
                        part,
                        is_enough: false,
                        is_held: false,
                        going,
                    });
                    continue;
                }
                Ok(Step::End(outcome)) => Ok(outcome),
                Err(panic) => Err(panic),
            };
            return Some(Ended {
                tag,
                origin,
                result,
                slot: None,
            });
        }
        None
    }

    /// Whether any request waits for its reader, but for those that are held.
    pub fn is_paused(&self) -> bool {
        let waits = |paused: &Paused<T>| paused.part.is_some() || !paused.is_held;
        self.paused.iter().any(waits)
    }

    /// The parts that have arrived, each once.
    pub fn take(&mut self) -> impl Iterator<Item = (&T, Part)> {
        let paused = self.paused.iter_mut();
        paused.filter_map(|paused| Some((&paused.tag, paused.part.take()?)))
    }

    /// How many of these requests are in flight.
    pub fn len(&self) -> usize {
        self.going.len() + self.paused.len()
    }

    /// The tags of these requests in flight.
    pub fn tags(&self) -> impl Iterator<Item = &T> {
        let going = self.going.iter().filter_map(InFlight::tag);
        going.chain(self.paused.iter().map(|paused| &paused.tag))
    }

    /// Gives up these requests in flight, closes their connections, and returns their tags.
    pub fn into_tags(self) -> impl Iterator<Item = T> {
        let going = self.going.into_iter().filter_map(InFlight::into_tag);
        going.chain(self.paused.into_iter().map(|paused| paused.tag))
    }
}

impl Going {
    /// Reads the next piece, or the rest. Ends the request if its reader needs no more.
    async fn next(mut self, is_enough: bool) -> Step {
        if is_enough {
            return Step::End(Ok(self.stream.response()));
        }
        if self.in_parts == InParts::Head {
            return Step::End(self.stream.whole().await);
        }
        match self.stream.chunk().await {
            Ok(Some(piece)) => Step::Part(Part::Piece(piece), self),
            Ok(None) => Step::End(Ok(self.stream.response())),
            Err(error) => Step::End(Err(error)),
        }
    }
}
