//! A job: one struct for the job file and the command line, its defaults, and which settings may change on resuming.
//!
//! A job has two halves. `input`, `request` and `results` decide the records: a folder keeps them for good, and
//! refuses a job that differs. `pace` and `network` decide how the job is done, and may change when it resumes.
//! Secrets are named (`env:TOKEN`) and read when they are used, so that none is ever written.

mod bytes;
mod check;
mod hosts;
mod min_speed;
mod rate;
mod secret;
mod stop_after;
mod write;

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize};

pub use self::bytes::bytes;
pub use self::check::split_header;
pub use self::hosts::{HostSettings, Hosts, read as read_hosts};
pub use self::min_speed::MinSpeed;
pub use self::rate::Rate;
pub use self::secret::reveal;
pub use self::stop_after::StopAfter;

/// A job: what `job.toml` holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Job {
    /// The job fails if this is true of its counts, as in `not_ok > 1 %`; `never` is never true. The setting may change when a job resumes.
    #[serde(skip_serializing_if = "Option::is_none")]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InputSettings {
    /// Files of them; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// `lines`, `csv`, `jsonl` or `parquet`; by the file's name when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The URLs of sitemaps: one, or several in a list.
    #[serde(
        deserialize_with = "one_or_several",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub sitemap: Vec<String>,
    /// Send a request for every input, also for duplicates.
    pub keep_duplicates: bool,
    /// About how many inputs are a part: what one worker has at a time.
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

/// A text, or a list of texts.
fn one_or_several<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Texts {
        One(String),
        Several(Vec<String>),
    }
    Ok(match Texts::deserialize(from)? {
        Texts::One(text) => vec![text],
        Texts::Several(texts) => texts,
    })
}

/// The request of each input. All but `auth` may name columns: `https://example.com/p/{sku}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RequestSettings {
    /// The URL; the column `url` when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The method.
    pub method: String,
    /// Headers, each `Name: value`.
    pub headers: Vec<String>,
    /// The body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// `user:password`, sent as Basic authentication; best as `env:NAME`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth: Option<String>,
    /// A token, sent as `Authorization: Bearer`; best as `env:NAME`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bearer: Option<String>,
    /// Send an `Idempotency-Key`: the same for an input whenever it is sent, so that it may be sent again.
    pub idempotency_key: bool,
    /// Where a response says which page is next: `json:/next`, `link:next`, `css:a.next@href` or `re:…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Most pages of an input.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResultSettings {
    /// Names of headers.
    pub headers: Vec<String>,
    /// Where bodies go.
    pub body: BodyStorage,
    /// The names of files: columns in braces, `url-path` or `content-disposition`. When absent, the numbers of inputs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Most bytes of a body that is stored inline; a longer one is cut there.
    #[serde(alias = "inline_most", deserialize_with = "bytes::in_file")]
    pub inline_limit: usize,
    /// The digest of each body.
    pub hash: bool,
    /// The SHA-256 of each body, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sha256: bool,
    /// The MD5 of each body, too.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub md5: bool,
    /// `sha256:COLUMN` or `md5:COLUMN`: a body whose checksum differs from the column is requested once more, and then
    /// an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<String>,
    /// The condition for a good response; when absent, a status under 300.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Values to take from each body: `name=/json/pointer`, `name=css:…`, `name=re:…`.
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

/// The format of a table of all records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TableFormat {
    /// CSV.
    Csv,
    /// Parquet.
    Parquet,
}

impl TableFormat {
    /// Its name, which is also what its files end with.
    pub fn name(self) -> &'static str {
        match self {
            TableFormat::Csv => "csv",
            TableFormat::Parquet => "parquet",
        }
    }
}

/// Where bodies go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BodyStorage {
    /// Nowhere.
    #[default]
    None,
    /// Into the records.
    Inline,
    /// A file each.
    Files,
    /// WARC files.
    Warc,
    /// tar files, as WebDataset has them.
    Tar,
}

/// How much at once, and how often again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pace {
    /// Most requests in flight.
    pub concurrency: usize,
    /// Most requests in flight to one host. Default 8 for hosts of others, no limit for those of this machine and of
    /// private networks, and for `own_hosts`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_host: Option<usize>,
    /// Most requests a second to one host, or `auto`, or `auto:50` for at most 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The largest share of the requests in flight that one host may have.
    pub max_host_share: f64,
    /// The hosts are the user's own: more than 10 requests a second without a `rate`.
    pub own_hosts: bool,
    /// Most tries after the first.
    pub retries: u32,
    /// Most tries after the first, as a share of a host's requests (ten are always free).
    pub retry_budget: f64,
    /// Statuses that are tried again.
    pub retry_statuses: Vec<u16>,
    /// The longest pause of a host that a `Retry-After` brings.
    #[serde(alias = "longest_pause", with = "humantime_text")]
    pub max_retry_after: Duration,
    /// Requests in a row without an answer after which a host rests; 0 never lets it.
    pub breaker: u32,
    /// How long it rests, twice as long each further time.
    #[serde(alias = "breaker_rest", with = "humantime_text")]
    pub breaker_cooldown: Duration,
    /// How many probes a host gets before it is given up; when absent, only `wait_out` limits them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breaker_probes: Option<u32>,
    /// How long a host may be down before it is given up.
    #[serde(with = "humantime_text")]
    pub wait_out: Duration,
    /// Ends each run by itself: after a time (`2h`), or after so many bytes of bodies (`10GB`).
    #[serde(with = "text_option", skip_serializing_if = "Option::is_none")]
    pub stop_after: Option<StopAfter>,
    /// Most bytes of bodies in a second, from all hosts together.
    #[serde(
        deserialize_with = "bytes::in_file_some",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_bandwidth: Option<u64>,
    /// Obey robots.txt.
    pub robots: bool,
    /// The name whose rules are obeyed; when absent, the product token of the `User-Agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub robots_name: Option<String>,
    /// The longest `Crawl-delay` that is obeyed; the inputs of a host that demands more are skipped.
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

/// Where redirects are followed to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// Hosts of the same site: the same name with and without `www.`, on the same port.
    #[default]
    Site,
    /// Any host.
    Any,
}

/// How connections are made: settings of the engine, by their names there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Network {
    /// The deadline of one try, from its start to the last byte of the body. For bodies that go to the disk as they come,
    /// the longest time without a byte.
    #[serde(with = "humantime_text")]
    pub timeout: Duration,
    /// The longest that opening a connection may take.
    #[serde(with = "humantime_text")]
    pub connect_timeout: Duration,
    /// The longest wait for the head of the response.
    #[serde(with = "humantime_option", skip_serializing_if = "Option::is_none")]
    pub first_byte_timeout: Option<Duration>,
    /// The longest time between two pieces of a body.
    #[serde(with = "humantime_option", skip_serializing_if = "Option::is_none")]
    pub read_timeout: Option<Duration>,
    /// A body that goes to the disk as it comes is given up if it brings fewer bytes in such a time.
    #[serde(with = "text_option", skip_serializing_if = "Option::is_none")]
    pub min_speed: Option<MinSpeed>,
    /// Most redirects that are followed; 0 records the redirect itself.
    pub redirects: u32,
    /// Where redirects are followed to.
    pub redirects_to: Reach,
    /// Keep cookies, for as long as a process runs.
    pub cookies: bool,
    /// `1.1` or `2`; what the server chooses when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// URLs of proxies, or `none`: requests take them in turn. Those of the environment when absent.
    #[serde(with = "hosts::one_or_many", skip_serializing_if = "Vec::is_empty")]
    pub proxy: Vec<String>,
    /// A PEM file with the authorities to trust.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca: Option<String>,
    /// A PEM file with the certificate that is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cert: Option<String>,
    /// A PEM file with its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_key: Option<String>,
    /// Whether certificates are verified. Dangerous when false.
    pub verify: bool,
    /// Most bytes of a body. When absent, 64 MiB for bodies that are held in memory, and no limit for those that go to
    /// the disk as they come.
    #[serde(
        deserialize_with = "bytes::in_file_some",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_body: Option<usize>,
    /// Most bytes of all bodies that are received at the same time.
    #[serde(deserialize_with = "bytes::in_file")]
    pub max_buffered: usize,
    /// Addresses that may be connected to: `public`, `any`, or networks such as `10.0.0.0/8`. When empty, only public
    /// addresses, and any for a host that is one's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow_address: Vec<String>,
    /// Whether compressed bodies are accepted, and decoded.
    pub decode: bool,
    /// The `User-Agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// Addresses that are known without DNS, each `host:port:address` as curl has them.
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
