//! The unread rest of a response on a stream: its body, and the rest of the request meanwhile.

use bytes::Bytes;

use super::each;
use crate::config::Config;
use crate::content::buffered::Share;
use crate::content::growing::{Growing, too_large};
use crate::h2;
#[cfg(feature = "http3")]
use crate::h3;
use crate::message::failure::Failure;
use crate::message::fields::Trailers;
use crate::runtime::timer::PhaseTimer;
use crate::runtime::yield_now::{PIECES_PER_TURN, yield_now};

/// Dropping it before the end resets the stream. A body over HTTP/2 needs no allocation.
#[cfg_attr(feature = "http3", expect(clippy::large_enum_variant))]
pub(crate) enum Incoming {
    Http2(h2::incoming::Incoming),
    #[cfg(feature = "http3")]
    Http3(Box<h3::incoming::Incoming>),
}

impl Incoming {
    /// Reads the body to its end. Fails at once when its length is known to be too much.
    pub async fn whole(&mut self, config: &Config, share: Share) -> Result<Bytes, Failure> {
        let most = config.max_body;
        let length = self.length();
        if !self.has_ended() && length.is_some_and(|length| length > most as u64) {
            return Err(too_large(most));
        }
        let mut timer = PhaseTimer::new(config);
        let likely = length.map_or(most, |length| length.min(most as u64) as usize);
        let mut whole = Growing::new(share, most, 0);
        let mut pieces = 0_u32;
        while let Some(piece) = self.next(&mut timer, config).await? {
            whole.add(&piece, likely, 0)?;
            pieces = pieces.wrapping_add(1);
            if pieces.is_multiple_of(PIECES_PER_TURN) {
                yield_now().await;
            }
        }
        Ok(whole.take())
    }

    /// Reads the next piece of the body, none at its end. Nothing is lost when the future is dropped.
    pub async fn piece(&mut self, config: &Config) -> Result<Option<Bytes>, Failure> {
        self.next(&mut PhaseTimer::new(config), config).await
    }

    async fn next(
        &mut self,
        timer: &mut PhaseTimer<'_>,
        config: &Config,
    ) -> Result<Option<Bytes>, Failure> {
        each!(Incoming, self, incoming => incoming.next(timer, config).await)
    }

    /// The announced length of the body.
    pub fn length(&self) -> Option<u64> {
        each!(Incoming, self, incoming => incoming.length())
    }

    /// Whether the end of the body has been read.
    fn has_ended(&self) -> bool {
        each!(Incoming, self, incoming => incoming.has_ended())
    }

    /// Whether all of the body has been taken.
    pub fn is_whole(&self) -> bool {
        each!(Incoming, self, incoming => incoming.is_whole())
    }

    /// The trailers of a body that is whole. Only the first call returns them.
    pub fn take_trailers(&mut self) -> Trailers {
        each!(Incoming, self, incoming => incoming.take_trailers())
    }
}
