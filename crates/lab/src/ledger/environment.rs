//! Where and with what a run was measured, so that its figures can be understood and repeated.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::stamp::Stamp;
use super::text::Root;
use crate::run::{Hello, Pinning};
use crate::spec::{Approach, Manifest};

/// The machine, the programs, and how they were set up. Facts that cannot be found out are null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// Start of the run, ISO 8601 in UTC.
    pub date: String,
    /// Version of this program.
    pub hecaton: String,
    /// Host and port of the test server's machine, where that is another than this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_server: Option<String>,
    /// Revision of the project's sources, with `+` when files differ from it.
    pub revision: Option<String>,
    /// Operating system by its own name.
    pub system: Option<String>,
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// Model of the processor.
    pub processor: Option<String>,
    /// Cores that this process may use.
    pub cores: usize,
    /// Memory of the machine in KiB.
    pub memory_kib: Option<u64>,
    /// The frequency governor of the clients' core.
    pub governor: Option<String>,
    /// Load of the machine over the last minute, when the run began.
    pub load_average: Option<f64>,
    /// Open files allowed to each process.
    pub descriptors: u64,
    /// Which core does what; null when there is only one.
    pub pinning: Option<Pinning>,
    /// Every client that took part, by name.
    pub clients: BTreeMap<String, ClientRecord>,
}

/// A client, as its driver and its manifest describe it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClientRecord {
    /// Version of the client.
    pub version: String,
    /// The runtime of the client, with version.
    pub runtime: String,
    /// The library that does the work.
    pub engine: String,
    /// How the client holds requests in flight.
    pub models: Vec<String>,
    /// Whether the client repeats failed requests.
    pub retries: String,
    /// The language of its users, by its manifest; absent for the baseline loader and in older documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// How its driver uses it, by its manifest; absent likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approach: Option<Approach>,
    /// Why its rows may be rejected though its driver does nothing wrong, by its manifest; absent where nothing is
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pitfall: Option<String>,
}

impl ClientRecord {
    /// The driver's own words and those of its manifest; the baseline loader has no manifest.
    pub fn new(hello: &Hello, manifest: Option<&Manifest>) -> ClientRecord {
        ClientRecord {
            version: hello.version.clone(),
            runtime: hello.runtime.clone(),
            engine: hello.engine.clone(),
            models: hello.models.clone(),
            retries: hello.retries.clone(),
            language: manifest.map(|manifest| manifest.language.clone()),
            approach: manifest.map(|manifest| manifest.approach),
            pitfall: manifest.and_then(|manifest| Some(manifest.pitfall.as_ref()?.why.clone())),
        }
    }
}

impl Environment {
    /// Collects what can be found out about this machine. `root` is the checkout, whose revision is read.
    pub fn collect(root: Option<&Path>, descriptors: u64, pinning: Option<Pinning>) -> Environment {
        let core = pinning.map_or(0, |pinning| pinning.client_core);
        let machine = Root::default();
        let system = machine.field("etc/os-release", "PRETTY_NAME=");
        let governor = format!("sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor");
        Environment {
            date: Stamp::now().plain(),
            hecaton: env!("CARGO_PKG_VERSION").to_string(),
            test_server: None,
            revision: root.and_then(revision),
            system: system.map(|name| name.trim_matches('"').to_owned()),
            kernel: machine.read("proc/sys/kernel/osrelease"),
            processor: machine.field("proc/cpuinfo", "model name"),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_kib: first(machine.field("proc/meminfo", "MemTotal:")),
            governor: machine.read(&governor),
            load_average: first(machine.read("proc/loadavg")),
            descriptors,
            pinning,
            clients: BTreeMap::new(),
        }
    }
}

/// The number that a line begins with.
fn first<T: FromStr>(line: Option<String>) -> Option<T> {
    line?.split_whitespace().next()?.parse().ok()
}

fn revision(root: &Path) -> Option<String> {
    let head = git(root, &["rev-parse", "--short=12", "HEAD"])?;
    let changed = git(root, &["status", "--porcelain", "--untracked-files=no"])
        .is_some_and(|list| !list.is_empty());
    Some(if changed { format!("{head}+") } else { head })
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    let output = git.arg("-C").arg(root).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.trim().to_owned())
}
