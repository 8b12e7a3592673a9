//! One file for each verb of the command.

#[cfg(feature = "audit")]
pub mod audit;
pub mod baseline_loader;
pub mod bench;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod drivers;
#[cfg(feature = "fetch")]
pub mod fetch;
#[cfg(not(all(feature = "audit", feature = "fetch")))]
pub mod later;
mod markdown;
pub mod measure;
pub mod report;
pub mod serve;
mod service;
mod session;
pub mod shootout;
pub mod sweep;

#[cfg(not(feature = "audit"))]
pub use later as audit;
#[cfg(not(feature = "fetch"))]
pub use later as fetch;

use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use console::Term;
use hecaton_lab::report::Style;
use hecaton_lab::run::receipt;
use hecaton_lab::spec::{Catalogue, Manifest, Project, Usage};

/// All clients: the checkout's, if there is one, and those in the folders of `--drivers`.
fn catalogue(folders: &[PathBuf]) -> Result<Catalogue> {
    let project = Project::find()?;
    if project.root().is_none() && folders.is_empty() {
        bail!(Usage(
            "no client is known here: name the folder of your own driver with --drivers; the project's clients are in a \
             checkout of Hecaton, so run this in one or set HECATON_ROOT to its path"
                .into()
        ));
    }
    known_clients(&project, folders)
}

/// The same; none without a checkout and such a folder.
fn known_clients(project: &Project, folders: &[PathBuf]) -> Result<Catalogue> {
    let drivers = project.root().map(|root| root.join("drivers"));
    Catalogue::joined(drivers.as_deref(), folders)
}

/// All clients, and those that `words` name with a version.
fn catalogue_with(folders: &[PathBuf], words: &[String]) -> Result<Catalogue> {
    let version_of = |manifest: &Manifest| receipt(manifest).map_err(|missing| missing.to_string());
    Ok(catalogue(folders)?.with_versions(&names(words), version_of)?)
}

/// The style of a report in `term`. Outside a terminal, its width is that of `COLUMNS`, as for help.
fn style(term: &Term) -> Style {
    let said = std::env::var("COLUMNS").ok().filter(|_| !term.is_term());
    let said = said.and_then(|columns| columns.parse().ok());
    Style::detect(
        |name| std::env::var(name).ok(),
        term.is_term(),
        said.unwrap_or(usize::from(term.size().1)),
    )
}

/// The names in words of the command line, each of which may hold several, separated by commas.
fn names(words: &[String]) -> Vec<String> {
    let names = words.iter().flat_map(|word| word.split(','));
    names.map(str::to_owned).collect()
}

/// A new folder that only the own user may enter. Its name is not in use: a link that waits there would lead elsewhere.
pub(crate) fn private_folder() -> Result<PathBuf> {
    let name = |n| format!("hecaton-{}-{n}", std::process::id());
    let made = (0..1000)
        .map(|n| std::env::temp_dir().join(name(n)))
        .find(|folder| {
            std::fs::DirBuilder::new()
                .mode(0o700)
                .create(folder)
                .is_ok()
        });
    made.with_context(|| {
        format!(
            "no folder can be made in {}",
            std::env::temp_dir().display()
        )
    })
}
