//! Idle connections by origin. A connection is either here or owned by the one request that uses it.
//!
//! Invariants: a connection in the pool has no request on it and nothing unread; it is used by at
//! most one request at a time; it leaves the pool the moment it is taken. Nothing drives an idle
//! connection, so its state is asked of the kernel when it is taken.

// A connection is some 800 bytes, and moves in and out of here with every request.
#![allow(clippy::vec_box)]

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use crate::request::Origin;
use crate::socket::{Socket, Watch};

/// How long a connection may have been idle and still be trusted without asking the kernel. A busy
/// batch takes a connection back within microseconds, and then one system call a request counts.
const TRUSTED: Duration = Duration::from_millis(1);

pub(crate) type Sender = http1::SendRequest<Full<Bytes>>;
type Driver = http1::Connection<TokioIo<Socket>, Full<Bytes>>;

/// One HTTP/1.1 connection: hyper's two ends, and our own view of the socket between them.
pub(crate) struct Connection {
    pub id: u64,
    pub sender: Sender,
    driver: Driver,
    closed: bool,
    pub watch: Watch,
    idle_since: Instant,
}

impl Connection {
    pub fn new(id: u64, sender: Sender, driver: Driver, watch: Watch) -> Connection {
        Connection {
            id,
            sender,
            driver,
            closed: false,
            watch,
            idle_since: Instant::now(),
        }
    }

    /// Reads and writes what the socket allows. Errors reach the request through hyper.
    pub fn drive(&mut self, cx: &mut Context<'_>) {
        self.closed = self.closed || Pin::new(&mut self.driver).poll(cx).is_ready();
    }

    /// Whether another request may be sent, now that the last answer has been read.
    pub fn is_ready(&mut self, cx: &mut Context<'_>) -> bool {
        // Usually the driver has come round to wanting the next request while it read the body; to
        // drive it for nothing would cost a system call.
        if !self.sender.is_ready() {
            self.drive(cx);
        }
        !self.closed && matches!(self.sender.poll_ready(cx), Poll::Ready(Ok(())))
    }
}

#[derive(Default)]
pub(crate) struct Pool {
    idle: Mutex<HashMap<Arc<Origin>, Vec<Box<Connection>>>>,
    opened: AtomicU64,
}

impl Pool {
    /// Number for a new connection, from 1.
    pub fn next_id(&self) -> u64 {
        self.opened.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Takes the connection to `origin` that was used last, dropping those that are too old or closed.
    pub fn take(
        &self,
        origin: &Arc<Origin>,
        now: Instant,
        idle_timeout: Duration,
    ) -> Option<Box<Connection>> {
        let mut idle = self.lock();
        let connections = idle.get_mut(origin)?;
        while let Some(connection) = connections.pop() {
            let age = now.duration_since(connection.idle_since);
            if age < TRUSTED || (age < idle_timeout && !connection.watch.is_readable()) {
                return Some(connection);
            }
        }
        idle.remove(origin);
        None
    }

    /// Puts a connection back, and drops those of the same origin that have been idle for too long.
    pub fn put(
        &self,
        origin: &Arc<Origin>,
        mut connection: Box<Connection>,
        now: Instant,
        idle_timeout: Duration,
    ) {
        if idle_timeout.is_zero() {
            return;
        }
        connection.idle_since = now;
        let mut idle = self.lock();
        match idle.get_mut(origin) {
            Some(connections) => {
                let old = |c: &Connection| now.duration_since(c.idle_since) >= idle_timeout;
                // The list is in the order of return, so the old ones stand in front.
                let expired = connections.iter().take_while(|c| old(c)).count();
                connections.drain(..expired);
                connections.push(connection);
            }
            None => drop(idle.insert(origin.clone(), vec![connection])),
        }
    }

    /// Closes every idle connection.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// How many connections are idle.
    pub fn idle(&self) -> usize {
        self.lock().values().map(Vec::len).sum()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<Origin>, Vec<Box<Connection>>>> {
        // A panic can not leave the map half-changed, so a poisoned lock is still good.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
