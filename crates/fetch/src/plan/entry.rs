//! One input in the plan's compact form: number, line, and what the line held.

use serde::{Deserialize, Serialize};

use crate::input::{Bad, Held};
use crate::record::{Columns, URL, Validators, Way};

/// An input of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// From 0 over the whole job.
    pub number: u64,
    /// From 1 in its file.
    pub line: u64,
    /// What it held.
    pub held: Content,
    /// Its state after earlier rounds, if this is a round.
    pub earlier: Option<Box<Earlier>>,
}

impl Planned {
    /// An input with what its line or row held.
    pub fn new(number: u64, line: u64, held: Held) -> Planned {
        Planned {
            number,
            line,
            held: Content::of(held),
            earlier: None,
        }
    }
}

/// The state of an input after earlier rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earlier {
    /// The version of its response that the job has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Where its redirects led.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<Way>,
    /// The pages that it has had, if the way leads to a further one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<PagesHad>,
}

/// Pages that have their records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PagesHad {
    /// How many.
    pub number: u32,
    /// The digests of the URLs that were requested for them.
    pub seen: Vec<u64>,
}

/// A response that the job has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// The URL that it came from.
    pub url: String,
    /// What names it.
    pub validators: Validators,
    /// Whether it was good.
    pub ok: bool,
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

/// The input has more, behind its content.
const HAS_EARLIER: u8 = 0x80;

impl Content {
    /// The content of a line or row.
    pub fn of(held: Held) -> Content {
        match held {
            Err(Bad { text, reason }) => Content::Invalid(Box::new((text, reason))),
            Ok(mut columns) => {
                if columns.len() == 1
                    && let Some(url) = columns.get_mut(URL)
                {
                    return Content::Url(std::mem::take(url).into());
                }
                Content::Columns(Box::new(columns))
            }
        }
    }

    /// The columns of the line or row, or why it is no input.
    pub fn held(self) -> Held {
        match self {
            Content::Url(url) => Ok(Columns::from([(URL.to_owned(), url.into())])),
            Content::Columns(columns) => Ok(*columns),
            Content::Invalid(what) => {
                let (text, reason) = *what;
                Err(Bad { text, reason })
            }
        }
    }
}

/// Appends an input.
pub fn write_planned(planned: &Planned, out: &mut Vec<u8>) {
    write_number(planned.number, out);
    write_number(planned.line, out);
    let json;
    let (kind, content) = match &planned.held {
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
    let earlier = planned.earlier.as_deref();
    let flag = earlier.map_or(0, |_| HAS_EARLIER);
    out.push(kind | flag);
    write_number(content.len() as u64, out);
    out.extend_from_slice(content);
    if let Some(earlier) = earlier {
        let json = serde_json::to_vec(earlier).expect("text becomes JSON");
        write_number(json.len() as u64, out);
        out.extend_from_slice(&json);
    }
}

/// Takes the first input off the rest of a frame; none if the frame is damaged.
pub fn read_entry(bytes: &mut &[u8]) -> Option<Planned> {
    let number = read_number(bytes)?;
    let line = read_number(bytes)?;
    let (kind, rest) = bytes.split_first()?;
    *bytes = rest;
    let content = read_content(bytes)?;
    let held = match *kind & !HAS_EARLIER {
        KIND_URL => Content::Url(std::str::from_utf8(content).ok()?.into()),
        KIND_COLUMNS => Content::Columns(serde_json::from_slice(content).ok()?),
        KIND_INVALID => Content::Invalid(serde_json::from_slice(content).ok()?),
        _ => return None,
    };
    let earlier = match *kind & HAS_EARLIER {
        0 => None,
        _ => Some(serde_json::from_slice(read_content(bytes)?).ok()?),
    };
    Some(Planned {
        number,
        line,
        held,
        earlier,
    })
}

fn read_content<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(read_number(bytes)?).ok()?;
    let (content, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(content)
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
            let entry = Planned {
                number: *number,
                line: *line,
                held: held.clone(),
                earlier: None,
            };
            write_planned(&entry, &mut bytes);
            ends.push(bytes.len());
        }
        let known = Planned {
            number: 7,
            line: 8,
            held: Content::Url("http://h/".into()),
            earlier: Some(Box::new(Earlier {
                version: Some(Version::default()),
                way: Some(Way::default()),
                pages: Some(PagesHad::default()),
            })),
        };
        write_planned(&known, &mut bytes);
        ends.push(bytes.len());
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
        assert_eq!((whole.len(), whole.last()), (4, Some(&known)));
        for cut in (0..bytes.len()).filter(|cut| !ends.contains(cut)) {
            assert_eq!(read(&bytes[..cut]).last(), Some(&None), "cut at {cut}");
        }
    }
}
