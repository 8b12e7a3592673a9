//! The unread rest of a response: its body, from a connection of its own or a stream of a shared one, and its content
//! codings.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use tokio::time::timeout;

use crate::client::open_response::{Body, Reading};
use crate::client::shared::Shared;
use crate::config::Config;
use crate::content::buffered::{Buffered, Share};
use crate::content::growing::Growing;
use crate::content::{Decoder, Step, Undecodable};
use crate::h1::incoming::Incoming;
use crate::message::attempt::Trace;
use crate::message::failure::{Failure, Kind, Phase};
use crate::message::fields::{Fields, Trailers};
use crate::message::framing::Framing;
use crate::message::origin::Origin;
use crate::message::reason::Reason;
use crate::message::request::Request;
use crate::multiplex;
use crate::pool::{Held, Pool};
use crate::runtime::yield_now::{PIECES_PER_TURN, yield_now};

/// At most this many bytes are read only to keep the connection.
const WORTH_READING: usize = 64 << 10;

/// How long to wait for these bytes: opening a new connection would seldom take longer.
const WORTH_WAITING: Duration = Duration::from_millis(200);

/// Reads the body of a response. Dropping the reader before the end closes what the body is read from.
pub(crate) struct BodyReader {
    source: Source,
    decoder: Option<Box<Decoder>>,
    config: Arc<Config>,
    /// Where an HTTP/1.1 connection goes when the body has been read.
    pool: Arc<Pool>,
    buffered: Option<Arc<Buffered>>,
}

/// The source of a response's body, and everything that the body holds until its end.
pub(crate) enum Source {
    Http1(Http1Body),
    /// Dropping it gives the stream back, and resets it unless it has ended.
    Stream(multiplex::incoming::Incoming),
    Given(GivenBody),
}

/// A piece of a body, still in the buffer of the connection or of the decoder.
enum Piece<'a> {
    Read(Bytes),
    Decoded(&'a [u8]),
}

impl Piece<'_> {
    fn into_bytes(self) -> Bytes {
        match self {
            Piece::Read(bytes) => bytes,
            Piece::Decoded(slice) => Bytes::copy_from_slice(slice),
        }
    }
}

impl Deref for Piece<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Piece::Read(bytes) => bytes,
            Piece::Decoded(slice) => slice,
        }
    }
}

/// A body without a connection, which the program gave.
#[derive(Default)]
pub(crate) struct GivenBody {
    /// Pieces that are not empty.
    pub pieces: VecDeque<Bytes>,
    /// The failure after the last piece.
    pub ending: Option<Failure>,
}

impl GivenBody {
    fn piece(&mut self) -> Result<Option<Bytes>, Failure> {
        match (self.pieces.pop_front(), &self.ending) {
            (None, Some(failure)) => Err(failure.clone()),
            (piece, _) => Ok(piece),
        }
    }
}

/// A body on a connection of its own.
pub(crate) struct Http1Body {
    origin: Arc<Origin>,
    incoming: Incoming,
    framing: Framing,
    held: Held,
}

impl BodyReader {
    pub fn new(source: Source, decoder: Option<Box<Decoder>>, shared: &Shared) -> Box<BodyReader> {
        Box::new(BodyReader {
            source,
            decoder,
            config: shared.config.clone(),
            pool: shared.pool.clone(),
            buffered: shared.buffered.clone(),
        })
    }

    /// Reads the body as the attempt requires: leaves it open, or reads all of it now.
    pub async fn body(
        mut self: Box<BodyReader>,
        reading: Reading,
        trace: &mut Trace,
    ) -> Result<Body, Failure> {
        if reading == Reading::Open {
            return Ok(Body::Open(self));
        }
        let whole = self.read_whole().await?;
        trace.attempt().read_time = trace.lap();
        let trailers = self.take_trailers();
        self.put_away(trace.mark);
        Ok(Body::Whole(whole, trailers))
    }

    /// The whole body, if it can be read, and the trailers after it.
    pub async fn collect(mut self: Box<BodyReader>, now: Instant) -> Option<(Bytes, Trailers)> {
        let whole = self.read_whole().await.ok()?;
        let trailers = self.take_trailers();
        self.put_away(now);
        Some((whole, trailers))
    }

    /// Reads what is left of the body. It fails once more than `max_body` bytes have come, whatever length was
    /// announced. A body that is read without this reader fails at its announced length already.
    pub async fn read_whole(&mut self) -> Result<Bytes, Failure> {
        let likely = self.likely_most();
        let mut whole = Growing::new(self.share(), self.config.max_body, 0);
        let mut pieces = 0_u32;
        loop {
            // Decoding straight into the body saves a copy.
            let memory = self.memory();
            let added = self.next(|piece: Piece<'_>| whole.add(&piece, likely, memory));
            match added.await? {
                None => break,
                Some(added) => added?,
            }
            whole.add(&[], likely, self.memory())?;
            pieces = pieces.wrapping_add(1);
            if pieces.is_multiple_of(PIECES_PER_TURN) {
                yield_now().await;
            }
        }
        Ok(whole.take())
    }

    /// The next piece, none at the end. Nothing is lost when the future is dropped.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, Failure> {
        self.next(|piece: Piece<'_>| piece.into_bytes()).await
    }

    /// Calls `take` with the next piece; none at the end.
    async fn next<T>(&mut self, take: impl FnOnce(Piece<'_>) -> T) -> Result<Option<T>, Failure> {
        let Some(decoder) = &mut self.decoder else {
            let piece = self.source.piece(&self.config).await?;
            return Ok(piece.map(|piece| take(Piece::Read(piece))));
        };
        let mut steps = 0_u32;
        loop {
            match decoder.step().map_err(undecodable)? {
                Step::Piece([]) => {}
                Step::Piece(piece) => return Ok(Some(take(Piece::Decoded(piece)))),
                Step::Wanting => match self.source.piece(&self.config).await? {
                    Some(coded) => decoder.feed(coded),
                    None => return decoder.end().map_err(cut_short).map(|()| None),
                },
            }
            // A body may decode to nothing for a long time, and must not delay other requests.
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(PIECES_PER_TURN) {
                yield_now().await;
            }
        }
    }

    /// A share of what all bodies may hold together.
    pub fn share(&self) -> Share {
        Buffered::share(&self.buffered)
    }

    /// The bytes of memory that decoding the body needs, without its output.
    pub fn memory(&self) -> usize {
        self.decoder.as_ref().map_or(0, |decoder| decoder.memory())
    }

    /// How many bytes the body likely has at most: `max_body`, or the announced length of a body without content coding
    /// if that is less.
    fn likely_most(&self) -> usize {
        let most = self.config.max_body;
        let announced = match &self.source {
            Source::Http1(body) => body.framing.length(),
            Source::Stream(incoming) => incoming.length(),
            Source::Given(_) => None,
        };
        let announced = announced.filter(|_| self.decoder.is_none());
        let announced = announced.and_then(|length| usize::try_from(length).ok());
        announced.map_or(most, |length| length.min(most))
    }

    /// Whether all of the body has been taken.
    pub fn is_whole(&mut self) -> bool {
        self.decoder
            .as_ref()
            .is_none_or(|decoder| decoder.is_done())
            && self.source.is_whole(&self.config)
    }

    /// The trailers after a body that has been read. Only the first call returns them.
    pub fn take_trailers(&mut self) -> Trailers {
        match &mut self.source {
            Source::Http1(body) => body.incoming.take_trailers(),
            Source::Stream(incoming) => incoming.take_trailers(),
            Source::Given(_) => None,
        }
    }

    /// Reads a body that is not needed, so that the connection can be reused. If that would take long, an HTTP/1.1
    /// connection is closed, and a stream of a shared one is reset.
    pub async fn skip(mut self: Box<BodyReader>, now: Instant) {
        let read = timeout(WORTH_WAITING, self.read_to_its_end()).await;
        if read.unwrap_or(false) {
            self.put_away(now);
        }
    }

    /// Whether the body ended soon enough.
    async fn read_to_its_end(&mut self) -> bool {
        let mut read = 0;
        while let Ok(piece) = self.source.piece(&self.config).await {
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

    /// Puts back what the body was read from, if it can carry another request.
    pub fn put_away(self, now: Instant) {
        match self.source {
            Source::Http1(body) => body.put_away(&self.pool, now),
            Source::Stream(incoming) => {
                drop(incoming);
                self.pool.keep_few();
            }
            Source::Given(_) => {}
        }
    }
}

impl Source {
    async fn piece(&mut self, config: &Config) -> Result<Option<Bytes>, Failure> {
        match self {
            Source::Http1(body) => {
                let http1 = &mut body.held.connection.http1;
                let piece = body.incoming.piece(http1, config).await;
                piece.map_err(|failure| body.incoming.with_received(failure, body.framing, http1))
            }
            Source::Stream(incoming) => incoming.piece(config).await,
            Source::Given(body) => body.piece(),
        }
    }

    fn is_whole(&mut self, config: &Config) -> bool {
        match self {
            Source::Http1(body) => body
                .incoming
                .is_whole(&mut body.held.connection.http1, config),
            Source::Stream(incoming) => incoming.is_whole(),
            Source::Given(body) => body.pieces.is_empty() && body.ending.is_none(),
        }
    }
}

/// The decoder of a body, if it is to be decoded (`Config::decodes`: the setting, and the request's own headers), there
/// can be a body, and its codings are known.
pub(crate) fn decoder(
    request: &Request,
    config: &Config,
    status: u16,
    fields: &[u8],
) -> Result<Option<Box<Decoder>>, Failure> {
    let empty = request.method == Method::HEAD || matches!(status, 101 | 204 | 304);
    if empty || !config.decodes(request.flags) {
        return Ok(None);
    }
    Decoder::of(Fields(fields), config.lenient).map_err(undecodable)
}

fn undecodable(why: Undecodable) -> Failure {
    let detail = format!("the body is undecodable: {why}");
    let failure = Failure::new(Kind::Body, Phase::Read, detail);
    failure.for_reason(Reason::BodyUndecodable).for_good()
}

/// The failure of a connection that ended in the middle of a body without a length. Another try may succeed.
fn cut_short(why: Undecodable) -> Failure {
    Failure {
        passing: true,
        ..undecodable(why)
    }
}

impl Http1Body {
    pub fn new(request: &Request, incoming: Incoming, framing: Framing, held: Held) -> Http1Body {
        Http1Body {
            origin: request.origin.clone(),
            incoming,
            framing,
            held,
        }
    }

    fn put_away(mut self, pool: &Pool, now: Instant) {
        if self.incoming.finish(&mut self.held.connection.http1) {
            pool.put(&self.origin, self.held.connection, now);
        }
        drop(self.held.permit);
    }
}
