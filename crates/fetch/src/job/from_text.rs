//! Settings as a person writes them, for options of the command.

use std::fs::File;
use std::io::Read;
use std::str::FromStr;
use std::time::Duration;

use super::{BodyStorage, Reach, TableFormat};

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

impl FromStr for BodyStorage {
    type Err = String;

    fn from_str(text: &str) -> Result<BodyStorage, String> {
        Ok(match text {
            "none" => BodyStorage::None,
            "inline" => BodyStorage::Inline,
            "files" => BodyStorage::Files,
            "warc" => BodyStorage::Warc,
            "tar" => BodyStorage::Tar,
            _ => return Err("use none, inline, files, warc or tar".into()),
        })
    }
}

impl FromStr for TableFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<TableFormat, String> {
        let forms = [TableFormat::Csv, TableFormat::Parquet];
        let form = forms.into_iter().find(|form| form.name() == text);
        let form = form.ok_or("use csv or parquet")?;
        form.check().map_err(|error| error.to_string())?;
        Ok(form)
    }
}

impl FromStr for Reach {
    type Err = String;

    fn from_str(text: &str) -> Result<Reach, String> {
        match text {
            "site" => Ok(Reach::Site),
            "any" => Ok(Reach::Any),
            _ => Err("use site or any".into()),
        }
    }
}
