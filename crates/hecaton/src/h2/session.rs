//! An HTTP/2 connection as the pool has it: whether it takes another request, and the streams for requests.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use h2::client::SendRequest;

use super::link::{Link, NO_LIMIT_YET};
use super::loan::Loan;
use super::permit::StreamPermit;

/// Whether a shared connection takes another request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Free,
    /// It carries as many streams as its peer allows.
    Full,
    /// Its peer has not sent its limit on streams.
    Unknown,
    /// It takes no more requests: it has ended or is about to (GOAWAY), or has used all stream numbers.
    Closed,
}

/// The connection is closed when it is dropped. The handle that sends requests is dropped before.
pub(crate) struct Session {
    send: Option<SendRequest<Bytes>>,
    link: Arc<Link>,
}

impl Session {
    pub fn new(send: SendRequest<Bytes>, link: Arc<Link>) -> Session {
        Session {
            send: Some(send),
            link,
        }
    }

    pub fn link(&self) -> &Arc<Link> {
        &self.link
    }

    /// Whether it takes a request beside as many as are `active`.
    pub fn room(&mut self, active: usize) -> Room {
        let Some(send) = &mut self.send else {
            return Room::Closed;
        };
        let ready = send.poll_ready(&mut Context::from_waker(Waker::noop()));
        if !matches!(ready, Poll::Ready(Ok(()))) || !self.link.is_open() {
            return Room::Closed;
        }
        match send.current_max_send_streams() {
            NO_LIMIT_YET => Room::Unknown,
            most if active < most => Room::Free,
            _ => Room::Full,
        }
    }

    /// A stream on it, whatever limit its peer has sent or will send.
    pub fn stream(&mut self, loan: Loan) -> StreamPermit {
        let send = self.send.clone().expect("it is not being dropped");
        StreamPermit::new(loan, self.link.clone(), send)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.send = None;
        self.link.close();
    }
}
