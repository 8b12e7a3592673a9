//! A benchmark from disk: its parts, what became of its goals, and what was left out.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Document;
use super::read::{folders, read, run_in};

/// A benchmark, as it was measured.
#[derive(Debug)]
pub struct Bench {
    /// Its parts, in the order in which they were measured.
    pub parts: Vec<BenchPart>,
    /// The result of each goal, in sentences.
    pub goals: Vec<String>,
    /// Clients that were left out, in sentences.
    pub left_out: Vec<String>,
    /// The document; of parts alone, a list of them.
    pub document: Value,
}

/// One part of a benchmark.
#[derive(Debug)]
pub struct BenchPart {
    /// What it measures.
    pub title: String,
    /// The client that it is about.
    pub subject: String,
    /// The run.
    pub run: Document,
}

/// Reads a benchmark: its `bench.json`, the folder of that, or a folder whose folders are its parts; none for what is
/// no benchmark.
///
/// # Errors
/// One sentence with the path when it cannot be read.
pub fn bench(path: &Path) -> Result<Option<Bench>> {
    let file = if path.is_dir() {
        path.join("bench.json")
    } else {
        path.to_path_buf()
    };
    if file.file_name().is_some_and(|name| name == "bench.json") && file.exists() {
        let problem = || format!("{} is not a benchmark's document", file.display());
        let document: Value =
            serde_json::from_slice(&std::fs::read(&file)?).with_context(problem)?;
        return of_document(document).with_context(problem).map(Some);
    }
    if !path.is_dir() || run_in(path).is_some() {
        return Ok(None);
    }
    let parts = folders(path)?
        .into_iter()
        .filter(|part| run_in(part).is_some());
    let part = |folder: std::path::PathBuf| {
        let title = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        read(&folder).map(|run| of_run(title, None, run))
    };
    let parts: Vec<BenchPart> = parts.map(part).collect::<Result<_>>()?;
    let document = parts
        .iter()
        .map(|part| serde_json::json!({ "title": part.title, "run": part.run }))
        .collect();
    Ok((!parts.is_empty()).then_some(Bench {
        parts,
        goals: Vec::new(),
        left_out: Vec::new(),
        document,
    }))
}

fn of_document(document: Value) -> Result<Bench> {
    let list = |key: &str| document[key].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let part = |value: Value| {
        let title = text(&value["title"]).unwrap_or_default();
        let subject = text(&value["subject"]);
        Ok(of_run(title, subject, serde_json::from_value(value)?))
    };
    Ok(Bench {
        parts: list("parts").into_iter().map(part).collect::<Result<_>>()?,
        goals: list("goals")
            .iter()
            .filter_map(|goal| text(&goal["sentence"]))
            .collect(),
        left_out: list("left_out").iter().filter_map(text).collect(),
        document,
    })
}

/// A part; of one that does not say whom it is about, the first of its clients is taken.
fn of_run(title: String, subject: Option<String>, run: Document) -> BenchPart {
    let first = || run.plan.clients.first().cloned().unwrap_or_default();
    BenchPart {
        title,
        subject: subject.unwrap_or_else(first),
        run,
    }
}
