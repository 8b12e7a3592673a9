//! Puts the scenarios, and what the audit reads beside its cases, into the library: a command without a checkout has them too.

use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

const FOLDERS: [&str; 3] = ["scenarios/bench", "scenarios/audit", "audit"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let mut files = Vec::new();
    for folder in FOLDERS {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
        add(&root.join(folder), &mut files)?;
    }
    files.sort();
    let mut table = String::new();
    for file in files {
        let name = file.strip_prefix(&root)?.display();
        writeln!(table, "({:?}, include_str!({:?})),", name.to_string(), file)?;
    }
    let out = Path::new(&env::var("OUT_DIR")?).join("built_in.rs");
    Ok(fs::write(out, format!("[{table}]"))?)
}

/// The TOML files of a folder and of those in it.
fn add(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            add(&path, files)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            files.push(path);
        }
    }
    Ok(())
}
