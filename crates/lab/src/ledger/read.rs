//! A document from disk, as a run wrote it.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::{Document, SCHEMA};

/// Reads a run's document, or the `run.json` in a folder.
///
/// # Errors
/// One sentence with the path when it can not be read, is not a run's document, or has another schema.
pub fn read(path: &Path) -> Result<Document> {
    let file = if path.is_dir() {
        path.join("run.json")
    } else {
        path.to_path_buf()
    };
    let shown = file.display();
    let text = std::fs::read(&file).with_context(|| {
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
    serde_json::from_value(value).with_context(|| format!("{shown} is not a run's document"))
}
