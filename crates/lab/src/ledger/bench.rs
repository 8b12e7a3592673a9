//! A benchmark from disk: its parts, what became of its goals, and what was left out.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

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
    let file = match path.is_dir() {
        true => path.join("bench.json"),
        false => path.to_path_buf(),
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
    let part = |folder: PathBuf| {
        let title = folder.file_name().unwrap_or_default().to_string_lossy();
        read(&folder).map(|run| of_run(title.into_owned(), None, run))
    };
    let parts = folders(path)?.into_iter();
    let parts = parts.filter(|part| run_in(part).is_some());
    let parts: Vec<BenchPart> = parts.map(part).collect::<Result<_>>()?;
    let record = |part: &BenchPart| json!({ "title": part.title, "run": part.run });
    let document = parts.iter().map(record).collect();
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
    let sentence = |goal: &Value| text(&goal["sentence"]);
    let part = |value: Value| {
        let title = text(&value["title"]).unwrap_or_default();
        let subject = text(&value["subject"]);
        Ok(of_run(title, subject, serde_json::from_value(value)?))
    };
    Ok(Bench {
        parts: list("parts").into_iter().map(part).collect::<Result<_>>()?,
        goals: list("goals").iter().filter_map(sentence).collect(),
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
