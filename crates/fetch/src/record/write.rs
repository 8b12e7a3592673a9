//! A record → its line. By hand, because there are many: the tests of `run/line.rs` compare it with
//! [`Record`](super::Record).

use serde::Serialize;

use super::cell::Cell;
use super::ending::{Ending, header};
use super::fields::{Name, write_all};

/// A line that is being written, at one of its fields.
pub struct Line<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) key: &'static str,
}

/// Appends the line of a record.
pub fn write(out: &mut Vec<u8>, ending: &Ending<'_>) {
    let begin = out.len();
    write_all(out, ending);
    // Every field begins with a comma.
    match out.get_mut(begin) {
        Some(first) => *first = b'{',
        None => out.push(b'{'),
    }
    out.extend_from_slice(b"}\n");
}

/// The value of the only name of a field, if there is one.
#[inline]
pub(super) fn value(line: &mut Line<'_>, names: &[Name], ending: &Ending<'_>) {
    for name in names {
        match (name.now)(ending) {
            Cell::Nothing => {}
            value => {
                key(line.out, b',', line.key);
                cell(line.out, &value);
            }
        }
    }
}

/// An object of the values of a field.
pub(super) fn object(line: &mut Line<'_>, names: &[Name], ending: &Ending<'_>) {
    let values = names.iter().map(|name| (name.inside, (name.now)(ending)));
    members(line, values);
}

/// The headers that are recorded and present.
pub(super) fn headers(line: &mut Line<'_>, _: &[Name], ending: &Ending<'_>) {
    if let Some(response) = ending.response {
        let value = |name| header(response, name).map_or(Cell::Nothing, Cell::Text);
        let values = ending.headers.iter().map(|name| (&**name, value(name)));
        members(line, values);
    }
}

fn members<'a>(line: &mut Line<'_>, values: impl Iterator<Item = (&'a str, Cell<'a>)>) {
    let mut before = None;
    for (name, value) in values.filter(|(_, value)| !matches!(value, Cell::Nothing)) {
        if before.is_none() {
            key(line.out, b',', line.key);
        }
        key(line.out, before.unwrap_or(b'{'), name);
        cell(line.out, &value);
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

fn cell(out: &mut Vec<u8>, cell: &Cell<'_>) {
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
    let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    // All bytes, because many are looked at at once if none ends the search.
    if value.bytes().fold(true, |all, byte| all & is_plain(byte)) {
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
