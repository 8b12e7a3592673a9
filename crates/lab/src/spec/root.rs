//! Finds the folder of the project: the one that holds `scenarios/` and `drivers/`.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

/// The project's folder: `HECATON_ROOT` when set, else the first folder that looks like it,
/// upwards from the current directory and then from the executable.
///
/// # Errors
/// A sentence when `HECATON_ROOT` does not lead there, or when no such folder is found.
pub fn project_root() -> Result<PathBuf> {
    if let Some(root) = std::env::var_os("HECATON_ROOT") {
        // Drivers are started in folders of their own.
        let root = std::path::absolute(root)?;
        if !looks_like_root(&root) {
            bail!(
                "HECATON_ROOT is {}, which has no folders drivers and scenarios; unset it or correct it",
                root.display()
            );
        }
        return Ok(root);
    }
    let starts = [std::env::current_dir().ok(), std::env::current_exe().ok()];
    for start in starts.into_iter().flatten() {
        if let Some(root) = start.ancestors().find(|folder| looks_like_root(folder)) {
            return Ok(root.to_path_buf());
        }
    }
    bail!(
        "the folders drivers and scenarios were not found; run bin/hecaton, or set HECATON_ROOT to the project's folder"
    )
}

fn looks_like_root(folder: &Path) -> bool {
    folder.join("scenarios/bench/sweep.toml").is_file() && folder.join("drivers").is_dir()
}
