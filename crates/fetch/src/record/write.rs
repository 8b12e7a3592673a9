//! A record → its line. By hand, because there are many: the tests of `run/line.rs` compare it with
//! [`Record`](super::Record).

use serde::Serialize;

use super::cell::Cell;
use super::ending::{Ending, header};
use super::fields::{FIELDS, Name, Written};

/// A line that is being written, at one of its fields.
pub struct Line<'a> {
    out: &'a mut Vec<u8>,
    key: &'static str,
}

/// Appends the line of a record.
pub fn write(out: &mut Vec<u8>, ending: &Ending<'_>) {
    let begin = out.len();
    for field in FIELDS {
        let mut line = Line {
            out,
            key: field.key,
        };
        match field.written {
            Written::Value => line.value(field.names, ending),
            Written::Object => line.object(field.names, ending),
            Written::By(write) => write(ending, &mut line),
        }
    }
    // Every field begins with a comma.
    match out.get_mut(begin) {
        Some(first) => *first = b'{',
        None => out.push(b'{'),
    }
    out.extend_from_slice(b"}\n");
}

impl Line<'_> {
    fn value(&mut self, names: &[Name], ending: &Ending<'_>) {
        for name in names {
            match (name.now)(ending) {
                Cell::Nothing => {}
                cell => {
                    key(self.out, b',', self.key);
                    value(self.out, &cell);
                }
            }
        }
    }

    fn object(&mut self, names: &[Name], ending: &Ending<'_>) {
        let mut before = None;
        for name in names {
            let cell = (name.now)(ending);
            if cell == Cell::Nothing {
                continue;
            }
            if before.is_none() {
                key(self.out, b',', self.key);
            }
            key(self.out, before.unwrap_or(b'{'), name.inside);
            value(self.out, &cell);
            before = Some(b',');
        }
        if before.is_some() {
            self.out.push(b'}');
        }
    }
}

/// The columns of the input.
pub(super) fn columns(ending: &Ending<'_>, line: &mut Line<'_>) {
    json(line, ending.columns);
}

/// The headers that are recorded and present.
pub(super) fn headers(ending: &Ending<'_>, line: &mut Line<'_>) {
    let Some(response) = ending.response else {
        return;
    };
    let names = ending.headers.iter();
    let found = names.filter_map(|name| Some((name, header(response, name)?)));
    let mut before = None;
    for (name, value) in found {
        if before.is_none() {
            key(line.out, b',', line.key);
        }
        line.out.push(before.unwrap_or(b'{'));
        text(line.out, name);
        line.out.push(b':');
        text(line.out, &value);
        before = Some(b',');
    }
    if before.is_some() {
        line.out.push(b'}');
    }
}

/// A value as JSON, if there is one.
pub(super) fn json(line: &mut Line<'_>, value: Option<&impl Serialize>) {
    if let Some(value) = value {
        key(line.out, b',', line.key);
        // Text, numbers and maps of them become JSON, and a vector takes it.
        let _ = serde_json::to_writer(&mut *line.out, value);
    }
}

fn key(out: &mut Vec<u8>, before: u8, name: &str) {
    out.push(before);
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn value(out: &mut Vec<u8>, cell: &Cell<'_>) {
    match cell {
        Cell::Nothing => out.extend_from_slice(b"null"),
        Cell::Bool(true) => out.extend_from_slice(b"true"),
        Cell::Bool(false) => out.extend_from_slice(b"false"),
        Cell::Integer(integer) => {
            out.extend_from_slice(itoa::Buffer::new().format(*integer).as_bytes());
        }
        Cell::Number(number) => decimals(out, *number),
        Cell::Text(it) => text(out, it),
    }
}

/// With three decimals.
fn decimals(out: &mut Vec<u8>, number: f64) {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time that was measured"
    )]
    let thousandths = (number * 1e3).round() as u64;
    out.extend_from_slice(itoa::Buffer::new().format(thousandths / 1000).as_bytes());
    let rest = (thousandths % 1000) as u16;
    let decimals = [rest / 100, rest / 10 % 10, rest % 10].map(|digit| b'0' + digit as u8);
    out.push(b'.');
    out.extend_from_slice(&decimals);
}

/// A text, of which most need no escapes.
fn text(out: &mut Vec<u8>, value: &str) {
    let is_plain = |byte: &u8| *byte >= 0x20 && *byte != b'"' && *byte != b'\\';
    if value.as_bytes().iter().all(is_plain) {
        out.push(b'"');
        out.extend_from_slice(value.as_bytes());
        out.push(b'"');
    } else {
        let _ = serde_json::to_writer(out, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_decimals() {
        for (number, text) in [
            (1002.003, "1002.003"),
            (0.0, "0.000"),
            (0.05, "0.050"),
            (7.0, "7.000"),
        ] {
            let mut out = Vec::new();
            decimals(&mut out, number);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }
}
