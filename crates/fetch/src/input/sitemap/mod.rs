//! Sitemaps (sitemaps.org): XML or lines, compressed or not, and indexes of sitemaps.
//!
//! Fetching is the caller's. A sitemap comes from the network: no more of it is read than the protocol allows, and it
//! lists only what is on its own host.

use std::io::{BufRead, BufReader, Read};

use quick_xml::Reader;
use quick_xml::events::Event;

use super::lines::{Line, LineReader};

mod walk;

pub use walk::{Walk, walk};

/// Most of one sitemap, in bytes, decompressed: what the protocol allows, and some more.
const LONGEST: u64 = 64 << 20;

/// Longest URL.
const LONGEST_URL: usize = 64 << 10;

/// An entry of a sitemap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// A page.
    Page(String),
    /// A further sitemap.
    Sitemap(String),
    /// A location that cannot be read, and the reason. The part that was read may be another URL.
    Bad(String, &'static str),
}

const TOO_LONG: &str = "is longer than 64 KiB";

/// Reads one sitemap, and hands over what it lists. Says what is wrong with one that cannot be read to its end.
pub fn read(bytes: &[u8], mut found: impl FnMut(Listed)) -> Result<(), String> {
    read_up_to(LONGEST, bytes, &mut found)
}

fn read_up_to(longest: u64, bytes: &[u8], found: &mut dyn FnMut(Listed)) -> Result<(), String> {
    let raw: Box<dyn Read> = match bytes {
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(bytes)),
        bytes => Box::new(bytes),
    };
    let mut reader = BufReader::with_capacity(64 << 10, raw.take(longest));
    let first = reader.fill_buf().map_err(|error| error.to_string())?;
    let first = first
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(first)
        .trim_ascii_start();
    match first.first() {
        Some(b'<') => xml(reader, found),
        _ => text(reader, found),
    }
}

fn text(reader: impl Read, found: &mut dyn FnMut(Listed)) -> Result<(), String> {
    let mut lines = LineReader::new(reader);
    while let Some((_, line)) = lines.next().map_err(|error| error.to_string())? {
        let (text, is_whole) = match &line {
            Line::Whole(text) => (*text, true),
            Line::TooLong(text) => (&text[..], false),
        };
        let text = text
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(text)
            .trim_ascii();
        let url = String::from_utf8_lossy(text).into_owned();
        if !is_whole || text.len() > LONGEST_URL {
            found(Listed::Bad(url, TOO_LONG));
        } else if !url.is_empty() {
            found(Listed::Page(url));
        }
    }
    Ok(())
}

/// Where in the document a text stands.
#[derive(Default)]
struct XmlState {
    depth: usize,
    /// In an index, not in a list of pages.
    in_index: bool,
    /// The `<loc>` that is open.
    loc: Option<Loc>,
}

#[derive(Default)]
struct Loc {
    text: String,
    /// The reason why the location cannot be read.
    fault: Option<&'static str>,
}

impl Loc {
    fn add(&mut self, text: &str) {
        if self.text.len() + text.len() <= LONGEST_URL {
            self.text.push_str(text);
        } else {
            self.fault = Some(TOO_LONG);
        }
    }

    fn add_reference(&mut self, name: &str) {
        match reference(name) {
            Some(character) => self.add(character.encode_utf8(&mut [0; 4])),
            None => self.fault = Some("has an entity that XML does not define"),
        }
    }
}

fn xml(reader: impl BufRead, found: &mut dyn FnMut(Listed)) -> Result<(), String> {
    let mut reader = Reader::from_reader(reader);
    let mut buffer = Vec::new();
    let mut state = XmlState::default();
    loop {
        buffer.clear();
        let event = reader
            .read_event_into(&mut buffer)
            .map_err(|error| format!("is not well-formed XML: {error}"))?;
        match event {
            Event::Eof if state.depth > 0 => return Err("ends in the middle".to_owned()),
            Event::Eof => return Ok(()),
            Event::Start(tag) => {
                state.depth += 1;
                if let Some(loc) = &mut state.loc {
                    loc.fault = Some("has an element inside");
                }
                match (state.depth, tag.local_name().as_ref()) {
                    (1, name) => state.in_index = name == "sitemapindex",
                    // The location of a page or a sitemap, but not of an image in a page.
                    (3, "loc") if tag.name().prefix().is_none_or(|it| it.as_ref() == "sm") => {
                        state.loc = Some(Loc::default());
                    }
                    _ => {}
                }
            }
            Event::End(_) => {
                if state.depth == 3
                    && let Some(loc) = state.loc.take()
                {
                    give(&loc, state.in_index, found);
                }
                state.depth = state.depth.saturating_sub(1);
            }
            Event::Text(text) => add(&mut state.loc, &text),
            Event::CData(text) => add(&mut state.loc, &text),
            Event::GeneralRef(name) => {
                if let Some(loc) = &mut state.loc {
                    loc.add_reference(&name);
                }
            }
            _ => {}
        }
    }
}

fn add(loc: &mut Option<Loc>, text: &str) {
    if let Some(loc) = loc {
        loc.add(text);
    }
}

/// The character of an entity such as `&amp;` or `&#38;`.
fn reference(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        name => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
                None => digits.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

fn give(loc: &Loc, in_index: bool, found: &mut dyn FnMut(Listed)) {
    let url = loc.text.trim().to_owned();
    match loc.fault {
        Some(fault) => found(Listed::Bad(url, fault)),
        None if url.is_empty() => {}
        None if in_index => found(Listed::Sitemap(url)),
        None => found(Listed::Page(url)),
    }
}

#[cfg(test)]
mod tests;
