//! Header blocks of HTTP/2 (HPACK, RFC 7541): decodes what a client sends, and encodes without compression. Like those
//! of `qpack`, its tables are not those of our own client, whose errors the audit must not share.

use std::collections::VecDeque;

/// The static table (RFC 7541 appendix A): names and values.
#[rustfmt::skip]
const STATIC: [(&str, &str); 61] = [
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"), (":path", "/index.html"),
    (":scheme", "http"), (":scheme", "https"), (":status", "200"), (":status", "204"), (":status", "206"),
    (":status", "304"), (":status", "400"), (":status", "404"), (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""), ("accept", ""),
    ("access-control-allow-origin", ""), ("age", ""), ("allow", ""), ("authorization", ""), ("cache-control", ""),
    ("content-disposition", ""), ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
    ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""), ("etag", ""),
    ("expect", ""), ("expires", ""), ("from", ""), ("host", ""), ("if-match", ""), ("if-modified-since", ""),
    ("if-none-match", ""), ("if-range", ""), ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""),
    ("location", ""), ("max-forwards", ""), ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""),
    ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""), ("set-cookie", ""),
    ("strict-transport-security", ""), ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""), ("via", ""),
    ("www-authenticate", ""),
];

/// The length of each byte's Huffman code in bits. The code is canonical: codes of one length are consecutive numbers.
const LENGTHS: [u8; 256] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5,
    5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6,
    6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22,
    23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22,
    21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20,
    22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19,
    21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22,
    22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
];

/// Most bytes of a block's decoded fields. Without it, a small block could name one long field of the table many times.
const MOST_DECODED: usize = 1 << 20;

/// Most bytes of the dynamic table.
const MOST: usize = 4096;

/// A field: its name and its value.
pub type Field = (String, String);

/// Decodes the blocks of one direction of a connection.
#[derive(Debug)]
pub struct Decoder {
    table: VecDeque<Field>,
    most: usize,
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder {
            table: VecDeque::new(),
            most: MOST,
        }
    }
}

impl Decoder {
    /// The fields of a block; none if it is invalid.
    pub fn decode(&mut self, mut block: &[u8]) -> Option<Vec<Field>> {
        let (mut fields, mut size): (Vec<Field>, usize) = (Vec::new(), 0);
        while let Some(first) = block.first().copied() {
            let last = fields.last();
            size += last.map_or(0, |(name, value)| name.len() + value.len() + 32);
            if size > MOST_DECODED {
                return None;
            }
            if first & 0x80 != 0 {
                let index = integer(&mut block, 7)?;
                fields.push(self.entry(index)?);
            } else if first & 0xe0 == 0x20 {
                self.most = integer(&mut block, 5)?.min(MOST);
                self.shrink();
            } else {
                let added = first & 0xc0 == 0x40;
                let index = integer(&mut block, if added { 6 } else { 4 })?;
                let name = match index {
                    0 => string(&mut block, 7)?,
                    index => self.entry(index)?.0,
                };
                let field = (name, string(&mut block, 7)?);
                if added {
                    self.table.push_front(field.clone());
                    self.shrink();
                }
                fields.push(field);
            }
        }
        Some(fields)
    }

    fn entry(&self, index: usize) -> Option<Field> {
        let index = index.checked_sub(1)?;
        match STATIC.get(index) {
            Some((name, value)) => Some(((*name).to_owned(), (*value).to_owned())),
            None => self.table.get(index - STATIC.len()).cloned(),
        }
    }

    fn shrink(&mut self) {
        let size = |table: &VecDeque<Field>| -> usize {
            let sizes = table.iter().map(|field| field.0.len() + field.1.len() + 32);
            sizes.sum()
        };
        while size(&self.table) > self.most {
            self.table.pop_back();
        }
    }
}

/// An integer that begins in the last `bits` bits of the first byte.
pub(super) fn integer(block: &mut &[u8], bits: u8) -> Option<usize> {
    let most = (1_usize << bits) - 1;
    let mut value = usize::from(take(block)?) & most;
    if value < most {
        return Some(value);
    }
    for shift in [0, 7, 14, 21] {
        let byte = take(block)?;
        value += usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

fn take(block: &mut &[u8]) -> Option<u8> {
    let (first, rest) = block.split_first()?;
    *block = rest;
    Some(*first)
}

/// A text whose length begins in the last `bits` bits of the first byte. The bit before them says whether it is coded.
pub(super) fn string(block: &mut &[u8], bits: u8) -> Option<String> {
    let coded = block.first()? >> bits & 1 == 1;
    let length = integer(block, bits)?;
    let (text, rest) = block.split_at_checked(length)?;
    *block = rest;
    let bytes = if coded { plain(text)? } else { text.to_vec() };
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The bytes that a Huffman code stands for.
fn plain(coded: &[u8]) -> Option<Vec<u8>> {
    let mut order: Vec<u8> = (0..=255).collect();
    order.sort_by_key(|byte| LENGTHS[usize::from(*byte)]);
    let mut out = Vec::new();
    let (mut code, mut length) = (0_u32, 0_u8);
    for index in 0..coded.len() * 8 {
        let bit = coded[index / 8] >> (7 - index % 8) & 1;
        (code, length) = (code << 1 | u32::from(bit), length + 1);
        if let Some(byte) = byte_of(&order, code, length) {
            out.push(byte);
            (code, length) = (0, 0);
        }
        if length > 30 {
            return None;
        }
    }
    // The last byte is filled up with ones.
    (length < 8 && code + 1 == 1 << length).then_some(out)
}

fn byte_of(order: &[u8], needed: u32, length: u8) -> Option<u8> {
    let (mut code, mut last) = (0_u32, 0);
    for byte in order {
        let width = LENGTHS[usize::from(*byte)];
        if width > length {
            return None;
        }
        code <<= width - last;
        last = width;
        if width == length && code == needed {
            return Some(*byte);
        }
        code += 1;
    }
    None
}

/// A block with these fields, uncompressed. No field is given by an index or is to be indexed, so the receiver's table
/// does not change.
pub fn encode(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            put(&mut block, 0, 7, text);
        }
    }
    block
}

/// Adds a text, whose length begins in the last `bits` bits of a byte that begins with `first`.
pub(super) fn put(block: &mut Vec<u8>, first: u8, bits: u8, text: &str) {
    length(block, first, (1 << bits) - 1, text.len());
    block.extend(text.as_bytes());
}

fn length(block: &mut Vec<u8>, first: u8, most: u8, length: usize) {
    let Some(mut rest) = length.checked_sub(usize::from(most)) else {
        return block.push(first | u8::try_from(length).unwrap_or_default());
    };
    block.push(first | most);
    while rest >= 128 {
        block.push(u8::try_from(rest % 128).unwrap_or_default() | 0x80);
        rest /= 128;
    }
    block.push(u8::try_from(rest).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, value: &str) -> Field {
        (name.into(), value.into())
    }

    /// The examples of RFC 7541 appendix C.4, which share a table.
    #[test]
    fn coded_requests_of_the_rfc_are_decoded() {
        let mut decoder = Decoder::default();
        let first = [
            0x82, 0x86, 0x84, 0x41, 0x8c, 0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab,
            0x90, 0xf4, 0xff,
        ];
        let second = [
            0x82, 0x86, 0x84, 0xbe, 0x58, 0x86, 0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf,
        ];
        let common = [
            field(":method", "GET"),
            field(":scheme", "http"),
            field(":path", "/"),
            field(":authority", "www.example.com"),
        ];
        assert_eq!(decoder.decode(&first).unwrap(), common);
        let fields = decoder.decode(&second).unwrap();
        assert_eq!(fields[..4], common);
        assert_eq!(fields[4], field("cache-control", "no-cache"));
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let long = "x".repeat(1000);
        let block = encode(&[(":status", "200"), ("x-long", &long)]);
        let fields = Decoder::default().decode(&block).unwrap();
        assert_eq!(fields, [field(":status", "200"), field("x-long", &long)]);
    }

    #[test]
    fn blocks_that_end_early_or_point_nowhere_are_refused() {
        let mut bomb = vec![0x40, 1, b'a', 0x7f, 0x81, 0x1e];
        bomb.extend([b'x'; 3968]);
        let mut once = bomb.clone();
        once.push(0xbe);
        assert!(Decoder::default().decode(&once).is_some());
        bomb.extend([0xbe; 1000]);
        assert!(Decoder::default().decode(&bomb).is_none());
        for block in [&[0xff_u8][..], &[0xfe], &[0x00, 0x05, b'a'], &[0x80]] {
            assert!(Decoder::default().decode(block).is_none(), "{block:?}");
        }
    }
}
