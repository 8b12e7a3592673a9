//! `hecaton fetch verify`: whether all of a job is there.

use std::path::Path;

use anyhow::Result;
use clap::Args;
use hecaton_fetch::error::Error;
use hecaton_fetch::finish;
use hecaton_fetch::place;
use hecaton_fetch::plan::Plan;
use hecaton_fetch::record::{count, plural};
use hecaton_fetch::verify::{self, Found};

use super::options::Home;

/// Reads all of a job and reports what is damaged: results, bodies that differ from their digests, products.
///
/// Ends with status 1 if anything is. `again --damaged` fetches what is lost.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    home: Home,
}

/// Most sentences that are printed.
const MOST_SENTENCES: usize = 20;

/// Looks.
///
/// # Errors
/// When something is damaged, or the folder holds no job.
pub fn run(arguments: &Arguments) -> Result<()> {
    let folder = place::folder(&arguments.home.folder, " verify")?;
    let plan = Plan::planned(&folder)?;
    // A folder that may only be read is read as it is.
    let _ = finish::parts(&folder);
    let mut all = Found::default();
    let (done, left): (Vec<_>, Vec<_>) = plan
        .parts
        .iter()
        .partition(|part| folder.is_done(part.number));
    for part in done {
        let found = verify::part(&folder, part)?;
        all.records += found.records;
        all.bodies += found.bodies;
        all.lost |= found.lost;
        all.damage.extend(found.damage);
    }
    let is_rewritten = !all.damage.is_empty();
    if left.is_empty() {
        let stale = finish::stale(&folder, &plan)?.into_iter();
        all.damage
            .extend(stale.map(|name| format!("{name} is missing, or made of other records")));
    }
    match verify::set_aside(&folder) {
        0 => {}
        files => crate::say!(
            "{} with the ending .damaged: their bodies were fetched again, so remove them when you like",
            plural(files, "file")
        ),
    }
    report(folder.path(), &all, is_rewritten, left.len())
}

/// Says what was found. `is_rewritten` if results are damaged.
fn report(path: &Path, all: &Found, is_rewritten: bool, left: usize) -> Result<()> {
    for sentence in all.damage.iter().take(MOST_SENTENCES) {
        crate::say!("{sentence}");
    }
    if let Some(more) = all.damage.len().checked_sub(MOST_SENTENCES + 1) {
        crate::say!("and {} more", more + 1);
    }
    let whole = format!(
        "{} {} whole, and the stored bodies of {}",
        plural(all.records, "record"),
        if all.records == 1 { "is" } else { "are" },
        count(all.bodies)
    );
    let path = path.display();
    if all.damage.is_empty() {
        let rest = match left {
            0 => String::new(),
            left => format!(
                "; the job is unfinished, {} not done yet: `hecaton fetch -o {path}` resumes it",
                plural(left as u64, "part")
            ),
        };
        crate::say!("{whole}{rest}");
        return Ok(());
    }
    let remedy = match all.lost.is_empty() {
        true if is_rewritten => format!(
            "no input is lost, and `hecaton fetch again --damaged {path}` writes the results again without what is no record"
        ),
        true => format!("`hecaton fetch -o {path}` makes products again"),
        false => format!(
            "`hecaton fetch again --damaged {path}` fetches {} again",
            plural(all.lost.len(), "input")
        ),
    };
    Err(Error::failed(format!("{path} is damaged: {remedy}")).into())
}
