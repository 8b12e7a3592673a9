//! What a site lists of itself (sitemaps.org): XML or lines, compressed or not, and lists of such lists.
//!
//! Fetching is the caller's. A sitemap comes from the network: no more of it is read than the protocol allows, and it lists
//! only what is on its own host.

use std::collections::{HashSet, VecDeque};
use std::io::{BufRead, BufReader, Read};

use quick_xml::Reader;
use quick_xml::events::Event;

use super::lines::{Line, Lines};
use super::plain::only_url;
use super::{Entry, InputError};
use crate::host::Host;
use crate::record::{Input, Invalid};

/// Most of one sitemap, in bytes, decompressed: what the protocol allows, and some more.
const LONGEST: u64 = 64 << 20;

/// Most sitemaps of one site.
const MOST: usize = 50_000;

/// Longest URL.
const LONGEST_URL: usize = 64 << 10;

/// What a sitemap lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// A page.
    Page(String),
    /// A further sitemap.
    Sitemap(String),
}

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
    let mut lines = Lines::new(reader);
    while let Some((_, line)) = lines.next().map_err(|error| error.to_string())? {
        let Line::Whole(line) = line else {
            continue;
        };
        let line = line
            .strip_prefix(b"\xef\xbb\xbf")
            .unwrap_or(line)
            .trim_ascii();
        if !line.is_empty() && line.len() <= LONGEST_URL {
            found(Listed::Page(String::from_utf8_lossy(line).into_owned()));
        }
    }
    Ok(())
}

/// Where in the document a text stands.
#[derive(Default)]
struct Place {
    depth: usize,
    /// In an index, not in a list of pages.
    in_index: bool,
    /// The text of the `<loc>` that is open.
    loc: Option<String>,
}

fn xml(reader: impl BufRead, found: &mut dyn FnMut(Listed)) -> Result<(), String> {
    let mut reader = Reader::from_reader(reader);
    let mut buffer = Vec::new();
    let mut place = Place::default();
    loop {
        buffer.clear();
        let event = reader
            .read_event_into(&mut buffer)
            .map_err(|error| format!("is no whole XML: {error}"))?;
        match event {
            Event::Eof if place.depth > 0 => return Err("ends in the middle".to_owned()),
            Event::Eof => return Ok(()),
            Event::Start(tag) => {
                place.depth += 1;
                match (place.depth, tag.local_name().as_ref()) {
                    (1, name) => place.in_index = name == "sitemapindex",
                    // Of a page or a sitemap; not of an image in a page.
                    (3, "loc") if tag.name().prefix().is_none_or(|it| it.as_ref() == "sm") => {
                        place.loc = Some(String::new());
                    }
                    _ => {}
                }
            }
            Event::End(_) => {
                place.depth = place.depth.saturating_sub(1);
                if let Some(loc) = place.loc.take() {
                    give(&loc, place.in_index, found);
                }
            }
            Event::Text(text) => add(&mut place.loc, &text),
            Event::CData(text) => add(&mut place.loc, &text),
            Event::GeneralRef(name) => {
                if let (Some(loc), Some(character)) = (&mut place.loc, reference(&name)) {
                    loc.push(character);
                }
            }
            _ => {}
        }
    }
}

fn add(loc: &mut Option<String>, text: &str) {
    if let Some(loc) = loc
        && loc.len() + text.len() <= LONGEST_URL
    {
        loc.push_str(text);
    }
}

/// What `&amp;`, `&#38;` and the like stand for.
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

fn give(loc: &str, in_index: bool, found: &mut dyn FnMut(Listed)) {
    let url = loc.trim().to_owned();
    if !url.is_empty() {
        found(if in_index {
            Listed::Sitemap(url)
        } else {
            Listed::Page(url)
        });
    }
}

/// Reads a sitemap and those that it lists, one after the other, and hands over an entry for each page. `fetch` gets a sitemap.
///
/// The first must be read; one of the others that cannot is an [`Entry::Invalid`].
pub fn walk(
    first: &str,
    mut fetch: impl FnMut(&str) -> Result<Vec<u8>, String>,
    mut give: impl FnMut(Entry),
) -> Result<(), InputError> {
    let host = Host::of(first).map_err(|why| InputError(format!("the sitemap {first:?} {why}")))?;
    let mut waiting = VecDeque::from([first.to_owned()]);
    let mut known = HashSet::from([first.to_owned()]);
    let mut number = 0;
    let mut numbered = |held: Result<String, (String, String)>| {
        let entry = entry(number, held);
        number += 1;
        give(entry);
    };
    while let Some(url) = waiting.pop_front() {
        let is_first = url == first;
        let read = fetch(&url).and_then(|bytes| {
            read(&bytes, |listed| match listed {
                Listed::Page(page) if is_on(&page, &host) => numbered(Ok(page)),
                Listed::Page(page) => numbered(Err((
                    page,
                    format!("is not on {host}, whose sitemap lists it"),
                ))),
                Listed::Sitemap(next) if !is_on(&next, &host) => {
                    numbered(Err((
                        next,
                        format!("is a sitemap that is not on {host}, which lists it"),
                    )));
                }
                Listed::Sitemap(next) if known.len() < MOST => {
                    if known.insert(next.clone()) {
                        waiting.push_back(next);
                    }
                }
                Listed::Sitemap(next) => {
                    numbered(Err((next, format!("is one sitemap more than {MOST}"))))
                }
            })
        });
        match read {
            Err(why) if is_first => return Err(InputError(format!("the sitemap {url}: {why}"))),
            Err(why) => numbered(Err((
                url,
                format!("is a sitemap that cannot be read: {why}"),
            ))),
            Ok(()) => {}
        }
    }
    Ok(())
}

fn is_on(url: &str, host: &Host<'_>) -> bool {
    Host::of(url).is_ok_and(|its| its.name() == host.name())
}

fn entry(number: u64, held: Result<String, (String, String)>) -> Entry {
    // A sitemap has no lines: the place in what all of them list.
    let line = number + 1;
    match held {
        Ok(url) => Entry::Input(Input {
            number,
            line,
            columns: only_url(&url),
        }),
        Err((text, reason)) => Entry::Invalid(Invalid {
            number,
            line,
            text: text.chars().take(super::EXCERPT).collect(),
            reason,
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    fn listed(bytes: &[u8]) -> (Vec<Listed>, Result<(), String>) {
        let mut found = Vec::new();
        let read = read(bytes, |it| found.push(it));
        (found, read)
    }

    const PAGES: &str = "<?xml version='1.0'?>\n<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:image='i'>\
        <url><loc> http://a/1?x=1&amp;y=&#50;&#x33; </loc><image:image><image:loc>http://a/i.png</image:loc></image:image></url>\
        <!-- <url><loc>http://a/no</loc></url> --><url><image:loc>http://a/no</image:loc><loc><![CDATA[http://a/2]]></loc></url><url/></urlset>";

    fn page(url: &str) -> Listed {
        Listed::Page(url.to_owned())
    }

    #[test]
    fn pages_are_read_from_xml_and_lines() {
        let expected = [page("http://a/1?x=1&y=23"), page("http://a/2")];
        assert_eq!(listed(PAGES.as_bytes()), (expected.to_vec(), Ok(())));
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(PAGES.as_bytes()).unwrap();
        assert_eq!(listed(&gzip.finish().unwrap()).0, expected);
        assert_eq!(
            listed(b"\xef\xbb\xbfhttp://a/1\r\n\nhttp://a/2"),
            (vec![page("http://a/1"), page("http://a/2")], Ok(()))
        );
        let (found, read) = listed(&PAGES.as_bytes()[..PAGES.len() - 20]);
        assert_eq!(found.len(), 2);
        assert!(read.is_err());
    }

    #[test]
    fn a_bomb_is_not_read_to_its_end() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(b"<urlset><url><loc>http://a/1</loc></url><url><loc>")
            .unwrap();
        gzip.write_all(&vec![b' '; 4 << 20]).unwrap();
        let mut found = Vec::new();
        let read = read_up_to(1 << 20, &gzip.finish().unwrap(), &mut |it| found.push(it));
        assert_eq!(found, [page("http://a/1")]);
        assert!(read.is_err());
        let laughs =
            b"<!DOCTYPE x [<!ENTITY a 'http://a/'>]><urlset><url><loc>&a;&a;</loc></url></urlset>";
        assert_eq!(listed(laughs).0, []);
    }

    #[test]
    fn lists_of_sitemaps_are_followed_once_and_on_their_host() {
        let index = "<sitemapindex><sitemap><loc>http://a/s1</loc></sitemap><sitemap><loc>http://a/s2</loc></sitemap>\
            <sitemap><loc>http://a/index</loc></sitemap><sitemap><loc>http://b/s3</loc></sitemap></sitemapindex>";
        let mut asked = Vec::new();
        let mut shown = Vec::new();
        let fetch = |url: &str| {
            asked.push(url.to_owned());
            match url {
                "http://a/index" => Ok(index.into()),
                "http://a/s1" => Ok(b"http://A:8080/1\nhttp://169.254.169.254/\n".to_vec()),
                _ => Err("the answer was 404".to_owned()),
            }
        };
        walk("http://a/index", fetch, |entry| {
            shown.push(match entry {
                Entry::Input(input) => {
                    format!("{}:{} {}", input.number, input.line, input.columns["url"])
                }
                Entry::Invalid(bad) => format!("{} {} {}", bad.number, bad.text, bad.reason),
            });
        })
        .unwrap();
        assert_eq!(asked, ["http://a/index", "http://a/s1", "http://a/s2"]);
        assert_eq!(
            shown,
            [
                "0 http://b/s3 is a sitemap that is not on a, which lists it",
                "1:2 http://A:8080/1",
                "2 http://169.254.169.254/ is not on a, whose sitemap lists it",
                "3 http://a/s2 is a sitemap that cannot be read: the answer was 404",
            ]
        );
        let error = walk(
            "http://a/x",
            |_| Err("the answer was 404".to_owned()),
            |_| (),
        )
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the sitemap http://a/x: the answer was 404"
        );
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(bytes in "(<|>|/|loc|url|urlset|sitemapindex|&|;|#x|[a-z \n\u{e9}]|<!--|]]>|<!\\[CDATA\\[){0,20}") {
            let _ = listed(bytes.as_bytes());
            let _ = listed(format!("<urlset><url><loc>{bytes}").as_bytes());
        }
    }
}
