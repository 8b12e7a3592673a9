//! Header fields as one block of lines, `name: value\r\n` with names in lower case.

/// A block of fields, looked at without a copy.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    /// The value of a field, the first one if it is repeated; the name in any case.
    pub fn get(self, name: &str) -> Option<&'a [u8]> {
        self.iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// Names and values in order.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            // No value contains a line break, so the first one ends the field.
            let end = rest.iter().position(|byte| *byte == b'\r')?;
            let (line, after) = rest.split_at(end);
            rest = &after[2..];
            let colon = line.iter().position(|byte| *byte == b':')?;
            Some((
                std::str::from_utf8(&line[..colon]).ok()?,
                &line[colon + 2..],
            ))
        })
    }
}
