//! The headers of a job: those that all requests have, with the credentials, and those that differ.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::hosts::Constant;
use super::parts::Text;
use crate::error::Result;
use crate::job::{RequestSettings, reveal, split_header};
use crate::template::Escaping;

/// The headers that all requests have, and those that differ.
pub type Headers = (Vec<Constant>, Vec<(String, Text)>);

/// The headers of a job whose inputs have these columns.
///
/// # Errors
/// When a header names another column, or a secret is not there.
pub fn headers(settings: &RequestSettings, columns: &[String]) -> Result<Headers> {
    let (mut constant, mut differing) = (Vec::new(), Vec::new());
    for header in &settings.headers {
        let (name, value) = split_header(header)?;
        match Text::parse(value, Escaping::Header, columns)? {
            Text::Constant(value) => constant.push((name.to_owned(), reveal(&value)?.into_bytes())),
            value => differing.push((name.to_owned(), value)),
        }
    }
    constant.extend(authorization(&settings.auth, &settings.bearer)?);
    Ok((constant, differing))
}

/// Headers whose values are as they stand.
pub fn constant_of(headers: &[String]) -> Result<Vec<Constant>> {
    let read = |header: &String| {
        let (name, value) = split_header(header)?;
        Ok((name.to_owned(), reveal(value)?.into_bytes()))
    };
    headers.iter().map(read).collect()
}

/// The header of credentials, if there are some.
pub fn authorization(auth: &Option<String>, bearer: &Option<String>) -> Result<Option<Constant>> {
    let value = match (auth, bearer) {
        (Some(auth), _) => format!("Basic {}", STANDARD.encode(reveal(auth)?)),
        (None, Some(bearer)) => format!("Bearer {}", reveal(bearer)?),
        (None, None) => return Ok(None),
    };
    Ok(Some(("Authorization".into(), value.into_bytes())))
}
