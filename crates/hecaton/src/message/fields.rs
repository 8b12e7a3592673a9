//! Header fields as one block of lines, `name: value\r\n` with names in lower case.

use std::sync::LazyLock;

use memchr::memchr;
use memchr::memmem::Finder;

/// The fields after a body, as such a block; none if there are none.
pub(crate) type Trailers = Option<Box<Vec<u8>>>;

/// A block of fields, looked at without a copy.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// The value of a field, the first one if it is repeated; the name in any case.
    pub fn get(self, name: &str) -> Option<&'a [u8]> {
        self.all(name).next()
    }

    /// The values of a field; the name in any case.
    pub fn all(self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let named = move |line: &&[u8]| is_named(line, name.as_bytes());
        let value = move |line: &'a [u8]| &line[name.len() + 2..];
        self.lines().filter(named).map(value)
    }

    /// The value of the first `content-type`. A search for the name is faster than a look at each field, and nearly
    /// every response is searched for it.
    pub fn content_type(self) -> Option<&'a [u8]> {
        static NAME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("content-type: "));
        let mut searched = 0;
        loop {
            let at = searched + NAME.find(&self.0[searched..])?;
            searched = at + NAME.needle().len();
            // Elsewhere it is part of a value, or the end of a longer name.
            if at == 0 || self.0[at - 1] == b'\n' {
                let value = &self.0[searched..];
                return Some(&value[..memchr(b'\r', value)?]);
            }
        }
    }

    /// Names and values in order.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        self.lines().map_while(|line| {
            let colon = memchr(b':', line)?;
            let name = std::str::from_utf8(&line[..colon]).ok()?;
            Some((name, &line[colon + 2..]))
        })
    }

    fn lines(self) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            // No value contains a line break, so the first one ends the field.
            let end = memchr(b'\r', rest)?;
            let (line, after) = rest.split_at(end);
            rest = &after[2..];
            Some(line)
        })
    }
}

/// Whether the name of a field, which ends at the first colon, is this one.
fn is_named(line: &[u8], name: &[u8]) -> bool {
    line.get(name.len()) == Some(&b':')
        && line[..name.len()].eq_ignore_ascii_case(name)
        && !name.contains(&b':')
}

/// The text without spaces and tabs at its end. Other characters that count as blank elsewhere may end a line
/// for another reader.
pub(crate) fn trim_blanks_end(text: &[u8]) -> &[u8] {
    let last = text.iter().rposition(|byte| !b" \t".contains(byte));
    &text[..last.map_or(0, |last| last + 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_type_is_the_first_field_of_that_name() {
        let fields = |text: &'static str| Fields(text.as_bytes());
        for text in [
            "content-type: a\r\n",
            "x-content-type: b\r\ncontent-type: a\r\ncontent-type: c\r\n",
            "x: content-type: b\r\ncontent-type-x: c\r\ncontent-type: a\r\n",
            "x: 1\r\ncontent-type: \r\n",
            "x: content-type: b\r\n",
            "x-content-type: b\r\n",
            "",
        ] {
            let fields = fields(text);
            assert_eq!(
                fields.content_type(),
                fields.get("content-type"),
                "{text:?}"
            );
        }
    }

    #[test]
    fn the_first_field_of_a_name_in_any_case() {
        let fields = Fields(b"x-a: 1\r\nx-ab: y:z\r\nx-a: 2\r\nempty: \r\n");
        assert_eq!(fields.get("X-A"), Some(&b"1"[..]));
        assert_eq!(fields.get("x-ab"), Some(&b"y:z"[..]));
        assert_eq!(fields.get("empty"), Some(&b""[..]));
        for absent in ["", "x", "x-", "x-ab: y", "x-abc", "empty: "] {
            assert_eq!(fields.get(absent), None, "{absent:?}");
        }
        assert_eq!(fields.iter().count(), 4);
    }
}
