//! A stream permit: the right of one request to one stream of an HTTP/3 connection, until it is dropped. And the
//! connection as the pool has it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::timeout;

use super::link::{Link, Pair};
use super::reader::Stop;
use crate::config::Config;
use crate::h2::loan::Loan;
use crate::h2::session::Room;
use crate::message::broken::Broken;
use crate::message::failure::Phase;
use crate::runtime::descriptors::OfProcess;
use crate::runtime::timer::within;

/// How long a request waits until the server allows another stream.
const PATIENCE: Duration = Duration::from_secs(1);

/// The connection is closed when it is dropped.
pub(crate) struct Session {
    link: Arc<Link>,
    /// The most requests at once for which the server has allowed streams.
    most: usize,
}

impl Session {
    pub fn new(link: Arc<Link>) -> Session {
        Session { link, most: 0 }
    }

    pub fn link(&self) -> &Arc<Link> {
        &self.link
    }

    /// Whether it takes another request. QUIC counts streams over the whole life of a connection, so the number of those
    /// that are `active` is no limit. But while fewer are active than were at once, the server is about to allow more.
    pub fn room(&mut self, active: usize) -> Room {
        if !self.link.is_open() {
            return Room::Closed;
        }
        if self.link.has_spare() {
            self.most = self.most.max(active + 1);
            return Room::Free;
        }
        match active < self.most.max(1) {
            true => Room::Unknown,
            false => Room::Full,
        }
    }

    pub fn stream(&mut self, loan: Loan) -> StreamPermit {
        let spare = self
            .link
            .has_spare()
            .then(|| self.link.take_spare())
            .flatten();
        StreamPermit {
            received: self.link.received(),
            pair: spare.map(OfProcess::new),
            link: self.link.clone(),
            stream: None,
            loan,
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.link.close();
    }
}

pub(crate) struct StreamPermit {
    /// The stream until the request is sent; none if the server does not allow another one yet.
    pair: Option<OfProcess<Pair>>,
    /// How many datagrams had come on the connection when the permit was given.
    received: u64,
    /// The number of its stream, once it has one.
    stream: Option<u64>,
    pub(crate) link: Arc<Link>,
    /// Returned last.
    pub loan: Loan,
}

impl StreamPermit {
    /// Whether the connection is still good: it has not ended and is not about to, as far as is known.
    pub fn is_usable(&mut self) -> bool {
        !self.loan.retires && self.link.is_open()
    }

    /// The stream for the request. It may have to wait until the server allows one, but on a connection that has carried
    /// others not for long: another connection is better then.
    pub(super) async fn open(&mut self, config: &Config) -> Result<Pair, Broken> {
        let pair = match self.pair.take() {
            Some(pair) => Some(pair.into_inner()),
            None => {
                let most = match self.loan.reused {
                    true => PATIENCE,
                    false => Duration::MAX,
                };
                let opening = async { Ok(timeout(most, self.link.open_stream()).await) };
                let opened = within(config, Phase::Send, opening).await;
                opened.map_err(Broken::Failed)?.ok().and_then(Result::ok)
            }
        };
        let Some(pair) = pair else {
            self.loan.retires = true;
            return Err(Broken::Unsent);
        };
        self.stream = Some(pair.0.id().into());
        Ok(pair)
    }

    /// The number of its stream.
    pub(super) fn stream(&self) -> u64 {
        self.stream.unwrap_or_default()
    }

    /// Whether the server's GOAWAY says that it did nothing for this request.
    pub(super) fn is_left_out(&self) -> bool {
        self.stream
            .is_some_and(|stream| self.link.leaves_out(stream))
    }

    /// The cause of a stream's end: a connection that was ended here had one.
    pub(super) fn cause(&self, stop: Stop) -> Stop {
        match (stop, self.link.violation()) {
            (Stop::Lost(_), Some(violation)) => Stop::Violation(violation),
            (stop, _) => stop,
        }
    }

    /// Whether the connection got anything done.
    pub(super) fn has_progressed(&self) -> bool {
        self.link.progressed.load(Ordering::Relaxed)
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        match (self.pair.take(), self.stream) {
            (Some(pair), _) if !pair.is_inherited() => self.link.put_back(pair.into_inner()),
            (None, Some(stream)) => self.link.ends(stream, self.received),
            _ => {}
        }
    }
}
