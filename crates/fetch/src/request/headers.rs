//! The headers of a job: those that all requests have, with the credentials, and those that differ.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hecaton::{Defaults, Redirect, Template};

use super::parts::Text;
use crate::error::{Error, Result};
use crate::job::{RequestSettings, reveal, split_header};
use crate::template::Escaping;

/// A header that is the same in all requests.
pub type Constant = (String, Vec<u8>);

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

/// An origin that no request goes to (RFC 6761 §6.4). As the base of a request, it keeps back all headers that are not
/// public.
const NOBODY: &str = "http://nobody.invalid/";

/// The parts that requests share: at their origin and beyond it, as they were and as a redirect made them a GET.
pub struct Templates([[Arc<Template>; 2]; 2]);

impl Templates {
    /// Those with these headers.
    ///
    /// # Errors
    /// When a header cannot be sent.
    pub fn of(headers: &[Constant]) -> Result<Templates> {
        let both = |base_url| -> Result<_> {
            Ok([
                template(headers, base_url, false)?,
                template(headers, base_url, true)?,
            ])
        };
        Ok(Templates([both(None)?, both(Some(NOBODY))?]))
    }

    /// That of a request.
    pub fn at(&self, has_left: bool, became_get: bool) -> &Arc<Template> {
        &self.0[usize::from(has_left)][usize::from(became_get)]
    }
}

/// The part that requests with these headers share. A request that became a GET has no headers of its content.
fn template(
    headers: &[Constant],
    base_url: Option<&str>,
    became_get: bool,
) -> Result<Arc<Template>> {
    let stays = |name: &str| became_get && Redirect::describes_content(&name.to_ascii_lowercase());
    let headers = headers.iter().filter(|(name, _)| !stays(name));
    let defaults = Defaults {
        headers: headers.cloned().collect(),
        base_url: base_url.map(str::to_owned),
        ..Defaults::default()
    };
    let template = Template::new(&defaults).map_err(Error::usage)?;
    Ok(Arc::new(template))
}
