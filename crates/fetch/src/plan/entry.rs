//! One input in the plan's compact form: number, line, and what the line held.

use crate::record::{Columns, URL};

/// An input of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// From 0 over the whole job.
    pub number: u64,
    /// From 1 in its file.
    pub line: u64,
    /// What it held.
    pub held: Content,
}

/// The content of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A URL alone.
    Url(Box<str>),
    /// Columns.
    Columns(Box<Columns>),
    /// Something else: how it begins, and what is wrong with it.
    Invalid(Box<(String, String)>),
}

const KIND_URL: u8 = 0;
const KIND_COLUMNS: u8 = 1;
const KIND_INVALID: u8 = 2;

impl Content {
    /// The columns, or that it is a URL alone.
    pub fn of(mut columns: Columns) -> Content {
        if columns.len() == 1 {
            if let Some(url) = columns.get_mut(URL) {
                return Content::Url(std::mem::take(url).into());
            }
        }
        Content::Columns(Box::new(columns))
    }
}

/// Appends an input.
pub fn write_entry(number: u64, line: u64, held: &Content, out: &mut Vec<u8>) {
    write_number(number, out);
    write_number(line, out);
    let json;
    let (kind, content) = match held {
        Content::Url(url) => (KIND_URL, url.as_bytes()),
        Content::Columns(columns) => {
            json = serde_json::to_vec(columns).expect("text becomes JSON");
            (KIND_COLUMNS, &json[..])
        }
        Content::Invalid(what) => {
            json = serde_json::to_vec(what).expect("text becomes JSON");
            (KIND_INVALID, &json[..])
        }
    };
    out.push(kind);
    write_number(content.len() as u64, out);
    out.extend_from_slice(content);
}

/// Takes the first input off the rest of a frame; none if the frame is damaged.
pub fn read_entry(bytes: &mut &[u8]) -> Option<Planned> {
    let number = read_number(bytes)?;
    let line = read_number(bytes)?;
    let (kind, rest) = bytes.split_first()?;
    *bytes = rest;
    let length = usize::try_from(read_number(bytes)?).ok()?;
    let (content, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    let held = match *kind {
        KIND_URL => Content::Url(std::str::from_utf8(content).ok()?.into()),
        KIND_COLUMNS => Content::Columns(serde_json::from_slice(content).ok()?),
        KIND_INVALID => Content::Invalid(serde_json::from_slice(content).ok()?),
        _ => return None,
    };
    Some(Planned { number, line, held })
}

/// Appends a number: seven bits a byte, the lowest first.
pub(super) fn write_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Takes a number off the front.
pub(super) fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_comes_back_and_a_cut_is_seen() {
        let mut columns = Columns::new();
        columns.insert("sku".into(), "a\n\"b\"".into());
        columns.insert("url".into(), "http://h/".into());
        let entries = [
            (0, 1, Content::Url("http://host/a?b=ä".into())),
            (u64::MAX, 300, Content::Columns(Box::new(columns))),
            (
                5,
                70_000,
                Content::Invalid(Box::new(("x".into(), "is bad".into()))),
            ),
        ];
        let mut bytes = Vec::new();
        let mut ends = vec![0];
        for (number, line, held) in &entries {
            write_entry(*number, *line, held, &mut bytes);
            ends.push(bytes.len());
        }
        let read = |mut bytes: &[u8]| {
            let mut read = Vec::new();
            while !bytes.is_empty() {
                let entry = read_entry(&mut bytes);
                let is_damaged = entry.is_none();
                read.push(entry);
                if is_damaged {
                    break;
                }
            }
            read
        };
        let whole: Vec<_> = read(&bytes).into_iter().map(Option::unwrap).collect();
        for (entry, (number, line, held)) in whole.iter().zip(&entries) {
            assert_eq!(
                (entry.number, entry.line, &entry.held),
                (*number, *line, held)
            );
        }
        assert_eq!(whole.len(), 3);
        for cut in (0..bytes.len()).filter(|cut| !ends.contains(cut)) {
            assert_eq!(read(&bytes[..cut]).last(), Some(&None), "cut at {cut}");
        }
    }
}
