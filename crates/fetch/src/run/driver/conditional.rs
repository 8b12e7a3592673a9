//! `again --if-changed`: requests that name the version that the job has.

use hecaton::{Request, Response};

use super::Flight;
use crate::job::{Job, split_header};
use crate::plan::Version;

/// The headers that set a condition.
const CONDITIONS: [&str; 5] = [
    "if-match",
    "if-none-match",
    "if-modified-since",
    "if-unmodified-since",
    "range",
];

/// Whether the requests of a job have conditions of their own, which then are the only ones.
pub(super) fn has_own(job: &Job) -> bool {
    let names = job.request.headers.iter();
    let mut names = names.filter_map(|header| Some(split_header(header).ok()?.0));
    names.any(|name| {
        CONDITIONS
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
    })
}

/// The version that a request for this URL may name: the validators of one URL say nothing of another.
fn version<'a>(flight: &'a Flight, url: &str) -> Option<&'a Version> {
    let version = flight.pending.planned.earlier.as_ref()?.version.as_ref()?;
    let same = |url: &str| url.split('#').next().map(str::to_owned);
    (same(&version.url) == same(url)).then_some(version)
}

/// The request, with the version that the job has.
///
/// # Errors
/// When it cannot be sent.
pub(super) fn request(request: Request, flight: &Flight, url: &str) -> Result<Request, String> {
    let Some(version) = version(flight, url) else {
        return Ok(request);
    };
    let fields = [
        ("If-None-Match", &version.validators.etag),
        ("If-Modified-Since", &version.validators.modified),
    ];
    let fields = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let mut fields = fields;
    fields.try_fold(request, |request, (name, value)| {
        let added = request.header(name, value.as_bytes());
        added.map_err(|error| error.to_string())
    })
}

/// Whether a response says that the version still holds: then whether that was good.
pub(super) fn holds(flight: &Flight, url: &str, response: &Response) -> Option<bool> {
    let version = version(flight, url).filter(|_| response.status() == 304)?;
    Some(version.ok)
}
