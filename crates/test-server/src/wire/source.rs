//! Bodies that are made piece by piece while they are sent.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

/// A body on its way out.
#[derive(Debug)]
pub(crate) enum Source {
    /// `chunk 1` to `chunk <count>`, a line each, and the trailer `X-Chunks`.
    Chunks { sent: u64, count: u64 },
    /// This many bytes of the alphabet.
    Alphabet { piece: Bytes, missing: u64 },
    /// Each piece, repeated as often as its number says.
    Parts(VecDeque<(Bytes, u64)>),
    /// One piece again and again, with a pause between two.
    Paced {
        piece: Bytes,
        sent: u64,
        count: u64,
        pause: Duration,
    },
    /// These bytes, this many at a time, with a pause between two pieces.
    Slow {
        bytes: Bytes,
        piece: usize,
        pause: Duration,
        begun: bool,
    },
}

/// Some bytes of a body, and how long to wait before they are sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) bytes: Bytes,
    pub(crate) pause: Option<Duration>,
}

/// Bodies are written in pieces of about this size.
pub(crate) const PIECE: usize = 64 * 1024;
/// Bodies of `/bytes/<n>` repeat this.
const ALPHABET: &[u8; 26] = b"abcdefghijklmnopqrstuvwxyz";

impl Source {
    pub(crate) fn chunks(count: u64) -> Source {
        Source::Chunks { sent: 0, count }
    }

    pub(crate) fn alphabet(count: u64) -> Source {
        // A short body needs no long piece; the piece is of whole alphabets.
        let size = usize::try_from(count).unwrap_or(PIECE).min(PIECE);
        let piece = ALPHABET.repeat((size / ALPHABET.len()).max(1));
        Source::Alphabet {
            piece: piece.into(),
            missing: count,
        }
    }

    pub(crate) fn whole(bytes: impl Into<Bytes>) -> Source {
        Source::Parts([(bytes.into(), 1)].into())
    }

    /// The next bytes, none at the end. Never empty.
    pub(crate) fn next(&mut self) -> Option<Piece> {
        match self {
            Source::Chunks { sent, count } => {
                (*sent < *count).then(|| *sent += 1)?;
                Some(Piece::at_once(format!("chunk {sent}\n")))
            }
            Source::Alphabet { piece, missing } => {
                let size = (*missing).min(piece.len() as u64);
                *missing -= size;
                (size > 0).then(|| Piece::at_once(piece.slice(..size as usize)))
            }
            Source::Parts(parts) => next_part(parts),
            Source::Paced {
                piece,
                sent,
                count,
                pause,
            } => {
                let pause = (*sent > 0).then_some(*pause);
                (*sent < *count).then(|| *sent += 1)?;
                let bytes = piece.clone();
                Some(Piece { bytes, pause })
            }
            Source::Slow {
                bytes,
                piece,
                pause,
                begun,
            } => {
                let pause = std::mem::replace(begun, true).then_some(*pause);
                let bytes = bytes.split_to(bytes.len().min(*piece));
                (!bytes.is_empty()).then_some(Piece { bytes, pause })
            }
        }
    }

    /// These bytes in this many pieces, with a pause between two.
    pub(crate) fn slow(bytes: impl Into<Bytes>, pieces: usize, pause: Duration) -> Source {
        let bytes = bytes.into();
        Source::Slow {
            piece: bytes.len().div_ceil(pieces.max(1)),
            bytes,
            pause,
            begun: false,
        }
    }

    /// The trailer after the body, if the protocol allows one.
    pub(crate) fn trailer(&self) -> Option<(&'static str, u64)> {
        match self {
            Source::Chunks { count, .. } => Some(("X-Chunks", *count)),
            _ => None,
        }
    }
}

fn next_part(parts: &mut VecDeque<(Bytes, u64)>) -> Option<Piece> {
    loop {
        let (bytes, times) = parts.front_mut()?;
        if *times == 0 || bytes.is_empty() {
            parts.pop_front();
            continue;
        }
        *times -= 1;
        return Some(Piece::at_once(bytes.clone()));
    }
}

impl Piece {
    fn at_once(bytes: impl Into<Bytes>) -> Piece {
        Piece {
            bytes: bytes.into(),
            pause: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(mut source: Source) -> Vec<u8> {
        let pieces = std::iter::from_fn(|| source.next());
        pieces.flat_map(|piece| piece.bytes).collect()
    }

    #[test]
    fn bodies_have_the_requested_length() {
        for count in [0, 1, 25, 26, 27, 65_519, 65_536, 200_001] {
            let body = all(Source::alphabet(count));
            assert_eq!(body.len() as u64, count);
            assert!(
                body.iter()
                    .zip(ALPHABET.iter().cycle())
                    .all(|(a, b)| a == b)
            );
        }
        let parts = [
            ("a".into(), 2),
            ("".into(), 9),
            ("b".into(), 0),
            ("c".into(), 1),
        ];
        assert_eq!(all(Source::Parts(parts.into())), b"aac");
        let slow = |pieces| all(Source::slow("abcdefg", pieces, Duration::ZERO));
        for pieces in [0, 1, 2, 3, 7, 9] {
            assert_eq!(slow(pieces), b"abcdefg");
        }
    }

    #[test]
    fn pauses_stand_between_pieces() {
        let pause = Duration::from_millis(5);
        let mut source = Source::Paced {
            piece: "x".into(),
            sent: 0,
            count: 3,
            pause,
        };
        let pauses: Vec<_> = std::iter::from_fn(|| source.next())
            .map(|piece| piece.pause)
            .collect();
        assert_eq!(pauses, [None, Some(pause), Some(pause)]);
    }
}
