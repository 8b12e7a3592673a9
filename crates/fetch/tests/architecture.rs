//! The flow stays one way: a module imports only from itself and from earlier modules, and fetch links neither the lab
//! nor the test server.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules, in the order of the flow.
const MODULES: [&str; 21] = [
    "job",
    "objects",
    "host",
    "input",
    "template",
    "expression",
    "take",
    "robots",
    "sink",
    "plan",
    "request",
    "segment",
    "finalize",
    "run",
    "show",
    "verify",
    "start",
    "again",
    "finish",
    "remote",
    "dispatch",
];

/// The modules that all others may use.
const FOR_ALL: [&str; 3] = ["error", "frame", "record"];

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(path: &Path) -> Vec<PathBuf> {
    if !path.is_dir() {
        return vec![path.with_extension("rs")];
    }
    let entries = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let files = files
        .into_iter()
        .filter(|file| file.extension().is_some_and(|it| it == "rs"));
    // Tests may look where they like.
    let files = files.filter(|file| file.file_stem().is_some_and(|stem| stem != "tests"));
    files
        .chain(folders.iter().flat_map(|folder| sources(folder)))
        .collect()
}

/// Names that follow `crate::` in the code of a source, up to its tests.
fn imports(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap_or(source);
    let lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let named = lines.flat_map(|line| {
        line.split("crate::")
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    named
        .map(|rest| {
            rest.chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect()
        })
        .collect()
}

#[test]
fn modules_import_only_from_earlier_ones() {
    let mut seen = 0;
    for (index, module) in MODULES.iter().enumerate() {
        for file in sources(&here().join("src").join(module)) {
            for name in imports(&fs::read_to_string(&file).unwrap()) {
                seen += 1;
                let is_known =
                    MODULES[..=index].contains(&name.as_str()) || FOR_ALL.contains(&name.as_str());
                assert!(is_known, "{} imports {name}", file.display());
            }
        }
    }
    assert!(
        seen > 100,
        "only {seen} imports were found: does this test still read them?"
    );
}

#[test]
fn every_module_is_in_lib_rs_in_the_order_of_the_flow() {
    let lib = fs::read_to_string(here().join("src/lib.rs")).unwrap();
    let modules = lib
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    assert_eq!(
        modules.collect::<Vec<_>>(),
        [&MODULES[..], &FOR_ALL].concat()
    );
}

#[test]
fn fetch_links_neither_the_lab_nor_the_test_server() {
    let manifest: toml::Table = fs::read_to_string(here().join("Cargo.toml"))
        .unwrap()
        .parse()
        .unwrap();
    let packages = manifest["dependencies"].as_table().unwrap();
    for name in ["hecaton-lab", "hecaton-test-server"] {
        assert!(!packages.contains_key(name), "it depends on {name}");
    }
    assert!(packages.contains_key("hecaton"));
}
