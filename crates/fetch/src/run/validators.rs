//! The validators of a response (its ETag and its date), with which a later request finds out whether it has changed.

use hecaton::Response;

use super::resume::only;
use crate::record::Validators;
use crate::request::Rendered;

/// The validators of a response to a safe request, if they can be sent.
pub fn validators(rendered: &Rendered<'_>, response: &Response) -> Option<Validators> {
    if response.status() != 200 || !matches!(&*rendered.method, "GET" | "HEAD") {
        return None;
    }
    let is_tag = |tag: &&str| {
        let tag = tag.strip_prefix("W/").unwrap_or(tag);
        let inner = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
        inner.is_some_and(|inner| {
            inner
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && byte != b'"')
        })
    };
    let etag = only(response, "etag").filter(is_tag).map(str::to_owned);
    let modified = only(response, "last-modified");
    let modified = modified.filter(|date| httpdate::parse_http_date(date).is_ok());
    let modified = modified.map(str::to_owned);
    (etag.is_some() || modified.is_some()).then_some(Validators { etag, modified })
}
