//! One file for each verb of the command.

pub mod bench;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod drivers;
#[cfg_attr(not(feature = "fetch"), path = "without_fetch.rs")]
pub mod fetch;
pub mod raw;
mod recording;
pub mod report;
pub mod serve;
mod session;
pub mod shootout;
pub mod sweep;

use std::path::Path;

use anyhow::Result;
use console::Term;
use hecaton_lab::report::Style;
use hecaton_lab::spec::{Catalogue, project_root};

/// All clients: those of `folder` when it is given, else those of the project.
fn catalogue(folder: Option<&Path>) -> Result<Catalogue> {
    match folder {
        Some(folder) => Catalogue::load(folder),
        None => Catalogue::load(&project_root()?.join("drivers")),
    }
}

/// How a report looks in `term`.
fn style(term: &Term) -> Style {
    Style::detect(
        |name| std::env::var(name).ok(),
        term.is_term(),
        usize::from(term.size().1),
    )
}
