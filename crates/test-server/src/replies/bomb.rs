//! Bodies that are small on the wire and large when decoded: zeros, made of one repeated block.

use std::io::{self, Write};

use bytes::Bytes;
use flate2::{Compress, Compression, FlushCompress};

use crate::replies::coding::Coding;
use crate::wire::source::Source;

const MEBIBYTE: usize = 1024 * 1024;
/// Most mebibytes, decoded.
const LARGEST: u64 = 64 * 1024;

/// This many mebibytes of zeros in that coding; none if the coding is unknown or too many are requested.
pub(crate) fn source(name: &str, mebibytes: u64) -> Option<Source> {
    if mebibytes > LARGEST {
        return None;
    }
    let parts = match Coding::named(name)? {
        Coding::Gzip => gzip(mebibytes),
        Coding::Deflate => deflate(mebibytes),
        Coding::Brotli => brotli(mebibytes).ok()?,
        Coding::Zstd => zstd(mebibytes),
    };
    let part = |(bytes, times): (Vec<u8>, u64)| (Bytes::from(bytes), times);
    Some(Source::Parts(parts.into_iter().map(part).collect()))
}

type Parts = Vec<(Vec<u8>, u64)>;

/// A mebibyte of zeros in deflate's blocks. The full flush behind it ends on a byte and forgets the window, so
/// that the same bytes may follow again.
fn block() -> Vec<u8> {
    let mut out = Vec::with_capacity(8192);
    let mut deflate = Compress::new(Compression::best(), false);
    let zeros = vec![0; MEBIBYTE];
    // Only a wrong state makes it fail, and this one is new.
    let _ = deflate.compress_vec(&zeros, &mut out, FlushCompress::Full);
    out
}

/// The last block, empty (RFC 1951 §3.2.6).
const LAST: [u8; 2] = [3, 0];

fn gzip(mebibytes: u64) -> Parts {
    let head = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let length = mebibytes * MEBIBYTE as u64;
    let mut one = crc32fast::Hasher::new();
    one.update(&vec![0; MEBIBYTE]);
    let mut sum = crc32fast::Hasher::new();
    (0..mebibytes).for_each(|_| sum.combine(&one));
    let mut end = LAST.to_vec();
    end.extend(sum.finalize().to_le_bytes());
    end.extend((length as u32).to_le_bytes());
    vec![(head, 1), (block(), mebibytes), (end, 1)]
}

fn deflate(mebibytes: u64) -> Parts {
    // Adler-32 of n zeros: its lower half stays 1, its upper half counts (RFC 1950 §8.2).
    let length = mebibytes * MEBIBYTE as u64;
    let sum = ((length % 65521) as u32) << 16 | 1;
    let mut end = LAST.to_vec();
    end.extend(sum.to_be_bytes());
    vec![(vec![0x78, 0x9c], 1), (block(), mebibytes), (end, 1)]
}

/// The second mebibyte's block refers only to zeros and ends in the state that it began in, so it may be repeated.
fn brotli(mebibytes: u64) -> io::Result<Parts> {
    let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 9, 18);
    let zeros = vec![0; MEBIBYTE];
    let mut ends = [0; 3];
    for end in &mut ends {
        encoder.write_all(&zeros)?;
        encoder.flush()?;
        *end = encoder.get_ref().len();
    }
    let bytes = encoder.into_inner();
    let (first, again) = (bytes[..ends[0]].to_vec(), bytes[ends[1]..ends[2]].to_vec());
    // An empty last meta-block (RFC 7932 §9.2); alone it needs the stream's head, which `first` has.
    let end = (vec![3], 1);
    Ok(match mebibytes {
        0 => vec![(vec![6], 1)],
        _ => vec![(first, 1), (again, mebibytes - 1), end],
    })
}

/// One frame of run-length blocks (RFC 8878 §3.1.1): a window of 128 KiB, no length, no checksum.
fn zstd(mebibytes: u64) -> Parts {
    const RUN: u32 = 128 * 1024;
    let head = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 7 << 3];
    let mut run = (RUN << 3 | 1 << 1).to_le_bytes();
    run[3] = 0; // The three bytes of the block's head, and the byte that is repeated.
    let mebibyte = run.repeat(MEBIBYTE / RUN as usize);
    vec![(head, 1), (mebibyte, mebibytes), (vec![1, 0, 0], 1)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn bytes(name: &str, mebibytes: u64) -> Vec<u8> {
        let mut source = source(name, mebibytes).unwrap();
        let pieces = std::iter::from_fn(|| source.next());
        pieces.flat_map(|piece| piece.bytes).collect()
    }

    #[test]
    fn bombs_decode_to_their_size_and_are_small() {
        for (name, ratio) in [("gzip", 500), ("deflate", 500), ("br", 500), ("zstd", 500)] {
            for mebibytes in [0, 1, 2, 7] {
                let bytes = bytes(name, mebibytes);
                let mut reader: Box<dyn Read> = match Coding::named(name).unwrap() {
                    Coding::Gzip => Box::new(flate2::read::GzDecoder::new(&bytes[..])),
                    Coding::Deflate => Box::new(flate2::read::ZlibDecoder::new(&bytes[..])),
                    Coding::Brotli => Box::new(brotli::Decompressor::new(&bytes[..], 4096)),
                    Coding::Zstd => Box::new(zstd::Decoder::new(&bytes[..]).unwrap()),
                };
                let mut out = Vec::new();
                reader.read_to_end(&mut out).unwrap();
                assert_eq!(out.len(), mebibytes as usize * MEBIBYTE, "{name}");
                assert!(out.iter().all(|byte| *byte == 0));
                assert!(
                    bytes.len() < 100 + out.len() / ratio,
                    "{name}: {}",
                    bytes.len()
                );
            }
        }
    }

    #[test]
    fn an_invalid_bomb_is_none() {
        assert!(source("lzw", 1).is_none());
        assert!(source("gzip", LARGEST + 1).is_none());
    }
}
