//! The head of a request as it was sent, read as leniently as possible: the audit must see what is wrong with it.

use super::hpack::Field;

/// The head of a request.
#[derive(Clone)]
pub(super) struct Head {
    /// All of it, with its empty line.
    pub(super) text: String,
}

impl Head {
    /// The head at the start of `bytes`, and its length; none if it is not complete.
    pub(super) fn take(bytes: &[u8]) -> Option<(Head, usize)> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
        let text = String::from_utf8_lossy(&bytes[..end]).into_owned();
        Some((Head { text }, end))
    }

    /// The head that fields of HTTP/2 or HTTP/3 stand for.
    pub(super) fn of_fields(fields: &[Field], version: &str) -> Head {
        let pseudo = |name: &str| {
            let found = fields.iter().find(|(found, _)| found == name);
            found.map_or("", |(_, value)| value.as_str())
        };
        let mut text = format!("{} {} {version}\r\n", pseudo(":method"), pseudo(":path"));
        text += &format!("host: {}\r\n", pseudo(":authority"));
        for (name, value) in fields.iter().filter(|(name, _)| !name.starts_with(':')) {
            text += &format!("{name}: {value}\r\n");
        }
        Head {
            text: text + "\r\n",
        }
    }

    fn word(&self, index: usize) -> &str {
        let line = self.text.lines().next().unwrap_or_default();
        line.split(' ').nth(index).unwrap_or_default()
    }

    pub(super) fn method(&self) -> &str {
        self.word(0)
    }

    pub(super) fn target(&self) -> &str {
        self.word(1)
    }

    /// The path of the target, also of one in absolute form.
    pub(super) fn path(&self) -> &str {
        let target = self.target();
        let path = match target.split_once("://") {
            Some((_, rest)) => rest.find('/').map_or("/", |at| &rest[at..]),
            None => target,
        };
        path.split(['?', '#']).next().unwrap_or_default()
    }

    /// The value of a header field.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.text.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found
                .trim()
                .eq_ignore_ascii_case(name)
                .then(|| value.trim())
        })
    }

    pub(super) fn is_chunked(&self) -> bool {
        self.field("transfer-encoding")
            .is_some_and(|coding| coding.to_ascii_lowercase().contains("chunked"))
    }

    pub(super) fn length(&self) -> usize {
        self.field("content-length")
            .and_then(|length| length.parse().ok())
            .unwrap_or_default()
    }

    pub(super) fn expects_continue(&self) -> bool {
        self.field("expect")
            .is_some_and(|value| value.eq_ignore_ascii_case("100-continue"))
    }
}
