//! Refuses jobs that cannot be done, with one sentence each, before anything is planned or sent.

use std::time::Duration;

use super::from_text::split_header;
use super::hosts::{HostSettings, Hosts};
use super::rate::Rate;
use super::secret::{is_bare, may_be_secret};
use super::{Job, Pace};
use crate::error::{Error, Result};

/// The longest time that a host may be let alone.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// The largest body in a record. With escapes it is six times as long, and readers accept records of 256 MiB.
const LARGEST_INLINE: usize = 32 << 20;

impl Job {
    /// Refuses what cannot be done.
    ///
    /// # Errors
    /// One sentence that names the setting.
    pub fn check(&self) -> Result<()> {
        if self.input.files.is_empty() && self.input.sitemap.is_empty() {
            return Err(Error::usage(
                "there is no input: name a file of URLs, or - for standard input",
            ));
        }
        if !self.input.sitemap.is_empty() && !self.input.files.is_empty() {
            return Err(Error::usage(
                "sitemaps and lists are two sorts of input: give one, and add the other with `hecaton fetch add`",
            ));
        }
        if self.input.part_size == 0 {
            return Err(Error::usage(
                "part_size is 0, which makes no part: use about how many inputs a worker is to have at a time",
            ));
        }
        let request = &self.request;
        check_credentials(&request.auth, &request.bearer, &request.headers)?;
        check_pace(&self.pace)?;
        check_hosts(&self.hosts)?;
        check_proxies(&self.network.proxy)?;
        check_sizes(self)?;
        check_responses(self)?;
        let network = &self.network;
        for (name, time) in [
            ("timeout", Some(network.timeout)),
            ("connect_timeout", Some(network.connect_timeout)),
            ("first_byte_timeout", network.first_byte_timeout),
            ("read_timeout", network.read_timeout),
        ] {
            if time.is_some_and(|time| time.is_zero()) {
                return Err(Error::usage(format!(
                    "{name} is 0, which fails every request: use a second or more"
                )));
            }
        }
        Ok(())
    }
}

fn check_sizes(job: &Job) -> Result<()> {
    at_least_one(&[
        ("max_bandwidth", job.pace.max_bandwidth == Some(0)),
        ("max_body", job.network.max_body == Some(0)),
    ])?;
    match job.results.inline_limit > LARGEST_INLINE {
        true => Err(Error::usage(
            "inline_limit is more than 32 MiB: store such bodies with files, warc or tar",
        )),
        false => Ok(()),
    }
}

/// Refuses what no response has, and what would therefore never be noticed.
fn check_responses(job: &Job) -> Result<()> {
    let statuses = &job.pace.retry_statuses;
    if let Some(status) = statuses.iter().find(|it| !(100..1000).contains(*it)) {
        return Err(Error::usage(format!(
            "retry_statuses has {status}, which no response has: use statuses from 100 to 999"
        )));
    }
    let is_name = |name: &String| http::HeaderName::from_bytes(name.as_bytes()).is_ok();
    match job.results.headers.iter().find(|name| !is_name(name)) {
        Some(name) => Err(Error::usage(format!(
            "{name:?} is not the name of a header to keep: use a name such as ETag, without a value"
        ))),
        None => Ok(()),
    }
}

/// Refuses settings that are 0, by their names.
fn at_least_one(settings: &[(&str, bool)]) -> Result<()> {
    match settings.iter().find(|(_, is_zero)| *is_zero) {
        Some((name, _)) => Err(Error::usage(format!("{name} is 0: use at least 1"))),
        None => Ok(()),
    }
}

fn check_hosts(hosts: &Hosts) -> Result<()> {
    hosts.iter().try_for_each(|(name, host)| {
        let of = |error: Error| Error::usage(format!("hosts.{name:?}: {error}"));
        check_host(host).map_err(of)
    })
}

fn check_host(host: &HostSettings) -> Result<()> {
    check_credentials(&host.auth, &host.bearer, &host.headers)?;
    at_least_one(&[
        ("per_host", host.per_host == Some(0)),
        ("max_bandwidth", host.max_bandwidth == Some(0)),
    ])?;
    check_proxies(&host.proxy)?;
    check_rate(host.rate)
}

fn check_rate(rate: Option<Rate>) -> Result<()> {
    rate.map_or(Ok(()), Rate::check).map_err(Error::usage)
}

fn check_credentials(
    auth: &Option<String>,
    bearer: &Option<String>,
    headers: &[String],
) -> Result<()> {
    for (name, value) in [("auth", auth), ("bearer", bearer)] {
        if value.as_ref().is_some_and(|value| is_bare(value)) {
            return Err(Error::usage(format!(
                "{name} is a secret, and the folder keeps the job: put it into a variable and give {name} as env:NAME"
            )));
        }
    }
    if auth.is_some() && bearer.is_some() {
        return Err(Error::usage(
            "auth and bearer are two kinds of credentials: give one",
        ));
    }
    for header in headers {
        let (name, value) = split_header(header)?;
        if may_be_secret(name, value) {
            return Err(Error::usage(format!(
                "the header {name} may hold a secret, and the folder keeps the job: put it into a variable and give '{name}: env:NAME'"
            )));
        }
    }
    Ok(())
}

/// Refuses a user or a password in the URL of a proxy. Some proxies take a key as the user.
fn check_proxies(proxies: &[String]) -> Result<()> {
    match proxies.iter().any(|url| is_bare(url) && url.contains('@')) {
        true => Err(Error::usage(
            "proxy has a user or a password, and the folder keeps the job: put the URL into a variable and give proxy as env:NAME",
        )),
        false => Ok(()),
    }
}

fn check_pace(pace: &Pace) -> Result<()> {
    let refused = |text: String| Err(Error::usage(text));
    at_least_one(&[
        ("concurrency", pace.concurrency == 0),
        ("per_host", pace.per_host == Some(0)),
    ])?;
    check_rate(pace.rate)?;
    for (name, time) in [
        ("max_retry_after", pace.max_retry_after),
        ("breaker_cooldown", pace.breaker_cooldown),
        ("wait_out", pace.wait_out),
        ("max_crawl_delay", pace.max_crawl_delay),
    ] {
        if time > LONGEST {
            return refused(format!("{name} is more than a year: use 365 days at most"));
        }
    }
    if !(pace.max_host_share > 0.0 && pace.max_host_share <= 1.0) {
        let share = pace.max_host_share;
        return refused(format!(
            "max_host_share is {share}: use a number above 0, and 1 at most"
        ));
    }
    if !(pace.retry_budget.is_finite() && pace.retry_budget >= 0.0) {
        let budget = pace.retry_budget;
        return refused(format!("retry_budget is {budget}: use 0 or more"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        let mut job = Job::default();
        job.input.files.push("urls.txt".into());
        job
    }

    #[test]
    fn sizes_that_no_job_can_have_are_refused() {
        let refused = |change: &dyn Fn(&mut Job)| {
            let mut job = job();
            change(&mut job);
            job.check().err().map(|error| error.to_string())
        };
        let body = |most| move |job: &mut Job| job.network.max_body = Some(most);
        let inline = |most| move |job: &mut Job| job.results.inline_limit = most;
        assert_eq!(refused(&body(1)), None);
        assert!(refused(&body(0)).unwrap().contains("max_body"));
        assert_eq!(refused(&inline(LARGEST_INLINE)), None);
        assert!(
            refused(&inline(LARGEST_INLINE + 1))
                .unwrap()
                .contains("inline_limit")
        );
        let file =
            "[network]\nmax_body = \"10KiB\"\nmax_buffered = 7\n[pace]\nmax_bandwidth = \"20M\"\n";
        let read = Job::parse(file, "job.toml").unwrap();
        assert_eq!(
            (read.network.max_body, read.network.max_buffered),
            (Some(10 << 10), 7)
        );
        assert_eq!(read.pace.max_bandwidth, Some(20_000_000));
        assert!(Job::parse("[network]\nmax_body = 0\n", "job.toml").is_err());
    }

    #[test]
    fn secrets_are_named_and_never_written() {
        let mut bare = job();
        for header in [
            "Authorization: Bearer abc",
            "authorization: Bearer {column}",
            "X-Functions-Key: abc",
            "Ocp-Apim-Subscription-Key: abc",
            "X-Api-Key: {{abc}}",
        ] {
            bare.request.headers = vec![header.into()];
            let refused = bare.check().unwrap_err().to_string();
            assert!(refused.contains("env:NAME"), "{refused}");
        }
        for header in [
            "Accept: text/html",
            "X-Shop: tea",
            "X-Api-Key: {key}",
            "x-any: env:ANY",
        ] {
            bare.request.headers = vec![header.into()];
            bare.check().unwrap();
        }
        let mut named = job();
        named
            .request
            .headers
            .push("Authorization: env:TOKEN".into());
        named.request.bearer = Some("env:TOKEN".into());
        named.check().unwrap();
        named.request.bearer = Some("abc".into());
        assert!(named.check().is_err());
        let mut proxied = job();
        proxied.network.proxy = vec!["http://proxy:3128".into(), "env:PROXY".into()];
        proxied.check().unwrap();
        proxied
            .network
            .proxy
            .push("http://user:secret@proxy:3128".into());
        let refused = proxied.check().unwrap_err().to_string();
        assert!(refused.contains("env:NAME") && !refused.contains("secret"));
        let of_host = HostSettings {
            proxy: vec!["http://key@proxy".into()],
            ..HostSettings::default()
        };
        let mut by_host = job();
        by_host.hosts.insert("a.example".into(), of_host);
        let refused = by_host.check().unwrap_err().to_string();
        assert!(refused.contains("a.example") && !refused.contains("key@"));
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_name() {
        job().check().unwrap();
        type Spoil = fn(&mut Job);
        let refused: [(&str, Spoil); 11] = [
            ("first_byte_timeout is 0", |job| {
                job.network.first_byte_timeout = Some(Duration::ZERO)
            }),
            ("read_timeout is 0", |job| {
                job.network.read_timeout = Some(Duration::ZERO)
            }),
            ("retry_statuses has 0", |job| {
                job.pace.retry_statuses.push(0)
            }),
            ("\"ETag: x\" is not the name", |job| {
                job.results.headers.push("ETag: x".into())
            }),
            ("no input", |job| job.input.files.clear()),
            ("concurrency", |job| job.pace.concurrency = 0),
            ("rate", |job| job.pace.rate = Some(Rate::Fixed(-1.0))),
            ("one a day", |job| job.pace.rate = Some(Rate::Fixed(1e-300))),
            ("breaker_cooldown", |job| {
                job.pace.breaker_cooldown = Duration::MAX
            }),
            ("max_host_share", |job| job.pace.max_host_share = 1.5),
            ("header", |job| job.request.headers.push("nothing".into())),
        ];
        for (word, spoil) in refused {
            let mut job = job();
            spoil(&mut job);
            let error = job.check().unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }
}
