//! One file for each verb of the command.

pub mod doctor;
pub mod drivers;
pub mod raw;
pub mod serve;
pub mod sweep;

use std::path::Path;

use anyhow::Result;
use hecaton_lab::spec::{Catalogue, project_root};

/// All clients: those of `folder` when it is given, else those of the project.
fn catalogue(folder: Option<&Path>) -> Result<Catalogue> {
    match folder {
        Some(folder) => Catalogue::load(folder),
        None => Catalogue::load(&project_root()?.join("drivers")),
    }
}
