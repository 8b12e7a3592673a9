//! Refuses values that mean more than themselves where they stand, although each of their characters is escaped.

use std::ops::Range;

use serde::de::IgnoredAny;

use super::parse::Manner;

/// Looks at a value in a URL, which is there in this range. A segment of a path that is empty, `.` or `..` names another
/// resource, and without a host the first segment of the path is the host.
pub(super) fn check_url(
    url: &str,
    manner: Manner,
    range: Range<usize>,
) -> Result<(), &'static str> {
    let Some(authority) = url.find("://").map(|at| at + 3) else {
        return Ok(());
    };
    let end_of =
        |from: usize, any: &[char]| url[from..].find(any).map_or(url.len(), |at| from + at);
    let (path, end) = (
        end_of(authority, &['/', '?', '#']),
        end_of(authority, &['?', '#']),
    );
    if manner == Manner::Raw || range.start < authority || range.start > end {
        return Ok(());
    }
    if range.start <= path {
        return match range.is_empty() {
            true => Err("is empty where the host of the URL is"),
            false => Ok(()),
        };
    }
    let begin = url[..range.start].rfind('/').map_or(path, |at| at + 1);
    let segment = &url[begin..end_of(range.end, &['/', '?', '#'])];
    match segment.to_ascii_lowercase().replace("%2e", ".").as_str() {
        "" if manner == Manner::Optional => Ok(()),
        "" => Err("is empty, which makes another path: write {name?} if that is meant"),
        "." => Err("makes the segment \".\", which is no name in a path"),
        ".." => Err("makes the segment \"..\", which stands for the folder above"),
        _ => Ok(()),
    }
}

/// Whether the place behind a piece of JSON is in a text, if the place before it is or is not.
pub(super) fn is_in_quotes(mut is_in: bool, piece: &str) -> bool {
    let mut bytes = piece.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if is_in => drop(bytes.next()),
            b'"' => is_in = !is_in,
            _ => {}
        }
    }
    is_in
}

/// Looks at a value that stands outside of quotes in JSON, where only a value of JSON stays one value.
pub(super) fn check_json(value: &str) -> Result<(), &'static str> {
    serde_json::from_str::<IgnoredAny>(value)
        .map(drop)
        .map_err(|_| "stands outside of quotes in a body of JSON, and is no JSON itself")
}
