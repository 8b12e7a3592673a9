//! Options that several verbs of `hecaton fetch` have.

use std::path::PathBuf;

use clap::Args;

/// The folder of a job.
#[derive(Args)]
pub struct Home {
    /// The job's folder, or s3://bucket/prefix, gs:// or az://.
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// How many threads send requests.
#[derive(Args)]
pub struct Threads {
    /// How many threads send requests. Each thread has its own parts, so a list of one part uses one thread [default:
    /// the cores that this process may use, at most 8]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
}

/// The most threads that a job may have.
const MOST_THREADS: usize = 64;

fn threads(text: &str) -> Result<usize, String> {
    let count = text
        .parse()
        .ok()
        .filter(|count| (1..=MOST_THREADS).contains(count));
    count.ok_or_else(|| format!("use a number from 1 to {MOST_THREADS}"))
}

/// The NATS server that hands out parts.
#[derive(Args)]
pub struct Server {
    /// The NATS server that hands out parts, as nats://host:4222.
    #[arg(long = "nats", value_name = "URL", env = "NATS_URL", num_args = 0..=1, default_value = "", default_missing_value = "", hide_default_value = true, hide_env_values = true)]
    pub url: String,
}
