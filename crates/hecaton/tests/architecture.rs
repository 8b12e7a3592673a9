//! The modules import in one direction, in the order of a request, and no circle of files inside a module has more than
//! two.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The modules, in the order of a request: each imports from itself and from later ones.
const MODULES: [&str; 10] = [
    "batch",
    "client",
    "pool",
    "h2",
    "h1",
    "transport",
    "content",
    "runtime",
    "config",
    "message",
];

/// Most files that import each other in a circle.
const MOST_IN_A_CIRCLE: usize = 2;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src")
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

/// The path of a file's module: `pool::idle` for `pool/idle.rs`, `pool` for `pool/mod.rs`.
fn module(file: &Path) -> Vec<String> {
    let relative = file.strip_prefix(root()).unwrap().with_extension("");
    let parts = relative
        .iter()
        .map(|part| part.to_str().unwrap().to_owned());
    parts.filter(|part| part != "mod").collect()
}

/// The code without tests: the file up to its test module.
fn code(file: &Path) -> String {
    let source = fs::read_to_string(file).unwrap();
    let end = source.find("#[cfg(test)]\nmod ").unwrap_or(source.len());
    let lines = source[..end].lines();
    let is_code = |line: &&str| !line.trim_start().starts_with("//");
    lines
        .filter(is_code)
        .flat_map(|line| [line, "\n"])
        .collect()
}

/// Every path of the crate that the code of this module names, resolved: `super::b` of `a::c` is `a::b`.
fn imports(code: &str, module: &[String], is_folder: bool) -> Vec<Vec<String>> {
    let own = match is_folder {
        true => module,
        false => &module[..module.len() - 1],
    };
    let mut found = Vec::new();
    for (start, base) in [("crate::", &[][..]), ("super::", own), ("self::", module)] {
        let base = match (start, is_folder) {
            ("super::", true) => &base[..base.len().saturating_sub(1)],
            _ => base,
        };
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | ':')) {
                continue;
            }
            for path in expand(&code[at + start.len()..]) {
                found.push(base.iter().cloned().chain(path).collect());
            }
        }
    }
    found
}

/// `a::{b, c::D}` as `a::b` and `a::c::D`; the rest of the text does not matter.
fn expand(text: &str) -> Vec<Vec<String>> {
    let mut path = Vec::new();
    let mut rest = text;
    loop {
        let name: String = rest
            .chars()
            .take_while(|c| c.is_alphanumeric() || *c == '_')
            .collect();
        rest = &rest[name.len()..];
        if !name.is_empty() {
            path.push(name);
        }
        if let Some(list) = rest.strip_prefix('{') {
            let list = &list[..list.find('}').unwrap_or(list.len())];
            let entries = list
                .split(',')
                .map(str::trim)
                .filter(|entry| !entry.is_empty());
            let tails = entries.flat_map(expand);
            return tails
                .map(|tail| path.iter().cloned().chain(tail).collect())
                .collect();
        }
        match rest.strip_prefix("::") {
            Some(more) => rest = more,
            None => return vec![path],
        }
    }
}

/// The files that each file imports from. The file of a path is that of its longest beginning which is a module.
fn graph() -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
    let files: Vec<PathBuf> = MODULES
        .iter()
        .flat_map(|name| sources(&root().join(name)))
        .collect();
    let known: BTreeSet<Vec<String>> = files.iter().map(|file| module(file)).collect();
    let is_test = |file: &PathBuf| file.file_stem().is_some_and(|stem| stem == "tests");
    let mut graph = BTreeMap::new();
    for file in files.iter().filter(|file| !is_test(file)) {
        let (module, is_folder) = (
            module(file),
            file.ends_with("mod.rs") || file.with_extension("").is_dir(),
        );
        let targets = imports(&code(file), &module, is_folder);
        let targets = targets.iter().filter_map(|path| {
            let longest = (1..=path.len()).rev().map(|length| path[..length].to_vec());
            let target = longest.into_iter().find(|path| known.contains(path));
            target.filter(|target| *target != module)
        });
        graph.insert(module.clone(), targets.collect());
    }
    graph
}

#[test]
fn modules_import_in_the_order_of_the_flow() {
    let graph = graph();
    let position_of =
        |module: &[String]| MODULES.iter().position(|name| *name == module[0]).unwrap();
    let mut between = 0;
    for (file, targets) in &graph {
        for target in targets {
            between += usize::from(position_of(file) != position_of(target));
            let (file_name, target_name) = (file.join("/"), target.join("/"));
            assert!(
                position_of(file) <= position_of(target),
                "{file_name} imports {target_name}"
            );
        }
    }
    assert!(
        between > 100,
        "only {between} imports were found: does this test still read them?"
    );
}

#[test]
fn no_circle_has_more_than_two_files() {
    let graph = graph();
    let reach = |from: &Vec<String>| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(file) = open.pop() {
            for target in graph.get(&file).into_iter().flatten() {
                if seen.insert(target.clone()) {
                    open.push(target.clone());
                }
            }
        }
        seen
    };
    let reached: BTreeMap<_, _> = graph.keys().map(|file| (file, reach(file))).collect();
    for file in graph.keys() {
        let both =
            |other: &&Vec<String>| reached[file].contains(*other) && reached[*other].contains(file);
        let circle: Vec<String> = graph
            .keys()
            .filter(both)
            .map(|file| file.join("/"))
            .collect();
        assert!(
            circle.len() <= MOST_IN_A_CIRCLE,
            "these import each other: {circle:?}"
        );
    }
}

#[test]
fn every_module_is_in_lib_rs_in_the_order_of_the_flow_and_nothing_else_is() {
    let lib = fs::read_to_string(root().join("lib.rs")).unwrap();
    let modules = lib
        .lines()
        .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    assert_eq!(modules.collect::<Vec<_>>(), MODULES);
    let mut beside: Vec<String> = fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !MODULES.contains(&name.as_str()))
        .collect();
    beside.sort();
    assert_eq!(beside, ["lib.rs"]);
}

#[test]
fn paths_are_found_in_every_form_of_use() {
    let module = ["pool", "idle"].map(String::from);
    let code = "use crate::run::Round;\nuse crate::{plan::Cell, spec};\nuse super::dial::{self, A};\nlet x = crate::a::B::c();";
    let found: Vec<String> = imports(code, &module, false)
        .iter()
        .map(|path| path.join("::"))
        .collect();
    assert_eq!(
        found,
        [
            "run::Round",
            "plan::Cell",
            "spec",
            "a::B::c",
            "pool::dial::self",
            "pool::dial::A"
        ]
    );
}
