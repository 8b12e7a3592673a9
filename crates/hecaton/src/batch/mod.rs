//! Many requests under one limit: a queue that may be refilled while it runs.
//!
//! Memory follows what is queued and in flight, not what has been done: an outcome is handed over
//! and forgotten.
//!
//! Limits for each origin (`scheduler`) have one queue for each origin, and the queues take turns. A queue that may not
//! start a request is not looked at. So a busy origin holds up no other origin, and each of 100,000 queued requests
//! costs no more than each of a few. Without limits there is one queue, and no clock is read.
//!
//! A request's deadline starts when it is started. The wait for its turn, or for the batch's limits, does not count.
//!
//! The requests may belong to several clients. Each is sent with its own client's settings, connections and limits, and
//! they share the queue, the concurrency and the limits for each origin. A request of another client holds a handle on
//! it, and one of the batch's own client holds none.
//!
//! `abort` calls no callback, as when an exception ends the batch: a program that refills from callbacks would queue
//! again the requests that were just given up. The program can read the outcomes instead.

mod in_flight;
mod scheduler;
pub(crate) mod streaming;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::hash::Hash;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Sleep, sleep_until};

use self::in_flight::{Ended, InFlight, Slot};
use self::scheduler::Scheduler;
use self::streaming::{InParts, Part, Parts};
use crate::client::hooks::Hooks;
use crate::client::{Client, Outcome};
use crate::message::failure::InvalidRequest;
use crate::message::origin::Origin;
use crate::message::request::Request;
use crate::runtime::yield_now::begin_turn;

/// Limits of a batch for each origin (scheme, host and port). A request counts for the origin of its own URL, wherever
/// redirects lead and however often it is sent. A request that waits because of these limits delays no other request,
/// and its deadline has not started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// At most this many requests are in flight to one origin. Default none: only the batch's concurrency limits them.
    /// 0 counts as 1. Origins take turns.
    pub per_origin: Option<usize>,
    /// At most this many requests a second start to one origin: a number above 0, fractions count. Default none.
    /// Requests start evenly spaced, the first at once, and time that went unused gives no right to a burst.
    pub rate: Option<f64>,
}

/// The requests that were given up, by tag: queued requests, of which nothing was sent, and started requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aborted<T> {
    /// Never started, in the order of their turns within an origin.
    pub queued: Vec<T>,
    /// Started, and perhaps sent, in no order.
    pub started: Vec<T>,
}

/// A queue with room for this many requests or fewer keeps its memory. A batch that is refilled then allocates nothing.
const ROOM_KEPT: usize = 1024;

/// Takes the first value of a queue, and gives back memory that the queue does not need. A long queue would hold it
/// otherwise until the last of its requests has ended.
fn take_first<V>(queue: &mut VecDeque<V>) -> Option<V> {
    let room = queue.capacity();
    if room > ROOM_KEPT && queue.len() < room / 4 {
        queue.shrink_to(room / 2);
    }
    queue.pop_front()
}

/// How many free slots of 1 KiB a batch holds: about as many requests as end in one turn of a usual batch.
const MOST_FREE: usize = 256;

/// Requests run together, each known by a tag of the caller's choice. All clients of a batch must run on one reactor.
///
/// Dropping the batch gives up what is in flight and closes those connections.
pub struct Batch<T> {
    client: Client,
    concurrency: usize,
    queue: Queue<T>,
    in_flight: FuturesUnordered<InFlight<T>>,
    /// Slots of requests that have ended, for the next requests; at most `MOST_FREE`.
    free: Vec<Slot>,
    /// The requests whose responses are handed over in parts; none before the first such request.
    parts: Option<Box<Parts<T>>>,
    /// Tags of requests that a panic ended.
    lost: Vec<T>,
}

impl<T: Eq + Hash + Send + 'static> Batch<T> {
    /// An empty batch that keeps `concurrency` requests in flight (0 counts as 1).
    pub fn new(client: Client, concurrency: usize) -> Batch<T> {
        let in_flight = FuturesUnordered::new();
        Batch {
            client,
            concurrency: concurrency.max(1),
            queue: Queue::Plain(VecDeque::new()),
            in_flight,
            free: Vec::new(),
            parts: None,
            lost: Vec::new(),
        }
    }

    /// An empty batch with limits for each origin; an error when the limits are invalid.
    pub fn with_limits(
        client: Client,
        concurrency: usize,
        limits: Limits,
    ) -> Result<Batch<T>, InvalidRequest> {
        let mut batch = Batch::new(client, concurrency);
        if limits != Limits::default() {
            batch.queue = Queue::Limited(Box::new(Limited::new(limits)?));
        }
        Ok(batch)
    }

    /// Sets the hooks of all requests of the batch's own client that start from now on. The retry predicate is called
    /// for those with [`call_retry_predicate`](Request::call_retry_predicate).
    pub fn with_hooks(&mut self, hooks: Arc<dyn Hooks>) {
        self.client = self.client.with_hooks(hooks);
    }

    /// Queues a request at the end. Its deadline starts when its turn comes.
    pub fn push(&mut self, tag: T, request: Request) {
        self.queue.push_back(Queued::new(tag, request, None));
    }

    /// Queues a request at the end, as [`push`](Batch::push) does. It is sent by this client, whose hooks hold for it.
    pub fn push_by(&mut self, client: Client, tag: T, request: Request) {
        self.queue
            .push_back(Queued::new(tag, request, Some(client)));
    }

    /// Queues a request before all others that have not been started. The limits of its origin still hold, so requests
    /// to other origins may start first.
    pub fn push_front(&mut self, tag: T, request: Request) {
        self.queue.push_front(Queued::new(tag, request, None));
    }

    /// Queues a request before all others, as [`push_front`](Batch::push_front) does. It is sent by this client.
    pub fn push_front_by(&mut self, client: Client, tag: T, request: Request) {
        self.queue
            .push_front(Queued::new(tag, request, Some(client)));
    }

    /// Hands the response of a queued request over in parts, which [`take_parts`](Batch::take_parts) gives. If the
    /// request has been started already, the next request with this tag is meant: see
    /// [`has_started`](Batch::has_started).
    pub fn in_parts(&mut self, tag: T, in_parts: InParts) {
        let parts = self.parts.get_or_insert_with(|| Box::new(Parts::new()));
        parts.request(tag, in_parts);
    }

    /// Whether a request with this tag is in flight. Compares the tag with each of them.
    pub fn has_started(&self, tag: &T) -> bool {
        let mut whole = self.in_flight.iter().filter_map(InFlight::tag);
        let mut in_parts = self.parts.iter().flat_map(|parts| parts.tags());
        whole.any(|other| other == tag) || in_parts.any(|other| other == tag)
    }

    /// The parts that came during the last wait, at most one of each request. Taking a part lets its request read on at
    /// the next wait.
    pub fn take_parts(&mut self) -> impl Iterator<Item = (&T, Part)> {
        self.parts.iter_mut().flat_map(|parts| parts.take())
    }

    /// Ends a request whose program has read enough. After its part is taken, its outcome comes at the next wait: a
    /// response without a body. Its connection is closed.
    pub fn enough(&mut self, tag: &T) {
        if let Some(parts) = &mut self.parts {
            parts.enough(tag);
        }
    }

    /// Holds a request whose part was taken in this turn: it reads no more until [`release`](Batch::release), and no
    /// wait ends because of it.
    pub fn hold(&mut self, tag: &T) {
        if let Some(parts) = &mut self.parts {
            parts.hold(tag, true);
        }
    }

    /// Lets a request read on that [`hold`](Batch::hold) holds.
    pub fn release(&mut self, tag: &T) {
        if let Some(parts) = &mut self.parts {
            parts.hold(tag, false);
        }
    }

    /// The number of requests in flight that the batch maintains.
    pub fn concurrency(&self) -> usize {
        self.concurrency
    }

    /// Keeps this many requests in flight from now on (0 counts as 1). More start at the next wait. If too many are in
    /// flight, no request starts until enough of them have ended.
    pub fn set_concurrency(&mut self, concurrency: usize) {
        self.concurrency = concurrency.max(1);
    }

    /// Requests queued or in flight.
    pub fn len(&self) -> usize {
        self.queue.len() + self.running()
    }

    /// Whether nothing is queued or in flight.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Gives up everything: closes the connections of what is in flight, and forgets what is queued.
    /// The batch can be used again; its rate counts what was sent before.
    pub fn abort(&mut self) -> Aborted<T> {
        let mut started = std::mem::take(&mut self.lost);
        let in_flight = std::mem::take(&mut self.in_flight);
        started.extend(in_flight.into_iter().filter_map(InFlight::into_tag));
        if let Some(parts) = self.parts.take() {
            started.extend(parts.into_tags());
        }
        let queued: Vec<Queued<T>> = match &mut self.queue {
            Queue::Plain(waiting) => waiting.drain(..).collect(),
            Queue::Limited(limited) => limited.scheduler.drain(),
        };
        let queued = queued.into_iter().map(|queued| queued.tag).collect();
        Aborted { queued, started }
    }

    /// Waits until at least one request has ended or a part can be taken. Adds the outcomes of ended requests to
    /// `outcomes`. Returns at once when the batch is empty.
    pub async fn wait(&mut self, outcomes: &mut Vec<(T, Outcome)>) {
        poll_fn(|cx| self.poll_wait(cx, outcomes)).await
    }

    fn poll_wait(&mut self, cx: &mut Context<'_>, outcomes: &mut Vec<(T, Outcome)>) -> Poll<()> {
        let _turn = begin_turn();
        let before = outcomes.len();
        // A server that is quicker than the reader always has a piece ready, and of two such requests one is ready while
        // the other yields. So the wait itself yields: sockets and timers get a turn before any of these continues.
        if self.parts.as_mut().is_some_and(|parts| parts.resume()) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        loop {
            self.start();
            // A request that has ended lets the next one start at once, even if the caller takes no outcomes.
            while let Some(ended) = self.poll_in_flight(cx) {
                outcomes.push(self.ended(ended));
                self.start();
            }
            let has_parts = self.parts.as_ref().is_some_and(|parts| parts.is_paused());
            if has_parts || outcomes.len() > before || self.is_empty() {
                return Poll::Ready(());
            }
            if self.poll_time(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    /// A request that has ended.
    fn poll_in_flight(&mut self, cx: &mut Context<'_>) -> Option<Ended<T>> {
        match self.in_flight.poll_next_unpin(cx) {
            Poll::Ready(Some(ended)) => Some(ended),
            _ => self.parts.as_mut()?.poll(cx),
        }
    }

    /// How many requests are in flight.
    fn running(&self) -> usize {
        self.in_flight.len() + self.parts.as_ref().map_or(0, |parts| parts.len())
    }

    fn start(&mut self) {
        while self.running() < self.concurrency {
            let Some((queued, origin)) = self.queue.next() else {
                return;
            };
            let Queued {
                tag,
                request,
                client,
            } = queued;
            let client = client.as_ref().unwrap_or(&self.client);
            if let Some(parts) = &mut self.parts {
                if let Some(in_parts) = parts.requested(&tag) {
                    let opening = client.open(request);
                    parts.start(tag, origin, opening, in_parts);
                    continue;
                }
            }
            let sending = client.send_in_place(request);
            let sending = match self.free.pop() {
                None => Slot::new(sending),
                Some(mut slot) => {
                    slot.set(sending);
                    slot
                }
            };
            self.in_flight.push(InFlight::in_slot(tag, origin, sending));
        }
    }

    fn ended(&mut self, ended: Ended<T>) -> (T, Outcome) {
        if let (Queue::Limited(limited), Some(origin)) = (&mut self.queue, &ended.origin) {
            limited.scheduler.ended(origin);
        }
        if self.free.len() < MOST_FREE {
            self.free.extend(ended.slot);
        }
        match ended.result {
            Ok(outcome) => (ended.tag, outcome),
            Err(panic) => {
                self.lost.push(ended.tag);
                resume_unwind(panic)
            }
        }
    }

    /// Ready when the rate allows another start, if only the rate has delayed it.
    fn poll_time(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let running = self.running();
        match &mut self.queue {
            Queue::Limited(limited) if running < self.concurrency => limited.poll_time(cx),
            _ => Poll::Pending,
        }
    }
}

/// A request that has not been started.
struct Queued<T> {
    tag: T,
    request: Request,
    /// None for the batch's own.
    client: Option<Client>,
}

impl<T> Queued<T> {
    fn new(tag: T, request: Request, client: Option<Client>) -> Queued<T> {
        Queued {
            tag,
            request,
            client,
        }
    }
}

/// Requests that have not been started.
enum Queue<T> {
    Plain(VecDeque<Queued<T>>),
    Limited(Box<Limited<T>>),
}

impl<T> Queue<T> {
    fn push_back(&mut self, queued: Queued<T>) {
        match self {
            Queue::Plain(waiting) => waiting.push_back(queued),
            Queue::Limited(limited) => {
                let origin = queued.request.origin.clone();
                limited.scheduler.push_back(origin, queued);
            }
        }
    }

    fn push_front(&mut self, queued: Queued<T>) {
        match self {
            Queue::Plain(waiting) => waiting.push_front(queued),
            Queue::Limited(limited) => {
                let origin = queued.request.origin.clone();
                limited.scheduler.push_front(origin, queued);
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Queue::Plain(waiting) => waiting.len(),
            Queue::Limited(limited) => limited.scheduler.len(),
        }
    }

    /// The next request to start, with its origin if the scheduler must learn of its end.
    fn next(&mut self) -> Option<(Queued<T>, Option<Arc<Origin>>)> {
        match self {
            Queue::Plain(waiting) => Some((take_first(waiting)?, None)),
            Queue::Limited(limited) => {
                let (origin, queued) = limited.scheduler.next(Instant::now())?;
                Some((queued, Some(origin)))
            }
        }
    }
}

/// One request a day, and a little less: with a lower rate, a batch would as good as never end.
const SLOWEST: f64 = 0.00001;

/// Refuses a number that is no rate, in requests a second. The error says why.
pub fn check_rate(rate: f64) -> Result<(), String> {
    if !(rate.is_finite() && rate > 0.0) {
        return Err(format!(
            "rate is {rate}: use a number above 0, of requests a second"
        ));
    }
    if rate < SLOWEST {
        return Err(format!(
            "rate is {rate:?} a second, which is less than one a day: use {SLOWEST} or more"
        ));
    }
    Ok(())
}

struct Limited<T> {
    scheduler: Scheduler<Arc<Origin>, Queued<T>>,
    /// Made at its first use, because a timer must be made inside the reactor.
    timer: Option<Pin<Box<Sleep>>>,
}

impl<T> Limited<T> {
    fn new(limits: Limits) -> Result<Limited<T>, InvalidRequest> {
        let per_origin = limits.per_origin.map_or(usize::MAX, |most| most.max(1));
        let interval = match limits.rate {
            None => Duration::ZERO,
            Some(rate) => {
                check_rate(rate).map_err(InvalidRequest)?;
                Duration::from_secs_f64(1.0 / rate)
            }
        };
        Ok(Limited {
            scheduler: Scheduler::new(per_origin, interval),
            timer: None,
        })
    }

    fn poll_time(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(at) = self.scheduler.next_start() else {
            return Poll::Pending;
        };
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(sleep_until(at.into())));
        if timer.deadline() != at.into() {
            timer.as_mut().reset(at.into());
        }
        timer.as_mut().poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::runtime::yield_now::REQUESTS_PER_TURN;
    use crate::{Config, Reactor};

    #[test]
    fn a_queue_gives_memory_back_while_it_empties() {
        let all = 100 * ROOM_KEPT;
        let mut queue: VecDeque<usize> = (0..all).collect();
        for next in 0..all {
            assert_eq!(take_first(&mut queue), Some(next));
            assert!(queue.capacity() <= ROOM_KEPT.max(4 * queue.len() + 4));
        }
        assert!(queue.capacity() <= ROOM_KEPT);
    }

    /// Another client's deadline may be due meanwhile, and only the reactor's turn notices it.
    #[test]
    fn the_reactor_is_polled_while_a_large_batch_starts() {
        let all = 10 * REQUESTS_PER_TURN as usize;
        let mut batch = Batch::new(Client::new(Config::new(Duration::from_secs(5))), all);
        let begun = Arc::new(AtomicU32::new(0));
        for tag in 0..all {
            let begun = begun.clone();
            let never = async move {
                begun.fetch_add(1, Ordering::Relaxed);
                std::future::pending().await
            };
            batch.in_flight.push(InFlight::new(tag, None, never));
        }
        let (reactor, mut outcomes, mut before) = (Reactor::new().unwrap(), Vec::new(), 0);
        let waiting = poll_fn(|cx| {
            assert!(batch.poll_wait(cx, &mut outcomes).is_pending());
            let now = begun.load(Ordering::Relaxed);
            assert!(now - before <= REQUESTS_PER_TURN, "{now} after {before}");
            before = now;
            match now as usize == all {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        });
        reactor.block_on(waiting);
    }

    #[test]
    fn a_panic_in_one_request_loses_no_tag_and_no_slot() {
        let client = Client::new(Config::new(Duration::from_secs(5)));
        let limits = Limits {
            per_origin: Some(1),
            ..Limits::default()
        };
        let mut batch = Batch::with_limits(client, 5, limits).unwrap();
        let reactor = Reactor::new().unwrap();
        let request = Request::get("http://127.0.0.1:9/").unwrap();
        batch.push(1, request.clone().timeout(Duration::ZERO));
        batch.push(2, request);
        let panicking = async { panic!("on purpose") };
        batch.in_flight.push(InFlight::new(0, None, panicking));
        let mut outcomes = Vec::new();
        let waiting = AssertUnwindSafe(|| reactor.block_on(batch.wait(&mut outcomes)));
        assert!(catch_unwind(waiting).is_err());
        assert_eq!(batch.len() + outcomes.len(), 2);
        let aborted = batch.abort();
        assert!(aborted.started.contains(&0), "{aborted:?}");
        let ended = outcomes.iter().map(|(tag, _)| *tag);
        let mut all: Vec<_> = ended.chain(aborted.queued).chain(aborted.started).collect();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2]);
        assert!(batch.is_empty());
    }

    #[test]
    fn a_rate_must_be_a_number_that_lets_requests_start() {
        for (rate, why) in [
            (0.0, "above 0"),
            (-1.0, "above 0"),
            (f64::NAN, "above 0"),
            (f64::INFINITY, "above 0"),
            (1e-300, "less than one a day"),
            (0.000009, "less than one a day"),
        ] {
            let client = Client::new(Config::new(Duration::from_secs(5)));
            let limits = Limits {
                rate: Some(rate),
                ..Limits::default()
            };
            let refused = Batch::<u8>::with_limits(client, 5, limits).err();
            assert!(refused.unwrap().to_string().contains(why));
        }
    }
}
