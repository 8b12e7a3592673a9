//! A plain response that is made once: as it is, or in gzip. Only its date and its check value change, in place.

use std::ops::Range;

use flate2::{Compress, Compression, FlushCompress};

use crate::check_value::{self, CheckValue};
use crate::date;
use crate::request::After;
use crate::response::{DATE_AT, Field, Head, Length, TEXT};

/// The head and body of a response on a connection that stays.
pub(crate) struct Plain {
    bytes: Vec<u8>,
    body: Range<usize>,
    /// Bytes of the body, decoded.
    decoded: usize,
    check_value_at: usize,
    /// CRC-32 of what stands before the check value, where the body is in gzip.
    sum: Option<crc32fast::Hasher>,
}

impl Plain {
    /// So many bytes, decoded; fewer than a check value has means the check value alone.
    pub(crate) fn new(body_bytes: usize, gzip: bool) -> Plain {
        let decoded = body_bytes.max(check_value::LENGTH);
        let (body, check_value_at, sum) = match gzip {
            true => in_gzip(&records(decoded - check_value::LENGTH)),
            false => {
                let mut text: Vec<u8> = filler().take(decoded - check_value::LENGTH).collect();
                text.resize(decoded, b'0');
                (text, decoded - check_value::LENGTH, None)
            }
        };
        let mut bytes = Vec::with_capacity(body.len() + 256);
        head(After::Keep, &fields(gzip), body.len()).write(&mut bytes, [b' '; date::LENGTH]);
        let start = bytes.len();
        bytes.extend(&body);
        Plain {
            body: start..bytes.len(),
            decoded,
            check_value_at: start + check_value_at,
            sum,
            bytes,
        }
    }

    pub(crate) fn set_date(&mut self, date: &[u8; date::LENGTH]) {
        self.bytes[DATE_AT..DATE_AT + date::LENGTH].copy_from_slice(date);
    }

    pub(crate) fn set_check_value(&mut self, check_value: CheckValue) {
        let text = check_value.text();
        let end = self.check_value_at + check_value::LENGTH;
        self.bytes[self.check_value_at..end].copy_from_slice(&text);
        if let Some(mut sum) = self.sum.clone() {
            sum.update(&text);
            self.bytes[end..end + 4].copy_from_slice(&sum.finalize().to_le_bytes());
        }
    }

    /// Head and body.
    pub(crate) fn whole(&self) -> &[u8] {
        &self.bytes
    }

    /// The head alone.
    pub(crate) fn head(&self) -> &[u8] {
        &self.bytes[..self.body.start]
    }

    /// The body alone, in its coding.
    pub(crate) fn body(&self) -> &[u8] {
        &self.bytes[self.body.clone()]
    }

    /// Bytes of the body, decoded.
    pub(crate) fn decoded(&self) -> usize {
        self.decoded
    }

    /// Further fields of its head.
    pub(crate) fn fields(&self) -> Vec<Field> {
        fields(self.sum.is_some())
    }

    /// The head for another fate of the connection.
    pub(crate) fn write_head(&self, out: &mut Vec<u8>, after: After, date: [u8; date::LENGTH]) {
        head(after, &self.fields(), self.body.len()).write(out, date);
    }
}

fn head(after: After, fields: &[Field], length: usize) -> Head<'_> {
    Head {
        status: 200,
        content_type: TEXT,
        fields,
        length: Length::Bytes(length as u64),
        after,
    }
}

fn fields(gzip: bool) -> Vec<Field> {
    let coding = || ("Content-Encoding".into(), "gzip".into());
    gzip.then(coding).into_iter().collect()
}

/// The text in gzip (RFC 1952) with room for a check value behind it, where that room begins, and the sum so far.
/// The check value stands in a stored block of its own (RFC 1951 §3.2.4), so that it can be changed without compressing again.
fn in_gzip(text: &[u8]) -> (Vec<u8>, usize, Option<crc32fast::Hasher>) {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    out.extend(deflated(text));
    let length = check_value::LENGTH as u16;
    out.push(1); // the last block, stored
    out.extend(length.to_le_bytes());
    out.extend((!length).to_le_bytes());
    let check_value_at = out.len();
    out.extend([b'0'; check_value::LENGTH]);
    out.extend([0; 4]); // the sum, which comes with the check value
    out.extend(((text.len() + check_value::LENGTH) as u32).to_le_bytes());
    let mut sum = crc32fast::Hasher::new();
    sum.update(text);
    (out, check_value_at, Some(sum))
}

/// Blocks of which none is the last, ending on a byte.
fn deflated(text: &[u8]) -> Vec<u8> {
    let mut deflate = Compress::new(Compression::default(), false);
    let mut out = Vec::with_capacity(text.len() + text.len() / 8 + 128);
    // It fails on a wrong state only, and this one is new.
    let _ = deflate.compress_vec(text, &mut out, FlushCompress::Sync);
    out
}

/// Readable text to fill bodies with.
fn filler() -> impl Iterator<Item = u8> {
    b"The quick brown fox jumps over the lazy dog.\n"
        .iter()
        .copied()
        .cycle()
}

/// Records as services answer them: they shrink to about a quarter, where text that repeats would all but vanish.
fn records(length: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(length + 128);
    let mut draw = 0x9e37_79b9_7f4a_7c15_u64; // xorshift64 (Marsaglia 2003): the same records each time
    while text.len() < length {
        draw ^= draw << 13;
        draw ^= draw >> 7;
        draw ^= draw << 17;
        let (id, cents, words) = (draw >> 40, draw >> 20 & 0xffff, draw & 0x3ff);
        text.extend(
            format!(
                "{{\"id\":{id},\"price\":{}.{:02},\"name\":\"{} {}\",\"in_stock\":{}}}\n",
                cents / 100,
                cents % 100,
                WORDS[(words & 15) as usize],
                WORDS[(words >> 4 & 15) as usize],
                words & 0x100 == 0,
            )
            .into_bytes(),
        );
    }
    text.truncate(length);
    text
}

const WORDS: [&str; 16] = [
    "amber", "basket", "copper", "drawer", "engine", "fabric", "garden", "hammer", "island",
    "jacket", "kettle", "lantern", "mirror", "needle", "orange", "pencil",
];

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn gzip_decodes_to_the_length_asked_and_ends_in_the_check_value() {
        for (asked, length) in [
            (0, 8),
            (8, 8),
            (133, 133),
            (13_801, 13_801),
            (300_000, 300_000),
        ] {
            let mut plain = Plain::new(asked, true);
            for check_value in [CheckValue(0x0123_abcd), CheckValue(7)] {
                plain.set_check_value(check_value);
                let mut text = Vec::new();
                flate2::read::GzDecoder::new(plain.body())
                    .read_to_end(&mut text)
                    .unwrap();
                assert_eq!((text.len(), plain.decoded()), (length, length));
                assert!(text.ends_with(&check_value.text()));
            }
            let head = String::from_utf8_lossy(plain.head()).into_owned();
            assert!(head.contains("\r\nContent-Encoding: gzip\r\n"), "{head}");
            assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", plain.body().len())));
        }
    }

    #[test]
    fn records_shrink_as_the_world_s_do() {
        let plain = Plain::new(13_801, true);
        let ratio = plain.decoded() / plain.body().len();
        assert!((2..=6).contains(&ratio), "{} bytes", plain.body().len());
    }
}
