//! One part of a body of JSON by its pointer (RFC 6901), without building the rest: a few megabytes of brackets would
//! be a gigabyte of values.

use std::borrow::Cow;
use std::fmt::Write;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// Longest part that is taken, in bytes of JSON.
const LONGEST: usize = 1 << 20;

/// Deepest part that is taken, in lists and objects inside of each other. A record nests a part two levels deeper, and
/// readers of records refuse what is deeper than 127 levels (serde_json) or 100 (Ruby's JSON).
pub const DEEPEST: usize = 64;

/// The part at this pointer. None if there is none, it is null, or it cannot be read.
pub fn at(body: &[u8], pointer: &str) -> Option<Value> {
    exactly_at(body, pointer).ok().flatten()
}

/// The part at this pointer, in which numbers that a float would change are texts: integers of more than 64 bits, and
/// numbers with more digits than a float has. None if a body that can be read has no such part, or null there.
///
/// # Errors
/// What cannot be read, and where.
pub fn exactly_at(body: &[u8], pointer: &str) -> Result<Option<Value>, String> {
    let raw = raw_at(body, pointer)?;
    raw.map_or(Ok(None), |raw| read(raw, pointer))
}

/// As [`exactly_at`], but null where the body has null there.
///
/// # Errors
/// What cannot be read, and where.
pub fn found_at(body: &[u8], pointer: &str) -> Result<Option<Value>, String> {
    let raw = raw_at(body, pointer)?;
    let value = |raw| read(raw, pointer).map(Option::unwrap_or_default);
    raw.map(value).transpose()
}

/// As [`exactly_at`], but a part that is a number is a text, as it is written.
///
/// # Errors
/// What cannot be read, and where.
pub fn written_at(body: &[u8], pointer: &str) -> Result<Option<Value>, String> {
    let is_number =
        |raw: &str| raw.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    match raw_at(body, pointer)? {
        Some(raw) if is_number(raw) => Ok(Some(raw.into())),
        raw => raw.map_or(Ok(None), |raw| read(raw, pointer)),
    }
}

/// A part's value; none if that is null.
fn read(raw: &str, pointer: &str) -> Result<Option<Value>, String> {
    serde_json::from_str(&with_quoted_numbers(raw)).map_err(|error| {
        // Quotes move what follows them, so the place is that in the text as it came.
        let error = serde_json::from_str::<Value>(raw).err().unwrap_or(error);
        format!("{} cannot be read: {error} of it", named(pointer))
    })
}

/// A part in a sentence.
fn named(pointer: &str) -> String {
    match pointer {
        "" => "the body".to_owned(),
        pointer => format!("the value at {pointer}"),
    }
}

/// JSON in which numbers that a float would change have quotes.
fn with_quoted_numbers(json: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let (mut written, mut at, mut is_in_text) = (0, 0, false);
    let bytes = json.as_bytes();
    while at < bytes.len() {
        let length = match bytes[at] {
            b'\\' => 2,
            b'-' | b'0'..=b'9' if !is_in_text => {
                let is_of_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
                bytes[at..]
                    .iter()
                    .take_while(|byte| is_of_number(byte))
                    .count()
            }
            _ => 1,
        };
        is_in_text ^= bytes[at] == b'"';
        let token = json.get(at..at + length).unwrap_or_default();
        if length > MOST_DIGITS && changes(token) {
            let _ = write!(out, "{}\"{token}\"", &json[written..at]);
            written = at + length;
        }
        at += length;
    }
    match written {
        0 => Cow::Borrowed(json),
        written => Cow::Owned(out + &json[written..]),
    }
}

/// Digits with which every float can be written, and as many as any 64-bit integer has at least.
const MOST_DIGITS: usize = 17;

/// Whether a 64-bit integer, or the float that is nearest, would have other digits than this number. Zeros around the
/// digits do not count, and up to [`MOST_DIGITS`] may be those of a float.
fn changes(token: &str) -> bool {
    let digits = token.strip_prefix('-').unwrap_or(token);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return token.parse::<i64>().is_err() && token.parse::<u64>().is_err();
    }
    // A number that no float is near is an error.
    let float = token.parse().unwrap_or(f64::INFINITY);
    let exact = significant(token);
    let is_long = exact.bytes().filter(u8::is_ascii_digit).count() > MOST_DIGITS;
    is_long && float.is_finite() && exact != significant(&format!("{float:e}"))
}

/// The digits of a number without the zeros around them.
fn significant(token: &str) -> String {
    let (digits, _) = token.split_once(['e', 'E']).unwrap_or((token, ""));
    let digits: String = digits.chars().filter(char::is_ascii_digit).collect();
    digits.trim_matches('0').to_owned()
}

/// The text of the part at this pointer.
fn raw_at<'b>(body: &'b [u8], pointer: &str) -> Result<Option<&'b str>, String> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let tokens: Vec<String> = match (pointer, pointer.strip_prefix('/')) {
        ("", _) => Vec::new(),
        (_, Some(tokens)) => tokens.split('/').map(unescaped).collect(),
        (_, None) => return Ok(None),
    };
    let mut reader = serde_json::Deserializer::from_slice(body);
    let raw = Path(&tokens).deserialize(&mut reader);
    let raw = raw.and_then(|raw| reader.end().map(|()| raw));
    let raw = raw.map_err(|error| match serde_json::from_slice::<IgnoredAny>(body) {
        Ok(_) => format!("the body cannot be read: {error}"),
        Err(error) => format!("the body is not JSON: {error}"),
    })?;
    let text = raw.map(RawValue::get).unwrap_or_default();
    if text.len() > LONGEST {
        return Err(format!("{} has more than 1 MiB of JSON", named(pointer)));
    }
    if depth(text) > DEEPEST {
        return Err(format!(
            "{} has more than {DEEPEST} lists and objects inside of each other",
            named(pointer)
        ));
    }
    Ok(raw.map(RawValue::get))
}

/// How many lists and objects are inside of each other where JSON is deepest.
fn depth(json: &str) -> usize {
    let (mut now, mut deepest, mut is_in_text) = (0_usize, 0, false);
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => is_in_text = !is_in_text,
            b'[' | b'{' if !is_in_text => {
                now += 1;
                deepest = deepest.max(now);
            }
            b']' | b'}' if !is_in_text => now = now.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

fn unescaped(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// The way that is left to go.
struct Path<'t>(&'t [String]);

impl<'de> DeserializeSeed<'de> for Path<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        match self.0 {
            [] => <&RawValue as serde::Deserialize>::deserialize(deserializer).map(Some),
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Path<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        let (token, rest) = self.0.split_first().unzip();
        while let Some(is_it) = members.next_key_seed(Is(token.map(String::as_str)))? {
            match is_it {
                // The last of several members with this name.
                true => found = members.next_value_seed(Path(rest.unwrap_or_default()))?,
                false => {
                    members.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let (index, rest) = match self.0.split_first() {
            Some((token, rest)) => (index(token), rest),
            None => (None, self.0),
        };
        let mut found = None;
        for position in 0_usize.. {
            if index == Some(position) {
                match items.next_element_seed(Path(rest))? {
                    Some(item) => found = item,
                    None => break,
                }
            } else if items.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
        }
        Ok(found)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Whether a name is this one. No name is copied: one may be as long as the body.
struct Is<'t>(Option<&'t str>);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<bool, E> {
        Ok(self.0 == Some(name))
    }
}

/// A position in a list: digits without a zero before them.
fn index(token: &str) -> Option<usize> {
    let plain = token == "0" || !token.starts_with(['0', '+']);
    plain.then(|| token.parse().ok())?
}

#[cfg(test)]
mod tests;
