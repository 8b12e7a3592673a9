//! Settings of single hosts: `[hosts."api.example.com"]` in a job file, or a file of such tables for `--hosts`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::bytes;
use super::from_text::parse;
use super::rate::Rate;
use crate::error::{Result, at};

/// The settings of each host, by its name.
pub type Hosts = BTreeMap<String, HostSettings>;

/// The settings of a host that differ from those of the job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostSettings {
    /// Most requests a second.
    pub rate: Option<Rate>,
    /// Most requests in flight.
    pub per_host: Option<usize>,
    /// Most bytes of bodies in a second.
    #[serde(deserialize_with = "bytes::in_file_some")]
    pub max_bandwidth: Option<u64>,
    /// Further headers, each `Name: value`; they replace those of the job with the same name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<String>,
    /// `env:NAME` of a variable with `user:password`, sent as Basic authentication.
    pub auth: Option<String>,
    /// `env:NAME` of a variable with a token, sent as `Authorization: Bearer`.
    pub bearer: Option<String>,
    /// URLs of proxies, or `none`: requests take them in turn.
    #[serde(with = "one_or_many", skip_serializing_if = "Vec::is_empty")]
    pub proxy: Vec<String>,
}

impl HostSettings {
    /// The settings that decide the records.
    pub(super) fn of_requests(&self) -> HostSettings {
        HostSettings {
            headers: self.headers.clone(),
            auth: self.auth.clone(),
            bearer: self.bearer.clone(),
            ..HostSettings::default()
        }
    }
}

/// Reads a file of tables, each named by a host.
///
/// # Errors
/// When it cannot be read, or is not such a file.
pub fn read(path: &Path) -> Result<Hosts> {
    let text = std::fs::read_to_string(path).map_err(at("read", path))?;
    parse(&text, &path.display().to_string())
}

/// A text, or a list of them.
pub(super) mod one_or_many {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Given {
        One(String),
        Many(Vec<String>),
    }

    pub fn serialize<S: Serializer>(texts: &[String], to: S) -> Result<S::Ok, S::Error> {
        match texts {
            [one] => to.serialize_str(one),
            many => many.serialize(to),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
        Ok(match Given::deserialize(from)? {
            Given::One(one) => vec![one],
            Given::Many(many) => many,
        })
    }
}
