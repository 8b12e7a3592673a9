//! `again --if-changed`: requests that name the version that the job has.

use hecaton::Request;

use super::flights::Flight;
use crate::job::{Job, split_header};
use crate::plan::Version;

/// The headers beside which a request names no version: conditions of its own, and a part that it asks for.
const CONDITIONS: [&str; 5] = [
    "if-match",
    "if-none-match",
    "if-modified-since",
    "if-unmodified-since",
    "range",
];

/// Which kinds of headers the settings of a job set, and those of each host with settings of its own.
pub(super) struct JobHeaders {
    of_job: HeaderKinds,
    of_hosts: Vec<HeaderKinds>,
}

/// Kinds of headers that a request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeaderKinds {
    /// A condition, which then is the only one.
    pub condition: bool,
    /// A version, which a 304 then says still holds.
    pub version: bool,
    /// The part of a body that is asked for.
    pub range: bool,
    /// The range or the coding of a body, so that fetch leaves both alone.
    pub part_or_coding: bool,
}

impl HeaderKinds {
    fn of(headers: &[String]) -> HeaderKinds {
        HeaderKinds {
            condition: names_one_of(headers, &CONDITIONS),
            version: names_one_of(headers, &["if-none-match", "if-modified-since"]),
            range: names_one_of(headers, &["range"]),
            part_or_coding: names_one_of(headers, &["range", "if-range", "accept-encoding"]),
        }
    }

    fn or(self, other: HeaderKinds) -> HeaderKinds {
        HeaderKinds {
            condition: self.condition || other.condition,
            version: self.version || other.version,
            range: self.range || other.range,
            part_or_coding: self.part_or_coding || other.part_or_coding,
        }
    }
}

impl JobHeaders {
    /// The headers of a job.
    pub fn of(job: &Job) -> JobHeaders {
        let hosts = job.hosts.values();
        JobHeaders {
            of_job: HeaderKinds::of(&job.request.headers),
            of_hosts: hosts.map(|host| HeaderKinds::of(&host.headers)).collect(),
        }
    }

    /// Those of a request, by the position of the settings of a host whose headers it has.
    pub fn to(&self, host: Option<usize>) -> HeaderKinds {
        host.map_or(self.of_job, |host| self.of_job.or(self.of_hosts[host]))
    }
}

fn names_one_of(headers: &[String], known: &[&str]) -> bool {
    let headers = headers.iter();
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
    fn headers_of_a_host_count_for_its_requests_alone() {
        let text = "[hosts.\"a.example\"]\nheaders = [\"accept-encoding: gzip\"]\n\
             [hosts.\"b.example\"]\nheaders = [\"if-none-match: 1\"]\n\
             [hosts.\"c.example\"]\nheaders = [\"Range: bytes=0-9\"]\n";
        let job: Job = toml::from_str(text).unwrap();
        let headers = JobHeaders::of(&job);
        let kinds = [None, Some(0), Some(1), Some(2)].map(|host| {
            let kinds = headers.to(host);
            [
                kinds.condition,
                kinds.version,
                kinds.range,
                kinds.part_or_coding,
            ]
        });
        assert_eq!(
            kinds,
            [
                [false, false, false, false],
                [false, false, false, true],
                [true, true, false, false],
                [true, false, true, true],
            ]
        );
    }

    #[test]
    fn headers_of_the_job_count_for_all_requests() {
        let text = "[request]\nheaders = [\"range: bytes=0-9\"]\n[hosts.\"a.example\"]\nrate = 1\n";
        let headers = JobHeaders::of(&toml::from_str(text).unwrap());
        assert!([None, Some(0)].iter().all(|host| headers.to(*host).range));
    }
}
