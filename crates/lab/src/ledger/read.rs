//! Reads the documents of runs from disk.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::folder::{DOCUMENTS, HEAD, ROUNDS};
use super::{Document, PlanRecord, SCHEMA};
use crate::run::Round;
use crate::spec::BASELINE_LOADER;

/// Reads a run's document, or the `run.json` in a folder. If the run was killed, the document has the rounds until
/// then.
///
/// # Errors
/// One sentence with the path when it cannot be read, is not a run's document, or has another schema.
pub fn read(path: &Path) -> Result<Document> {
    if is_unfinished(path) {
        let mut document = document(&path.join(HEAD))?;
        document.rounds = rounds(&path.join(ROUNDS), &document.plan)?;
        // An older document lacks the number of planned rounds. Assume that every cell that was begun was planned in
        // every block.
        let mut cells: Vec<_> = document.rounds.iter().map(|round| &round.cell).collect();
        cells.sort();
        cells.dedup();
        let planned = cells.len() as u64 * u64::from(document.plan.rounds);
        document.unfinished.get_or_insert(planned);
        return Ok(document);
    }
    document(&file(path))
}

/// Whether this is the folder of a run that was killed or is still running.
fn is_unfinished(path: &Path) -> bool {
    path.join(HEAD).exists() && run_in(path).is_none()
}

/// Every run in a folder or in its subfolders, with its path below that folder, in the order of the names.
///
/// # Errors
/// When the folder or a run in it cannot be read.
pub fn runs_below(folder: &Path) -> Result<Vec<(String, Document)>> {
    let mut runs = Vec::new();
    for run_folder in folders(folder)? {
        let parts = match run_in(&run_folder) {
            Some(_) => vec![run_folder],
            None => folders(&run_folder)?,
        };
        for part in parts.into_iter().filter(|part| run_in(part).is_some()) {
            let name = part.strip_prefix(folder).unwrap_or(&part);
            runs.push((name.display().to_string(), read(&part)?));
        }
    }
    Ok(runs)
}

/// The folders in a folder, by name.
///
/// # Errors
/// One sentence with the path when it cannot be read.
pub fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    let all =
        std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let paths = all.flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = paths.filter(|path| path.is_dir()).collect();
    found.sort();
    Ok(found)
}

/// The document of a finished run in its folder, which may be compressed by zstd; none if there is none.
pub fn run_in(folder: &Path) -> Option<PathBuf> {
    let mut paths = DOCUMENTS.iter().map(|name| folder.join(name));
    paths.find(|path| path.exists())
}

/// The text of a run's document, or of that in a folder, decompressed.
///
/// # Errors
/// When it cannot be read, or is not text.
pub fn run_text(path: &Path) -> Result<String> {
    let file = file(path);
    let problem = || {
        let shown = file.display();
        format!("cannot read {shown}; give the run.json of a run, or its folder")
    };
    let text = content(&file).with_context(problem)?;
    String::from_utf8(text).with_context(problem)
}

fn file(path: &Path) -> PathBuf {
    match path.is_dir() {
        true => run_in(path).unwrap_or_else(|| path.join("run.json")),
        false => path.to_path_buf(),
    }
}

/// A file's content, decompressed if its name ends in `.zst`.
fn content(file: &Path) -> std::io::Result<Vec<u8>> {
    let text = std::fs::read(file)?;
    match file.extension() {
        Some(ending) if ending == "zst" => zstd::decode_all(&text[..]),
        _ => Ok(text),
    }
}

fn document(file: &Path) -> Result<Document> {
    let shown = file.display();
    let text = run_text(file)?;
    let value: Value = serde_json::from_str(&text)
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
            "{shown} is a whole benchmark; give its folder, or one of its parts, which are beside it"
        );
    }
    let mut value = renamed(value);
    let plan = value["plan"].take();
    let usual = Usual::of(&plan);
    for round in value["rounds"].as_array_mut().into_iter().flatten() {
        usual.complete(round);
    }
    value["plan"] = plan;
    for side in ["a", "b"] {
        if value["plan"]["comparison"][side].is_object() {
            usual.complete(&mut value["plan"]["comparison"][side]);
        }
    }
    serde_json::from_value(value).with_context(|| format!("{shown} is not a run's document"))
}

/// The factors of a plan that rounds of older documents leave out: there only a cell that differs has them.
struct Usual(Vec<(&'static str, Value)>);

impl Usual {
    fn of(plan: &Value) -> Usual {
        let keys = ["delay", "tls", "requests", "job"].into_iter();
        let given = keys.filter_map(|key| Some((key, plan.get(key)?.clone())));
        Usual(given.filter(|(_, value)| !value.is_null()).collect())
    }

    /// Gives a cell what it leaves out. Today's cells have a delay, and say everything themselves.
    fn complete(&self, cell: &mut Value) {
        let Some(fields) = cell.as_object_mut() else {
            return;
        };
        if fields.contains_key("delay") {
            return;
        }
        let loader = fields
            .get("client")
            .is_some_and(|name| name == BASELINE_LOADER);
        for (key, value) in &self.0 {
            // The loader's rounds always fill their time, and it parses and decodes nothing.
            let of_clients = matches!(*key, "requests" | "job");
            if !fields.contains_key(*key) && (!loader || !of_clients) {
                fields.insert((*key).into(), value.clone());
            }
        }
    }
}

/// Renames the baseline loader, which older documents call `raw`, in values and as a key of the clients.
fn renamed(value: Value) -> Value {
    match value {
        Value::String(name) if name == "raw" => BASELINE_LOADER.into(),
        Value::Array(items) => items.into_iter().map(renamed).collect(),
        Value::Object(fields) => {
            let name = |key: String| match key.as_str() {
                "raw" => BASELINE_LOADER.into(),
                _ => key,
            };
            let fields = fields.into_iter();
            let fields = fields.map(|(key, value)| (name(key), renamed(value)));
            fields.collect()
        }
        other => other,
    }
}

/// Rounds as they were appended; the last line may have been cut off.
fn rounds(file: &Path, plan: &PlanRecord) -> Result<Vec<Round>> {
    let usual = Usual::of(&serde_json::to_value(plan)?);
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let read = |line| {
        let mut round = renamed(serde_json::from_str(line)?);
        usual.complete(&mut round);
        serde_json::from_value(round)
    };
    let rounds: Result<_, serde_json::Error> = whole.lines().map(read).collect();
    rounds.with_context(|| format!("{} holds a line that is not a round", file.display()))
}
