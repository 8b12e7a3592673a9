//! What is still to be read of an answer: its body, from whatever carries it, and the codings to be taken off.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use tokio::time::timeout;

use crate::attempt::Trace;
use crate::buffered::{Buffered, Share};
use crate::client::{Body, Reading, Shared};
use crate::config::Config;
use crate::connection::Connection;
use crate::decode::{Decoder, Step, Undecodable};
use crate::error::{Failure, Kind, Phase};
use crate::exchange::{PIECES_PER_TURN, give_way};
use crate::h1::{BodyError, Fields};
use crate::h2;
use crate::incoming::{Incoming, failure};
use crate::origin::Origin;
use crate::request::Request;
use crate::turns::Turn;

/// Most bytes that are read for the sake of the connection alone.
const WORTH_READING: usize = 64 << 10;

/// How long they are waited for: a new connection would not take longer, most of the time.
const WORTH_WAITING: Duration = Duration::from_millis(200);

/// Dropping it before the end closes what it is read from.
pub(crate) struct Rest {
    source: Source,
    decoder: Option<Box<Decoder>>,
}

/// What the body of an answer is read from, and all that it holds until then.
pub(crate) enum Source {
    Http1(Http1Rest),
    /// Dropping it gives the stream back, and resets it unless it has ended.
    Http2(Arc<Shared>, h2::Incoming),
}

/// A body on a connection of its own.
pub(crate) struct Http1Rest {
    pub shared: Arc<Shared>,
    pub origin: Arc<Origin>,
    pub incoming: Incoming,
    pub connection: Box<Connection>,
    /// Given back after the connection was put away, or dropped.
    pub turn: Option<Box<Turn>>,
}

impl Rest {
    pub fn new(source: Source, decoder: Option<Box<Decoder>>) -> Box<Rest> {
        Box::new(Rest { source, decoder })
    }

    /// The body as it was asked for: left open, or read whole now.
    pub async fn body(
        mut self: Box<Rest>,
        reading: Reading,
        trace: &mut Trace,
    ) -> Result<Body, Failure> {
        if reading == Reading::Open {
            return Ok(Body::Open(self));
        }
        let (most, mut share) = (self.max_body(), self.share());
        let mut whole = BytesMut::new();
        let mut pieces = 0_u32;
        while let Some(piece) = self.piece().await? {
            if piece.len() > most - whole.len() {
                return Err(failure(BodyError::TooLarge, most));
            }
            share.grow_to(whole.len() + piece.len() + self.memory())?;
            whole.extend_from_slice(&piece);
            pieces = pieces.wrapping_add(1);
            if pieces % PIECES_PER_TURN == 0 {
                give_way().await;
            }
        }
        trace.attempt().read = trace.lap();
        self.put_away(trace.mark);
        Ok(Body::Whole(whole.freeze()))
    }

    /// The next piece, none at the end. Nothing is lost when the future is dropped.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, Failure> {
        let Some(decoder) = &mut self.decoder else {
            return self.source.piece().await;
        };
        let mut steps = 0_u32;
        loop {
            match decoder.step().map_err(undecodable)? {
                Step::Piece([]) => {}
                Step::Piece(piece) => return Ok(Some(Bytes::copy_from_slice(piece))),
                Step::Wanting => match self.source.piece().await? {
                    Some(coded) => decoder.feed(coded),
                    None => return decoder.end().map_err(cut_short).map(|()| None),
                },
            }
            // A body may decode to nothing for long, and must not keep others from their turn.
            steps = steps.wrapping_add(1);
            if steps % PIECES_PER_TURN == 0 {
                give_way().await;
            }
        }
    }

    /// A share of what all bodies may hold together.
    pub fn share(&self) -> Share {
        Buffered::share(&self.source.shared().buffered)
    }

    /// How many bytes it takes to decode the body, beside those that come of it.
    pub fn memory(&self) -> usize {
        self.decoder.as_ref().map_or(0, |decoder| decoder.memory())
    }

    /// Most bytes of a body that is held whole.
    pub fn max_body(&self) -> usize {
        self.source.shared().config.max_body
    }

    /// Whether all of the body has been taken.
    pub fn is_whole(&mut self) -> bool {
        self.decoder
            .as_ref()
            .is_none_or(|decoder| decoder.is_done())
            && self.source.is_whole()
    }

    /// Reads a body that nobody wants, so that the connection can be used again; closes it when that
    /// would take long.
    pub async fn skip(mut self: Box<Rest>, now: Instant) {
        let read = timeout(WORTH_WAITING, self.read_to_its_end()).await;
        if read.unwrap_or(false) {
            self.put_away(now);
        }
    }

    /// Whether it came to its end, soon enough.
    async fn read_to_its_end(&mut self) -> bool {
        let mut read = 0;
        while let Ok(piece) = self.source.piece().await {
            match piece {
                None => return true,
                Some(piece) => read += piece.len(),
            }
            if read > WORTH_READING {
                break;
            }
        }
        false
    }

    /// Puts what it was read from away for the next request, if it can carry one.
    pub fn put_away(self, now: Instant) {
        match self.source {
            Source::Http1(rest) => rest.put_away(now),
            Source::Http2(shared, incoming) => {
                drop(incoming);
                shared.sessions.keep_few(&shared.pool);
            }
        }
    }
}

impl Source {
    fn shared(&self) -> &Shared {
        match self {
            Source::Http1(rest) => &rest.shared,
            Source::Http2(shared, _) => shared,
        }
    }

    async fn piece(&mut self) -> Result<Option<Bytes>, Failure> {
        match self {
            Source::Http1(rest) => {
                let config = &rest.shared.config;
                rest.incoming.piece(&mut rest.connection, config).await
            }
            Source::Http2(shared, incoming) => incoming.piece(&shared.config).await,
        }
    }

    fn is_whole(&mut self) -> bool {
        match self {
            Source::Http1(rest) => rest.incoming.is_whole(&mut rest.connection),
            Source::Http2(_, incoming) => incoming.is_whole(),
        }
    }
}

/// What takes the codings off a body, if it is to be decoded and has any that are known.
pub(crate) fn decoder(
    request: &Request,
    config: &Config,
    fields: &[u8],
) -> Result<Option<Box<Decoder>>, Failure> {
    if !config.decode || request.asks.has_coding {
        return Ok(None);
    }
    Decoder::of(Fields(fields)).map_err(undecodable)
}

fn undecodable(why: Undecodable) -> Failure {
    let detail = format!("the body is undecodable: {why}");
    Failure::new(Kind::Body, Phase::Read, detail).for_good()
}

/// What a connection that ended in the middle of a body without a length leaves behind: passing.
fn cut_short(why: Undecodable) -> Failure {
    Failure {
        passing: true,
        ..undecodable(why)
    }
}

impl Http1Rest {
    fn put_away(mut self, now: Instant) {
        if self.incoming.finish(&mut self.connection) {
            self.shared.pool.put(&self.origin, self.connection, now);
        }
        drop(self.turn);
    }
}
