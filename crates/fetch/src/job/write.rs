//! A job as TOML, there and back, and in what two jobs differ.

use std::path::Path;

use super::Job;
use super::from_text::parse;
use super::hosts::HostSettings;
use crate::error::{Error, Result, at};

/// The halves of a job that a folder keeps for good.
const KEPT: [&str; 3] = ["input", "request", "results"];

impl Job {
    /// The TOML of a job file, all settings and defaults in it.
    ///
    /// # Errors
    /// When a path of it is no text.
    pub fn to_toml(&self) -> Result<String> {
        toml::to_string_pretty(self)
            .map_err(|error| Error::failed(format!("the job cannot be written as TOML: {error}")))
    }

    /// Reads a job file.
    ///
    /// # Errors
    /// When it cannot be read, or names what there is not.
    pub fn read(path: &Path) -> Result<Job> {
        let text = std::fs::read_to_string(path).map_err(at("read", path))?;
        Job::parse(&text, &path.display().to_string())
    }

    /// The job that a text of this name holds.
    ///
    /// # Errors
    /// When it is none, with the line.
    pub fn parse(text: &str, name: &str) -> Result<Job> {
        parse(text, name)
    }

    /// The settings that a folder keeps for good and that differ, each with both values:
    /// `request.method was "GET", is "POST"`.
    ///
    /// # Errors
    /// As [`Job::to_toml`].
    pub fn differences(&self, now: &Job) -> Result<Vec<String>> {
        let [was, is] =
            [self, now].map(|job| job.to_toml().map(|text| text.parse::<toml::Table>()));
        let (Ok(was), Ok(is)) = (was?, is?) else {
            return Ok(Vec::new());
        };
        let mut found = self.differing_hosts(now);
        for half in KEPT {
            let [was, is] =
                [&was, &is].map(|table| table.get(half).and_then(toml::Value::as_table));
            let (Some(was), Some(is)) = (was, is) else {
                continue;
            };
            let mut names: Vec<&String> = was.keys().chain(is.keys()).collect();
            names.sort();
            names.dedup();
            for name in names
                .into_iter()
                .filter(|name| was.get(*name) != is.get(*name))
            {
                let shown = |value: Option<&toml::Value>| {
                    value.map_or("absent".into(), toml::Value::to_string)
                };
                let (was, is) = (shown(was.get(name)), shown(is.get(name)));
                found.push(format!("{half}.{name} was {was}, is {is}"));
            }
        }
        Ok(found)
    }

    /// Hosts whose requests differ. Their rates and proxies may change, as those of the job may.
    fn differing_hosts(&self, now: &Job) -> Vec<String> {
        let nothing = HostSettings::default();
        let mut names: Vec<&String> = self.hosts.keys().chain(now.hosts.keys()).collect();
        names.sort();
        names.dedup();
        let of = |job: &Job, name: &String| {
            let settings = job.hosts.get(name).unwrap_or(&nothing);
            settings.of_requests()
        };
        names.retain(|name| of(self, name) != of(now, name));
        let texts = names.iter();
        texts
            .map(|name| format!("the headers or credentials of hosts.{name:?} were others"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::job::Rate;

    #[test]
    fn a_job_comes_back_from_its_toml() {
        let mut job = Job::default();
        job.input.files.push("urls.txt".into());
        job.request.url = Some("https://example.com/{sku}".into());
        job.network.read_timeout = Some(Duration::from_millis(1500));
        for rate in [Rate::Fixed(20.0), Rate::Auto(None), Rate::Auto(Some(5.0))] {
            job.pace.rate = Some(rate);
            let text = job.to_toml().unwrap();
            assert_eq!(Job::parse(&text, "job.toml").unwrap(), job, "{text}");
        }
        let whole = Job::parse("[pace]\nrate = 20\n", "job.toml").unwrap();
        assert_eq!(whole.pace.rate, Some(Rate::Fixed(20.0)));
    }

    #[test]
    fn names_of_an_older_version_are_read() {
        let old = r#"
            seal = ["csv"]
            [results]
            inline_most = 7
            [pace]
            longest_pause = "1m"
            breaker_rest = "2s"
        "#;
        let job = Job::parse(old, "job.toml").unwrap();
        assert_eq!(job.final_tables.len(), 1);
        assert_eq!(job.results.inline_limit, 7);
        assert_eq!(job.pace.max_retry_after, Duration::from_secs(60));
        assert_eq!(job.pace.breaker_cooldown, Duration::from_secs(2));
        assert!(job.differences(&job).unwrap().is_empty());
    }

    #[test]
    fn what_is_unknown_is_refused_with_its_line() {
        let error = Job::parse("[pace]\nconcurency = 5\n", "job.toml")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("job.toml: line 2") && error.contains("concurency"),
            "{error}"
        );
    }

    #[test]
    fn only_what_the_records_are_may_not_change() {
        let mut now = Job::default();
        now.pace.concurrency = 5;
        assert_eq!(
            Job::default().differences(&now).unwrap(),
            Vec::<String>::new()
        );
        now.request.method = "POST".into();
        let differences = Job::default().differences(&now).unwrap();
        assert_eq!(differences, ["request.method was \"GET\", is \"POST\""]);
    }
}
