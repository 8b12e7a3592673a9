//! Settings as a person writes them, in options of the command and in files.

use std::fs::File;
use std::io::Read;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::error::Error;

/// A duration as a person writes it.
///
/// # Errors
/// What is wrong with it, and how to write one.
pub fn duration(text: &str) -> Result<Duration, String> {
    let number = text.trim();
    if number
        .parse()
        .is_ok_and(|it: f64| it.is_finite() && it > 0.0)
    {
        return Err(format!(
            "{number} has no unit: write {number}ms or {number}s"
        ));
    }
    humantime::parse_duration(text)
        .map_err(|_| format!("`{text}` is not a duration; write 500ms, 10s or 2m"))
}

/// The largest body that a file may hold.
const MAX_BODY: u64 = 16 << 20;

/// The body itself, or that of the file behind an `@`.
pub(super) fn body(text: &str) -> Result<String, String> {
    let Some(path) = text.strip_prefix('@') else {
        return Ok(text.to_owned());
    };
    if path == "-" {
        return Err("standard input is for the list: name a file".into());
    }
    let refused = |error: std::io::Error| format!("cannot read {path}: {}", error.kind());
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(refused)?;
    let read = file.take(MAX_BODY + 1).read_to_end(&mut bytes);
    if read.map_err(refused)? as u64 > MAX_BODY {
        return Err(format!(
            "{path} has more than {MAX_BODY} bytes, and the job keeps the body"
        ));
    }
    String::from_utf8(bytes).map_err(|_| format!("{path} is not UTF-8, and a body is text"))
}

/// Name and value of `Name: value`.
///
/// # Errors
/// When there is no colon.
pub fn split_header(header: &str) -> Result<(&str, &str), Error> {
    let split = header
        .split_once(':')
        .filter(|(name, _)| !name.trim().is_empty());
    let (name, value) = split.ok_or_else(|| {
        Error::usage(format!(
            "the header {header:?} has no name: write 'Name: value'"
        ))
    })?;
    Ok((name.trim(), value.trim()))
}

/// Reads TOML. The error names the file and the line.
pub(super) fn parse<T: DeserializeOwned>(text: &str, name: &str) -> Result<T, Error> {
    toml::from_str(text).map_err(|error| {
        let before = error.span().map(|span| &text[..span.start]);
        let line = before.map(|before| before.matches('\n').count() + 1);
        let line = line.map(|line| format!(" line {line}:"));
        let line = line.unwrap_or_default();
        Error::usage(format!("{name}:{line} {}", error.message()))
    })
}
