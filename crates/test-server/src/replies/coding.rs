//! Content codings of responses: gzip, deflate, br and zstd, whole or damaged.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};

use crate::wire::head::Field;

/// A content coding by its name in HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    /// With the header and checksum of zlib, as RFC 9110 §8.4.1.2 says.
    Deflate,
    Brotli,
    Zstd,
}

/// The damage to an encoded body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Damage {
    None,
    /// Its second half is overwritten.
    Corrupt,
    /// Its second half is missing; the response's length is that of the first half.
    Truncated,
}

/// Most codings that are applied to one body.
const MOST: usize = 16;

/// The text that encoded bodies repeat.
const TEXT: &[u8] = b"The quick brown fox jumps over the lazy dog.\n";

impl Coding {
    pub(crate) fn named(name: &str) -> Option<Coding> {
        Some(match name {
            "gzip" => Coding::Gzip,
            "deflate" => Coding::Deflate,
            "br" => Coding::Brotli,
            "zstd" => Coding::Zstd,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Coding::Gzip => "gzip",
            Coding::Deflate => "deflate",
            Coding::Brotli => "br",
            Coding::Zstd => "zstd",
        }
    }

    fn encode(self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Coding::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(bytes)?;
                encoder.finish()
            }
            Coding::Deflate => {
                let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(bytes)?;
                encoder.finish()
            }
            Coding::Brotli => {
                let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 1, 22);
                encoder.write_all(bytes)?;
                Ok(encoder.into_inner())
            }
            Coding::Zstd => {
                let mut encoder = zstd::Encoder::new(Vec::new(), 1)?;
                // Without a checksum no decoder could notice some damage.
                encoder.include_checksum(true)?;
                encoder.write_all(bytes)?;
                encoder.finish()
            }
        }
    }
}

/// The named codings (`gzip` or `gzip,br`), the whole list this many times. None if a coding is unknown, or if there
/// are no codings or too many.
pub(crate) fn list(names: &str, layers: u64) -> Option<Vec<Coding>> {
    let codings: Option<Vec<_>> = names.split(',').map(Coding::named).collect();
    let codings = codings.filter(|codings| codings.len() <= MOST && layers <= MOST as u64)?;
    let codings = codings.repeat(layers as usize);
    (1..=MOST).contains(&codings.len()).then_some(codings)
}

/// This many bytes of text.
pub(crate) fn text(count: u64) -> Vec<u8> {
    let mut text = TEXT.repeat(count as usize / TEXT.len() + 1);
    text.truncate(count as usize);
    text
}

/// The bytes in these codings, the first one applied first, and the header that says so.
pub(crate) fn encode(
    codings: &[Coding],
    mut bytes: Vec<u8>,
    damage: Damage,
) -> Option<(Vec<u8>, Field)> {
    for coding in codings {
        bytes = coding.encode(&bytes).ok()?;
    }
    let middle = bytes.len() / 2;
    match damage {
        Damage::None => {}
        Damage::Corrupt => bytes[middle..].iter_mut().for_each(|byte| *byte ^= 0xff),
        Damage::Truncated => bytes.truncate(middle),
    }
    let names: Vec<_> = codings.iter().map(|coding| coding.name()).collect();
    Some((bytes, ("Content-Encoding".into(), names.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn decode(coding: Coding, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        match coding {
            Coding::Gzip => flate2::read::GzDecoder::new(bytes).read_to_end(&mut out)?,
            Coding::Deflate => flate2::read::ZlibDecoder::new(bytes).read_to_end(&mut out)?,
            Coding::Brotli => brotli::Decompressor::new(bytes, 4096).read_to_end(&mut out)?,
            Coding::Zstd => zstd::Decoder::new(bytes)?.read_to_end(&mut out)?,
        };
        Ok(out)
    }

    const ALL: [Coding; 4] = [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd];

    #[test]
    fn encoded_bodies_can_be_decoded_and_damaged_ones_cannot() {
        for coding in ALL {
            for count in [0, 1, 100_000] {
                let (bytes, (_, header)) = encode(&[coding], text(count), Damage::None).unwrap();
                assert_eq!(header, coding.name());
                assert_eq!(decode(coding, &bytes).unwrap(), text(count));
            }
            for (damage, count) in [Damage::Corrupt, Damage::Truncated]
                .into_iter()
                .flat_map(|damage| [50, 1000, 100_000].map(|count| (damage, count)))
            {
                let (bytes, _) = encode(&[coding], text(count), damage).unwrap();
                assert!(
                    decode(coding, &bytes).is_err(),
                    "{coding:?} {damage:?} {count}"
                );
            }
        }
    }

    #[test]
    fn layers_are_named_in_the_order_they_were_applied() {
        let codings = list("gzip,br", 2).unwrap();
        let (bytes, (_, header)) = encode(&codings, text(500), Damage::None).unwrap();
        assert_eq!(header, "gzip, br, gzip, br");
        let decode = |bytes: Vec<u8>, coding: &Coding| decode(*coding, &bytes).unwrap();
        assert_eq!(codings.iter().rev().fold(bytes, decode), text(500));
        assert_eq!(list("gzip,lzw", 1), None);
        for (names, layers) in [
            ("gzip", 0),
            ("gzip", 17),
            ("gzip,br", 9),
            ("gzip", u64::MAX),
        ] {
            assert_eq!(list(names, layers), None);
        }
    }
}
