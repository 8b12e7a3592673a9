//! Decodes a block of fields of HTTP/2, as far as it decides whether a response is well formed (HPACK, RFC 7541).
//!
//! `h2` ends the whole connection for some fields that make only their own response malformed (RFC 9113 §8.1.1), and
//! does not report others. This decoder runs beside it. It keeps only sizes and kinds of what it decodes, in a table
//! that stays in step with that of `h2`.

use std::collections::VecDeque;
use std::ops::Range;

use super::huffman;

/// The size of the table: the default of SETTINGS_HEADER_TABLE_SIZE.
const TABLE: usize = 4096;
/// The size of an entry besides its name and value (RFC 7541 §4.1).
const OVERHEAD: usize = 32;

/// The names of the static table (RFC 7541 appendix A).
#[rustfmt::skip]
const STATIC: [&str; 61] = [
    ":authority", ":method", ":method", ":path", ":path", ":scheme", ":scheme", ":status", ":status", ":status", ":status",
    ":status", ":status", ":status", "accept-charset", "accept-encoding", "accept-language", "accept-ranges", "accept",
    "access-control-allow-origin", "age", "allow", "authorization", "cache-control", "content-disposition",
    "content-encoding", "content-language", "content-length", "content-location", "content-range", "content-type", "cookie",
    "date", "etag", "expect", "expires", "from", "host", "if-match", "if-modified-since", "if-none-match", "if-range",
    "if-unmodified-since", "last-modified", "link", "location", "max-forwards", "proxy-authenticate", "proxy-authorization",
    "range", "referer", "refresh", "retry-after", "server", "set-cookie", "strict-transport-security", "transfer-encoding",
    "user-agent", "vary", "via", "www-authenticate",
];
/// The values of `:status` in the static table, from index 8 on.
const STATUSES: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];

/// The reason why a message is malformed, as the end of a sentence.
pub(crate) type Wrong = &'static str;

const BAD_NAME: Wrong = "the name of a field has a capital letter or a character that no name has";
const BAD_VALUE: Wrong = "the value of a field has a character that no value has";
const BAD_STATUS: Wrong = "its :status is not a number of three digits";
const PSEUDO: Wrong = "it has a pseudo-header field that no response has";
const LATE_PSEUDO: Wrong = "a pseudo-header field comes behind other fields";
const TWICE: Wrong = "it has two :status fields";
const CONNECTION: Wrong =
    "it has a field of HTTP/1.1's connections, such as Connection or Transfer-Encoding";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Status,
    /// Any other that begins with a colon.
    Pseudo,
    /// A field that is forbidden in HTTP/2 (RFC 9113 §8.2.2).
    Connection,
    /// `te`, which may only be `trailers`.
    Te,
    Plain,
    Invalid,
}

#[derive(Clone, Copy, Debug)]
struct Field {
    name: Name,
    name_length: usize,
    value_length: usize,
    /// The value of `:status`, if it is a number of three digits.
    status: u16,
    /// Why the value is not allowed under this name.
    wrong: Option<Wrong>,
}

/// A decoded block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    pub status: Option<u16>,
    pub wrong: Option<Wrong>,
}

/// The block is invalid HPACK, or larger than what is read. Nothing after it can be decoded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Undecodable;

/// A change of the table: bytes of the block, or the size of an entry that `h2` would refuse.
enum Change {
    Bytes(Range<usize>),
    Entry { name: usize, value: usize },
}

pub(crate) struct Decoder {
    entries: VecDeque<Field>,
    size: usize,
    most: usize,
    /// The name and the value that are read.
    name: Vec<u8>,
    value: Vec<u8>,
    changes: Vec<Change>,
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder {
            entries: VecDeque::new(),
            size: 0,
            most: TABLE,
            name: Vec::new(),
            value: Vec::new(),
            changes: Vec::new(),
        }
    }
}

/// The unread rest of a block.
pub(crate) struct Input<'a> {
    pub block: &'a [u8],
    pub at: usize,
}

impl Input<'_> {
    pub fn byte(&mut self) -> Result<u8, Undecodable> {
        let byte = self.block.get(self.at).ok_or(Undecodable)?;
        self.at += 1;
        Ok(*byte)
    }

    /// An integer that begins in the lower bits of a byte (RFC 7541 §5.1), no longer than `h2` takes.
    pub fn integer(&mut self, first: u8, bits: u32) -> Result<usize, Undecodable> {
        let mask = (1_usize << bits) - 1;
        let mut value = usize::from(first) & mask;
        if value < mask {
            return Ok(value);
        }
        for shift in [0, 7, 14, 21] {
            let byte = self.byte()?;
            value += usize::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Undecodable)
    }

    /// A string whose length begins in the lower bits of a byte; the bit above them says whether it is in Huffman's
    /// code (RFC 7541 §5.2).
    pub fn string(&mut self, first: u8, bits: u32, out: &mut Vec<u8>) -> Result<(), Undecodable> {
        out.clear();
        let length = self.integer(first, bits)?;
        let bytes = self
            .block
            .get(self.at..)
            .and_then(|rest| rest.get(..length));
        let bytes = bytes.ok_or(Undecodable)?;
        self.at += length;
        if first & 1 << bits == 0 {
            out.extend_from_slice(bytes);
        } else if !huffman::decode(bytes, out) {
            return Err(Undecodable);
        }
        Ok(())
    }
}

impl Decoder {
    /// Reads a whole block.
    pub fn read(&mut self, block: &[u8]) -> Result<Block, Undecodable> {
        self.changes.clear();
        let mut input = Input { block, at: 0 };
        let (mut said, mut begun, mut plain) = (Block::default(), false, false);
        while input.at < block.len() {
            let start = input.at;
            let first = input.byte()?;
            if first & 0b1110_0000 == 0b0010_0000 {
                let most = input.integer(first, 5)?;
                if begun || most > TABLE {
                    return Err(Undecodable);
                }
                self.resize(most);
                self.changes.push(Change::Bytes(start..input.at));
                continue;
            }
            begun = true;
            let field = self.field(first, start, &mut input)?;
            said.note(&field, plain);
            plain |= !matches!(field.name, Name::Status | Name::Pseudo);
        }
        Ok(said)
    }

    /// A block that changes the table of `h2` as `block` does, which was read just before, but contains nothing for
    /// which `h2` would end the connection. None if there is no such block.
    pub fn harmless(&self, block: &[u8]) -> Option<Vec<u8>> {
        let mut harmless = Vec::new();
        for change in &self.changes {
            match change {
                Change::Bytes(range) => harmless.extend_from_slice(&block[range.clone()]),
                Change::Entry { name, value } => {
                    let all = name + value;
                    // No name may be empty.
                    let name = (*name).max(1).min(all);
                    if name == 0 {
                        return None;
                    }
                    harmless.push(0x40);
                    for length in [name, all - name] {
                        push_integer(&mut harmless, 0, 7, length);
                        harmless.resize(harmless.len() + length, b'x');
                    }
                }
            }
        }
        Some(harmless)
    }

    /// How large the entries of the table are, newest first.
    #[cfg(any(fuzzing, test))]
    pub fn sizes(&self) -> Vec<usize> {
        assert_eq!(
            self.entries.iter().map(Field::size).sum::<usize>(),
            self.size
        );
        self.entries.iter().map(Field::size).collect()
    }

    fn field(
        &mut self,
        first: u8,
        start: usize,
        input: &mut Input<'_>,
    ) -> Result<Field, Undecodable> {
        if first & 0x80 != 0 {
            let index = input.integer(first, 7)?;
            return self.known(index);
        }
        let indexed = first & 0x40 != 0;
        let index = input.integer(first, if indexed { 6 } else { 4 })?;
        let (name, name_length) = if index == 0 {
            let first = input.byte()?;
            input.string(first, 7, &mut self.name)?;
            (Name::of(&self.name), self.name.len())
        } else {
            let known = self.known(index)?;
            (known.name, known.name_length)
        };
        let first = input.byte()?;
        input.string(first, 7, &mut self.value)?;
        let field = Field::new(name, name_length, &self.value);
        if indexed {
            self.changes.push(match field.is_taken() {
                true => Change::Bytes(start..input.at),
                false => Change::Entry {
                    name: name_length,
                    value: field.value_length,
                },
            });
            self.insert(field);
        }
        Ok(field)
    }

    /// The field of an index (RFC 7541 §2.3.3).
    fn known(&self, index: usize) -> Result<Field, Undecodable> {
        let index = index.checked_sub(1).ok_or(Undecodable)?;
        let Some(name) = STATIC.get(index) else {
            let entry = self.entries.get(index - STATIC.len());
            return entry.copied().ok_or(Undecodable);
        };
        let kind = match index {
            0..=6 => Name::Pseudo,
            7..=13 => Name::Status,
            _ => Name::of(name.as_bytes()),
        };
        let status = index.checked_sub(7).and_then(|index| STATUSES.get(index));
        Ok(Field {
            name: kind,
            name_length: name.len(),
            value_length: 0,
            status: status.copied().unwrap_or_default(),
            wrong: None,
        })
    }

    fn insert(&mut self, field: Field) {
        let size = field.size();
        self.make_room(self.most.saturating_sub(size));
        if size <= self.most {
            self.size += size;
            self.entries.push_front(field);
        }
    }

    fn resize(&mut self, most: usize) {
        self.most = most;
        self.make_room(most);
    }

    fn make_room(&mut self, most: usize) {
        while self.size > most {
            let Some(oldest) = self.entries.pop_back() else {
                return;
            };
            self.size -= oldest.size();
        }
    }
}

/// Appends an integer that begins in the lower bits of a byte, whose other bits are `flags` (RFC 7541 §5.1).
pub(crate) fn push_integer(out: &mut Vec<u8>, flags: u8, bits: u32, value: usize) {
    let mask = (1_usize << bits) - 1;
    let Some(mut rest) = value.checked_sub(mask) else {
        return out.push(flags | value as u8);
    };
    out.push(flags | mask as u8);
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

impl Block {
    /// Adds the next field; whether it is a pseudo-header field.
    pub fn add(&mut self, name: &[u8], value: &[u8], behind_others: bool) -> bool {
        let field = Field::new(Name::of(name), name.len(), value);
        self.note(&field, behind_others);
        matches!(field.name, Name::Status | Name::Pseudo)
    }

    fn note(&mut self, field: &Field, behind_others: bool) {
        let is_status = field.name == Name::Status;
        let wrong = match field.name {
            Name::Pseudo => Some(PSEUDO),
            Name::Status if behind_others => Some(LATE_PSEUDO),
            Name::Status if self.status.is_some() => Some(TWICE),
            Name::Connection => Some(CONNECTION),
            Name::Invalid => Some(BAD_NAME),
            Name::Status | Name::Te | Name::Plain => field.wrong,
        };
        self.wrong = self.wrong.or(wrong);
        if is_status {
            self.status = self.status.or(Some(field.status));
        }
    }
}

impl Field {
    fn new(name: Name, name_length: usize, value: &[u8]) -> Field {
        let (mut status, mut wrong) = (0, None);
        if name == Name::Status {
            match value {
                [b'1'..=b'9', b'0'..=b'9', b'0'..=b'9'] => {
                    let digits = value.iter().map(|digit| u16::from(digit - b'0'));
                    status = digits.fold(0, |number, digit| number * 10 + digit);
                }
                _ => wrong = Some(BAD_STATUS),
            }
        } else if !value.iter().all(|byte| is_of_value(*byte)) {
            wrong = Some(BAD_VALUE);
        } else if name == Name::Te && value != b"trailers" {
            wrong = Some(CONNECTION);
        }
        Field {
            name,
            name_length,
            value_length: value.len(),
            status,
            wrong,
        }
    }

    fn size(&self) -> usize {
        OVERHEAD + self.name_length + self.value_length
    }

    /// Whether `h2` accepts the field anywhere, apart from the order of pseudo-header fields.
    fn is_taken(&self) -> bool {
        matches!(self.name, Name::Status | Name::Te | Name::Plain) && self.wrong.is_none()
    }
}

impl Name {
    fn of(name: &[u8]) -> Name {
        match name {
            b":status" => Name::Status,
            [b':', ..] => Name::Pseudo,
            b"connection" | b"transfer-encoding" | b"upgrade" | b"keep-alive"
            | b"proxy-connection" => Name::Connection,
            b"te" => Name::Te,
            [] => Name::Invalid,
            _ if name.len() > usize::from(u16::MAX) => Name::Invalid,
            _ if name.iter().all(|byte| OF_NAMES[usize::from(*byte)]) => Name::Plain,
            _ => Name::Invalid,
        }
    }
}

/// The bytes allowed in names in HTTP/2: those of a token, without capitals (RFC 9113 §8.2.1).
static OF_NAMES: [bool; 256] = {
    let mut table = [false; 256];
    let known = b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz";
    let mut index = 0;
    while index < known.len() {
        table[known[index] as usize] = true;
        index += 1;
    }
    table
};

fn is_of_value(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

#[cfg(test)]
mod tests;
