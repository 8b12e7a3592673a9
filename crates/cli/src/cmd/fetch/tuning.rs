//! How a job is done: the pace, retries, and connections. All of it may change when a job resumes.

use std::path::Path;
use std::time::Duration;

use clap::Args;
use hecaton_fetch::job::{
    Hosts, Job, MinSpeed, Network, Pace, Rate, Reach, StopAfter, bytes, read_hosts,
};

use super::arguments::{duration, set, set_some};

/// The options that say how a job is done.
#[derive(Args, Clone)]
pub struct Tuning {
    /// Exit with status 3 if this is true of the finished job's counts, such as 'not_ok > 1 %', and otherwise with 0.
    /// Terms can be combined, such as 'ok < 99 % or unknown > 0'. 'never' accepts any number of inputs without a good
    /// response [default: status 4 if an input has no good response]. If no input has one, the status is always 3.
    #[arg(long, value_name = "EXPRESSION")]
    fail_if: Option<String>,
    /// Maximum requests in flight [default: 200]
    #[arg(short = 'c', long, value_name = "N", help_heading = PACE)]
    concurrency: Option<usize>,
    /// Maximum requests in flight to one host [default: 8; no limit for your own hosts]
    #[arg(long, value_name = "N", help_heading = PACE)]
    per_host: Option<usize>,
    /// Maximum requests per second to one host; auto finds what each host can take, and auto:N at most N. Needed if a
    /// host that is not yours has more than 10 inputs [default: 10, with auto too; no limit for your own hosts]
    #[arg(long, allow_negative_numbers = true, value_name = "N", help_heading = PACE)]
    rate: Option<Rate>,
    /// The largest share of the requests in flight that one host may have, above 0 [default: 1]
    #[arg(long, allow_negative_numbers = true, value_name = "SHARE", help_heading = PACE)]
    max_host_share: Option<f64>,
    /// All hosts are your own. Hosts of this machine and of private networks are your own without this option.
    #[arg(long, help_heading = PACE)]
    i_own_these_hosts: bool,
    /// Maximum retries of a request [default: 2]
    #[arg(long, value_name = "N", help_heading = PACE)]
    retries: Option<u32>,
    /// Maximum retries for one host, as a share of its requests; ten are always allowed [default: 0.2]
    #[arg(long, allow_negative_numbers = true, value_name = "SHARE", help_heading = PACE)]
    retry_budget: Option<f64>,
    /// Statuses to retry besides 429, 502, 503, 504, and 520 to 527. 429 and 503 are retried until --wait-out has
    /// passed, and do not count as retries [default: none besides]
    #[arg(long, value_name = "STATUS,…", value_delimiter = ',', help_heading = PACE)]
    retry_status: Option<Vec<u16>>,
    /// Pause a host after this many requests in a row without a response; 0 means never. A 502, 503 or 504 counts as no
    /// response, and any other status as one [default: 20]
    #[arg(long, value_name = "N", help_heading = PACE)]
    breaker: Option<u32>,
    /// How long a host is paused after `--breaker` trips; doubles each time, up to 5m [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = PACE)]
    breaker_cooldown: Option<Duration>,
    /// How long a host may send no response, or only 429 and 503, before its remaining inputs are given up as
    /// `unreached` [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = PACE)]
    wait_out: Option<Duration>,
    /// Stop with status 5 after a time (2h) or a number of body bytes (10G); the same command resumes
    #[arg(long, value_name = "TIME|BYTES", help_heading = PACE)]
    stop_after: Option<StopAfter>,
    /// Maximum body bytes per second, from all hosts together, such as 20M [default: no limit].
    #[arg(long, value_name = "BYTES", value_parser = bytes::<u64>, help_heading = PACE)]
    max_bandwidth: Option<u64>,
    /// Give up on a host after this many pauses [default: as many as fit into --wait-out].
    #[arg(long, value_name = "N", help_heading = PACE)]
    breaker_probes: Option<u32>,
    /// The longest pause that a host may request with Retry-After [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = PACE)]
    max_retry_after: Option<Duration>,
    /// Fetch each host's robots.txt first and obey it, with its Crawl-delay.
    #[arg(long, help_heading = PACE)]
    robots: bool,
    /// The name whose rules in robots.txt are obeyed [default: the product token of the User-Agent, such as ExampleBot]
    #[arg(long, value_name = "NAME", help_heading = PACE)]
    robots_name: Option<String>,
    /// The longest Crawl-delay to obey; the inputs of a host that demands more are skipped [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = PACE)]
    max_crawl_delay: Option<Duration>,
    /// A TOML file with settings for individual hosts: rate, per_host, max_bandwidth, headers, auth, bearer and proxy.
    #[arg(long, value_name = "FILE", value_parser = hosts, help_heading = PACE)]
    hosts: Option<Hosts>,
    /// Time limit for one attempt, body included. For bodies that are written to disk as they arrive (files, warc,
    /// tar), the longest time without a byte [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = NETWORK)]
    timeout: Option<Duration>,
    /// Time limit for opening a connection [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = NETWORK)]
    connect_timeout: Option<Duration>,
    /// The longest wait for the head of a response [default: only --timeout].
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = NETWORK)]
    first_byte_timeout: Option<Duration>,
    /// The longest time between two pieces of a body [default: only --timeout].
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = NETWORK)]
    read_timeout: Option<Duration>,
    /// Give up on a body, and retry, if fewer bytes than this arrive in this time, such as 1k/30s. Only for bodies that
    /// are written to disk as they arrive [default: no limit].
    #[arg(long, value_name = "BYTES/TIME", help_heading = NETWORK)]
    min_speed: Option<MinSpeed>,
    /// Maximum redirects to follow; with 0 the redirect itself is recorded, and does not count as good [default: 5]
    #[arg(long, value_name = "N", help_heading = NETWORK)]
    redirects: Option<u32>,
    /// Which redirects to follow: site (to the same host, with or without www.) or any [default: site].
    #[arg(long, value_name = "WHERE", value_parser = reach, help_heading = NETWORK)]
    redirects_to: Option<Reach>,
    /// Store cookies and send them back, while the command runs.
    #[arg(long, help_heading = NETWORK)]
    cookies: bool,
    /// The version of HTTP, 1.1 or 2 [default: what the server chooses].
    #[arg(long, value_name = "VERSION", help_heading = NETWORK)]
    http: Option<String>,
    /// The URL of a proxy (as env:NAME if it holds a user or a password), or none. May be repeated: requests use them
    /// in turn [default: HTTP_PROXY and related variables].
    #[arg(long, value_name = "URL", help_heading = NETWORK)]
    proxy: Vec<String>,
    /// A PEM file with the certificate authorities to trust [default: the system's].
    #[arg(long, value_name = "FILE", help_heading = NETWORK)]
    ca: Option<String>,
    /// A PEM file with the client certificate to show.
    #[arg(long, value_name = "FILE", help_heading = NETWORK)]
    client_cert: Option<String>,
    /// A PEM file with the key of --client-cert.
    #[arg(long, value_name = "FILE", help_heading = NETWORK)]
    client_key: Option<String>,
    /// Do not verify certificates. Dangerous: anyone between you and the server can read and change everything.
    #[arg(long, help_heading = NETWORK)]
    no_verify: bool,
    /// Maximum bytes of a body. A longer body is an error [default: 64 MiB; no limit for bodies that are written to
    /// disk as they arrive]
    #[arg(long, value_name = "BYTES", value_parser = bytes::<usize>, help_heading = NETWORK)]
    max_body: Option<usize>,
    /// Maximum bytes of all bodies that are being received. Beyond it, some are requested again later, with fewer
    /// requests in flight [default: 256 MiB]
    #[arg(long, value_name = "BYTES", value_parser = bytes::<usize>, help_heading = NETWORK)]
    max_buffered: Option<usize>,
    /// Addresses that may be connected to: public, any, or a network such as 10.0.0.0/8. May be repeated [default:
    /// public, and any for hosts of your own]
    #[arg(long, value_name = "NETWORK", help_heading = NETWORK)]
    allow_address: Vec<String>,
    /// Do not request compressed bodies, and keep bodies as received.
    #[arg(long, help_heading = NETWORK)]
    no_decode: bool,
    /// The User-Agent header.
    #[arg(long, value_name = "TEXT", help_heading = NETWORK)]
    user_agent: Option<String>,
    /// The address of a host, used instead of the one in DNS; the host * stands for all others. May be repeated.
    #[arg(long, value_name = "HOST:PORT:ADDRESS", help_heading = NETWORK)]
    resolve: Vec<String>,
}

const PACE: &str = "Pace";
const NETWORK: &str = "Network";

fn reach(text: &str) -> Result<Reach, &'static str> {
    match text {
        "site" => Ok(Reach::Site),
        "any" => Ok(Reach::Any),
        _ => Err("use site or any"),
    }
}

fn hosts(path: &str) -> Result<Hosts, String> {
    read_hosts(Path::new(path)).map_err(|error| error.to_string())
}

impl Tuning {
    /// Puts what was given into a job.
    pub fn change(&self, job: &mut Job) {
        set_some(&mut job.fail_if, &self.fail_if);
        set(&mut job.hosts, &self.hosts);
        self.change_pace(&mut job.pace);
        self.change_network(&mut job.network);
    }

    fn change_pace(&self, pace: &mut Pace) {
        set(&mut pace.concurrency, &self.concurrency);
        set_some(&mut pace.per_host, &self.per_host);
        set_some(&mut pace.rate, &self.rate);
        set(&mut pace.max_host_share, &self.max_host_share);
        pace.own_hosts |= self.i_own_these_hosts;
        set(&mut pace.retries, &self.retries);
        set(&mut pace.retry_budget, &self.retry_budget);
        for status in self.retry_status.iter().flatten() {
            if !pace.retry_statuses.contains(status) {
                pace.retry_statuses.push(*status);
            }
        }
        set(&mut pace.breaker, &self.breaker);
        set(&mut pace.breaker_cooldown, &self.breaker_cooldown);
        set(&mut pace.wait_out, &self.wait_out);
        set_some(&mut pace.stop_after, &self.stop_after);
        set_some(&mut pace.max_bandwidth, &self.max_bandwidth);
        set_some(&mut pace.breaker_probes, &self.breaker_probes);
        set(&mut pace.max_retry_after, &self.max_retry_after);
        pace.robots |= self.robots;
        set_some(&mut pace.robots_name, &self.robots_name);
        set(&mut pace.max_crawl_delay, &self.max_crawl_delay);
    }

    fn change_network(&self, network: &mut Network) {
        set(&mut network.timeout, &self.timeout);
        set(&mut network.connect_timeout, &self.connect_timeout);
        set_some(&mut network.first_byte_timeout, &self.first_byte_timeout);
        set_some(&mut network.read_timeout, &self.read_timeout);
        set_some(&mut network.min_speed, &self.min_speed);
        set(&mut network.redirects, &self.redirects);
        set(&mut network.redirects_to, &self.redirects_to);
        network.cookies |= self.cookies;
        set_some(&mut network.http, &self.http);
        if !self.proxy.is_empty() {
            network.proxy.clone_from(&self.proxy);
        }
        set_some(&mut network.ca, &self.ca);
        set_some(&mut network.client_cert, &self.client_cert);
        set_some(&mut network.client_key, &self.client_key);
        network.verify &= !self.no_verify;
        set_some(&mut network.max_body, &self.max_body);
        set(&mut network.max_buffered, &self.max_buffered);
        if !self.allow_address.is_empty() {
            network.allow_address.clone_from(&self.allow_address);
        }
        network.decode &= !self.no_decode;
        set_some(&mut network.user_agent, &self.user_agent);
        network.resolve.extend(self.resolve.iter().cloned());
    }
}
