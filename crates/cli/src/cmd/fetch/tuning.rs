//! How a job is done: the pace, retries, and connections. All of it may change when a job resumes.

use std::path::Path;

use clap::Args;
use hecaton_fetch::job::{Hosts, Job, Network, Pace, read_hosts};

use super::given::Given;

/// The options that say how a job is done.
#[derive(Args, Clone)]
pub struct Tuning {
    /// Exit with status 3 if this is true of the finished job's counts, such as 'not_ok > 1 %', and otherwise with 0.
    /// Terms can be combined, such as 'ok < 99 % or unknown > 0'. 'never' accepts any number of inputs without a good
    /// response [default: status 4 if an input has no good response]. If no input has one, the status is always 3.
    #[arg(long, value_name = "EXPRESSION")]
    fail_if: Option<String>,
    #[command(flatten)]
    pace: Given<Pace>,
    /// A TOML file with settings for individual hosts: rate, per_host, max_bandwidth, headers, auth, bearer and proxy.
    #[arg(long, value_name = "FILE", value_parser = hosts, help_heading = "Pace")]
    hosts: Option<Hosts>,
    #[command(flatten)]
    network: Given<Network>,
}

fn hosts(path: &str) -> Result<Hosts, String> {
    read_hosts(Path::new(path)).map_err(|error| error.to_string())
}

impl Tuning {
    /// Puts what was given into a job.
    pub fn change(&self, job: &mut Job) {
        if self.fail_if.is_some() {
            job.fail_if.clone_from(&self.fail_if);
        }
        if let Some(hosts) = &self.hosts {
            job.hosts.clone_from(hosts);
        }
        let (statuses, resolve) = (&mut job.pace.retry_statuses, &mut job.network.resolve);
        let (usual, known) = (std::mem::take(statuses), std::mem::take(resolve));
        self.pace.change(&mut job.pace);
        self.network.change(&mut job.network);
        // These add to what the job has.
        for status in std::mem::replace(&mut job.pace.retry_statuses, usual) {
            if !job.pace.retry_statuses.contains(&status) {
                job.pace.retry_statuses.push(status);
            }
        }
        job.network.resolve.splice(0..0, known);
    }
}
