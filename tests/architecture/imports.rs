//! Which files of a crate import from which, by the paths in their code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The files that each file imports from. `pool/mod.rs` is called `pool`, `pool/idle.rs` is `pool/idle`, and `lib.rs`
/// has no name.
pub type Graph = BTreeMap<String, BTreeSet<String>>;

/// The graph of the files in a folder, without their tests.
pub fn graph(root: &Path) -> Graph {
    let files = sources(root);
    let name = |file: &PathBuf| {
        let path = file.strip_prefix(root).unwrap().with_extension("");
        let path = path.to_str().unwrap();
        match path {
            "lib" | "main" => String::new(),
            _ => path.trim_end_matches("/mod").to_owned(),
        }
    };
    let known: BTreeSet<String> = files.iter().map(name).collect();
    let target = |mut path: &str| loop {
        if known.contains(path) {
            return Some(path.to_owned());
        }
        path = path.rsplit_once('/')?.0;
    };
    let targets = |file: &PathBuf| {
        let code = code(&fs::read_to_string(file).unwrap());
        let paths = imports(&code, &name(file));
        let targets = paths.iter().filter_map(|path| target(path));
        targets.filter(|target| *target != name(file)).collect()
    };
    files
        .iter()
        .map(|file| (name(file), targets(file)))
        .collect()
}

/// The source files in a folder, without their tests.
pub fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| match path.is_dir() {
            true => sources(&path),
            false => vec![path],
        })
        .filter(|path| path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs"))
        .collect()
}

/// The code without comments and tests: the lines up to the test module.
pub fn code(source: &str) -> String {
    let end = source.find("#[cfg(test)]\nmod ").unwrap_or(source.len());
    let lines = source[..end].lines();
    lines
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect()
}

/// Every path of the crate that the code of this module names: `super::b` in `a/c` is `a/b`. A module that re-exports
/// names of a module below it does not import them.
fn imports(code: &str, module: &str) -> Vec<String> {
    let above = module.rsplit_once('/').map_or("", |(above, _)| above);
    let mut found = Vec::new();
    for (start, base) in [("crate::", ""), ("super::", above), ("self::", module)] {
        for mut rest in following(code, start) {
            let mut base = base;
            while let Some(more) = rest.strip_prefix("super::") {
                (rest, base) = (more, base.rsplit_once('/').map_or("", |(above, _)| above));
            }
            found.extend(expand(rest).iter().map(|path| join(base, path)));
        }
    }
    let is_export = |line: &&str| line.starts_with("pub") && line.contains(" use ");
    let calls: Vec<&str> = code.lines().filter(|line| !is_export(line)).collect();
    let calls = calls.join("\n");
    let called = modules(code)
        .into_iter()
        .filter(|name| !following(&calls, &format!("{name}::")).is_empty());
    found.extend(called.map(|name| join(module, name)));
    found
}

/// The modules whose files stand below this one, in their order.
pub fn modules(code: &str) -> Vec<&str> {
    let mut before = "";
    let mut found = Vec::new();
    for line in code.lines() {
        if let Some((visible, name)) = line
            .trim()
            .strip_suffix(';')
            .and_then(|it| it.rsplit_once("mod "))
        {
            if (visible.is_empty() || visible.starts_with("pub")) && !before.starts_with("#[path") {
                found.push(name);
            }
        }
        before = line;
    }
    found
}

/// The text after each use of these words at the beginning of a path.
fn following<'a>(code: &'a str, words: &str) -> Vec<&'a str> {
    let places = code.match_indices(words);
    let begins = |at: usize| {
        let before = &code[..at];
        // `pub(in crate::pool)` imports nothing.
        !before.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':'))
            && !before.ends_with("pub(in ")
    };
    places
        .filter(|(at, _)| begins(*at))
        .map(|(at, _)| &code[at + words.len()..])
        .collect()
}

/// `a::{b, c::D}` as `a/b` and `a/c/D`; what follows the path does not matter.
fn expand(text: &str) -> Vec<String> {
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let tails = match (rest.strip_prefix("::"), rest.strip_prefix('{')) {
        (Some(rest), _) => expand(rest),
        (_, Some(list)) => entries(list).into_iter().flat_map(expand).collect(),
        _ => vec![String::new()],
    };
    tails.iter().map(|tail| join(name, tail)).collect()
}

/// The entries of a list up to its closing brace.
fn entries(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                found.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
        if c == '}' && depth == 0 && start > at {
            break;
        }
    }
    found.retain(|entry| !entry.is_empty());
    found
}

fn join(path: &str, tail: &str) -> String {
    match path.is_empty() || tail.is_empty() {
        true => [path, tail].concat(),
        false => format!("{path}/{tail}"),
    }
}

#[test]
fn paths_are_found_in_every_form_of_use() {
    let code = "use crate::run::Round;\nuse crate::{plan::{Cell, b::C}, spec};\nuse super::dial::{self, A};\n\
        let x = crate::a::B::c();\nuse super::super::h1;\nuse super::*;\nmod own;\npub mod shown;\n\
        pub use shown::Kind;\nfn f() { own::go() }\nuse self::own::X;\nuse other_crate::y;\npub(in crate::pool) fn g() {}\n\
        #[path = \"elsewhere.rs\"]\nmod elsewhere;\n";
    assert_eq!(
        imports(code, "pool/idle"),
        [
            "run/Round",
            "plan/Cell",
            "plan/b/C",
            "spec",
            "a/B/c",
            "pool/dial/self",
            "pool/dial/A",
            "h1",
            "pool",
            "pool/idle/own/X",
            "pool/idle/own",
        ]
    );
    assert_eq!(modules(code), ["own", "shown"]);
}
