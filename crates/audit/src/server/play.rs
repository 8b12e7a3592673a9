//! The state that all connections of a server share: the cases, the attempts of each call, the log and the budget.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::identity::Identity;
use super::log::{Entry, Event, Log};
use super::request::Head;
use crate::case::{Addresses, Budget, Case, Deed, Step};

/// The first segment of all paths: a word that no client would send by itself.
pub const RUN: &str = "hecaton-audit";

/// Most bytes of an entry in the log of a server without a budget.
const SHOWN: usize = 4096;

/// The state that the connections share.
pub(super) struct Shared {
    cases: HashMap<String, Case>,
    /// The word for each case in paths. It is random, so that no client can respond to a case by its name; except where somebody
    /// makes the calls by hand.
    words: HashMap<String, String>,
    addresses: Addresses,
    budget: Option<Budget>,
    pub(super) identity: Option<Identity>,
    began: Instant,
    pub(super) stop: AtomicBool,
    downs: AtomicUsize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    log: Log,
    connections: usize,
    requests: usize,
    bytes: usize,
    /// The call that is made now; empty if nobody said which.
    current: String,
    /// Whether the client has returned from it.
    returned: bool,
    /// How many attempts are being served; those that only wait for the client do not count.
    busy: usize,
    attempts: HashMap<Key, usize>,
}

/// A case, a call and a stop.
type Key = (String, String, String);

impl State {
    /// Counts an attempt, and returns its number.
    fn count(&mut self, key: &Key) -> usize {
        let count = self.attempts.entry(key.clone()).or_default();
        *count += 1;
        *count
    }

    /// How many attempts of a call have arrived at all its stops.
    fn attempts_of(&self, case: &str, call: &str) -> usize {
        let all = self.attempts.iter();
        let of_call = all.filter(|((of, name, _), _)| of == case && name == call);
        of_call.map(|(_, count)| count).sum()
    }
}

/// An attempt of a call.
pub(super) struct Attempt<'a> {
    pub(super) case: &'a Case,
    pub(super) call: String,
    pub(super) steps: &'a [Step],
    pub(super) addresses: Addresses,
    /// The number of this request among the requests of its call at all stops, from 1.
    pub(super) n: usize,
}

/// The first four segments of the path of a request: run, case, call and stop.
fn names(head: &Head) -> (String, String, String, String) {
    let mut parts = head.path().trim_start_matches('/').splitn(5, '/');
    let mut next = || parts.next().unwrap_or_default().to_owned();
    (next(), next(), next(), next())
}

impl Shared {
    pub(super) fn new(
        cases: Vec<Case>,
        addresses: Addresses,
        budget: Option<Budget>,
        identity: Option<Identity>,
    ) -> Shared {
        let word = |case: &Case| match budget {
            Some(_) => (case.id.clone(), format!("{:08x}", rand::random::<u32>())),
            None => (case.id.clone(), case.id.clone()),
        };
        Shared {
            words: cases.iter().map(word).collect(),
            cases: cases
                .into_iter()
                .map(|case| (case.id.clone(), case))
                .collect(),
            addresses,
            budget,
            identity,
            began: Instant::now(),
            stop: AtomicBool::new(false),
            downs: AtomicUsize::new(0),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// The word for a case in paths.
    fn word_of(&self, id: &str) -> &str {
        self.words.get(id).map_or("", String::as_str)
    }

    /// The id of the case that a word stands for; any other word as it is.
    fn id_of(&self, word: String) -> String {
        let found = self.words.iter().find(|(_, known)| **known == word);
        found.map_or(word, |(id, _)| id.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn log(&self) -> Log {
        self.state().log.clone()
    }

    /// The values of the placeholders in the URLs and steps of a call.
    pub(super) fn addresses(&self, case: &str, call: &str) -> Addresses {
        let path = format!("/{RUN}/{}/{call}", self.word_of(case));
        Addresses {
            here: format!("{}{path}", self.addresses.here),
            other_host: format!("{}{path}", self.addresses.other_host),
            other_port: format!("{}{path}", self.addresses.other_port),
            tls: format!("{}{path}", self.addresses.tls),
            tls_good: format!("{}{path}", self.addresses.tls_good),
            named: format!("{}{path}", self.addresses.named),
            proxy: self.addresses.proxy.clone(),
            authority: self.addresses.authority.clone(),
            path,
        }
    }

    /// Records a new connection, and returns its number; none if the server stops or its budget is used up.
    pub(super) fn opened(&self, at: &'static str) -> Option<usize> {
        let mut state = self.state();
        state.connections += 1;
        let id = state.connections;
        self.note(&mut state, id, Event::Opened { at });
        self.spend(
            &mut state,
            |budget, _| id > budget.connections,
            "connections",
        );
        drop(state);
        (!self.is_over()).then_some(id)
    }

    /// Whether the server must stop: it was told to, or its budget is used up.
    pub(super) fn is_over(&self) -> bool {
        if self.stop.load(Ordering::SeqCst) {
            return true;
        }
        let seconds = self.began.elapsed();
        let late = |budget: Budget, _: &State| seconds > Duration::from_secs(budget.seconds);
        let mut state = self.state();
        self.spend(&mut state, late, "seconds");
        !state.log.budget().is_empty()
    }

    /// Notes once that a part of the budget is used up.
    fn spend(
        &self,
        state: &mut State,
        is_over: impl Fn(Budget, &State) -> bool,
        what: &'static str,
    ) {
        let over = self.budget.is_some_and(|budget| is_over(budget, state));
        if over && state.log.budget().is_empty() {
            self.note(state, 0, Event::Budget { what });
        }
    }

    fn note(&self, state: &mut State, connection: usize, event: Event) {
        self.note_at(Instant::now(), state, connection, event);
    }

    fn note_at(&self, at: Instant, state: &mut State, connection: usize, event: Event) {
        let since = at.saturating_duration_since(self.began);
        let us = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
        state.log.entries.push(Entry {
            us,
            connection,
            event,
        });
        self.changed.notify_all();
    }

    /// Records something of a connection.
    pub(super) fn record(&self, connection: usize, event: Event) {
        self.record_at(Instant::now(), connection, event);
    }

    /// Records something that happened or began then.
    pub(super) fn record_at(&self, at: Instant, connection: usize, mut event: Event) {
        let mut state = self.state();
        // Nothing else bounds the log of a server that runs until somebody stops it.
        if let Event::Received { bytes } | Event::Sent { bytes } = &mut event {
            if self.budget.is_none() {
                bytes.truncate(SHOWN);
            }
        }
        if let Event::Received { bytes } | Event::Sent { bytes } = &event {
            state.bytes += bytes.len();
            let over = |budget: Budget, state: &State| state.bytes > budget.bytes;
            self.spend(&mut state, over, "bytes");
        }
        self.note_at(at, &mut state, connection, event);
    }

    /// The case that a request names, with the names of the case, the call and the stop.
    fn wanted(&self, head: &Head) -> (Option<&Case>, Key) {
        // CONNECT has no path, so it belongs to the call that is made now.
        if let Some((only, now)) = self.current().filter(|_| head.method() == "CONNECT") {
            return (Some(only), (only.id.clone(), now, "connect".into()));
        }
        let (run, word, call, stop) = names(head);
        let case = self.id_of(word);
        let found = self.cases.get(&case).filter(|_| run == RUN);
        (found, (case, call, stop))
    }

    /// Finds the call that a request belongs to, and counts the attempt; none if the request belongs to no call.
    pub(super) fn attempt(
        &self,
        connection: usize,
        nth: usize,
        head: &Head,
    ) -> Option<Attempt<'_>> {
        let (found, key) = self.wanted(head);
        let call = found.and_then(|case| case.call(&key.1));
        let call = call.filter(|call| call.steps(&key.2, 0).is_some());
        let mut state = self.state();
        state.requests += 1;
        let over = |budget: Budget, state: &State| state.requests > budget.requests;
        self.spend(&mut state, over, "requests");
        let attempt = call.is_some().then(|| state.count(&key));
        let n = state.attempts_of(&key.0, &key.1);
        state.busy += usize::from(call.is_some());
        let event = Event::Request {
            case: found.map(|case| case.id.clone()).unwrap_or_default(),
            call: call.map(|_| key.1.clone()).unwrap_or_default(),
            stop: key.2.clone(),
            attempt: attempt.unwrap_or_default(),
            nth,
            method: head.method().to_owned(),
            target: head.target().to_owned(),
            head: head.text.clone(),
        };
        self.note(&mut state, connection, event);
        drop(state);
        let (call, attempt) = (call?, attempt?);
        Some(Attempt {
            case: found?,
            call: call.name.clone(),
            steps: call.steps(&key.2, attempt - 1)?,
            addresses: self.addresses(&key.0, &key.1),
            n,
        })
    }

    /// The first step of the attempt that begins with this request.
    pub(super) fn first_step(&self, head: &Head) -> Option<&Deed> {
        let (_, word, call, stop) = names(head);
        let case = self.id_of(word);
        let found = self.cases.get(&case)?.call(&call)?;
        let attempts = &self.state().attempts;
        let before = attempts.get(&(case, call, stop.clone()));
        let steps = found.steps(&stop, before.copied().unwrap_or_default())?;
        steps.first().map(|step| &step.deed)
    }

    /// The server's case and the call that is being made; none if the server has several cases.
    pub(super) fn current(&self) -> Option<(&Case, String)> {
        let mut cases = self.cases.values();
        let only = cases.next().filter(|_| cases.next().is_none())?;
        Some((only, self.state().current.clone()))
    }

    /// Says which call is made now.
    pub(super) fn make_current(&self, call: &str) {
        let mut state = self.state();
        (state.current, state.returned) = (call.to_owned(), false);
    }

    /// Notes that the client has returned from the current call.
    pub(super) fn note_return(&self) {
        self.state().returned = true;
        self.changed.notify_all();
    }

    /// Whether the client has returned from the current call.
    pub(super) fn has_returned(&self) -> bool {
        self.state().returned
    }

    /// How many attempts of a call have arrived at all its stops.
    pub(super) fn attempts_of(&self, case: &str, call: &str) -> usize {
        self.state().attempts_of(case, call)
    }

    /// Waits until the client has returned from the current call, at most for `longest`.
    pub(super) fn wait_for_return(&self, longest: Duration) {
        let waits = |state: &mut State| !state.returned && !self.stop.load(Ordering::SeqCst);
        let state = self.state();
        drop(self.changed.wait_timeout_while(state, longest, waits));
    }

    /// Waits until `count` attempts of a call have arrived, at most for `longest`.
    pub(super) fn gather(&self, case: &str, call: &str, count: usize, longest: Duration) {
        let waits = |state: &mut State| {
            state.attempts_of(case, call) < count
                && state.log.budget().is_empty()
                && !self.stop.load(Ordering::SeqCst)
        };
        let state = self.state();
        drop(self.changed.wait_timeout_while(state, longest, waits));
    }

    /// How often the server was down.
    pub(super) fn downs(&self) -> usize {
        self.downs.load(Ordering::SeqCst)
    }

    /// Ends all connections that wait for the client, at most within `longest`.
    pub(super) fn end_connections(&self, longest: Duration) {
        self.downs.fetch_add(1, Ordering::SeqCst);
        self.linger(longest);
    }

    /// Waits until the client has closed all connections, at most for `longest`.
    pub(super) fn linger(&self, longest: Duration) {
        let waits = |state: &mut State| state.log.open() > 0 && state.log.budget().is_empty();
        let state = self.state();
        drop(self.changed.wait_timeout_while(state, longest, waits));
    }

    /// Says that an attempt is done, or only waits for the client from now on.
    pub(super) fn rests(&self) {
        self.state().busy -= 1;
        self.changed.notify_all();
    }

    pub(super) fn settle(&self, longest: Duration) {
        let state = self.state();
        let wait = self
            .changed
            .wait_timeout_while(state, longest, |state| state.busy > 0);
        drop(wait);
    }
}
