//! A document from disk, as a run wrote it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::folder::{HEAD, ROUNDS};
use super::{Document, SCHEMA};
use crate::run::Round;

/// Reads a run's document, or the `run.json` in a folder; of a run that was killed, the rounds until then.
///
/// # Errors
/// One sentence with the path when it can not be read, is not a run's document, or has another schema.
pub fn read(path: &Path) -> Result<Document> {
    if is_unfinished(path) {
        let mut document = document(&path.join(HEAD))?;
        document.rounds = rounds(&path.join(ROUNDS))?;
        return Ok(document);
    }
    document(&file(path))
}

/// Whether this is the folder of a run that was killed, or is still going on.
pub fn is_unfinished(path: &Path) -> bool {
    path.join(HEAD).exists() && !path.join("run.json").exists()
}

fn file(path: &Path) -> PathBuf {
    match path.is_dir() {
        true => path.join("run.json"),
        false => path.to_path_buf(),
    }
}

fn document(file: &Path) -> Result<Document> {
    let shown = file.display();
    let text = std::fs::read(file).with_context(|| {
        format!("cannot read {shown}; give the run.json of a run, or its folder")
    })?;
    let value: Value = serde_json::from_slice(&text)
        .with_context(|| format!("{shown} is not JSON; give the run.json of a run"))?;
    match value["schema"].as_u64() {
        Some(schema) if schema == u64::from(SCHEMA) => {}
        Some(schema) => bail!(
            "{shown} has schema {schema}, and this version reads {SCHEMA}; use the version that wrote it"
        ),
        None => bail!("{shown} is not a run's document: it has no schema"),
    }
    if value["parts"].is_array() {
        bail!(
            "{shown} is a whole benchmark; give the folder of one of its parts, which are beside it"
        );
    }
    serde_json::from_value(value).with_context(|| format!("{shown} is not a run's document"))
}

/// Rounds as they were appended; the last line may have been cut off.
fn rounds(file: &Path) -> Result<Vec<Round>> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .with_context(|| format!("{} holds what is no round", file.display()))
}
