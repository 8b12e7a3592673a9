//! `again --if-changed`: requests that name the version that the job has.

use hecaton::Request;

use super::flights::Flight;
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

/// Which kinds of headers the settings of a job and of its hosts set.
pub(super) struct JobHeaders {
    /// Whether all requests have conditions.
    conditions: bool,
    /// Whether the requests to each host with settings of its own have some.
    conditions_of_hosts: Vec<bool>,
    /// Whether a request may name a version, which a 304 then says still holds.
    pub version: bool,
    /// Whether a request may ask for a part of a body.
    pub range: bool,
    /// Whether a request may choose the range or the coding of a body, so that fetch leaves both alone.
    pub part_or_coding: bool,
}

impl JobHeaders {
    /// The headers of a job.
    pub fn of(job: &Job) -> JobHeaders {
        let of_job = job.request.headers.iter();
        let of_hosts = job.hosts.values().flat_map(|host| &host.headers);
        let all = of_job.clone().chain(of_hosts);
        let of_each = job.hosts.values().map(|host| host.headers.iter());
        JobHeaders {
            conditions: names_one_of(of_job, &CONDITIONS),
            conditions_of_hosts: of_each.map(|own| names_one_of(own, &CONDITIONS)).collect(),
            version: names_one_of(all.clone(), &["if-none-match", "if-modified-since"]),
            range: names_one_of(all.clone(), &["range"]),
            part_or_coding: names_one_of(all, &["range", "if-range", "accept-encoding"]),
        }
    }

    /// Whether a request has conditions, which then are the only ones; by the position of its host's settings.
    pub fn have_condition(&self, host: Option<usize>) -> bool {
        self.conditions || host.is_some_and(|host| self.conditions_of_hosts[host])
    }
}

fn names_one_of<'a>(headers: impl Iterator<Item = &'a String>, known: &[&str]) -> bool {
    let mut names = headers.filter_map(|header| Some(split_header(header).ok()?.0));
    names.any(|name| known.iter().any(|known| name.eq_ignore_ascii_case(known)))
}

/// The version that a request for this URL may name: the validators of one URL say nothing of another.
pub(super) fn version<'a>(flight: &'a Flight, url: &str) -> Option<&'a Version> {
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
    let mut fields = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name, value.as_ref()?)));
    fields.try_fold(request, |request, (name, value)| {
        let added = request.header(name, value.as_bytes());
        added.map_err(|error| error.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_a_host_count_as_those_of_the_job() {
        let text = "[hosts.\"a.example\"]\nheaders = [\"accept-encoding: gzip\"]\n\
             [hosts.\"b.example\"]\nheaders = [\"if-none-match: 1\"]\n";
        let job: Job = toml::from_str(text).unwrap();
        let headers = JobHeaders::of(&job);
        assert!(headers.part_or_coding && headers.version);
        assert!(!JobHeaders::of(&Job::default()).part_or_coding);
        let of_hosts = [None, Some(0), Some(1)].map(|host| headers.have_condition(host));
        assert_eq!(of_hosts, [false, false, true]);
    }
}
