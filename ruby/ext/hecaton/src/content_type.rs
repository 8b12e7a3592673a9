//! Reads a Content-Type: its charset, and the encoding that Ruby has for text of this type. An unreadable value says
//! nothing, and is no error.

use std::cell::RefCell;

use magnus::encoding::{Coderange, Index, RbEncoding};
use magnus::{Error, Object, RModule, RString, Ruby, function};

/// Longest Content-Type that is remembered.
const MOST_KEPT: usize = 256;

/// Ruby's names for the encodings of the process; no charset has such a name.
const OF_THE_PROCESS: [&str; 4] = ["locale", "external", "internal", "filesystem"];

thread_local! {
    /// The last Content-Type and its encoding: a server tends to send the same again.
    static LAST: RefCell<(Vec<u8>, Option<Index>)> = const { RefCell::new((Vec::new(), None)) };
}

/// Ruby's number of the encoding that a Content-Type names; none for bytes.
pub fn encoding(ruby: &Ruby, content_type: &[u8]) -> Option<Index> {
    let known = LAST.with_borrow(|(last, index)| (last == content_type).then_some(*index));
    known.unwrap_or_else(|| {
        // `LAST` is not borrowed here, because Ruby may load the encoding and run other code meanwhile.
        let text = String::from_utf8_lossy(content_type);
        let name = charset(&text).or_else(|| is_utf8_by_itself(&text).then_some("utf-8"));
        let index = name.and_then(|name| find(ruby, name));
        // For an encoding that cannot be loaded now, Ruby gives the one for bytes. The encoding may be loaded next
        // time.
        let is_sure =
            name.is_none() || index.is_some_and(|index| index != ruby.ascii8bit_encindex());
        if is_sure && content_type.len() <= MOST_KEPT {
            LAST.set((content_type.to_vec(), index));
        }
        index
    })
}

/// A body with the encoding that its Content-Type names, if Ruby can work with it: the encoding has ASCII, and the bytes
/// are valid in it. Else a String of bytes.
pub fn labelled(ruby: &Ruby, content_type: &[u8], body: &[u8]) -> RString {
    let text = encoding(ruby, content_type)
        .filter(|index| has_ascii(ruby, *index))
        .map(|index| ruby.enc_str_new(body, index));
    text.filter(|text| text.enc_coderange_scan() != Coderange::Broken)
        .unwrap_or_else(|| ruby.str_from_slice(body))
}

/// Header text: UTF-8 if it is valid, else bytes.
pub fn text(ruby: &Ruby, bytes: &[u8]) -> RString {
    match std::str::from_utf8(bytes) {
        Ok(text) => ruby.str_new(text),
        Err(_) => ruby.str_from_slice(bytes),
    }
}

/// Whether ASCII is the same in this encoding. In others, such as UTF-16 and ISO-2022-JP, Ruby can hardly do more with
/// text than to convert it.
fn has_ascii(ruby: &Ruby, index: Index) -> bool {
    index == ruby.utf8_encindex()
        || ruby.enc_str_new(b"a", index).enc_coderange_scan() == Coderange::SevenBit
}

/// The encoding of this name, if Ruby has one. `utf8` is not registered (RFC 3629 §8), but many servers write it.
fn find(ruby: &Ruby, name: &str) -> Option<Index> {
    let is = |own: &&str| name.eq_ignore_ascii_case(own);
    if ["utf-8", "utf8"].iter().any(is) {
        return Some(ruby.utf8_encindex());
    }
    if OF_THE_PROCESS.iter().any(is) {
        return None;
    }
    ruby.find_encindex(name).ok()
}

/// The charset parameter (RFC 9110 §8.3.2).
fn charset(content_type: &str) -> Option<&str> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        if !name.trim().eq_ignore_ascii_case("charset") {
            return None;
        }
        let value = match value.trim().strip_prefix('"') {
            Some(quoted) => quoted.split('"').next()?.trim(),
            None => value.split_whitespace().next()?,
        };
        (!value.is_empty()).then_some(value)
    })
}

/// Whether text of this type is UTF-8 without a charset. JSON is (RFC 8259 §8.1), and so are types that are based on it,
/// such as `application/problem+json`, and server-sent events.
fn is_utf8_by_itself(content_type: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default();
    let media_type = media_type.trim().to_ascii_lowercase();
    matches!(&*media_type, "application/json" | "text/event-stream")
        || media_type.ends_with("+json")
}

/// For Ruby: the charset in small letters.
fn charset_of(content_type: RString) -> Option<String> {
    let text = content_type.to_bytes();
    charset(&String::from_utf8_lossy(&text)).map(str::to_lowercase)
}

/// For Ruby: the encoding, which is that of bytes if there is none.
fn encoding_of(ruby: &Ruby, content_type: RString) -> RbEncoding {
    let index = encoding(ruby, &content_type.to_bytes());
    RbEncoding::from(index.unwrap_or_else(|| ruby.ascii8bit_encindex()))
}

/// Defines the functions.
pub fn init(native: RModule) -> Result<(), Error> {
    native.define_singleton_method("charset", function!(charset_of, 1))?;
    native.define_singleton_method("encoding", function!(encoding_of, 1))
}
