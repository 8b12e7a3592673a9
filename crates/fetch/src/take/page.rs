//! Bodies as text, in the encoding that they are in, and as HTML.

use std::borrow::Cow;

use encoding_rs::{CoderResult, Encoding, UTF_8, WINDOWS_1252};
use html5ever::driver::parse_document;
use html5ever::tendril::{StrTendril, TendrilSink};
use scraper::{ElementRef, Selector};

use super::tree::{Page, Tree};

/// Most of a page that is parsed, in bytes.
pub(super) const MOST: usize = 4 << 20;

/// Most of a text that is not in UTF-8, in bytes of UTF-8: it may be three times as long as its body.
const LONGEST: usize = 64 << 20;

/// How often the limits of a tree are looked at, in bytes of the page. Some bytes stand for hundreds of elements.
const PIECE: usize = 128;

/// In how many bytes from its beginning a page must declare its encoding.
const DECLARED: usize = 1024;

/// A body as text, and whether the text is cut off. The encoding is that of the byte order mark, the type or the page's own
/// declaration; without these, the bytes themselves show it.
pub(super) fn text<'a>(body: &'a [u8], content_type: Option<&str>) -> (Cow<'a, str>, bool) {
    let encoding = content_type
        .and_then(charset)
        .or_else(|| declared(body))
        .unwrap_or_else(|| undeclared(body, content_type));
    let (encoding, rest) = match Encoding::for_bom(body) {
        Some((encoding, mark)) => (encoding, &body[mark..]),
        None => (encoding, body),
    };
    match std::str::from_utf8(rest) {
        Ok(text) if encoding == UTF_8 || encoding.is_ascii_compatible() && rest.is_ascii() => {
            (Cow::Borrowed(text), false)
        }
        _ => {
            let (text, is_cut) = decoded(encoding, rest, LONGEST);
            (Cow::Owned(text), is_cut)
        }
    }
}

/// At most this many bytes of a text in another encoding, and whether there are more.
fn decoded(encoding: &'static Encoding, body: &[u8], longest: usize) -> (String, bool) {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let needed = decoder.max_utf8_buffer_length(body.len());
    let mut text = String::with_capacity(needed.unwrap_or(longest).min(longest));
    // Stops where the text is full.
    let (end, ..) = decoder.decode_to_string(body, &mut text, true);
    (text, end == CoderResult::OutputFull)
}

/// The encoding of a body that declares none: UTF-8, or, as the HTML standard has it, windows-1252 if it is not that. A few
/// broken characters, such as a last one that is cut off, leave it UTF-8. JSON is always UTF-8, as XML is by default.
fn undeclared(body: &[u8], content_type: Option<&str>) -> &'static Encoding {
    let kind = content_type.unwrap_or_default().split(';').next();
    let kind = kind.unwrap_or_default().trim().to_ascii_lowercase();
    let is_utf8 = matches!(&*kind, "application/json" | "application/xml" | "text/xml")
        || ["+json", "+xml"]
            .iter()
            .any(|ending| kind.ends_with(ending))
            && !kind.contains("xhtml");
    if is_utf8 || std::str::from_utf8(body).is_ok() {
        return UTF_8;
    }
    let (mut whole, mut broken) = (0, 0);
    for chunk in body.utf8_chunks() {
        whole += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        broken += chunk.invalid().len();
    }
    if whole >= broken { UTF_8 } else { WINDOWS_1252 }
}

fn charset(content_type: &str) -> Option<&'static Encoding> {
    let mut parameters = content_type.split(';').skip(1);
    let value = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    })?;
    Encoding::for_label(value.trim().trim_matches('"').as_bytes())
}

/// The encoding that a page or an XML document declares in its beginning.
fn declared(body: &[u8]) -> Option<&'static Encoding> {
    let beginning = body[..body.len().min(DECLARED)].to_ascii_lowercase();
    let (tag, attribute): (&[u8], &[u8]) = match beginning.starts_with(b"<?xml") {
        true => (b"<?xml", b"encoding="),
        false => (b"<meta", b"charset="),
    };
    let tag = memchr::memmem::find(&beginning, tag)?;
    let at = tag + memchr::memmem::find(&beginning[tag..], attribute)? + attribute.len();
    let label = beginning[at..]
        .iter()
        .skip_while(|byte| matches!(byte, b'"' | b'\'' | b' '));
    let label: Vec<u8> = label
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        .copied()
        .collect();
    // A page whose declaration can be read as ASCII is not in UTF-16.
    Encoding::for_label(&label).map(Encoding::output_encoding)
}

/// Most words in one tag. A parser compares each attribute with all others of the tag.
const MOST_WORDS: usize = 50_000;

/// A page, cut off where it goes beyond a limit.
pub(super) fn html(text: &str) -> Page {
    let mut parser = parse_document(Tree::new(), Default::default());
    let (mut came, mut words) = (0, 0);
    let mut rest = &text[..boundary(text, MOST)];
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(boundary(rest, PIECE));
        rest = behind;
        parser.process(StrTendril::from_slice(piece));
        let tree = &parser.tokenizer.sink.sink;
        if tree.came() > came {
            (came, words) = (tree.came(), 0);
        } else {
            words += piece.bytes().filter(ends_a_word).count();
        }
        if words > MOST_WORDS || tree.is_full() {
            break;
        }
    }
    let is_cut = !rest.is_empty() || text.len() > MOST;
    let mut page = parser.finish();
    page.is_cut |= is_cut;
    page
}

/// Where the relative URLs of a page begin, if it says so itself: the first `<base href>`.
pub(super) fn base(page: &Page) -> Option<String> {
    let selector = Selector::parse("base[href]").ok()?;
    let base = page.html.select(&selector).next()?;
    base.attr("href").map(|href| href.trim().to_owned())
}

/// Whether a word of a tag may end here.
fn ends_a_word(byte: &u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'/' | b'"' | b'\'')
}

/// The end of the last whole character up to here.
fn boundary(text: &str, end: usize) -> usize {
    let mut end = text.len().min(end);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// The text in an element, with single spaces.
pub(super) fn text_of(element: ElementRef<'_>) -> String {
    let text: String = element.text().collect();
    let mut words = String::new();
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    words
}
