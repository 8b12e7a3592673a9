//! Sitemaps (sitemaps.org): XML, RSS, Atom or lines, compressed or not, and indexes of sitemaps.
//!
//! Fetching is the caller's. A sitemap comes from the network: no more of it is read than the protocol allows, and it
//! lists only what is on its own host.

use std::io::{BufRead, BufReader, Read};

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;
use quick_xml::reader::NsReader;

use super::lines::{Line, LineReader};
use crate::error::excerpt;
use crate::host::Host;

mod walk;

pub use walk::{Unread, Walk, walk};

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
    let mut reader = BufReader::with_capacity(64 << 10, decoded(longest, bytes));
    let first = reader.fill_buf().map_err(|error| error.to_string())?;
    let first = first
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(first)
        .trim_ascii_start();
    match first.first() {
        Some(b'<') => xml(reader, found),
        // A sitemap without pages is an XML document without entries.
        None => Err("is empty".to_owned()),
        _ if has_url(decoded(longest, bytes)) => text(reader, found),
        _ => Err("is no sitemap: it is no XML, and none of its lines is a URL".to_owned()),
    }
}

/// The bytes of a sitemap, decompressed.
fn decoded(longest: u64, bytes: &[u8]) -> impl Read {
    let raw: Box<dyn Read> = match bytes {
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(bytes)),
        bytes => Box::new(bytes),
    };
    raw.take(longest)
}

/// Whether any line is a URL. If none is, these are no lines of URLs.
fn has_url(reader: impl Read) -> bool {
    let mut lines = LineReader::new(reader);
    while let Ok(Some((_, line))) = lines.next() {
        let text = match &line {
            Line::Whole(text) => *text,
            Line::TooLong(text) => &text[..],
        };
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        if std::str::from_utf8(text).is_ok_and(|text| Host::of(text.trim()).is_ok()) {
            return true;
        }
    }
    false
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

/// What a document is, by its root element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Document {
    /// Pages, in `<url><loc>`.
    Pages,
    /// Further sitemaps, in `<sitemap><loc>`.
    Index,
    /// RSS: pages in `<item><link>`.
    Rss,
    /// Atom: pages in `<entry><link href="…">`.
    Atom,
}

impl Document {
    fn of(root: &str) -> Result<Document, String> {
        match root {
            "urlset" => Ok(Document::Pages),
            "sitemapindex" => Ok(Document::Index),
            "rss" | "RDF" => Ok(Document::Rss),
            "feed" => Ok(Document::Atom),
            other => {
                let other = excerpt(other, 64);
                Err(format!(
                    "is no sitemap: its root element is <{other}>, and not urlset, sitemapindex, rss or feed"
                ))
            }
        }
    }

    /// Whether its pages are in entries.
    fn is_feed(self) -> bool {
        matches!(self, Document::Rss | Document::Atom)
    }

    /// Whether an element of its own namespace at this depth, a child of an entry or not, has a location as its text.
    fn has_location(self, name: &str, depth: usize, is_in_entry: bool) -> bool {
        match self {
            Document::Pages | Document::Index => depth == 3 && name == "loc",
            Document::Rss => is_in_entry && name == "link",
            Document::Atom => false,
        }
    }
}

/// The namespace of an element, whatever its prefix. That of a prefix which nobody declared is the prefix.
fn namespace<'a>(resolved: &'a ResolveResult<'_>) -> &'a str {
    match resolved {
        ResolveResult::Unbound => "",
        ResolveResult::Bound(namespace) => namespace.0,
        ResolveResult::Unknown(prefix) => prefix,
    }
}

/// The page that a `<link>` of Atom names: one without a relation, or an alternate.
fn linked(tag: &BytesStart<'_>) -> Option<Loc> {
    let of = |name: &str| tag.try_get_attribute(name).ok().flatten();
    let is_page = of("rel").is_none_or(|rel| &*rel.value == "alternate");
    let href = of("href").filter(|_| is_page)?;
    let mut loc = Loc::default();
    match href.normalized_value(XmlVersion::Implicit1_0) {
        Ok(url) => loc.add(&url),
        Err(_) => loc.fault = Some("has an entity that XML does not define"),
    }
    Some(loc)
}

/// Where in the document a text stands.
#[derive(Default)]
struct XmlState {
    document: Option<Document>,
    /// The namespace of its root, or of the last entry of a feed. Locations of other namespaces are not pages: an image
    /// of a page has one.
    own: String,
    depth: usize,
    /// The depth of the `<item>` or `<entry>` that is open.
    entry: Option<usize>,
    /// The location that is open, and at which depth.
    loc: Option<(usize, Loc)>,
}

impl XmlState {
    fn start(
        &mut self,
        tag: &BytesStart<'_>,
        namespace: &str,
        found: &mut dyn FnMut(Listed),
    ) -> Result<(), String> {
        let name = tag.local_name();
        let document = match self.document {
            Some(document) => document,
            None => {
                self.own = namespace.to_owned();
                *self.document.insert(Document::of(name.as_ref())?)
            }
        };
        let is_own = self.own == namespace;
        if let Some((_, loc)) = &mut self.loc {
            loc.fault = Some("has an element inside");
        }
        let is_in_entry = self.entry.is_some_and(|at| at == self.depth);
        self.depth += 1;
        match name.as_ref() {
            "link" if document == Document::Atom && is_in_entry && is_own => {
                linked(tag)
                    .iter()
                    .for_each(|loc| give(loc, document, found));
            }
            "item" | "entry" if document.is_feed() && self.entry.is_none() => {
                self.entry = Some(self.depth);
                self.own = namespace.to_owned();
            }
            name if is_own && document.has_location(name, self.depth, is_in_entry) => {
                self.loc = Some((self.depth, Loc::default()));
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, found: &mut dyn FnMut(Listed)) {
        let depth = self.depth;
        let ended = self.loc.take_if(|(at, _)| *at == depth);
        if let (Some((_, loc)), Some(document)) = (ended, self.document) {
            give(&loc, document, found);
        }
        self.entry.take_if(|at| *at == depth);
        self.depth = depth.saturating_sub(1);
    }
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
    let mut reader = NsReader::from_reader(reader);
    let mut buffer = Vec::new();
    let mut state = XmlState::default();
    loop {
        buffer.clear();
        let event = reader
            .read_event_into(&mut buffer)
            .map_err(|error| format!("is not well-formed XML: {error}"))?;
        match event {
            Event::Eof if state.depth > 0 => return Err("ends in the middle".to_owned()),
            Event::Eof if state.document.is_none() => return Err("has no root element".to_owned()),
            Event::Eof => return Ok(()),
            Event::Start(tag) => {
                let (resolved, _) = reader.resolver().resolve_element(tag.name());
                state.start(&tag, namespace(&resolved), found)?;
            }
            Event::Empty(tag) => {
                let (resolved, _) = reader.resolver().resolve_element(tag.name());
                state.start(&tag, namespace(&resolved), found)?;
                state.end(found);
            }
            Event::End(_) => state.end(found),
            Event::Text(text) => add(&mut state.loc, &text),
            Event::CData(text) => add(&mut state.loc, &text),
            Event::GeneralRef(name) => {
                if let Some((_, loc)) = &mut state.loc {
                    loc.add_reference(&name);
                }
            }
            _ => {}
        }
    }
}

fn add(loc: &mut Option<(usize, Loc)>, text: &str) {
    if let Some((_, loc)) = loc {
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

fn give(loc: &Loc, document: Document, found: &mut dyn FnMut(Listed)) {
    let url = loc.text.trim().to_owned();
    match loc.fault {
        Some(fault) => found(Listed::Bad(url, fault)),
        None if url.is_empty() => {}
        None if document == Document::Index => found(Listed::Sitemap(url)),
        None => found(Listed::Page(url)),
    }
}

#[cfg(test)]
mod tests;
