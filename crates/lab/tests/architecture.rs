//! The flow stays one way: a stage imports only from the stages before it, and the lab never links the engine.

use std::fs;
use std::path::{Path, PathBuf};

/// Stands beside the flow, and no stage may use it.
const BESIDE: &str = "doctor";

/// The stages, in the order of the flow.
const STAGES: [&str; 8] = [
    "spec", "plan", "run", "ledger", "findings", "views", "report", "measure",
];

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// Names that follow `crate::` in a source, those in `use crate::{a, b}` included.
fn imports(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, found) in source.match_indices("crate::") {
        let rest = &source[at + found.len()..];
        match rest.strip_prefix('{') {
            Some(list) => {
                let list = &list[..list.find(';').unwrap_or(list.len())];
                names.extend(list.split(',').map(first_name));
            }
            None => names.push(first_name(rest)),
        }
    }
    names
}

fn first_name(text: &str) -> String {
    text.trim()
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect()
}

#[test]
fn stages_import_only_from_earlier_ones() {
    let mut seen = 0;
    for (position, stage) in STAGES.iter().enumerate() {
        for path in sources(&here().join("src").join(stage)) {
            let source = fs::read_to_string(&path).unwrap();
            for name in imports(&source) {
                seen += usize::from(STAGES.contains(&name.as_str()));
                assert!(
                    !STAGES[position + 1..].contains(&name.as_str()) && name != BESIDE,
                    "{} imports {name}",
                    path.display()
                );
            }
        }
    }
    assert!(
        seen > STAGES.len(),
        "only {seen} imports were found: does this test still read them?"
    );
}

#[test]
fn every_stage_is_in_lib_rs_in_the_order_of_the_flow() {
    let lib = fs::read_to_string(here().join("src/lib.rs")).unwrap();
    let modules: Vec<&str> = lib
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .collect();
    assert_eq!(modules, [&STAGES[..], &[BESIDE]].concat());
}

#[test]
fn the_lab_uses_the_engine_only_as_a_client() {
    let manifest: toml::Table = fs::read_to_string(here().join("Cargo.toml"))
        .unwrap()
        .parse()
        .unwrap();
    for section in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let Some(packages) = manifest.get(section).and_then(|value| value.as_table()) else {
            continue;
        };
        assert!(
            !packages.contains_key("hecaton"),
            "{section} holds the engine"
        );
    }
}

#[test]
fn imports_are_found_in_both_forms() {
    assert_eq!(
        imports("use crate::run::Round;\nuse crate::{plan::Cell, spec};\n"),
        ["run", "plan", "spec"]
    );
}
