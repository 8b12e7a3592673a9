//! Bodies as text, in the encoding that they are in, and as HTML.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};
use html5ever::driver::parse_document;
use html5ever::tendril::{StrTendril, TendrilSink};
use scraper::{ElementRef, Html, HtmlTreeSink};

/// Most of a page that is parsed, in bytes.
const MOST: usize = 4 << 20;

/// Most elements and texts of a page. A few bytes can stand for thousands of them.
const MOST_NODES: usize = 300_000;

/// The deepest nesting of a page, a little more than browsers allow. Deeper elements cost the square of their depth.
const DEEPEST: usize = 600;

/// How often these limits are looked at, in bytes.
const PIECE: usize = 1024;

/// In how many bytes from its beginning a page must declare its encoding.
const DECLARED: usize = 1024;

/// A body as text: by its byte order mark, its type or its own declaration; else as UTF-8.
pub(super) fn text<'a>(body: &'a [u8], content_type: Option<&str>) -> Cow<'a, str> {
    let encoding = content_type
        .and_then(charset)
        .or_else(|| declared(body))
        .unwrap_or(UTF_8);
    encoding.decode(body).0
}

fn charset(content_type: &str) -> Option<&'static Encoding> {
    let mut parameters = content_type.split(';').skip(1);
    let value = parameters.find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then_some(value)
    })?;
    Encoding::for_label(value.trim().trim_matches('"').as_bytes())
}

/// `charset=` in the beginning of a page.
fn declared(body: &[u8]) -> Option<&'static Encoding> {
    let beginning = body[..body.len().min(DECLARED)].to_ascii_lowercase();
    let meta = memchr::memmem::find(&beginning, b"<meta")?;
    let at = meta + memchr::memmem::find(&beginning[meta..], b"charset=")? + 8;
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

/// A page, cut off where it goes beyond a limit.
pub(super) fn html(text: &str) -> Html {
    let sink = HtmlTreeSink::new(Html::new_document());
    let mut parser = parse_document(sink, Default::default());
    let mut rest = &text[..boundary(text, MOST)];
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(boundary(rest, PIECE));
        rest = behind;
        parser.process(StrTendril::from_slice(piece));
        let html = parser.tokenizer.sink.sink.0.borrow();
        let mut nodes = html.tree.nodes();
        let depth = nodes.next_back().map_or(0, |last| last.ancestors().count());
        if depth > DEEPEST || nodes.len() > MOST_NODES {
            break;
        }
    }
    parser.finish()
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
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}
