//! Decoding as a function from bytes to bytes: the result does not depend on how the bytes are split, nothing panics,
//! pieces are bounded.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use super::*;

type Encode = fn(&[u8]) -> Vec<u8>;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn raw_deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A frame of one raw block, without checksum (RFC 8878 §3.1.1); up to 255 bytes.
fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, bytes.len() as u8];
    let block = (bytes.len() as u32) << 3 | 1;
    frame.extend_from_slice(&block.to_le_bytes()[..3]);
    frame.extend_from_slice(bytes);
    frame
}

/// A stream of one metablock that is not compressed, and an empty one (RFC 7932 §9.2); 1 to 65536 bytes.
fn brotli(bytes: &[u8]) -> Vec<u8> {
    // Window bits 0 (16), then ISLAST 0, MNIBBLES 0 (4), MLEN − 1 in 16 bits, ISUNCOMPRESSED 1.
    let head = (bytes.len() as u32 - 1) << 4 | 1 << 20;
    let mut stream = head.to_le_bytes()[..3].to_vec();
    stream.extend_from_slice(bytes);
    stream.push(3); // ISLAST and ISLASTEMPTY.
    stream
}

fn fields(codings: &str) -> String {
    format!("content-type: text/plain\r\ncontent-encoding: {codings}\r\n")
}

/// The body that comes in these pieces; none if it is undecodable.
fn decoded(codings: &str, pieces: &[&[u8]]) -> Option<Vec<u8>> {
    decoded_as(codings, pieces, false)
}

fn decoded_as(codings: &str, pieces: &[&[u8]], lenient: bool) -> Option<Vec<u8>> {
    let fields = fields(codings);
    let mut decoder = Decoder::of(Fields(fields.as_bytes()), lenient).ok()??;
    let mut body = Vec::new();
    for piece in pieces {
        decoder.feed(Bytes::copy_from_slice(piece));
        while let Step::Piece(piece) = decoder.step().ok()? {
            assert!(piece.len() <= PIECE);
            body.extend_from_slice(piece);
        }
    }
    decoder.end().ok()?;
    Some(body)
}

const TEXT: &[u8] = b"hello, hello, hello";

#[test]
fn each_coding_is_decoded() {
    let codings: [(&str, Encode); 7] = [
        ("gzip", gzip),
        ("X-GZIP", gzip),
        ("Deflate", zlib),
        ("deflate", raw_deflate),
        ("br", brotli),
        ("zstd", zstd),
        ("identity, gzip,", gzip),
    ];
    for (name, encode) in codings {
        let coded = encode(TEXT);
        assert_eq!(decoded(name, &[&coded]).as_deref(), Some(TEXT), "{name}");
        let bytes: Vec<&[u8]> = coded.chunks(1).collect();
        assert_eq!(decoded(name, &bytes).as_deref(), Some(TEXT), "{name}");
        for end in 1..coded.len() {
            let cut = decoded(name, &[&coded[..end]]);
            assert_eq!(cut, None, "{name} cut at {end}");
        }
        assert_eq!(decoded(name, &[]).as_deref(), Some(&b""[..]), "no body");
    }
}

#[test]
fn several_codings_are_decoded_in_turn_and_unknown_ones_left() {
    let coded = brotli(&gzip(TEXT));
    assert_eq!(decoded("gzip, br", &[&coded]).as_deref(), Some(TEXT));
    for unknown in ["compress", "gzip, aws-chunked", "identity", "", "\u{e9}"] {
        let fields = fields(unknown);
        let decoder = Decoder::of(Fields(fields.as_bytes()), false);
        assert!(decoder.unwrap().is_none(), "{unknown}");
    }
    let many = fields("zstd, gzip, br");
    assert!(Decoder::of(Fields(many.as_bytes()), false).is_err());
}

#[test]
fn members_are_one_body_and_other_bytes_behind_the_end_are_an_error() {
    for (name, encode) in [("gzip", gzip as Encode), ("zstd", zstd)] {
        let mut coded = encode(b"one ");
        coded.extend(encode(b"two"));
        assert_eq!(decoded(name, &[&coded]).as_deref(), Some(&b"one two"[..]));
        let (first, second) = coded.split_at(encode(b"one ").len());
        assert_eq!(decoded(name, &[first, second]).unwrap(), b"one two");
    }
    for (name, encode) in [
        ("gzip", gzip as Encode),
        ("deflate", zlib),
        ("br", brotli),
        ("zstd", zstd),
    ] {
        let mut coded = encode(TEXT);
        coded.extend_from_slice(b"rest");
        assert_eq!(decoded(name, &[&coded]), None, "{name}");
        for size in [1, coded.len()] {
            let pieces: Vec<_> = coded.chunks(size).collect();
            assert_eq!(
                decoded_as(name, &pieces, true).as_deref(),
                Some(TEXT),
                "{name}"
            );
        }
    }
}

#[test]
fn damage_is_noticed() {
    for (name, mut coded) in [("gzip", gzip(TEXT)), ("deflate", zlib(TEXT))] {
        let end = coded.len();
        for at in [0, end / 2, end - 1] {
            coded[at] ^= 0x55;
            assert_eq!(decoded(name, &[&coded]), None, "{name} at {at}");
            coded[at] ^= 0x55;
        }
    }
    for name in ["gzip", "br", "zstd"] {
        assert_eq!(decoded(name, &[b"this is plain text, really"]), None);
    }
}

#[test]
fn windows_that_take_much_memory_are_refused() {
    // A frame header with a window of 2^31 bytes.
    let huge = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x01, 0x00, 0x00];
    assert_eq!(decoded("zstd", &[&huge]), None);
    // The large windows that are no part of RFC 7932: 0x11, then the size.
    assert_eq!(decoded("br", &[b"\x11\x1e\x03"]), None);
}

#[test]
fn a_bomb_comes_in_small_pieces() {
    let zeros = vec![0; 64 << 20];
    let bomb = gzip(&gzip(&zeros));
    assert!(bomb.len() < 20_000, "{}", bomb.len());
    let fields = fields("gzip, gzip");
    let mut decoder = Decoder::of(Fields(fields.as_bytes()), false)
        .unwrap()
        .unwrap();
    decoder.feed(bomb.into());
    let mut size = 0;
    while let Ok(Step::Piece(piece)) = decoder.step() {
        assert!(piece.len() <= PIECE);
        size += piece.len();
        assert!(
            decoder
                .stages
                .iter()
                .all(|stage| stage.input.len() <= PIECE)
        );
    }
    assert_eq!(size, 64 << 20);
    assert!(decoder.is_done());
}

proptest::proptest! {
    /// However the bytes are cut into pieces, the body is the same.
    #[test]
    fn every_split_decodes_alike(body in proptest::collection::vec(0u8..4, 1..250), cuts in proptest::collection::vec(0usize..400, 0..6)) {
        for (name, coded) in [("gzip", gzip(&body)), ("deflate", raw_deflate(&body)), ("br, gzip", gzip(&brotli(&body))), ("zstd", zstd(&body))] {
            let ends = [0, coded.len()];
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % coded.len()).chain(ends).collect();
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &coded[cut[0]..cut[1]]).collect();
            proptest::prop_assert_eq!(decoded(name, &pieces), Some(body.clone()), "{}", name);
        }
    }

    /// Any bytes end in a body or an error, and in a bounded number of steps.
    #[test]
    fn nothing_panics(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200), at in 0usize..60, flip in 1u8..) {
        for (name, mut coded) in [("gzip", gzip(TEXT)), ("deflate", zlib(TEXT)), ("br", brotli(TEXT)), ("zstd", zstd(TEXT))] {
            let _ = decoded(name, &[&bytes]);
            let _ = decoded("gzip, br", &[&bytes]);
            let at = at % coded.len();
            coded[at] ^= flip;
            let _ = decoded(name, &[&coded]);
            coded.extend_from_slice(&bytes);
            let _ = decoded(name, &[&coded]);
        }
    }
}
