//! A prepared response, of which only the date and the check value are overwritten. A response in gzip is compressed
//! for each check value.

use std::ops::Range;

use flate2::{Compress, Compression, FlushCompress};
use siphasher::sip::SipHasher24;

use crate::round::check_value::{self, CheckValue};
use crate::wire::date;
use crate::wire::head::{After, DATE_AT, Field, Head, Length, TEXT};

/// The head and body of a response on a connection that stays.
pub(crate) struct Plain {
    bytes: Vec<u8>,
    body: Range<usize>,
    /// Bytes of the body, decoded.
    decoded: usize,
    check_value_at: usize,
    /// The text, if the body is in gzip.
    gzip: Option<Gzip>,
}

/// A text whose digits depend on the check value, so that only decoding all of it shows its end.
struct Gzip {
    text: Vec<u8>,
    /// The positions of its digits.
    digits: Vec<usize>,
    key: SipHasher24,
    deflate: Compress,
}

impl Plain {
    /// A response of this many bytes, decoded; fewer than those of a check value mean the check value alone.
    pub(crate) fn new(body_bytes: usize, gzip: bool) -> Plain {
        let decoded = body_bytes.max(check_value::LENGTH);
        let (body, gzip) = match gzip {
            true => {
                let mut gzip = Gzip::new(decoded);
                (gzip.coded(CheckValue(0)), Some(gzip))
            }
            false => {
                let mut text: Vec<u8> = filler().take(decoded - check_value::LENGTH).collect();
                text.resize(decoded, b'0');
                (text, None)
            }
        };
        let mut plain = Plain {
            body: 0..0,
            decoded,
            check_value_at: 0,
            gzip,
            bytes: Vec::with_capacity(body.len() + 256),
        };
        plain.set_body(&body, [b' '; date::LENGTH]);
        plain
    }

    fn set_body(&mut self, body: &[u8], date: [u8; date::LENGTH]) {
        self.bytes.clear();
        let fields = fields(self.gzip.is_some());
        head(After::Keep, &fields, body.len()).write(&mut self.bytes, date);
        let start = self.bytes.len();
        self.bytes.extend_from_slice(body);
        self.body = start..self.bytes.len();
        self.check_value_at = start + self.decoded - check_value::LENGTH;
    }

    pub(crate) fn set_date(&mut self, date: &[u8; date::LENGTH]) {
        self.bytes[DATE_AT..DATE_AT + date::LENGTH].copy_from_slice(date);
    }

    pub(crate) fn set_check_value(&mut self, check_value: CheckValue) {
        if let Some(gzip) = &mut self.gzip {
            let body = gzip.coded(check_value);
            let mut date = [b' '; date::LENGTH];
            date.copy_from_slice(&self.bytes[DATE_AT..DATE_AT + date::LENGTH]);
            return self.set_body(&body, date);
        }
        let end = self.check_value_at + check_value::LENGTH;
        self.bytes[self.check_value_at..end].copy_from_slice(&check_value.text());
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
        fields(self.gzip.is_some())
    }

    /// The head for a response after which the connection ends.
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

impl Gzip {
    /// A text of this many bytes, the check value included.
    fn new(length: usize) -> Gzip {
        let mut text = records(length - check_value::LENGTH);
        let digit = |index: &usize| text[*index].is_ascii_digit();
        let digits = (0..text.len()).filter(digit).collect();
        text.resize(length, b'0');
        Gzip {
            text,
            digits,
            key: SipHasher24::new_with_keys(rand::random(), rand::random()),
            deflate: Compress::new(Compression::fast(), false),
        }
    }

    /// The text that ends in this check value, in gzip (RFC 1952).
    fn coded(&mut self, check_value: CheckValue) -> Vec<u8> {
        let end = self.text.len() - check_value::LENGTH;
        self.text[end..].copy_from_slice(&check_value.text());
        for (number, positions) in self.digits.chunks(16).enumerate() {
            let mut drawn = self
                .key
                .hash(&[check_value.0.to_le_bytes(), (number as u32).to_le_bytes()].concat());
            for index in positions {
                // 1 to 9: a number that begins with 0 would be no JSON.
                self.text[*index] = b'1' + (drawn % 9) as u8;
                drawn /= 9;
            }
        }
        let mut out = Vec::with_capacity(self.text.len() + 128);
        out.extend([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
        self.deflate.reset();
        // Only a wrong state makes it fail, and this one is new.
        let _ = self
            .deflate
            .compress_vec(&self.text, &mut out, FlushCompress::Finish);
        out.extend(crc32fast::hash(&self.text).to_le_bytes());
        out.extend((self.text.len() as u32).to_le_bytes());
        out
    }
}

/// Readable text to fill bodies with.
fn filler() -> impl Iterator<Item = u8> {
    b"The quick brown fox jumps over the lazy dog.\n"
        .iter()
        .copied()
        .cycle()
}

/// Records like those of services: they compress to about a quarter, while repeated text would almost vanish.
fn records(length: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(length + 128);
    let mut draw = 0x9e37_79b9_7f4a_7c15_u64; // xorshift64 (Marsaglia 2003): equal records each time
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
    fn gzip_decodes_to_the_requested_length_and_ends_in_the_check_value() {
        for (requested, length) in [
            (0, 8),
            (8, 8),
            (133, 133),
            (13_801, 13_801),
            (300_000, 300_000),
        ] {
            let mut plain = Plain::new(requested, true);
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

    /// The bytes that a program without a decoder would search for the check value.
    #[test]
    fn the_check_value_stands_nowhere_in_the_bytes_of_gzip() {
        let mut plain = Plain::new(13_801, true);
        let mut texts = Vec::new();
        for number in 0..50u32 {
            let check_value = CheckValue(number.wrapping_mul(0x9e37_79b9));
            plain.set_check_value(check_value);
            let found = memchr::memmem::find(plain.body(), &check_value.text());
            assert_eq!(found, None);
            texts.push(plain.gzip.as_ref().unwrap().text[..13_793].to_vec());
        }
        texts.sort_unstable();
        texts.dedup();
        assert_eq!(texts.len(), 50, "the text differs, too");
    }

    #[test]
    fn records_compress_like_those_of_services() {
        let plain = Plain::new(13_801, true);
        let ratio = plain.decoded() / plain.body().len();
        assert!((2..=6).contains(&ratio), "{} bytes", plain.body().len());
    }
}
