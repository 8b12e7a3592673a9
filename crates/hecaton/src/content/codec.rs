//! One content coding: decodes as many bytes as fit into the output.

use brotli_decompressor::{
    BrotliDecompressStream, BrotliResult, BrotliState, HuffmanCode, SliceWrapper, StandardAlloc,
};
use flate2::{Decompress, FlushDecompress, Status};
use zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

/// Largest window of zstd, 8 MiB as a power of two, by RFC 9659 §3. A server can make a client allocate it. gzip and
/// deflate have windows of 32 KiB, and br of at most 16 MiB.
const ZSTD_WINDOW: u32 = 23;

/// The memory of gzip and deflate: a window of 32 KiB, and tables.
const INFLATE: usize = 48 << 10;

type Brotli = BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>;

/// A coding at work.
pub(crate) enum Codec {
    Gzip(Decompress),
    /// With the header of zlib, as RFC 9110 §8.4.1.2 demands, or without, as some servers send it. The first
    /// two bytes show which.
    Deflate {
        first: Option<u8>,
        inner: Option<Decompress>,
    },
    Brotli(Box<Brotli>),
    Zstd(DCtx<'static>),
}

/// The result of one step.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Bytes taken of the input.
    pub taken: usize,
    /// Bytes put into the output.
    pub given: usize,
    /// Whether the coded data ends here.
    pub ended: bool,
}

impl Codec {
    /// The coding of this name (RFC 9110 §8.4.1, RFC 7932, RFC 8878), in any case.
    pub fn named(name: &str) -> Option<Codec> {
        const GZIP_WINDOW: u8 = 15;
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        if is("gzip") || is("x-gzip") {
            Some(Codec::Gzip(Decompress::new_gzip(GZIP_WINDOW)))
        } else if is("deflate") {
            let (first, inner) = (None, None);
            Some(Codec::Deflate { first, inner })
        } else if is("br") {
            let alloc = StandardAlloc::default;
            // Strict: without the large windows that are no part of HTTP's br.
            let state = BrotliState::new_strict(alloc(), alloc(), alloc());
            Some(Codec::Brotli(Box::new(state)))
        } else if is("zstd") {
            let mut context = DCtx::create();
            context
                .set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW))
                .ok()?;
            Some(Codec::Zstd(context))
        } else {
            None
        }
    }

    /// How many bytes the decoder holds, for the most part its window.
    pub fn memory(&self) -> usize {
        match self {
            Codec::Gzip(_) | Codec::Deflate { .. } => INFLATE,
            Codec::Brotli(state) => brotli_memory(state),
            Codec::Zstd(context) => context.sizeof(),
        }
    }

    /// Decodes more of `input` into the free bytes of `output`. None if the bytes are invalid.
    pub fn run(&mut self, input: &[u8], output: &mut [u8]) -> Option<Progress> {
        match self {
            Codec::Gzip(inner) => inflate(inner, input, output),
            Codec::Deflate { first, inner } => deflate(first, inner, input, output),
            Codec::Brotli(state) => brotli(state, input, output),
            Codec::Zstd(context) => zstd(context, input, output),
        }
    }

    /// Whether these bytes may begin another member or frame, after the end of one.
    pub fn begins(&self, bytes: &[u8]) -> bool {
        let begins: &[&[u8]] = match self {
            Codec::Gzip(_) => &[&[0x1f, 0x8b]],
            // A frame, and one to be skipped, whose first byte has 16 values.
            Codec::Zstd(_) if bytes.first().is_some_and(|byte| byte & 0xf0 == 0x50) => {
                return bytes[1..]
                    .iter()
                    .zip([0x2a, 0x4d, 0x18])
                    .all(|(one, other)| *one == other);
            }
            Codec::Zstd(_) => &[&[0x28, 0xb5, 0x2f, 0xfd]],
            Codec::Deflate { .. } | Codec::Brotli(_) => &[],
        };
        let mut begins = begins.iter();
        begins.any(|begin| begin.starts_with(&bytes[..bytes.len().min(begin.len())]))
    }

    /// Starts over after the end of a gzip member or zstd frame, because one body may have several (RFC 1952 §2.2, RFC
    /// 8878 §3). False if nothing may follow.
    pub fn begin_again(&mut self) -> bool {
        match self {
            Codec::Gzip(_) => Codec::named("gzip").map(|new| *self = new).is_some(),
            Codec::Zstd(_) => true,
            Codec::Deflate { .. } | Codec::Brotli(_) => false,
        }
    }
}

fn inflate(inner: &mut Decompress, input: &[u8], output: &mut [u8]) -> Option<Progress> {
    let (taken, given) = (inner.total_in(), inner.total_out());
    let status = inner
        .decompress(input, output, FlushDecompress::None)
        .ok()?;
    Some(Progress {
        taken: (inner.total_in() - taken) as usize,
        given: (inner.total_out() - given) as usize,
        ended: status == Status::StreamEnd,
    })
}

fn deflate(
    first: &mut Option<u8>,
    inner: &mut Option<Decompress>,
    input: &[u8],
    output: &mut [u8],
) -> Option<Progress> {
    if let Some(inner) = inner {
        return inflate(inner, input, output);
    }
    let Some(&next) = input.first() else {
        return Some(Progress::default());
    };
    let mut progress = Progress::default();
    match *first {
        None => *first = Some(next),
        Some(first) => {
            // RFC 1950 §2.2: method 8, and a check of both bytes.
            let zlib = first & 0x0f == 8 && u16::from_be_bytes([first, next]) % 31 == 0;
            let inner = inner.insert(Decompress::new(zlib));
            progress = inflate(inner, &[first, next], output)?;
        }
    }
    progress.taken = 1; // The first of the two was taken before.
    Some(progress)
}

fn brotli(state: &mut Brotli, input: &[u8], output: &mut [u8]) -> Option<Progress> {
    let (mut left, mut room) = (input.len(), output.len());
    let (mut taken, mut given, mut total) = (0, 0, 0);
    let result = BrotliDecompressStream(
        &mut left, &mut taken, input, &mut room, &mut given, output, &mut total, state,
    );
    (!matches!(result, BrotliResult::ResultFailure)).then_some(Progress {
        taken,
        given,
        ended: matches!(result, BrotliResult::ResultSuccess),
    })
}

/// The window and the code trees, which a server can make some megabytes large.
fn brotli_memory(state: &Brotli) -> usize {
    let trees = [
        &state.literal_hgroup,
        &state.insert_copy_hgroup,
        &state.distance_hgroup,
    ];
    let codes = trees.map(|group| group.codes.slice().len());
    state.ringbuffer.slice().len() + codes.iter().sum::<usize>() * size_of::<HuffmanCode>()
}

fn zstd(context: &mut DCtx<'static>, input: &[u8], output: &mut [u8]) -> Option<Progress> {
    let mut input = InBuffer::around(input);
    let mut output = OutBuffer::around(output);
    let left = context.decompress_stream(&mut output, &mut input).ok()?;
    Some(Progress {
        taken: input.pos,
        given: output.pos(),
        ended: left == 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Puts numbers into bytes as RFC 7932 does: the lowest bit first.
    fn packed(fields: &[(u32, usize)]) -> Vec<u8> {
        let bits = fields
            .iter()
            .flat_map(|(value, width)| (0..*width).map(move |bit| (value >> bit) & 1));
        let bits: Vec<_> = bits.collect();
        let byte = |bits: &[u32]| {
            bits.iter()
                .rev()
                .fold(0, |byte, bit| (byte << 1) | *bit as u8)
        };
        bits.chunks(8).map(byte).collect()
    }

    #[test]
    fn the_code_trees_of_brotli_count() {
        let header = packed(&[
            (0, 1),      // WBITS: a window of 64 KiB
            (0, 1),      // ISLAST
            (0, 2),      // MNIBBLES: 4
            (99, 16),    // MLEN - 1
            (0, 1),      // ISUNCOMPRESSED
            (0, 3),      // one type of block for literals, commands and distances each
            (0, 2 + 4),  // NPOSTFIX and NDIRECT
            (0, 2),      // the context mode of literals
            (0b1111, 4), // NTREESL: 129 and seven more bits
            (127, 7),
            (0, 1),          // no RLEMAX
            (0b0001, 2 + 2), // one symbol codes the whole context map:
            (0, 8),          // the first tree
            (0, 1),          // IMTF
            (0, 1),          // NTREESD: 1
        ]);
        let mut codec = Codec::named("br").unwrap();
        let before = codec.memory();
        let progress = codec.run(&header, &mut [0; 100]).expect("valid");
        assert!(!progress.ended);
        // 256 trees of at most 1,080 entries.
        assert!(codec.memory() - before >= 1 << 20, "{}", codec.memory());
    }
}
