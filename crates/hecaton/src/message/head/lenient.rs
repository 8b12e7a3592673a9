//! Malformed heads, rewritten as valid ones. Only errors that do not affect framing are repaired.
//!
//! Only a head that was refused comes here, so an accepted head reads the same with and without the setting.
//!
//! A head that two readers could frame in two ways stays refused:
//!
//! - a framing field (`Content-Length`, `Transfer-Encoding`) with anything wrong, even a space before its colon:
//!   some readers skip such a field, and others do not,
//! - a framing field that hides in the name of another field, or after a line break in its value,
//! - a length beside a coding,
//! - a NUL anywhere.

use memchr::memchr;

use crate::message::fields::trim_blanks_end;

/// A head, rewritten.
pub(super) struct Rewritten {
    pub text: Vec<u8>,
    /// How many bytes it was before.
    pub length: usize,
    /// Whether nothing may follow on its connection: `Transfer-Encoding: identity` was left out of it, or it claims to
    /// be of another version than HTTP/1.
    pub last: bool,
}

/// Rewrites the head that `input` begins with: none if it is not whole, and the reason if it cannot be accepted.
pub(super) fn rewrite(input: &[u8]) -> Result<Option<Rewritten>, &'static str> {
    const BEGIN: &[u8] = b"HTTP/";
    let known = input.len().min(BEGIN.len());
    if !input[..known].eq_ignore_ascii_case(&BEGIN[..known]) {
        return Err("it does not begin with HTTP/");
    }
    let mut rewriting = Rewriting::default();
    let mut rest = input;
    while let Some(end) = memchr(b'\n', rest) {
        let (line, after) = (&rest[..end], &rest[end + 1..]);
        rest = after;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return rewriting.end(input.len() - rest.len()).map(Some);
        }
        rewriting.take(line)?;
    }
    Ok(None)
}

#[derive(Default)]
struct Rewriting {
    text: Vec<u8>,
    /// Whether the previous field was left out. Its continuation lines are then left out too.
    skipped: bool,
    /// Whether the previous field frames the body.
    framing: bool,
    lengths: bool,
    codings: bool,
    identity: bool,
    /// Whether its version is not HTTP/1.
    strange: bool,
}

impl Rewriting {
    fn take(&mut self, line: &[u8]) -> Result<(), &'static str> {
        if line.contains(&0) {
            return Err("there is a NUL in it");
        }
        match line[0] {
            _ if self.text.is_empty() => self.take_status(line),
            b' ' | b'\t' => self.take_more(line),
            _ => self.take_field(line),
        }
    }

    /// `HTTP/1.1 200 OK`, with as many spaces as there are between the three. A server that writes HTTP/2 in text means
    /// HTTP/1.1, for which it was asked.
    fn take_status(&mut self, line: &[u8]) -> Result<(), &'static str> {
        let (version, rest) = word(line);
        let (status, reason) = word(rest);
        let version = version.to_ascii_uppercase();
        self.strange = matches!(version.as_slice(), b"HTTP/2" | b"HTTP/2.0");
        let version = match self.strange {
            true => b"HTTP/1.1",
            false => version.as_slice(),
        };
        for part in [version, b" ", status, b" "] {
            self.text.extend_from_slice(part);
        }
        put_value(reason, &mut self.text)?;
        self.text.extend_from_slice(b"\r\n");
        // A line that continues the status line is left out.
        self.skipped = true;
        Ok(())
    }

    /// A line that continues the field before it (RFC 9112 §5.2).
    fn take_more(&mut self, line: &[u8]) -> Result<(), &'static str> {
        if self.framing || hides_framing(line) {
            return Err("a field that frames the body in a line that continues another");
        }
        if !self.skipped {
            put_value(line, &mut self.text)?;
            self.text.extend_from_slice(b"\r\n");
        }
        Ok(())
    }

    fn take_field(&mut self, line: &[u8]) -> Result<(), &'static str> {
        let colon = memchr(b':', line).ok_or("a line without a colon")?;
        let (name, value) = (trim_blanks_end(&line[..colon]), &line[colon + 1..]);
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        let (length, coding) = (is("content-length"), is("transfer-encoding"));
        self.framing = length || coding;
        if self.framing && name.len() < colon {
            return Err("a space before the colon of a field that frames the body");
        }
        self.skipped = !is_name(name);
        if self.skipped {
            return match hides_framing(name) {
                true => Err("the name of a field that frames the body is not valid"),
                false => Ok(()),
            };
        }
        if self.framing && value.iter().any(|byte| is_control(*byte)) {
            return Err("a control character in a field that frames the body");
        }
        if coding && value.trim_ascii().eq_ignore_ascii_case(b"identity") {
            (self.identity, self.skipped) = (true, true);
            return Ok(());
        }
        self.lengths |= length;
        self.codings |= coding;
        self.text.extend_from_slice(name);
        self.text.push(b':');
        put_value(value, &mut self.text)?;
        self.text.extend_from_slice(b"\r\n");
        Ok(())
    }

    fn end(mut self, length: usize) -> Result<Rewritten, &'static str> {
        if self.codings && (self.lengths || self.identity) {
            return Err("a transfer coding beside a length or another coding");
        }
        self.text.extend_from_slice(b"\r\n");
        Ok(Rewritten {
            text: self.text,
            length,
            last: self.identity || self.strange,
        })
    }
}

/// A trailer as `name: value\r\n`, or nothing if its name is invalid; trailers frame nothing.
pub(crate) fn put_trailer(line: &[u8], block: &mut Vec<u8>) -> Option<()> {
    let colon = memchr(b':', line)?;
    let name = trim_blanks_end(&line[..colon]);
    if is_name(name) && !line.contains(&0) {
        block.extend(name.iter().map(u8::to_ascii_lowercase));
        block.extend_from_slice(b": ");
        block.extend(line[colon + 1..].trim_ascii().iter().map(cleaned));
        block.extend_from_slice(b"\r\n");
    }
    Some(())
}

/// Replaces control characters by spaces. Fails if one of them may end a line for another reader, who would then find a
/// framing field after it.
fn put_value(value: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let behind = memchr(b'\r', value).map_or(&[][..], |at| &value[at..]);
    if hides_framing(behind) {
        return Err("a field that frames the body behind a line break in another one");
    }
    out.extend(value.iter().map(cleaned));
    Ok(())
}

fn cleaned(byte: &u8) -> u8 {
    match is_control(*byte) {
        true => b' ',
        false => *byte,
    }
}

/// Whether the letters and digits among these bytes contain the name of a framing field.
fn hides_framing(bytes: &[u8]) -> bool {
    let letters: Vec<u8> = bytes
        .iter()
        .filter(|byte| byte.is_ascii_alphanumeric())
        .map(u8::to_ascii_lowercase)
        .collect();
    let has = |word: &str| memchr::memmem::find(&letters, word.as_bytes()).is_some();
    has("contentlength") || has("transferencoding")
}

fn is_control(byte: u8) -> bool {
    byte.is_ascii_control() && byte != b'\t'
}

fn is_name(name: &[u8]) -> bool {
    http::HeaderName::from_bytes(name).is_ok()
}

/// The text before the first space, and the text after the spaces.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = memchr(b' ', text).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let begin = rest.iter().position(|byte| *byte != b' ');
    (word, &rest[begin.unwrap_or(rest.len())..])
}

#[cfg(test)]
mod tests;
