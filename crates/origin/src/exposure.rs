//! What holds for an origin that strangers may reach: deadlines, limits by address, and answers that it does not give.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use crate::request::Request;
use crate::route::{Route, Special};
use crate::timer::Timer;

/// How long a TLS handshake may take, and the head of a request from its first byte to its last.
pub(crate) const TO_BEGIN: Duration = Duration::from_secs(10);
/// How long a connection may be idle.
pub(crate) const IDLE: Duration = Duration::from_secs(30);
/// How long a connection may live, whatever it does: who reads slowly holds what is written for it.
pub(crate) const LIFE: Duration = Duration::from_secs(300);
/// Most connections of one address.
const MOST_OF_ADDRESS: usize = 256;
/// Most bytes of an answer, and the longest that it is delayed.
const MOST_BYTES: u64 = 64 << 20;
const LONGEST_DELAY: Duration = Duration::from_secs(10);

/// Who is connected, by address.
#[derive(Clone, Default)]
pub(crate) struct Guests(Rc<RefCell<HashMap<IpAddr, usize>>>);

/// A connection that counts for its address until it is dropped.
pub(crate) struct Guest {
    guests: Guests,
    address: IpAddr,
}

impl Guests {
    /// None when the address has as many connections as one may have.
    pub(crate) fn admit(&self, address: IpAddr) -> Option<Guest> {
        let mut all = self.0.borrow_mut();
        let count = all.entry(address).or_default();
        if *count >= MOST_OF_ADDRESS {
            return None;
        }
        *count += 1;
        let guests = self.clone();
        Some(Guest { guests, address })
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let mut all = self.guests.0.borrow_mut();
        if let Some(count) = all.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                all.remove(&self.address);
            }
        }
    }
}

/// Whether strangers get no such answer: it harms who reads it, has no end, or keeps a connection busy for long.
pub(crate) fn withholds(request: &Request) -> bool {
    match request.route {
        Route::Fault(_) | Route::Special(Special::Bomb | Special::Pieces | Special::Encoded) => {
            true
        }
        Route::Bytes(count) => count > MOST_BYTES,
        Route::Chunked(count) => count > MOST_BYTES / 1024,
        Route::Delay(delay) => delay > LONGEST_DELAY,
        _ => false,
    }
}

/// What comes of the future, or none when it is not done at `deadline`; without one it has all the time.
pub(crate) async fn within<T>(
    timer: &Timer,
    deadline: Option<Instant>,
    future: impl Future<Output = T>,
) -> Option<T> {
    let mut future = pin!(future);
    let mut asked = false;
    poll_fn(|context| {
        if let Poll::Ready(done) = future.as_mut().poll(context) {
            return Poll::Ready(Some(done));
        }
        match deadline {
            Some(deadline) if Instant::now() >= deadline => return Poll::Ready(None),
            Some(deadline) if !std::mem::replace(&mut asked, true) => {
                timer.wake_at(deadline, context.waker().clone());
            }
            _ => {}
        }
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_so_many_connections_and_gets_them_back() {
        let guests = Guests::default();
        let (one, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let mut all: Vec<Guest> = (0..MOST_OF_ADDRESS)
            .map_while(|_| guests.admit(one))
            .collect();
        assert_eq!(all.len(), MOST_OF_ADDRESS);
        assert!(guests.admit(one).is_none() && guests.admit(other).is_some());
        all.pop();
        assert!(guests.admit(one).is_some());
        drop(all);
        assert!(guests.0.borrow().is_empty());
    }
}
