//! `hecaton fetch show`: records of a job, a line each.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use hecaton_fetch::place;
use hecaton_fetch::show::{each_line, matching, record};

use super::options::Home;
use super::out;

/// Prints records as lines of JSON, even if the job is not finished.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    home: Home,
    /// Which records: 'status == 404', 'error and ms > 1000', "host == 'example.com'" [default: all].
    #[arg(long = "where", value_name = "EXPRESSION")]
    matching: Option<String>,
    /// Print at most this many records [default: all].
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

/// Prints them.
///
/// # Errors
/// When the folder holds no job, or it cannot be read.
pub fn run(arguments: &Arguments) -> Result<()> {
    let mut out = out::out();
    let mut left = arguments.limit.unwrap_or(u64::MAX);
    let place = place::at(&arguments.home.folder, "")?;
    let folder = place.gather()?;
    let condition = arguments.matching.as_deref();
    let matching = condition
        .map(|condition| matching(&folder, condition))
        .transpose()?;
    each_line(&folder, &mut |line| {
        if left == 0 {
            return Ok(false);
        }
        if let Some(matching) = &matching {
            if !matching.holds(&record(line)?) {
                return Ok(true);
            }
        }
        left -= 1;
        out.write_all(line)?;
        if !line.ends_with(b"\n") {
            out.write_all(b"\n")?; // Another program may have rewritten the file without the last one.
        }
        anyhow::Ok(true)
    })?;
    Ok(out.flush()?)
}
