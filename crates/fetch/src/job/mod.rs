//! A job: one struct for the job file and the options of the command, and which settings may change on resuming.
//!
//! A job has two halves. `input`, `request` and `results` decide the records: a folder keeps them for good, and
//! refuses a job that differs. `pace` and `network` decide how the job is done, and may change when it resumes.
//! Secrets are named (`env:TOKEN`) and read when they are used, so that none is ever written.

mod bytes;
mod check;
mod choices;
mod from_text;
mod hosts;
mod min_speed;
mod rate;
mod secret;
mod stop_after;
mod write;

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};
use serde::{Deserialize, Serialize};

pub use self::bytes::bytes;
pub use self::choices::{BodyStorage, Reach, TableFormat};
use self::from_text::body;
pub use self::from_text::{duration, split_header};
pub use self::hosts::{HostSettings, Hosts, read as read_hosts};
pub use self::min_speed::MinSpeed;
pub use self::rate::Rate;
pub use self::secret::reveal;
pub use self::stop_after::StopAfter;

const PACE: &str = "Pace";
const NETWORK: &str = "Network";
const NO_HASH: &str = "Do not record a digest of each body";
const NO_VERIFY: &str = "Do not verify certificates. Dangerous: anyone between you and the server can read and change everything";
const NO_DECODE: &str = "Do not request compressed bodies, and keep bodies as received";

/// A job: what `job.toml` holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Job {
    /// The job fails if this is true of its counts, as in `not_ok > 1 %`; `never` is never true. The setting may change when a job resumes.
    pub fail_if: Option<String>,
    /// Tables that are written when the whole job is done. The setting may change when a job resumes.
    #[serde(alias = "seal", skip_serializing_if = "Vec::is_empty")]
    pub final_tables: Vec<TableFormat>,
    /// Where the inputs are.
    pub input: InputSettings,
    /// The request of each input.
    pub request: RequestSettings,
    /// The parts of a response that are recorded.
    pub results: ResultSettings,
    /// How much at once, and how often again.
    pub pace: Pace,
    /// How connections are made.
    pub network: Network,
    /// Settings of single hosts, by their names: `api.example.com`, or `*.example.com` for all hosts under it.
    #[serde(skip_serializing_if = "Hosts::is_empty")]
    pub hosts: Hosts,
}

/// Where the inputs are.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InputSettings {
    /// Files of them; `-` is standard input.
    #[arg(skip)]
    pub files: Vec<PathBuf>,
    /// The format of the lists: lines, csv, tsv, jsonl or parquet [default: by file name and first bytes].
    #[arg(long, value_name = "FORM")]
    pub format: Option<String>,
    /// A sitemap. The input is its URLs, and the URLs of the sitemaps that it lists. May be repeated.
    #[arg(long, value_name = "URL")]
    #[serde(
        deserialize_with = "hosts::one_or_many::deserialize",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub sitemap: Vec<String>,
    /// Send every request in the list, even repeated ones [default: skip duplicates].
    #[arg(long)]
    pub keep_duplicates: bool,
    /// Approximate number of inputs in a part; workers divide the job by parts [default: 100000]
    #[arg(long, value_name = "N")]
    pub part_size: u64,
}

impl Default for InputSettings {
    fn default() -> InputSettings {
        InputSettings {
            files: Vec::new(),
            format: None,
            sitemap: Vec::new(),
            keep_duplicates: false,
            part_size: 100_000,
        }
    }
}

/// The request of each input. All but `auth` may name columns: `https://example.com/p/{sku}`.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RequestSettings {
    /// The URL, with columns of the input in braces, as in https://example.com/{sku} [default: the column url].
    #[arg(id = "template", short = 't', long = "template", value_name = "URL")]
    pub url: Option<String>,
    /// The method; it may have columns in braces, as headers and the body may [default: GET]
    #[arg(short = 'X', long, value_name = "METHOD")]
    pub method: String,
    /// A header of each request; the value env:NAME is read from the environment, and must be so unless the header is
    /// public. May be repeated.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub headers: Vec<String>,
    /// The body of each request; @FILE reads it from a file, which may have columns in braces too.
    #[arg(long, value_name = "TEXT or @FILE", value_parser = body)]
    pub body: Option<String>,
    /// User and password for Basic authentication, as env:NAME.
    #[arg(long, value_name = "env:NAME")]
    pub auth: Option<String>,
    /// A token for Authorization: Bearer, as env:NAME.
    #[arg(long, value_name = "env:NAME")]
    pub bearer: Option<String>,
    /// Send an Idempotency-Key with each request, so that a POST may be sent again.
    #[arg(long)]
    pub idempotency_key: bool,
    /// Fetch the next page that each response names, and record each page: json:/POINTER, link:next (the header Link),
    /// css:SELECTOR@href or re:PATTERN.
    #[arg(long, value_name = "WHERE")]
    pub next: Option<String>,
    /// Maximum pages for one input [default: 1000]
    #[arg(long, value_name = "N")]
    pub max_pages: u32,
}

impl Default for RequestSettings {
    fn default() -> RequestSettings {
        RequestSettings {
            url: None,
            method: "GET".into(),
            headers: Vec::new(),
            body: None,
            auth: None,
            bearer: None,
            idempotency_key: false,
            next: None,
            max_pages: 1000,
        }
    }
}

/// The parts of a response that are recorded.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResultSettings {
    /// A header of the responses to keep in the records. May be repeated.
    #[arg(id = "keep_headers", long = "keep-header", value_name = "NAME")]
    pub headers: Vec<String>,
    /// Where to store response bodies: none, inline (into the records), files, warc or tar [default: none].
    #[arg(id = "keep_body", long = "keep-body", value_name = "WHERE")]
    pub body: BodyStorage,
    /// The names of files: columns in braces as in '{id}.jpg', url-path or content-disposition. Names are made safe and
    /// unique; the record has the path [default: the number of the input].
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Maximum bytes of a body that is kept inline; a longer body is truncated [default: 1048576]
    #[arg(long, value_name = "BYTES", value_parser = bytes::<usize>)]
    #[serde(alias = "inline_most", deserialize_with = "bytes::in_file")]
    pub inline_limit: usize,
    /// The digest of each body.
    #[arg(id = "no_hash", long = "no-hash", action = ArgAction::SetFalse, help = NO_HASH)]
    pub hash: bool,
    /// Record the SHA-256 of each body, too.
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sha256: bool,
    /// Record the MD5 of each body, too.
    #[arg(long)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub md5: bool,
    /// Compare each body with a column of the list that has its checksum, as sha256:COLUMN or md5:COLUMN. A body that
    /// differs is requested once more; if it differs again, the record has the error `checksum`.
    #[arg(long, value_name = "ALGORITHM:COLUMN")]
    pub verify: Option<String>,
    /// The condition for a good response, as in 'status == 200 and json:/stock > 0' [default: status < 300]
    #[arg(long, value_name = "EXPRESSION")]
    pub check: Option<String>,
    /// A value to take from each body: NAME=/json/pointer, NAME=css:SELECTOR or NAME=re:PATTERN. May be repeated.
    #[arg(long, value_name = "NAME=WHERE")]
    pub take: Vec<String>,
}

impl Default for ResultSettings {
    fn default() -> ResultSettings {
        ResultSettings {
            headers: Vec::new(),
            body: BodyStorage::None,
            name: None,
            inline_limit: 1 << 20,
            hash: true,
            sha256: false,
            md5: false,
            verify: None,
            check: None,
            take: Vec::new(),
        }
    }
}

/// How much at once, and how often again.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pace {
    /// Maximum requests in flight [default: 200]
    #[arg(short = 'c', long, value_name = "N", help_heading = PACE)]
    pub concurrency: usize,
    /// Maximum requests in flight to one host [default: 8; no limit for your own hosts]
    #[arg(long, value_name = "N", help_heading = PACE)]
    pub per_host: Option<usize>,
    /// Maximum requests per second to one host; auto finds what each host can take, and auto:N at most N. Needed if a
    /// host that is not yours has more than 10 inputs [default: 10, with auto too; no limit for your own hosts]
    #[arg(long, allow_negative_numbers = true, value_name = "N", help_heading = PACE)]
    pub rate: Option<Rate>,
    /// The largest share of the requests in flight that one host may have, above 0 [default: 1]
    #[arg(long, allow_negative_numbers = true, value_name = "SHARE", help_heading = PACE)]
    pub max_host_share: f64,
    /// All hosts are your own. Hosts of this machine and of private networks are your own without this option.
    #[arg(id = "i_own_these_hosts", long = "i-own-these-hosts", help_heading = PACE)]
    pub own_hosts: bool,
    /// Maximum retries of a request [default: 2]
    #[arg(long, value_name = "N", help_heading = PACE)]
    pub retries: u32,
    /// Maximum retries for one host, as a share of its other requests; ten are always allowed [default: 0.2]
    #[arg(long, allow_negative_numbers = true, value_name = "SHARE", help_heading = PACE)]
    pub retry_budget: f64,
    /// Statuses to retry besides 429, 502, 503, 504, and 520 to 527. 429 and 503 are retried until --wait-out has
    /// passed, and do not count as retries [default: none besides]
    #[arg(id = "retry_status", long = "retry-status", value_name = "STATUS,…", value_delimiter = ',', help_heading = PACE)]
    pub retry_statuses: Vec<u16>,
    /// The longest pause that a host may request with Retry-After [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = PACE)]
    #[serde(alias = "longest_pause", with = "humantime_text")]
    pub max_retry_after: Duration,
    /// Pause a host after this many requests in a row without a response; 0 means never. A 502, 503 or 504 counts as no
    /// response, and any other status as one [default: 20]
    #[arg(long, value_name = "N", help_heading = PACE)]
    pub breaker: u32,
    /// How long a host is paused after `--breaker` trips; doubles each time, up to 5m [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = PACE)]
    #[serde(alias = "breaker_rest", with = "humantime_text")]
    pub breaker_cooldown: Duration,
    /// Give up on a host after this many pauses [default: as many as fit into --wait-out].
    #[arg(long, value_name = "N", help_heading = PACE)]
    pub breaker_probes: Option<u32>,
    /// How long a host may send no response, or only 429 and 503, before its remaining inputs are given up as
    /// `unreached` [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = PACE)]
    #[serde(with = "humantime_text")]
    pub wait_out: Duration,
    /// Stop with status 5 after a time (2h) or a number of body bytes (10G); the same command resumes
    #[arg(long, value_name = "TIME|BYTES", help_heading = PACE)]
    #[serde(with = "text_option")]
    pub stop_after: Option<StopAfter>,
    /// Maximum body bytes per second, from all hosts together, such as 20M [default: no limit].
    #[arg(long, value_name = "BYTES", value_parser = bytes::<u64>, help_heading = PACE)]
    #[serde(deserialize_with = "bytes::in_file_some")]
    pub max_bandwidth: Option<u64>,
    /// Fetch each host's robots.txt first and obey it, with its Crawl-delay.
    #[arg(long, help_heading = PACE)]
    pub robots: bool,
    /// The name whose rules in robots.txt are obeyed [default: the product token of the User-Agent, such as ExampleBot]
    #[arg(long, value_name = "NAME", help_heading = PACE)]
    pub robots_name: Option<String>,
    /// The longest Crawl-delay to obey; the inputs of a host that demands more are skipped [default: 1m]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = PACE)]
    #[serde(with = "humantime_text")]
    pub max_crawl_delay: Duration,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            concurrency: 200,
            per_host: None,
            rate: None,
            max_host_share: 1.0,
            own_hosts: false,
            retries: 2,
            retry_budget: 0.2,
            retry_statuses: [429, 502, 503, 504].into_iter().chain(520..=527).collect(),
            max_retry_after: Duration::from_secs(3600),
            breaker: 20,
            breaker_cooldown: Duration::from_secs(10),
            breaker_probes: None,
            wait_out: Duration::from_secs(600),
            stop_after: None,
            max_bandwidth: None,
            robots: false,
            robots_name: None,
            max_crawl_delay: Duration::from_secs(60),
        }
    }
}

/// How connections are made: settings of the engine, by their names there.
#[derive(Args, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Network {
    /// Time limit for one attempt, body included. For bodies that are written to disk as they arrive (files, warc,
    /// tar), the longest time without a byte [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = NETWORK)]
    #[serde(with = "humantime_text")]
    pub timeout: Duration,
    /// Time limit for opening a connection [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = NETWORK)]
    #[serde(with = "humantime_text")]
    pub connect_timeout: Duration,
    /// The longest wait for the head of a response [default: only --timeout].
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = NETWORK)]
    #[serde(with = "humantime_option")]
    pub first_byte_timeout: Option<Duration>,
    /// The longest time between two pieces of a body [default: only --timeout].
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = NETWORK)]
    #[serde(with = "humantime_option")]
    pub read_timeout: Option<Duration>,
    /// Give up on a body, and retry, if fewer bytes than this arrive in this time, such as 1k/30s. Only for bodies that
    /// are written to disk as they arrive [default: no limit].
    #[arg(long, value_name = "BYTES/TIME", help_heading = NETWORK)]
    #[serde(with = "text_option")]
    pub min_speed: Option<MinSpeed>,
    /// Maximum redirects to follow; with 0 the redirect itself is recorded, and does not count as good [default: 5]
    #[arg(long, value_name = "N", help_heading = NETWORK)]
    pub redirects: u32,
    /// Which redirects to follow: site (to the same host, with or without www.) or any [default: site].
    #[arg(long, value_name = "WHERE", help_heading = NETWORK)]
    pub redirects_to: Reach,
    /// Store cookies and send them back, while the command runs.
    #[arg(long, help_heading = NETWORK)]
    pub cookies: bool,
    /// The version of HTTP, 1.1, 2 or 3 [default: what the server chooses].
    #[arg(long, value_name = "VERSION", help_heading = NETWORK)]
    pub http: Option<String>,
    /// The URL of a proxy (as env:NAME if it holds a user or a password), or none. May be repeated: requests use them
    /// in turn [default: HTTP_PROXY and related variables].
    #[arg(long, value_name = "URL", help_heading = NETWORK)]
    #[serde(with = "hosts::one_or_many", skip_serializing_if = "Vec::is_empty")]
    pub proxy: Vec<String>,
    /// A PEM file with the certificate authorities to trust [default: the system's].
    #[arg(long, value_name = "FILE", help_heading = NETWORK)]
    pub ca: Option<String>,
    /// A PEM file with the client certificate to show.
    #[arg(long, value_name = "FILE", help_heading = NETWORK)]
    pub client_cert: Option<String>,
    /// A PEM file with the key of --client-cert.
    #[arg(long, value_name = "FILE", help_heading = NETWORK)]
    pub client_key: Option<String>,
    /// Whether certificates are verified.
    #[arg(id = "no_verify", long = "no-verify", action = ArgAction::SetFalse, help_heading = NETWORK, help = NO_VERIFY)]
    pub verify: bool,
    /// Maximum bytes of a body. A longer body is an error [default: 64 MiB; no limit for bodies that are written to
    /// disk as they arrive]
    #[arg(long, value_name = "BYTES", value_parser = bytes::<usize>, help_heading = NETWORK)]
    #[serde(deserialize_with = "bytes::in_file_some")]
    pub max_body: Option<usize>,
    /// Maximum bytes of all bodies that are being received. Beyond it, some are requested again later, with fewer
    /// requests in flight [default: 256 MiB]
    #[arg(long, value_name = "BYTES", value_parser = bytes::<usize>, help_heading = NETWORK)]
    #[serde(deserialize_with = "bytes::in_file")]
    pub max_buffered: usize,
    /// Addresses that may be connected to: public, any, or a network such as 10.0.0.0/8. May be repeated [default:
    /// public, and any for hosts of your own]
    #[arg(long, value_name = "NETWORK", help_heading = NETWORK)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_address: Vec<String>,
    /// Whether compressed bodies are accepted, and decoded.
    #[arg(id = "no_decode", long = "no-decode", action = ArgAction::SetFalse, help_heading = NETWORK, help = NO_DECODE)]
    pub decode: bool,
    /// The User-Agent header.
    #[arg(long, value_name = "TEXT", help_heading = NETWORK)]
    pub user_agent: Option<String>,
    /// The address of a host, used instead of the one in DNS; the host * stands for all others. May be repeated.
    #[arg(long, value_name = "HOST:PORT:ADDRESS", help_heading = NETWORK)]
    pub resolve: Vec<String>,
}

impl Default for Network {
    fn default() -> Network {
        Network {
            timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: None,
            read_timeout: None,
            min_speed: None,
            redirects: 5,
            redirects_to: Reach::Site,
            cookies: false,
            http: None,
            proxy: Vec::new(),
            ca: None,
            client_cert: None,
            client_key: None,
            verify: true,
            max_body: None,
            max_buffered: 256 << 20,
            allow_address: Vec::new(),
            decode: true,
            user_agent: None,
            resolve: Vec::new(),
        }
    }
}

/// Durations as `10s` and `1m 30s`.
mod humantime_text {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&humantime::format_duration(*value))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(from)?;
        humantime::parse_duration(&text)
            .map_err(|error| D::Error::custom(format!("{text:?} is not a duration: {error}")))
    }
}

/// Durations as text, where a duration is optional.
mod humantime_option {
    use std::time::Duration;

    use serde::{Deserializer, Serializer};

    pub fn serialize<S: Serializer>(value: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => super::humantime_text::serialize(value, to),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        super::humantime_text::deserialize(from).map(Some)
    }
}

/// Optional values that are written and read as text.
mod text_option {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<T: Display, S: Serializer>(
        value: &Option<T>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => to.collect_str(value),
            None => to.serialize_none(),
        }
    }

    pub fn deserialize<'de, T, D>(from: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err = String>,
        D: Deserializer<'de>,
    {
        let text = String::deserialize(from)?;
        text.parse().map(Some).map_err(D::Error::custom)
    }
}
