//! The state that all connections of a server share: the cases, the attempts of each call, the log and the budget.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::log::{Entry, Event, Log};
use super::request::Head;
use crate::case::{Budget, Case, Places, Step};

/// The first segment of all paths: a word that no client would send by itself.
pub const RUN: &str = "hecaton-audit";

/// The state that the connections share.
pub(super) struct Shared {
    cases: HashMap<String, Case>,
    places: Places,
    budget: Option<Budget>,
    began: Instant,
    pub(super) stop: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    log: Log,
    connections: usize,
    requests: usize,
    bytes: usize,
    /// How many attempts are being served and do not only wait for the client.
    busy: usize,
    /// Attempts by case, call and stop.
    attempts: HashMap<(String, String, String), usize>,
}

/// An attempt of a call.
pub(super) struct Attempt<'a> {
    pub(super) case: &'a Case,
    pub(super) call: String,
    pub(super) steps: &'a [Step],
    pub(super) places: Places,
    /// Which request of its call it is, all stops together, from 1.
    pub(super) n: usize,
}

impl Shared {
    pub(super) fn new(cases: Vec<Case>, places: Places, budget: Option<Budget>) -> Shared {
        Shared {
            cases: cases
                .into_iter()
                .map(|case| (case.id.clone(), case))
                .collect(),
            places,
            budget,
            began: Instant::now(),
            stop: AtomicBool::new(false),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn log(&self) -> Log {
        self.state().log.clone()
    }

    /// The stops of a call.
    pub(super) fn places(&self, case: &str, call: &str) -> Places {
        let path = format!("/{RUN}/{case}/{call}");
        Places {
            here: format!("{}{path}", self.places.here),
            other_host: format!("{}{path}", self.places.other_host),
            other_port: format!("{}{path}", self.places.other_port),
            authority: self.places.authority.clone(),
            path,
        }
    }

    /// Notes a new connection; none if the budget is used up.
    pub(super) fn opened(&self, at: &'static str, _peer: SocketAddr) -> Option<usize> {
        let mut state = self.state();
        state.connections += 1;
        let id = state.connections;
        self.note(&mut state, id, Event::Opened { at });
        let over = self.budget.is_some_and(|budget| id > budget.connections);
        self.spend(&mut state, over, "connections");
        drop(state);
        (!self.is_over()).then_some(id)
    }

    /// Whether everything ends now: somebody said so, or the budget is used up.
    pub(super) fn is_over(&self) -> bool {
        if self.stop.load(Ordering::SeqCst) {
            return true;
        }
        let late = self
            .budget
            .is_some_and(|budget| self.began.elapsed() > Duration::from_secs(budget.seconds));
        if late {
            let mut state = self.state();
            self.spend(&mut state, true, "seconds");
        }
        !self.state().log.budget().is_empty()
    }

    fn spend(&self, state: &mut State, over: bool, what: &'static str) {
        if over && state.log.budget().is_empty() {
            self.note(state, 0, Event::Budget { what });
        }
    }

    fn note(&self, state: &mut State, connection: usize, event: Event) {
        let us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        state.log.entries.push(Entry {
            us,
            connection,
            event,
        });
        self.changed.notify_all();
    }

    /// Records something of a connection.
    pub(super) fn record(&self, connection: usize, event: Event) {
        let mut state = self.state();
        if let Event::Received { bytes } | Event::Sent { bytes } = &event {
            state.bytes += bytes.len();
            let over = self.budget.is_some_and(|budget| state.bytes > budget.bytes);
            self.spend(&mut state, over, "bytes");
        }
        self.note(&mut state, connection, event);
    }

    /// Finds the call that a request belongs to, and counts the attempt; none for a stranger.
    pub(super) fn attempt(
        &self,
        connection: usize,
        nth: usize,
        head: &Head,
    ) -> Option<Attempt<'_>> {
        let mut parts = head.path().trim_start_matches('/').splitn(5, '/');
        let run = parts.next();
        let names = [(); 3].map(|()| parts.next().unwrap_or_default().to_owned());
        let [case, call, stop] = names;
        let found = self.cases.get(&case).filter(|_| run == Some(RUN));
        let steps = found
            .and_then(|found| found.call(&call))
            .map(|found| (found, found.steps(&stop, 0).is_some()));
        let mut state = self.state();
        state.requests += 1;
        let over = self
            .budget
            .is_some_and(|budget| state.requests > budget.requests);
        self.spend(&mut state, over, "requests");
        let key = (case, call, stop);
        let known = steps.is_some_and(|(_, known)| known);
        let attempt = known.then(|| {
            let count = state.attempts.entry(key.clone()).or_default();
            *count += 1;
            *count
        });
        let n = state
            .attempts
            .iter()
            .filter(|((case, call, _), _)| *case == key.0 && *call == key.1);
        let n = n.map(|(_, count)| count).sum();
        state.busy += usize::from(known);
        let event = Event::Request {
            case: found.map(|case| case.id.clone()).unwrap_or_default(),
            call: if known { key.1.clone() } else { String::new() },
            stop: key.2.clone(),
            attempt: attempt.unwrap_or_default(),
            nth,
            method: head.method().to_owned(),
            target: head.target().to_owned(),
            head: head.text.clone(),
        };
        self.note(&mut state, connection, event);
        drop(state);
        let (call, attempt) = (steps?.0, attempt?);
        Some(Attempt {
            case: found?,
            call: call.name.clone(),
            steps: call.steps(&key.2, attempt - 1)?,
            places: self.places(&key.0, &key.1),
            n,
        })
    }

    /// Says that an attempt is served, or only waits for the client from now on.
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
